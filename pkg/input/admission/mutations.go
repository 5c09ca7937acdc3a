package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/controller"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/words"
)

// observe finds what the cluster does to new pods besides the API server's own plugins, such as the changes of webhooks, and adds it to the
// state. It compares the newest running pod of each workload with what admission makes of the controller's template. It skips pods of an
// earlier revision of a StatefulSet or DaemonSet, since their template is gone. If the controller has not seen the present template yet,
// only injected containers and volumes count: other differences may come from the earlier template.
func (a *admitting) observe(next *cluster.State) {
	dumped := func(obj cluster.Object) bool { pod, is := obj.(*v1.Pod); return is && cluster.Dumped(pod) }
	if next.AsTemplate || !slices.ContainsFunc(a.objs, dumped) {
		return
	}
	templates, owner := templatesOf(next), next.Owners()
	newest := map[cluster.Ref]*v1.Pod{}
	for _, pod := range next.Pods {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil || cluster.Terminal(pod) || !cluster.Dumped(pod) {
			continue
		}
		if template, found := templates[ref.UID]; !found || !template.made(pod) {
			continue
		}
		of := owner(pod)
		if known := newest[of]; known == nil || !pod.CreationTimestamp.Before(&known.CreationTimestamp) {
			newest[of] = pod
		}
	}
	seen := &cluster.Mutations{Workloads: make(map[cluster.Ref]*cluster.Mutation, len(newest)), Namespaces: map[string]*cluster.Mutation{}}
	for _, of := range next.UnknownOwners { // their templates come from their pods
		seen.Workloads[cluster.RefTo(of)] = nil
	}
	next.Mutations = nil
	pods := NewPods(next)
	for _, of := range slices.SortedFunc(maps.Keys(newest), cluster.Ref.Compare) {
		running := newest[of]
		template := templates[metav1.GetControllerOfNoCopy(running).UID]
		made, err := template.pod()
		if err == nil {
			err = pods.Admit(made)
		}
		if err != nil {
			continue // the present template is refused, which shows nothing about the pod
		}
		if _, is := template.owner.(*appsv1.DaemonSet); is { // it binds each pod to a node by an affinity
			like := *running
			like.Spec.Affinity = made.Spec.Affinity
			running = &like
		}
		change := cluster.Observe(made, running, template.claims)
		if template.unseen {
			seen.Workloads[of] = change.Injected()
			continue
		}
		seen.Workloads[of] = change
		common, found := seen.Namespaces[of.Namespace]
		if !found {
			common = change
		}
		seen.Namespaces[of.Namespace] = common.Common(change)
	}
	next.Mutations = seen
}

// podTemplate is the template from which a controller makes pods.
type podTemplate struct {
	owner    cluster.Object
	template *v1.PodTemplateSpec
	// revision is the hash of a StatefulSet's template in the labels of its pods, "" if unknown; claims are its claim templates.
	revision string
	claims   []v1.PersistentVolumeClaim
	// generation is the generation of a DaemonSet's template.
	generation *int64
	// unseen means that the controller has not seen the template yet.
	unseen bool
}

// made reports whether the controller made the pod from the present template.
func (t *podTemplate) made(pod *v1.Pod) bool {
	if _, is := t.owner.(*appsv1.DaemonSet); is {
		return daemonutil.IsPodUpdated(pod, "", t.generation)
	}
	return t.revision == "" || pod.Labels[appsv1.ControllerRevisionHashLabelKey] == t.revision
}

// pod returns the pod that the controller asks the API server to create.
func (t *podTemplate) pod() (*v1.Pod, error) {
	template := t.template
	if _, is := t.owner.(*appsv1.DaemonSet); is {
		of := daemonutil.CreatePodTemplate(*template, t.generation, "")
		template = &of
	}
	pod, err := controller.GetPodFromTemplate(template, t.owner, nil)
	if err == nil {
		pod.Namespace = t.owner.GetNamespace()
	}
	return pod, err
}

// templatesOf returns the templates from which controllers make pods, by the UID of the controller.
func templatesOf(s *cluster.State) map[types.UID]*podTemplate {
	templates := map[types.UID]*podTemplate{}
	for _, obj := range s.Objects() {
		template, _ := cluster.Template(obj)
		if template == nil {
			continue
		}
		t := &podTemplate{owner: obj, template: template}
		switch o := obj.(type) {
		case *appsv1.StatefulSet:
			t.revision, t.claims = o.Status.UpdateRevision, o.Spec.VolumeClaimTemplates
			t.unseen = newer(o.Generation, o.Status.ObservedGeneration)
		case *appsv1.DaemonSet:
			t.generation, _ = daemonutil.GetTemplateGeneration(o) // nil if it cannot be parsed, as in upstream
			t.unseen = newer(o.Generation, o.Status.ObservedGeneration)
		case *batchv1.CronJob:
			continue // its Jobs make pods
		case *cluster.UnknownOwner:
			continue // its template comes from its pods
		}
		templates[obj.GetUID()] = t
	}
	return templates
}

// newer reports whether the controller has not yet observed the object's generation. It is false if the status has no observed generation.
func newer(generation, observed int64) bool { return observed > 0 && generation > observed }

// Mutated returns sentences about what new pods of the state's workloads get beyond their templates: the same as the running pods of the
// workload, or the same as all other pods of the namespace if the workload has no running pods.
func Mutated(s *cluster.State) []string {
	if s.Mutations == nil {
		return nil
	}
	observed, inherited := gains{}, gains{}
	for _, of := range slices.SortedFunc(maps.Keys(s.Mutations.Workloads), cluster.Ref.Compare) {
		observed.add(of, s.Mutations.Workloads[of])
	}
	for _, obj := range s.Objects() {
		of := cluster.RefTo(obj)
		_, has := s.Mutations.Workloads[of]
		if spec, _ := cluster.PodSpec(obj); spec == nil || has || metav1.GetControllerOfNoCopy(obj) != nil || cluster.Dumped(obj) && of.Kind == "Pod" {
			continue
		}
		inherited.add(of, s.Mutations.Namespaces[of.Namespace])
	}
	var notes []string
	if len(observed) > 0 {
		notes = append(notes, "Like the running pods, and unlike their templates, new "+observed.words()+". --as-template leaves this out.")
	}
	if len(inherited) > 0 {
		notes = append(notes, "Like all other pods of the namespace, "+inherited.words()+". --as-template leaves this out.")
	}
	return notes
}

// gains maps the description of a change to the workloads whose pods get it.
type gains map[string][]cluster.Ref

func (g gains) add(of cluster.Ref, m *cluster.Mutation) {
	for _, what := range described(m) {
		g[what] = append(g[what], of)
	}
}

// words returns a sentence that begins with the changes of most workloads: "pods of 31 workloads get a container proxy of 100m cpu; pods of
// deployment/web get tolerations".
func (g gains) words() string {
	all := slices.SortedFunc(maps.Keys(g), func(a, b string) int { return cmp.Or(cmp.Compare(len(g[b]), len(g[a])), cmp.Compare(a, b)) })
	var parts []string
	for i, what := range all {
		if i == maxMutations {
			parts = append(parts, words.Count(len(all)-i, "more change"))
			break
		}
		of := g[what][0].Qualified()
		if n := len(g[what]); n > 1 {
			of = words.Count(n, "workload")
		}
		parts = append(parts, fmt.Sprintf("pods of %s get %s", of, what))
	}
	return strings.Join(parts, "; ")
}

// maxMutations is how many changes a note names.
const maxMutations = 5

// described returns descriptions of what the change adds and replaces.
func described(m *cluster.Mutation) []string {
	if m == nil {
		return nil
	}
	var all []string
	for _, added := range m.Containers {
		all = append(all, "a container "+added.Name+requested(added.Resources.Requests))
	}
	for _, added := range slices.Concat(m.FirstInitContainers, m.LastInitContainers) {
		all = append(all, "an init container "+added.Name+requested(added.Resources.Requests))
	}
	for what, is := range map[string]bool{
		"other requests": len(m.Resources) > 0 || m.PodResources != nil, "tolerations": len(m.Tolerations) > 0, "a node selector": len(m.NodeSelector) > 0,
		"an affinity": m.Affinity != nil, "spread constraints": len(m.TopologySpreadConstraints) > 0, "device claims": len(m.ResourceClaims) > 0,
		"the priority class " + m.PriorityClassName: m.PriorityClassName != "", "the scheduler " + m.SchedulerName: m.SchedulerName != "",
		"the runtime class " + m.RuntimeClassName: m.RuntimeClassName != "",
	} {
		if is {
			all = append(all, what)
		}
	}
	return all
}

// requested returns the requests of a container as the end of a phrase: " of 100m cpu and 128Mi memory".
func requested(requests v1.ResourceList) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		quantity := requests[name]
		all = append(all, quantity.String()+" "+string(name))
	}
	if len(all) == 0 {
		return " without requests"
	}
	return " of " + words.And(all)
}
