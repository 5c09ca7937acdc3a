package admission

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
)

// runPlugins runs the admission plugins for each object. The plugins also see the other objects of the call.
func (a *admitCall) runPlugins() {
	var context []cluster.Object
	for _, obj := range a.objs {
		switch o := obj.(type) {
		case *v1.Namespace:
			metav1.SetMetaDataLabel(&o.ObjectMeta, v1.LabelMetadataName, o.Name)
			o.Status.Phase = cmp.Or(o.Status.Phase, v1.NamespaceActive)
		case *schedulingv1.PriorityClass, *storagev1.StorageClass, *v1.Node, *nodev1.RuntimeClass, *v1.LimitRange, *v1.ResourceQuota, *v1.ServiceAccount,
			*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding,
			*admissionv1.MutatingAdmissionPolicy, *admissionv1.MutatingAdmissionPolicyBinding, *cluster.Param:
		default:
			continue
		}
		context = append(context, obj)
	}
	view := a.state.With(context...)
	a.quotas = NewQuotas(a.withCounted(view), PodUsage{})
	a.pods, a.nodes = NewPods(view), view.NodesByName()
	for _, obj := range a.objs {
		switch o := obj.(type) {
		case *v1.Node:
			if was, _ := a.previous(o).(*v1.Node); o.Spec.Unschedulable {
				cluster.Cordon(o, a.state.Now)
			} else if was != nil && was.Spec.Unschedulable {
				cluster.Uncordon(o)
			}
		case *v1.Pod:
			a.admitPod(o)
		case *v1.PersistentVolumeClaim:
			err := AdmitClaim(view, o)
			if a.isNew(o) || a.previous(o) != nil {
				a.refuse(o, err)
			}
		case *schedulingv1beta1.PodGroup:
			admitGroup(a, o, o.Spec.Priority, a.pods.admitPodGroup)
		case *schedulingv1alpha3.CompositePodGroup:
			admitGroup(a, o, o.Spec.Priority, a.pods.admitCompositePodGroup)
		case *appsv1.ControllerRevision:
			a.rewriteRevision(o)
		case *v1.ReplicationController, *appsv1.Deployment, *appsv1.ReplicaSet, *appsv1.StatefulSet, *appsv1.DaemonSet:
			a.checkSelector(obj, cluster.Selector(obj))
			a.checkTemplate(obj)
		case *batchv1.Job:
			a.checkSelector(obj, o.Spec.Selector)
			a.checkTemplate(obj)
		case *batchv1.CronJob:
			a.checkTemplate(obj)
		case *cluster.UnknownOwner, *cluster.Param, *cluster.CustomResource:
			continue // the pods of an owner are admitted one by one, and no quota counts these objects
		case *admissionv1.ValidatingAdmissionPolicy, *admissionv1.MutatingAdmissionPolicy:
			a.noteAuthorizer(obj)
		}
		a.runChain(obj)
		a.chargeQuotas(obj)
	}
	a.noteQuotas()
}

// admitPod admits a pod of the call, and defers its resize if the node has no room.
func (a *admitCall) admitPod(pod *v1.Pod) {
	if was := a.previous(pod); was != nil {
		a.refuse(pod, checkResizeLimits(a.pods.state, pod, was.(*v1.Pod)))
		deferResize(a.pods.state, pod, was.(*v1.Pod))
	}
	if !a.nodeExists(pod, "spec", &pod.Spec) {
		return
	}
	if a.uncreated[cluster.RefTo(pod)] {
		cluster.CopyTopologyLabels(pod, a.nodes[pod.Spec.NodeName])
	}
	if a.wasAdmitted(pod) {
		return
	}
	if _, _, err := cluster.CompletesAfter(pod.Annotations, &pod.Spec); err != nil {
		a.addProblem(pod, "%w", err)
		return
	}
	if !a.state.KnowsKind("PriorityClass") {
		a.addPriorityClassOf(pod, pod.Spec.PriorityClassName)
	}
	said, err := a.pods.admit(pod, nil)
	a.noteWarnings(pod, said)
	if err != nil {
		a.refuse(pod, err)
		return
	}
	if pod.Spec.NodeName != "" {
		*pod = *cluster.BindPod(pod, pod.Spec.NodeName, a.state.Now.Time)
	}
}

// admitGroup admits a pod group of the call, or a group of such groups.
func admitGroup[T cluster.Object](a *admitCall, group T, priority *int32, admit func(T) error) {
	if priority != nil && !a.uncreated[cluster.RefTo(group)] {
		return // its cluster has admitted it
	}
	if err := admit(group); err != nil {
		a.addProblem(group, "%ss.scheduling.k8s.io %q is forbidden: %w", strings.ToLower(cluster.KindOf(group)), group.GetName(), err)
	}
}

// wasAdmitted reports whether a cluster has admitted the pod before: the pod has run, or it has a priority and a creation time. The phase
// Pending alone proves nothing, since it is the default.
func (a *admitCall) wasAdmitted(pod *v1.Pod) bool {
	if pod.Status.Phase != "" && pod.Status.Phase != v1.PodPending {
		return true
	}
	return pod.Spec.Priority != nil && !pod.CreationTimestamp.IsZero() && !a.uncreated[cluster.RefTo(pod)]
}

// runChain runs an object other than a new pod through the plugins that few clusters need. New pods have passed them before.
func (a *admitCall) runChain(obj cluster.Object) {
	kind, was := cluster.KindOf(obj), a.findInState(cluster.RefTo(obj))
	_, isPod := obj.(*v1.Pod)
	switch {
	case len(a.pods.enabled) == 0 && len(a.pods.state.Policies) == 0, !cluster.Namespaced(kind), kind == "ControllerRevision", a.isRefused(obj):
		return
	case was == nil && (isPod || !a.isNew(obj)), was != nil && apiequality.Semantic.DeepEqual(obj, was):
		return
	}
	if err := a.pods.buildChain(); err != nil {
		a.addProblem(obj, "%w", err)
		return
	}
	said, err := a.pods.chain.admit(apiRequest{obj: obj, was: was, scale: a.scale})
	a.noteWarnings(obj, said)
	a.refuse(obj, err)
}

var askedAuthorizer = regexp.MustCompile(`\bauthorizer\b`)

// noteAuthorizer adds a note on a policy whose expressions ask the authorizer what the user may do.
func (a *admitCall) noteAuthorizer(policy cluster.Object) {
	if text, err := json.Marshal(policy); err == nil && askedAuthorizer.Match(text) {
		a.notes = append(a.notes, cluster.RefTo(policy).Describe()+" asks the authorizer, which allows everything here.")
	}
}

// noteWarnings adds the warnings that kubectl would print to the notes.
func (a *admitCall) noteWarnings(obj cluster.Object, said []string) {
	for _, text := range said {
		a.notes = append(a.notes, fmt.Sprintf("%s: %s", cluster.RefTo(obj).Describe(), text))
	}
}

// nodeExists reports whether the node of the pod spec exists, and adds a problem if not. It is true for a spec without a node. It is also
// true for a pod that has ended, since such a pod takes no room and its node may be gone.
func (a *admitCall) nodeExists(obj cluster.Object, path string, spec *v1.PodSpec) bool {
	pod, isPod := obj.(*v1.Pod)
	if spec.NodeName == "" || a.nodes[spec.NodeName] != nil || isPod && cluster.IsTerminal(pod) {
		return true
	}
	a.addProblem(obj, "%s.nodeName: node %q does not exist; give the node too, or leave %s.nodeName out", path, spec.NodeName, path)
	return false
}

// checkSelector checks that the workload's selector matches the labels of its template.
func (a *admitCall) checkSelector(owner cluster.Object, selector *metav1.LabelSelector) {
	template, path := cluster.Template(owner)
	matching, err := metav1.LabelSelectorAsSelector(selector)
	switch {
	case err != nil:
		a.addProblem(owner, "spec.selector: %w", err)
	case selector == nil:
		a.addProblem(owner, "spec.selector: required value")
	case !matching.Matches(labels.Set(template.Labels)):
		a.addProblem(owner, "%s.metadata.labels: `selector` does not match template `labels`", path)
	}
}

// checkTemplate reports problems of a template that would otherwise show only when the controller creates its first pod.
func (a *admitCall) checkTemplate(owner cluster.Object) {
	template, path := cluster.Template(owner)
	spec := template.Spec
	a.addPriorityClassOf(owner, spec.PriorityClassName)
	if _, _, err := cluster.CompletesAfter(template.Annotations, &spec); err != nil {
		a.addProblem(owner, "%s.%w", path, err)
	}
	if _, given := owner.GetAnnotations()[cluster.CompletesAfterAnnotation]; given {
		a.addProblem(owner, "metadata.annotations[%s]: it is for pods; give it at %s.metadata.annotations", cluster.CompletesAfterAnnotation, path)
	}
	if cronJob, ok := owner.(*batchv1.CronJob); ok && cronJob.Spec.JobTemplate.Annotations[cluster.CompletesAfterAnnotation] != "" {
		a.addProblem(owner, "spec.jobTemplate.metadata.annotations[%s]: it is for pods; give it at %s.metadata.annotations", cluster.CompletesAfterAnnotation, path)
	}
	if class := spec.PriorityClassName; class != "" && a.pods.classes[class] == nil {
		a.notes = append(a.notes, fmt.Sprintf("The input lacks PriorityClass %s, so the pods of %s are refused; add it", class, cluster.RefTo(owner).Describe()))
	}
	// An object with a controller, or of a dump, need not be correct: an old ReplicaSet may name a node that is gone.
	if metav1.GetControllerOfNoCopy(owner) == nil && !cluster.FromDump(owner) {
		a.nodeExists(owner, path+".spec", &spec)
	}
}
