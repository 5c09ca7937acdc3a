package controller

import (
	"cmp"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"

	"github.com/faultline/faultline/pkg/cluster"
)

// Admit puts the objects into the state as the API server would on kubectl apply, all of them or none; the objects given are
// not changed. New ones are defaulted, admitted and get a UID and a creation time where they have none. One of the same kind,
// namespace and name as an object in the state takes its place, but keeps its UID, its creation time, what controllers have
// annotated, and its status where it brings none. The objects of one call may come in any order.
//
// The objects of a running cluster can be given as they are: an owner reference finds its owner by UID, or by kind and name
// where a UID is missing, and Deployments and pods that come without the ReplicaSets between them get those back.
//
// The notes say in plain sentences what was added that nobody gave. The error lists all problems, each in the words of the
// API server where it has some.
func Admit(s *cluster.State, objs ...cluster.Object) (next *cluster.State, notes []string, err error) {
	a := &admitting{state: s, created: s.Created, known: existing(s), unidentified: map[cluster.Ref]bool{}, uncreated: map[cluster.Ref]bool{}}
	for _, obj := range objs {
		if !cluster.Supports(obj) {
			a.problem(obj, "a simulation knows no such kind; leave the object out")
			continue
		}
		a.add(obj)
	}
	if len(a.problems) > 0 {
		return nil, nil, errors.Join(a.problems...)
	}
	a.namespaces()
	a.distinct()
	a.resolveOwners()
	a.adoptPriorities()
	a.replicaSets()
	a.admitAll()
	if len(a.problems) > 0 {
		return nil, nil, errors.Join(a.problems...)
	}
	with := *s.With(a.objs...)
	with.Created = a.created
	return &with, a.notes, nil
}

// admitting is one call of Admit.
type admitting struct {
	state   *cluster.State
	created int
	// objs are copies of what was given, and what was added to it.
	objs []cluster.Object
	// known are the objects in the state.
	known map[cluster.Ref]cluster.Object
	// unidentified are the keys of the objects that were given without a UID and were new.
	unidentified map[cluster.Ref]bool
	// uncreated are the keys of those that had no creation time, so that they come from no cluster.
	uncreated map[cluster.Ref]bool
	// admission and nodes are what the call itself brings together with what is in the state.
	admission *admission
	nodes     map[string]bool
	notes     []string
	problems  []error
}

func existing(s *cluster.State) map[cluster.Ref]cluster.Object {
	known := map[cluster.Ref]cluster.Object{}
	for _, obj := range s.Objects() {
		known[cluster.RefTo(obj)] = obj
	}
	return known
}

func (a *admitting) problem(obj cluster.Object, format string, args ...any) {
	a.problems = append(a.problems, fmt.Errorf("%s: %w", cluster.RefTo(obj).Describe(), fmt.Errorf(format, args...)))
}

// add takes in a copy of the object, defaulted and identified.
func (a *admitting) add(given cluster.Object) {
	obj := given.DeepCopyObject().(cluster.Object)
	legacyscheme.Scheme.Default(obj)
	if cluster.Namespaced(cluster.KindOf(obj)) && obj.GetNamespace() == "" {
		obj.SetNamespace(metav1.NamespaceDefault)
	}
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		for obj.GetName() == "" || a.known[cluster.RefTo(obj)] != nil {
			obj.SetName(generatedName(obj.GetGenerateName(), a.created))
			a.created++
		}
	}
	if obj.GetName() == "" {
		a.problem(obj, "metadata.name: required value")
		return
	}
	if old := a.known[cluster.RefTo(obj)]; old != nil {
		if err := keep(obj, old); err != nil {
			a.problem(obj, "%w", err)
			return
		}
		a.update(obj, old)
	}
	if obj.GetUID() == "" {
		a.unidentified[cluster.RefTo(obj)] = true
		a.created++
		obj.SetUID(fixedUID(cluster.KindOf(obj), obj.GetNamespace(), obj.GetName(), a.created))
	}
	if t := obj.GetCreationTimestamp(); t.IsZero() {
		a.uncreated[cluster.RefTo(obj)] = true
		obj.SetCreationTimestamp(a.state.Now)
	}
	if obj.GetGeneration() == 0 {
		obj.SetGeneration(1)
	}
	a.objs = append(a.objs, obj)
}

// namespaces adds the namespaces that are missing. Those of every cluster are not worth a note.
func (a *admitting) namespaces() {
	have := map[string]bool{}
	for _, ns := range a.state.Namespaces {
		have[ns.Name] = true
	}
	for _, obj := range a.objs {
		if ns, ok := obj.(*v1.Namespace); ok {
			have[ns.Name] = true
		}
	}
	for _, obj := range a.objs {
		name := obj.GetNamespace()
		if name == "" || have[name] {
			continue
		}
		have[name] = true
		switch name {
		case metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, v1.NamespaceNodeLease:
		default:
			a.notes = append(a.notes, fmt.Sprintf("Namespace %s did not exist and was created", name))
		}
		a.add(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
}

// adoptPriorities adds the PriorityClasses that running pods name and nobody gave.
func (a *admitting) adoptPriorities() {
	have := newAdmission(a.state).classes
	for _, obj := range a.objs {
		if class, ok := obj.(*schedulingv1.PriorityClass); ok {
			have[class.Name] = class
		}
	}
	for _, obj := range a.objs {
		pod, ok := obj.(*v1.Pod)
		if !ok || pod.Spec.NodeName == "" && !cluster.Dumped(pod) || pod.Spec.Priority == nil || pod.Spec.PriorityClassName == "" || have[pod.Spec.PriorityClassName] != nil {
			continue
		}
		class := &schedulingv1.PriorityClass{
			ObjectMeta:       metav1.ObjectMeta{Name: pod.Spec.PriorityClassName},
			Value:            *pod.Spec.Priority,
			PreemptionPolicy: pod.Spec.PreemptionPolicy,
		}
		have[class.Name] = class
		a.notes = append(a.notes, fmt.Sprintf("%s was not given and was created with value %d, as %s has it",
			cluster.RefTo(class).Describe(), class.Value, cluster.RefTo(pod).Describe()))
		a.add(class)
	}
}

// admitAll runs the admission of each object's kind, with what the call itself brings in view.
func (a *admitting) admitAll() {
	var context []cluster.Object
	for _, obj := range a.objs {
		switch cluster.KindOf(obj) {
		case "PriorityClass", "StorageClass", "Node":
			context = append(context, obj)
		}
	}
	view := a.state.With(context...)
	a.admission, a.nodes = newAdmission(view), map[string]bool{}
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
				o.Spec.Taints = withTaints(o.Spec.Taints, unschedulableTaint(a.state.Now))
			}
		case *v1.Pod:
			a.pod(o)
		case *v1.PersistentVolumeClaim:
			admitClaim(view, o)
		case *appsv1.Deployment:
			a.template(o, "spec.template", &o.Spec.Template, o.Spec.Selector)
		case *appsv1.ReplicaSet:
			a.template(o, "spec.template", &o.Spec.Template, o.Spec.Selector)
		case *appsv1.StatefulSet:
			a.template(o, "spec.template", &o.Spec.Template, o.Spec.Selector)
		case *appsv1.DaemonSet:
			a.template(o, "spec.template", &o.Spec.Template, o.Spec.Selector)
		case *appsv1.ControllerRevision:
			a.revision(o)
		case *batchv1.Job:
			identifyJob(o)
			a.template(o, "spec.template", &o.Spec.Template, o.Spec.Selector)
		case *batchv1.CronJob:
			template := &o.Spec.JobTemplate.Spec.Template
			a.template(o, "spec.jobTemplate.spec.template", template, &metav1.LabelSelector{MatchLabels: template.Labels})
		}
	}
}

func (a *admitting) pod(pod *v1.Pod) {
	if !a.nodeExists(pod, "spec", &pod.Spec) || a.wasAdmitted(pod) {
		return
	}
	if err := a.admission.pod(pod); err != nil {
		a.problem(pod, "%w", err)
		return
	}
	if pod.Spec.NodeName != "" {
		*pod = *cluster.Bind(pod, pod.Spec.NodeName, a.state.Now.Time)
	}
}

// wasAdmitted tells whether the pod has passed the admission of the cluster that it comes from: it has run, or the cluster
// that created it has given it a priority. The phase Pending alone says nothing, since it is the default.
func (a *admitting) wasAdmitted(pod *v1.Pod) bool {
	if pod.Status.Phase != "" && pod.Status.Phase != v1.PodPending {
		return true
	}
	return pod.Spec.Priority != nil && !a.uncreated[cluster.RefTo(pod)]
}

// nodeExists tells whether the node that a pod specification names, if it names one, is there; if not, that is a problem. A pod that
// has ended takes no room, and its node may be gone.
func (a *admitting) nodeExists(obj cluster.Object, path string, spec *v1.PodSpec) bool {
	pod, isPod := obj.(*v1.Pod)
	if spec.NodeName == "" || a.nodes[spec.NodeName] || isPod && cluster.Terminal(pod) {
		return true
	}
	a.problem(obj, "%s.nodeName: node %q does not exist; give the node too, or leave %s.nodeName out", path, spec.NodeName, path)
	return false
}

// template says at once what would otherwise show when the first pod is created.
func (a *admitting) template(owner cluster.Object, path string, template *v1.PodTemplateSpec, selector *metav1.LabelSelector) {
	matching, err := metav1.LabelSelectorAsSelector(selector)
	switch {
	case err != nil:
		a.problem(owner, "spec.selector: %w", err)
	case selector == nil:
		a.problem(owner, "spec.selector: required value")
	case !matching.Matches(labels.Set(template.Labels)):
		a.problem(owner, "%s.metadata.labels: `selector` does not match template `labels`", path)
	}
	spec := template.Spec
	a.adoptClass(owner, spec.PriorityClassName)
	if err := a.admission.priority(&spec); err != nil {
		a.problem(owner, "%s.spec: pods %q is forbidden: %w", path, owner.GetName()+"-", err)
	}
	// An owned object is its controller's business, and a dump is as it is: an old ReplicaSet may well name a node that is gone.
	if metav1.GetControllerOfNoCopy(owner) == nil && !cluster.Dumped(owner) {
		a.nodeExists(owner, path+".spec", &spec)
	}
}

// adoptClass adds the PriorityClass that the template of a dump names, if nobody gave it and no pod says its value.
func (a *admitting) adoptClass(owner cluster.Object, name string) {
	if name == "" || !cluster.Dumped(owner) || a.admission.classes[name] != nil {
		return
	}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	a.add(class)
	a.admission.classes[name] = class
	a.notes = append(a.notes, fmt.Sprintf("%s was not given and was created with value 0, since %s names it and no pod says its value", cluster.RefTo(class).Describe(), cluster.RefTo(owner).Describe()))
}

// identifyJob gives a Job the selector and the labels by which it knows its pods: generateSelector in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/batch/job/strategy.go.
func identifyJob(job *batchv1.Job) {
	if job.Spec.ManualSelector != nil && *job.Spec.ManualSelector {
		return
	}
	if job.Spec.Template.Labels == nil {
		job.Spec.Template.Labels = map[string]string{}
	}
	uid := string(job.UID)
	for key, value := range map[string]string{
		"job-name": job.Name, batchv1.JobNameLabel: job.Name, "controller-uid": uid, batchv1.ControllerUidLabel: uid,
	} {
		if _, found := job.Spec.Template.Labels[key]; !found {
			job.Spec.Template.Labels[key] = value
		}
	}
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	if job.Spec.Selector.MatchLabels == nil {
		job.Spec.Selector.MatchLabels = map[string]string{}
	}
	if _, found := job.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !found {
		job.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] = uid
	}
}
