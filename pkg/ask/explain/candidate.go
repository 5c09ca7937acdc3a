package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// candidate is a change to try: a change of the workload, steps before it, or both.
type candidate struct {
	change string
	price  []string
	// edit changes the spec of the workload's pods in place, and strategy changes the workload.
	edit     func(*v1.PodSpec)
	strategy func(cluster.Object)
	steps    []scenario.Step
	// objects are created before the steps, and renewed are objects that are deleted after the steps, and created again as they are here.
	objects, renewed []cluster.Object
	// byHand means that kubectl cannot make the change, as nobody but the kubelet ends the pressure of a node.
	byHand bool
	// deletes are pods that the change deletes, which nobody creates again.
	deletes []cluster.Ref
	// losesData means that what is on a volume is lost for the change.
	losesData bool
	// evicts means that other workloads may lose their nodes for the change, and gone that the pod itself may disappear.
	evicts, gone bool
}

// combine returns the candidate that makes both changes.
func (c candidate) combine(other candidate) candidate {
	both := candidate{change: c.change + ", and " + other.change, price: slices.Concat(c.price, other.price),
		steps: slices.Concat(c.steps, other.steps), objects: slices.Concat(c.objects, other.objects), renewed: slices.Concat(c.renewed, other.renewed), evicts: c.evicts || other.evicts, deletes: slices.Concat(c.deletes, other.deletes), losesData: c.losesData || other.losesData}
	both.edit = c.edit
	if other.edit != nil {
		both.edit = other.edit
		if c.edit != nil {
			both.edit = func(spec *v1.PodSpec) { c.edit(spec); other.edit(spec) }
		}
	}
	if both.strategy = c.strategy; other.strategy != nil {
		both.strategy = other.strategy
	}
	return both
}

// stepsOf returns the steps with which a user makes the change; none if the change is impossible, or changes nothing.
func (w *stuckWorkload) stepsOf(c *candidate) ([]scenario.LoadedStep, error) {
	var steps []scenario.LoadedStep
	before, err := createSteps(c.objects)
	if err != nil {
		return nil, err
	}
	steps = append(steps, before...)
	for _, step := range c.steps {
		steps = append(steps, scenario.LoadedStep{Step: step})
	}
	for _, obj := range c.renewed {
		of := action.Target(cluster.RefTo(obj))
		anew, err := createSteps([]cluster.Object{obj})
		if err != nil {
			return nil, err
		}
		steps = append(append(steps, scenario.LoadedStep{Step: action.Delete(of.Namespace, of.Target)}), anew...)
	}
	if c.edit != nil || c.strategy != nil {
		edits, err := w.editSteps(c)
		if err != nil || len(edits) == 0 {
			return nil, err
		}
		steps = append(steps, edits...)
	}
	for i := range steps {
		steps[i].Name = w.stepName(i)
	}
	return steps, nil
}

// createSteps returns the steps that create the objects.
func createSteps(objects []cluster.Object) ([]scenario.LoadedStep, error) {
	var steps []scenario.LoadedStep
	for _, obj := range objects {
		encoded, err := manifest.Encode(obj)
		if err != nil {
			return nil, err
		}
		steps = append(steps, created(obj, encoded))
	}
	return steps, nil
}

// editSteps returns the steps that change the workload: a patch. Pods and Jobs, whose specs cannot change, are deleted and created again. A
// CronJob also starts a new run in place of its present Job.
func (w *stuckWorkload) editSteps(c *candidate) ([]scenario.LoadedStep, error) {
	if w.object == nil || w.fromCustomResource {
		return nil, nil
	}
	changed := w.object.DeepCopyObject().(cluster.Object)
	if spec, _ := cluster.PodSpec(changed); spec != nil && c.edit != nil {
		c.edit(spec)
	}
	if c.strategy != nil {
		c.strategy(changed)
	}
	if equality.Semantic.DeepEqual(changed, w.object) {
		return nil, nil
	}
	switch w.owner.Kind {
	case "Pod", "Job":
		return w.recreateSteps(changed)
	}
	patch, err := patchBetween(w.object, changed)
	if err != nil || patch == nil {
		return nil, err
	}
	steps := []scenario.LoadedStep{{Step: scenario.Step{Patch: patch}}}
	if w.owner.Kind == "CronJob" && w.job != "" {
		steps = append(steps, scenario.LoadedStep{Step: action.Delete(w.owner.Namespace, "job/"+w.job)},
			scenario.LoadedStep{Step: scenario.Step{Trigger: &scenario.Trigger{Target: action.Target(w.owner)}}})
	}
	return steps, nil
}

// patchBetween returns the strategic merge patch that turns one object into the other. If that patch does not produce the other object, for
// example because list elements have equal keys, it returns a merge patch. It returns nil if the objects are equal.
func patchBetween(was, is cluster.Object) (*scenario.Patch, error) {
	before, err := manifest.Encode(was)
	if err != nil {
		return nil, nil //nolint:nilerr // what stands for a controller of another kind cannot be patched
	}
	after, err := manifest.Encode(is)
	if err != nil {
		return nil, err
	}
	patch := &scenario.Patch{Target: action.Target(cluster.RefTo(was)), Type: "strategic"}
	if patch.Patch.Raw, err = strategicpatch.CreateTwoWayMergePatch(before, after, was); err == nil {
		if made, err := patch.Apply(was); err == nil {
			if again, err := manifest.Encode(made); err == nil && bytes.Equal(again, after) {
				return patch, nil
			}
		}
	}
	patch.Type = "merge"
	patch.Patch.Raw, err = jsonpatch.CreateMergePatch(before, after)
	if string(patch.Patch.Raw) == "{}" {
		return nil, err
	}
	return patch, err
}

// recreateSteps returns the steps that delete a pod or a Job and create it again with the change.
func (w *stuckWorkload) recreateSteps(changed cluster.Object) ([]scenario.LoadedStep, error) {
	written := asWritten(changed)
	encoded, err := manifest.Encode(written)
	if err != nil {
		return nil, err
	}
	var short map[string]any
	if err := json.Unmarshal(encoded, &short); err != nil {
		return nil, err
	}
	delete(short, "status")
	if encoded, err = json.Marshal(short); err != nil {
		return nil, err
	}
	t := action.Target(w.owner)
	return []scenario.LoadedStep{
		{Step: action.Delete(t.Namespace, t.Target)},
		created(written, encoded),
	}, nil
}

// created is the step that creates an object.
func created(obj cluster.Object, encoded []byte) scenario.LoadedStep {
	return scenario.LoadedStep{Step: scenario.Step{Apply: &scenario.Source{Objects: []runtime.RawExtension{{Raw: encoded}}}}, Objects: []cluster.Object{obj}}
}

// asWritten returns a pod or a Job as its user would write it, without what the API server, controllers and the scheduler added.
func asWritten(obj cluster.Object) cluster.Object {
	written := obj.DeepCopyObject().(cluster.Object)
	written.SetUID("")
	written.SetResourceVersion("")
	written.SetGeneration(0)
	written.SetCreationTimestamp(metav1.Time{})
	written.SetDeletionTimestamp(nil)
	written.SetManagedFields(nil)
	switch obj := written.(type) {
	case *v1.Pod:
		obj.Status = v1.PodStatus{}
		obj.Spec.NodeName, obj.Spec.Priority, obj.Spec.PreemptionPolicy = "", nil, nil
	case *batchv1.Job:
		obj.Status = batchv1.JobStatus{}
		obj.Spec.Selector = nil
		for _, label := range []string{"controller-uid", "job-name", batchv1.ControllerUidLabel, batchv1.JobNameLabel} {
			delete(obj.Spec.Template.Labels, label)
			delete(obj.Labels, label)
		}
	}
	return written
}

// tryDeleted tries to help the pod by deleting it, after the workload has its new template: a controller does not replace a pod of the old
// template that is not ready. First it deletes only the pod, then all Pending pods of the workload.
func (p *pendingPod) tryDeleted(ctx context.Context, c *candidate, steps []scenario.LoadedStep) (*Fix, error) {
	if !slices.Contains([]string{"StatefulSet", "ReplicaSet", "ReplicationController", "DaemonSet"}, p.owner.Kind) || p.member != nil {
		return nil, nil
	}
	waits := list.Where(p.course.State().Pods, func(pod *v1.Pod) bool { return cluster.IsUnscheduled(pod) && p.ownerOf(pod) == p.owner })
	if !slices.ContainsFunc(waits, func(pod *v1.Pod) bool { return pod.UID == p.pod.UID }) {
		return nil, nil
	}
	others := list.Where(waits, func(pod *v1.Pod) bool { return pod.UID != p.pod.UID && p.pendingBefore[pod.UID] })
	var names []string
	for _, pods := range [][]*v1.Pod{{p.pod}, others} {
		if len(pods) == 0 {
			break
		}
		for _, pod := range pods {
			step := scenario.LoadedStep{Step: action.Delete(pod.Namespace, "pod/"+pod.Name)}
			step.Name = p.stepName(len(steps))
			if done, err := p.doStep(ctx, &step); !done {
				return nil, err
			}
			steps, names = append(slices.Clip(steps), step), append(names, pod.Name)
		}
		says := fmt.Sprintf("%s, then delete %s %s, which %s not replaced otherwise", c.change, words.Pick(len(names), "pod", "pods"), words.And(names), words.Pick(len(names), "is", "are"))
		if fix := p.judge(c, says, steps); fix != nil {
			return fix, nil
		}
	}
	return nil, nil
}

// stepName returns the name of the i-th step of a change, which no other step has.
func (w *stuckWorkload) stepName(i int) string {
	name := fmt.Sprintf("fix %d", i+1)
	for w.stepNames[name] {
		name += "'"
	}
	return name
}

// labelStep returns the step that labels an object.
func labelStep(target string, labels map[string]string) scenario.Step {
	return action.Merge(scenario.Target{Target: target}, map[string]any{"metadata": map[string]any{"labels": labels}})
}

// encodeSteps returns the steps as they stand in a scenario.
func encodeSteps(steps []scenario.LoadedStep) []map[string]any {
	return list.Map(steps, func(step scenario.LoadedStep) map[string]any {
		raw, err := json.Marshal(step.Step)
		if err != nil {
			panic(err) // a step is plain data
		}
		var plain map[string]any
		if err := json.Unmarshal(raw, &plain); err != nil {
			panic(err)
		}
		return plain
	})
}

// stepsOf returns the steps without the objects that were loaded for them.
func stepsOf(steps []scenario.LoadedStep) []scenario.Step {
	return list.Map(steps, func(step scenario.LoadedStep) scenario.Step { return step.Step })
}
