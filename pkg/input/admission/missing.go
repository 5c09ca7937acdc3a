package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controller"
	labelsutil "k8s.io/kubernetes/pkg/util/labels"

	"github.com/faultline/faultline/pkg/cluster"
)

// addNamespaces adds missing namespaces, with a note for each unless every cluster has the namespace.
func (a *admitCall) addNamespaces() {
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
		a.addCopy(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
}

// addPriorityClasses adds missing PriorityClasses that running pods name. The pods show the value of the class.
func (a *admitCall) addPriorityClasses() {
	have := NewPods(a.state).classes
	for _, obj := range a.objs {
		if class, ok := obj.(*schedulingv1.PriorityClass); ok {
			have[class.Name] = class
		}
	}
	for _, obj := range a.objs {
		pod, ok := obj.(*v1.Pod)
		if !ok || pod.Spec.NodeName == "" && !cluster.FromDump(pod) || pod.Spec.Priority == nil || pod.Spec.PriorityClassName == "" || have[pod.Spec.PriorityClassName] != nil {
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
		a.addCopy(class)
	}
}

// addPriorityClassOf adds the PriorityClass that a template from a dump names, with the value 0, if the class is missing, no pod shows its value, and the
// dump has no PriorityClass at all: with some, it has all, and this one does not exist. If the cluster does not allow reading PriorityClasses,
// addPriorityClassOf adds it for any object.
func (a *admitCall) addPriorityClassOf(owner cluster.Object, name string) {
	unread := !a.state.KnowsKind("PriorityClass")
	if name == "" || !cluster.FromDump(owner) && !unread || a.pods.classes[name] != nil {
		return
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(a.pods.classes)), func(class *schedulingv1.PriorityClass) bool { return cluster.FromDump(class) }) {
		return
	}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	a.addCopy(class)
	a.pods.classes[name] = class
	if unread {
		a.notes = append(a.notes, fmt.Sprintf("%s may not be read and no pod says its value, so that the priority of %s is assumed to be 0", cluster.RefTo(class).Describe(), cluster.RefTo(owner).Describe()))
		return
	}
	a.notes = append(a.notes, fmt.Sprintf("%s was not given and was created with value 0, since %s names it and no pod says its value", cluster.RefTo(class).Describe(), cluster.RefTo(owner).Describe()))
}

// addReplicaSets adds missing ReplicaSets that own pods, if their Deployment exists. Without them the Deployment would create all its pods
// a second time.
func (a *admitCall) addReplicaSets() {
	deployments := map[types.NamespacedName]*appsv1.Deployment{}
	for _, d := range a.state.Deployments {
		deployments[cluster.NameOf(d)] = d
	}
	for _, obj := range a.objs {
		if d, ok := obj.(*appsv1.Deployment); ok {
			deployments[cluster.NameOf(d)] = d
		}
	}
	missing := a.podsOfMissingReplicaSets(deployments)
	for _, of := range slices.SortedFunc(maps.Keys(missing), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }) {
		d, revisions := deployments[of], missing[of]
		current := currentRevision(d, revisions)
		for _, name := range slices.Sorted(maps.Keys(revisions)) {
			pods := revisions[name]
			a.addCopy(makeReplicaSet(d, name, pods, name == current))
			added := a.objs[len(a.objs)-1]
			delete(a.uncreated, cluster.RefTo(added)) // the cluster of the pods created it
			for _, pod := range pods {
				metav1.GetControllerOfNoCopy(pod).UID = added.GetUID()
			}
			a.notes = append(a.notes, fmt.Sprintf("%s was not given and was created for the %d pods that it owns", cluster.RefTo(added).Describe(), len(pods)))
		}
	}
}

// podsOfMissingReplicaSets returns the pods of each Deployment, by the name of the missing ReplicaSet that owns them.
func (a *admitCall) podsOfMissingReplicaSets(deployments map[types.NamespacedName]*appsv1.Deployment) map[types.NamespacedName]map[string][]*v1.Pod {
	have := map[cluster.Ref]bool{}
	for _, obj := range a.objs {
		have[cluster.RefTo(obj)] = true
	}
	missing := map[types.NamespacedName]map[string][]*v1.Pod{}
	for _, obj := range a.objs {
		pod, ok := obj.(*v1.Pod)
		if !ok {
			continue
		}
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil || ref.Kind != "ReplicaSet" {
			continue
		}
		key := cluster.Ref{Kind: "ReplicaSet", Namespace: pod.Namespace, Name: ref.Name}
		name, ok := strings.CutSuffix(ref.Name, "-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey])
		of := types.NamespacedName{Namespace: pod.Namespace, Name: name}
		if !ok || have[key] || a.findInState(key) != nil || deployments[of] == nil {
			continue
		}
		if missing[of] == nil {
			missing[of] = map[string][]*v1.Pod{}
		}
		missing[of][ref.Name] = append(missing[of][ref.Name], pod)
	}
	return missing
}

// currentRevision returns the name of the ReplicaSet for the Deployment's current template: the ReplicaSet with the template's hash, else
// the newest one with the template's containers, else the newest one. It returns "" if the controller has not seen the template yet.
func currentRevision(d *appsv1.Deployment, revisions map[string][]*v1.Pod) string {
	if isUnobserved(d.Generation, d.Status.ObservedGeneration) {
		return ""
	}
	byHash := d.Name + "-" + controller.ComputeHash(&d.Spec.Template, d.Status.CollisionCount)
	if _, ok := revisions[byHash]; ok {
		return byHash
	}
	made := &v1.Pod{Spec: *d.Spec.Template.Spec.DeepCopy()}
	legacyscheme.Scheme.Default(made) // a pod has defaults that its template lacks
	alike := func(name string) int {
		if sameContainers(revisions[name][0].Spec.Containers, made.Spec.Containers) {
			return 1
		}
		return 0
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(revisions)), func(a, b string) int {
		return cmp.Or(alike(a)-alike(b), revisions[a][0].CreationTimestamp.Compare(revisions[b][0].CreationTimestamp.Time))
	})
}

// sameContainers compares the fields of containers that are equal in all pods of one template, even after admission.
func sameContainers(a, b []v1.Container) bool {
	return slices.EqualFunc(a, b, func(a, b v1.Container) bool {
		return a.Name == b.Name && a.Image == b.Image && apiequality.Semantic.DeepEqual(a.Resources, b.Resources) &&
			apiequality.Semantic.DeepEqual(a.Env, b.Env)
	})
}

// makeReplicaSet returns the missing ReplicaSet between the Deployment and the pods. An old ReplicaSet gets its template from a pod.
func makeReplicaSet(d *appsv1.Deployment, name string, pods []*v1.Pod, current bool) *appsv1.ReplicaSet {
	hash := pods[0].Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	template := *d.Spec.Template.DeepCopy()
	template.Labels = labelsutil.CloneAndAddLabel(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	if !current {
		template.Labels = pods[0].Labels
		template.Spec = *pods[0].Spec.DeepCopy()
		template.Spec.NodeName = ""
	}
	replicas := int32(0)
	for _, pod := range pods {
		if controller.IsPodActive(pod) {
			replicas++
		}
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name:              name,
			Namespace:         d.Namespace,
			UID:               metav1.GetControllerOfNoCopy(pods[0]).UID,
			CreationTimestamp: pods[0].CreationTimestamp,
			Labels:            template.Labels,
			OwnerReferences:   []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas:        &replicas,
			MinReadySeconds: d.Spec.MinReadySeconds,
			Selector:        labelsutil.CloneSelectorAndAddLabel(d.Spec.Selector, appsv1.DefaultDeploymentUniqueLabelKey, hash),
			Template:        template,
		},
	}
}
