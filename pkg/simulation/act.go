package simulation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// act carries out the step and describes what it did.
func (r *run) act(ctx context.Context, state *cluster.State, spec *scenario.LoadedStep, step *Step) (*cluster.State, error) {
	var words []string
	if spec.Fresh {
		state = r.scenario.Fresh(state)
		words = append(words, "delete all workloads")
	}
	next, action, err := r.do(ctx, state, spec, step)
	if err != nil {
		return nil, &StepError{Step: spec.Name, Err: err}
	}
	if action != "" {
		words = append(words, action)
	}
	if len(words) == 0 {
		words = []string{"as it is"}
	}
	step.Action = strings.Join(words, ", then ")
	return next, nil
}

func (r *run) do(ctx context.Context, state *cluster.State, spec *scenario.LoadedStep, step *Step) (*cluster.State, string, error) {
	if state.Federation != nil {
		return r.actOnFederation(ctx, state, spec, step)
	}
	switch {
	case spec.Apply != nil:
		next, notes, err := admission.Admit(state, r.arriving(spec)...)
		step.Notes = append(step.Notes, notes...)
		return next, cmp.Or(spec.Action, "apply "+applied(spec)), err
	case spec.Patch != nil:
		return r.patch(state, spec, step)
	case spec.Scale != nil:
		return r.change(state, spec.Scale.Target, step, fmt.Sprintf("scale %s --replicas=%d", spec.Scale.Target.Argument(), spec.Scale.Replicas), func(obj cluster.Object) {
			replicas := spec.Scale.Replicas
			if of := cluster.ReplicasOf(obj); of != nil {
				*of = &replicas
			}
		})
	case spec.Delete != nil:
		return r.delete(ctx, state, spec, step)
	case spec.Rollout != nil:
		return r.rollout(state, spec.Rollout, step)
	case spec.Trigger != nil:
		obj, err := find(state, *spec.Trigger)
		if err != nil {
			return nil, "", err
		}
		next, _, err := controller.RunCronJob(state, obj.(*batchv1.CronJob))
		return next, "create job --from=" + spec.Trigger.Argument(), err
	case spec.Cordon != nil:
		return r.onNodes(ctx, state, spec.Cordon, step, "cordon", node.Cordon)
	case spec.Uncordon != nil:
		return r.onNodes(ctx, state, spec.Uncordon, step, "uncordon", node.Uncordon)
	case spec.Drain != nil:
		return r.drain(ctx, state, spec.Drain, step)
	case spec.Fail != nil:
		return r.fail(state, spec.Fail)
	case spec.Restore != nil:
		return r.restore(ctx, state, spec.Restore, step)
	}
	return state, "", nil
}

// inTurn applies do to one item after another, as kubectl goes through a list: the controllers and the scheduler react to each before the
// next. What happens is added to the step. With together, all items are handled at once.
func inTurn[T any](ctx context.Context, w *World, state *cluster.State, step *Step, together bool, all []T, do func(*cluster.State, ...T) (*cluster.State, error)) (*cluster.State, error) {
	if together {
		return do(state, all...)
	}
	for i, one := range all {
		var err error
		if i > 0 {
			if state, err = w.round(ctx, state, step); err != nil {
				return nil, err
			}
		}
		if state, err = do(state, one); err != nil {
			return nil, err
		}
	}
	return state, nil
}

// onNodes applies do to the selected nodes.
func (r *run) onNodes(ctx context.Context, state *cluster.State, nodes *scenario.NodesInTurn, step *Step, verb string, do func(*cluster.State, ...string) (*cluster.State, error)) (*cluster.State, string, error) {
	names, err := selectNodes(state, nodes.Nodes)
	if err != nil {
		return nil, "", err
	}
	next, err := inTurn(ctx, r.World, state, step, nodes.Together, names, do)
	return next, verb + " " + list(names), err
}

// change applies a function to a copy of the target and replaces the target.
func (r *run) change(state *cluster.State, target scenario.Target, step *Step, action string, f func(cluster.Object)) (*cluster.State, string, error) {
	obj, err := find(state, target)
	if err != nil {
		return nil, "", err
	}
	changed := obj.DeepCopyObject().(cluster.Object)
	f(changed)
	next, notes, err := admission.Admit(state, changed)
	step.Notes = append(step.Notes, notes...)
	return next, action, err
}

func (r *run) patch(state *cluster.State, spec *scenario.LoadedStep, step *Step) (*cluster.State, string, error) {
	patch := spec.Patch
	obj, err := find(state, patch.Target)
	if err != nil {
		return nil, "", err
	}
	patched, err := spec.Patched(obj)
	if err != nil {
		return nil, "", err
	}
	next, notes, err := admission.Admit(state, patched)
	step.Notes = append(step.Notes, notes...)
	var compact bytes.Buffer
	_ = json.Compact(&compact, patch.Patch.Raw) // it has been decoded, so it is valid JSON
	return next, fmt.Sprintf("patch %s -p '%s'", patch.Target.Argument(), compact.String()), err
}

func (r *run) delete(ctx context.Context, state *cluster.State, spec *scenario.LoadedStep, step *Step) (*cluster.State, string, error) {
	objects := slices.Clone(spec.Objects)
	var deleted []string
	if len(spec.Delete.Files) > 0 {
		deleted = append(deleted, "-f "+strings.Join(spec.Delete.Files, " -f "))
	}
	for _, name := range spec.Delete.Targets {
		obj, err := find(state, scenario.Target{Target: name, Namespace: spec.Delete.Namespace})
		if err != nil {
			return nil, "", err
		}
		objects = append(objects, obj)
		deleted = append(deleted, name)
	}
	if selected := spec.Delete.Pods; selected != nil {
		pods, err := selectPods(state, spec.Delete.Namespace, selected)
		if err != nil {
			return nil, "", err
		}
		for _, pod := range pods {
			if !slices.Contains(objects, cluster.Object(pod)) { // may also be a target; a StatefulSet's pod has a successor with the same name
				objects = append(objects, pod)
			}
		}
		deleted = append(deleted, words.Count(len(pods), "pod"))
	}
	next, err := inTurn(ctx, r.World, state, step, spec.Delete.Together, objects, func(state *cluster.State, objects ...cluster.Object) (*cluster.State, error) {
		return admission.Delete(state, objects...), nil
	})
	return next, "delete " + strings.Join(deleted, " "), err
}

func (r *run) rollout(state *cluster.State, rollout *scenario.Rollout, step *Step) (*cluster.State, string, error) {
	change, action := rolledOut(rollout, state.Now)
	var missing error
	next, action, err := r.change(state, rollout.Target, step, action, func(obj cluster.Object) { missing = change(obj) })
	if err == nil {
		err = missing
	}
	return next, action, err
}

// rolledOut returns what a rollout changes in a workload, and how kubectl calls it.
func rolledOut(rollout *scenario.Rollout, now metav1.Time) (change func(cluster.Object) error, action string) {
	if !rollout.Restart {
		action = "set image " + rollout.Target.Argument()
		for _, container := range slices.Sorted(maps.Keys(rollout.Images)) {
			action += " " + container + "=" + rollout.Images[container]
		}
		return func(obj cluster.Object) error {
			template, _ := cluster.Template(obj)
			return setImages(&template.Spec, rollout.Images)
		}, action
	}
	return func(obj cluster.Object) error {
		// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/kubectl/pkg/polymorphichelpers/objectrestarter.go
		template, _ := cluster.Template(obj)
		template.Annotations = maps.Clone(template.Annotations)
		if template.Annotations == nil {
			template.Annotations = map[string]string{}
		}
		template.Annotations["kubectl.kubernetes.io/restartedAt"] = now.Format("2006-01-02T15:04:05Z07:00")
		return nil
	}, "rollout restart " + rollout.Target.Argument()
}

func setImages(spec *v1.PodSpec, images map[string]string) error {
	left := maps.Clone(images)
	for _, containers := range [][]v1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			if image, given := left[containers[i].Name]; given {
				containers[i].Image = image
				delete(left, containers[i].Name)
			}
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("there is no container %s", strings.Join(slices.Sorted(maps.Keys(left)), ", "))
	}
	return nil
}

// fail fails nodes; deleted ones are kept for a later restore, with their devices.
func (r *run) fail(state *cluster.State, fail *scenario.Fail) (*cluster.State, string, error) {
	names, err := selectNodes(state, fail.Nodes)
	if err != nil {
		return nil, "", err
	}
	mode := node.Unreachable
	if fail.Mode != "" {
		mode = node.FailureMode(fail.Mode)
	}
	if mode == node.Deleted {
		for _, name := range names {
			r.lost = append(slices.Clip(r.lost), state.Node(name)) // an earlier step's list stays unchanged
			r.devices = append(slices.Clip(r.devices), devicesOf(name, state.ResourceSlices)...)
		}
	}
	next, err := node.Fail(state, mode, names...)
	return next, fmt.Sprintf("%s: %s", mode, list(names)), err
}

// restore brings nodes back: existing ones, and those whose objects a failure deleted.
func (r *run) restore(ctx context.Context, state *cluster.State, nodes *scenario.NodesInTurn, step *Step) (*cluster.State, string, error) {
	all := *state
	for _, node := range r.lost {
		all.Nodes = append(slices.Clip(all.Nodes), node)
	}
	names, err := selectNodes(&all, nodes.Nodes)
	if err != nil {
		return nil, "", err
	}
	r.lost = slices.DeleteFunc(slices.Clone(r.lost), func(node *v1.Node) bool { return slices.Contains(names, node.Name) })
	next, err := inTurn(ctx, r.World, state, step, nodes.Together, names, func(state *cluster.State, names ...string) (*cluster.State, error) {
		var gone []cluster.Object
		for _, name := range names {
			if state.Node(name) == nil {
				gone = append(gone, all.Node(name))
				for _, slice := range devicesOf(name, r.devices) { // drivers publish them again
					gone = append(gone, slice)
				}
			}
		}
		next, _, err := admission.Admit(state, gone...)
		if err != nil {
			return nil, err
		}
		return node.Restore(next, names...) // also those that stopped answering before they were deleted
	})
	r.devices = slices.DeleteFunc(slices.Clone(r.devices), func(slice *resourcev1.ResourceSlice) bool { return slices.Contains(names, *slice.Spec.NodeName) })
	return next, "restore " + list(names), err
}

// devicesOf returns the slices that publish the node's own devices.
func devicesOf(node string, slices []*resourcev1.ResourceSlice) []*resourcev1.ResourceSlice {
	var own []*resourcev1.ResourceSlice
	for _, slice := range slices {
		if slice.Spec.NodeName != nil && *slice.Spec.NodeName == node {
			own = append(own, slice)
		}
	}
	return own
}

// find returns the target object.
func find(state *cluster.State, target scenario.Target) (cluster.Object, error) {
	kind, name, err := scenario.ParseTarget(target.Target)
	if err != nil {
		return nil, err
	}
	namespace := target.Namespace
	if namespace == "" {
		namespace = v1.NamespaceDefault
	}
	for _, obj := range state.Objects() {
		if cluster.KindOf(obj) == kind && obj.GetName() == name && (obj.GetNamespace() == "" || obj.GetNamespace() == namespace) {
			return obj, nil
		}
	}
	return nil, fmt.Errorf("%s is not there at this step", target.Argument())
}

// selectNodes returns the selected nodes in kubectl's order: named ones as given, then by name, as the API server lists the matches of a
// selector.
func selectNodes(state *cluster.State, nodes scenario.Nodes) ([]string, error) {
	var names []string
	for _, node := range nodes.Select(state.Nodes) {
		names = append(names, node.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no node is selected by %s", strings.TrimSpace(strings.Join(nodes.Names, " ")+" "+nodes.Selector))
	}
	named := func(name string) int {
		if i := slices.Index(nodes.Names, name); i >= 0 {
			return i
		}
		return len(nodes.Names)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(named(a), named(b)), cmp.Compare(a, b)) })
	return names, nil
}

// selectPods returns the selected pods in the order in which the API server lists them.
func selectPods(state *cluster.State, namespace string, pods *scenario.Pods) ([]*v1.Pod, error) {
	selector, err := labels.Parse(pods.Selector)
	if err != nil {
		return nil, err
	}
	var on []string
	if pods.Nodes != nil {
		if on, err = selectNodes(state, *pods.Nodes); err != nil {
			return nil, err
		}
	}
	var selected []*v1.Pod
	for _, pod := range state.Pods {
		if (namespace == "" || pod.Namespace == namespace) && selector.Matches(labels.Set(pod.Labels)) &&
			(pods.Nodes == nil || slices.Contains(on, pod.Spec.NodeName)) {
			selected = append(selected, pod)
		}
	}
	slices.SortFunc(selected, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return selected, nil
}

// applied describes what an apply applies.
func applied(spec *scenario.LoadedStep) string {
	if len(spec.Apply.Files) > 0 {
		return "-f " + strings.Join(spec.Apply.Files, " -f ")
	}
	return words.Count(len(spec.Objects)+len(spec.Karmada.Policies)+len(spec.Karmada.Overrides)+len(spec.Karmada.Resources), "object")
}

// list names a few nodes, or counts many.
func list(names []string) string {
	if len(names) > 5 {
		return words.Count(len(names), "node")
	}
	return strings.Join(names, " ")
}
