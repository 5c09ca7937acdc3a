package admission

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/controller"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/faultline/faultline/pkg/cluster"
)

// observeMutations finds what the cluster does to new pods besides the API server's own plugins, such as the changes of webhooks, and adds it to the
// state. It compares the newest running pod of each workload with what admission makes of the controller's template. It skips pods of an
// earlier revision of a StatefulSet or DaemonSet, since their template is gone. If the controller has not seen the present template yet,
// only injected containers and volumes count: other differences may come from the earlier template.
func (a *admitCall) observeMutations(next *cluster.State) {
	dumped := func(obj cluster.Object) bool { pod, is := obj.(*v1.Pod); return is && cluster.FromDump(pod) }
	if next.AsTemplate || !slices.ContainsFunc(a.objs, dumped) {
		return
	}
	templates, owner := podTemplatesOf(next), next.Owners()
	newest := map[cluster.Ref]*v1.Pod{}
	for _, pod := range next.Pods {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil || cluster.IsTerminal(pod) || !cluster.FromDump(pod) {
			continue
		}
		if template, found := templates[ref.UID]; !found || !template.madePod(pod) {
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
		made, err := template.newPod()
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
		change := cluster.ObserveMutation(made, running, template.claims)
		if template.unseen {
			seen.Workloads[of] = change.Injected()
			continue
		}
		seen.Workloads[of] = change
		common, found := seen.Namespaces[of.Namespace]
		if !found {
			common = change
		}
		seen.Namespaces[of.Namespace] = common.Intersect(change)
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

// madePod reports whether the controller made the pod from the present template.
func (t *podTemplate) madePod(pod *v1.Pod) bool {
	if _, is := t.owner.(*appsv1.DaemonSet); is {
		return daemonutil.IsPodUpdated(pod, "", t.generation)
	}
	return t.revision == "" || pod.Labels[appsv1.ControllerRevisionHashLabelKey] == t.revision
}

// newPod returns the pod that the controller asks the API server to create.
func (t *podTemplate) newPod() (*v1.Pod, error) {
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

// podTemplatesOf returns the templates from which controllers make pods, by the UID of the controller.
func podTemplatesOf(s *cluster.State) map[types.UID]*podTemplate {
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
			t.unseen = isUnobserved(o.Generation, o.Status.ObservedGeneration)
		case *appsv1.DaemonSet:
			t.generation, _ = daemonutil.GetTemplateGeneration(o) // nil if it cannot be parsed, as in upstream
			t.unseen = isUnobserved(o.Generation, o.Status.ObservedGeneration)
		case *batchv1.CronJob:
			continue // its Jobs make pods
		case *cluster.UnknownOwner:
			continue // its template comes from its pods
		}
		templates[obj.GetUID()] = t
	}
	return templates
}

// isUnobserved reports whether the controller has not yet observed the object's generation. It is false if the status has no observed generation.
func isUnobserved(generation, observed int64) bool { return observed > 0 && generation > observed }
