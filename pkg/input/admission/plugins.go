package admission

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
)

// runPlugins runs the admission plugins for each object. The plugins also see the other objects of the call.
func (a *admitting) runPlugins() {
	var context []cluster.Object
	for _, obj := range a.objs {
		switch cluster.KindOf(obj) {
		case "PriorityClass", "StorageClass", "Node", "RuntimeClass", "LimitRange", "ResourceQuota":
			context = append(context, obj)
		}
	}
	view := a.state.With(context...)
	a.quotas = NewQuotas(a.withCounted(view), PodUsage{})
	a.pods, a.nodes = NewPods(view), map[string]bool{}
	for _, node := range view.Nodes {
		a.nodes[node.Name] = true
	}
	for _, obj := range a.objs {
		switch o := obj.(type) {
		case *v1.Namespace:
			metav1.SetMetaDataLabel(&o.ObjectMeta, v1.LabelMetadataName, o.Name)
			o.Status.Phase = cmp.Or(o.Status.Phase, v1.NamespaceActive)
		case *v1.Node:
			if o.Spec.Unschedulable {
				cluster.Cordon(o, a.state.Now)
			}
		case *v1.Pod:
			a.pod(o)
		case *v1.PersistentVolumeClaim:
			err := AdmitClaim(view, o)
			if a.isNew(o) || a.previous(o) != nil {
				a.refuse(o, err)
			}
		case *schedulingv1beta1.PodGroup:
			a.podGroup(o)
		case *appsv1.ControllerRevision:
			a.revision(o)
		case *v1.ReplicationController, *appsv1.Deployment, *appsv1.ReplicaSet, *appsv1.StatefulSet, *appsv1.DaemonSet:
			a.selector(obj, cluster.Selector(obj))
			a.template(obj)
		case *batchv1.Job:
			a.selector(obj, o.Spec.Selector)
			a.template(obj)
		case *batchv1.CronJob:
			a.template(obj)
		case *cluster.UnknownOwner:
			continue // its pods are admitted one by one, and no quota counts it
		}
		a.charge(obj)
	}
	a.noteQuotas()
}

func (a *admitting) pod(pod *v1.Pod) {
	if was := a.previous(pod); was != nil {
		a.refuse(pod, limitResize(a.pods.state, pod, was.(*v1.Pod)))
	}
	if !a.nodeExists(pod, "spec", &pod.Spec) || a.wasAdmitted(pod) {
		return
	}
	if _, _, err := cluster.CompletesAfter(pod.Annotations, &pod.Spec); err != nil {
		a.problem(pod, "%w", err)
		return
	}
	if err := a.pods.Admit(pod); err != nil {
		a.refuse(pod, err)
		return
	}
	if pod.Spec.NodeName != "" {
		*pod = *cluster.Bind(pod, pod.Spec.NodeName, a.state.Now.Time)
	}
}

func (a *admitting) podGroup(group *schedulingv1beta1.PodGroup) {
	if group.Spec.Priority != nil && !a.uncreated[cluster.RefTo(group)] {
		return // the cluster that it comes from admitted it
	}
	if err := a.pods.admitPodGroup(group); err != nil {
		a.problem(group, "podgroups.scheduling.k8s.io %q is forbidden: %w", group.Name, err)
	}
}

// wasAdmitted reports whether a cluster has admitted the pod before: the pod has run, or it has a priority and a creation time. The phase
// Pending alone proves nothing, since it is the default.
func (a *admitting) wasAdmitted(pod *v1.Pod) bool {
	if pod.Status.Phase != "" && pod.Status.Phase != v1.PodPending {
		return true
	}
	return pod.Spec.Priority != nil && !a.uncreated[cluster.RefTo(pod)]
}

// nodeExists reports whether the node that the pod spec names exists, and adds a problem if it does not. A spec may name no node. A pod
// that has ended takes no room, so its node may be gone.
func (a *admitting) nodeExists(obj cluster.Object, path string, spec *v1.PodSpec) bool {
	pod, isPod := obj.(*v1.Pod)
	if spec.NodeName == "" || a.nodes[spec.NodeName] || isPod && cluster.Terminal(pod) {
		return true
	}
	a.problem(obj, "%s.nodeName: node %q does not exist; give the node too, or leave %s.nodeName out", path, spec.NodeName, path)
	return false
}

// selector checks that the workload's selector matches the labels of its template.
func (a *admitting) selector(owner cluster.Object, selector *metav1.LabelSelector) {
	template, path := cluster.Template(owner)
	matching, err := metav1.LabelSelectorAsSelector(selector)
	switch {
	case err != nil:
		a.problem(owner, "spec.selector: %w", err)
	case selector == nil:
		a.problem(owner, "spec.selector: required value")
	case !matching.Matches(labels.Set(template.Labels)):
		a.problem(owner, "%s.metadata.labels: `selector` does not match template `labels`", path)
	}
}

// template reports problems of the template now that would otherwise show only when the first pod is created.
func (a *admitting) template(owner cluster.Object) {
	template, path := cluster.Template(owner)
	spec := template.Spec
	a.addPriorityClassOf(owner, spec.PriorityClassName)
	if _, _, err := cluster.CompletesAfter(template.Annotations, &spec); err != nil {
		a.problem(owner, "%s.%w", path, err)
	}
	if _, given := owner.GetAnnotations()[cluster.CompletesAfterAnnotation]; given {
		a.problem(owner, "metadata.annotations[%s]: it is for pods; give it at %s.metadata.annotations", cluster.CompletesAfterAnnotation, path)
	}
	if cronJob, ok := owner.(*batchv1.CronJob); ok && cronJob.Spec.JobTemplate.Annotations[cluster.CompletesAfterAnnotation] != "" {
		a.problem(owner, "spec.jobTemplate.metadata.annotations[%s]: it is for pods; give it at %s.metadata.annotations", cluster.CompletesAfterAnnotation, path)
	}
	if err := a.pods.priority(&spec); err != nil {
		a.problem(owner, "%s.spec: pods %q is forbidden: %w", path, owner.GetName()+"-", err)
	}
	// A controller is responsible for the objects that it owns, and a dump need not be correct: an old ReplicaSet may name a node that is
	// gone.
	if metav1.GetControllerOfNoCopy(owner) == nil && !cluster.Dumped(owner) {
		a.nodeExists(owner, path+".spec", &spec)
	}
}
