// Package owner makes objects in place of the controllers that the pods of a dump have and the dump lacks. A dump of nodes and pods has no
// controllers, and few dumps have the custom resources of operators. The controllers still work in the cluster: they replace their pods.
package owner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Unknown collects the controllers that the objects of a cluster lack.
type Unknown struct {
	uids       map[types.UID]bool
	names      map[cluster.Ref]bool
	isUnscaled func(kind, []*v1.Pod) bool
	// resources has the workloads that an operator makes of each custom resource of the dump that controls pods; none if the resource is
	// a job that has ended.
	resources map[types.UID][]cluster.Object

	ownersMade      map[types.UID]bool
	kinds           []string       // the kinds of the owners, in order of appearance
	owners          map[string]int // the number of owners by kind
	pods            int
	podsThatRunOnce []*v1.Pod // pods that run once
}

// NewUnknown returns an Unknown for all objects of a cluster, and the workloads that operators make of its custom resources, by the UIDs of
// these.
func NewUnknown(all []cluster.Object, resources map[types.UID][]cluster.Object) *Unknown {
	u := &Unknown{
		uids: map[types.UID]bool{}, names: map[cluster.Ref]bool{}, ownersMade: map[types.UID]bool{}, owners: map[string]int{}, resources: resources,
	}
	var budgets []*policyv1.PodDisruptionBudget
	for _, obj := range all {
		u.uids[obj.GetUID()] = true
		u.names[cluster.RefTo(obj)] = true
		if budget, is := obj.(*policyv1.PodDisruptionBudget); is {
			budgets = append(budgets, budget)
		}
	}
	u.isUnscaled = newUnscaledCheck(budgets)
	return u
}

// MakeOwners returns objects in place of the controllers that pods among the objects have and the cluster lacks. It makes none for a pod of a
// DaemonSet or of a node, which lives and dies with its node, and none for a pod that runs once, such as that of a workflow, which is lost
// with its node. If gone is true, it makes only those in place of controllers whose custom resources are there: nobody replaces the pods of the
// others.
func (u *Unknown) MakeOwners(objects []cluster.Object, gone bool) []cluster.Object {
	var order []types.UID
	pods, parts := map[types.UID][]*v1.Pod{}, u.findParts(objects)
	for _, obj := range objects {
		pod, is := obj.(*v1.Pod)
		if !is || !cluster.FromDump(pod) || cluster.IsTerminal(pod) {
			continue
		}
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref != nil && parts.ended[ref.UID] {
			continue
		}
		if ref == nil || ref.UID == "" || ref.Kind == "Node" || ref.Kind == "DaemonSet" || u.isKnown(ref.UID, cluster.Ref{Kind: ref.Kind, Namespace: pod.Namespace, Name: ref.Name}) {
			continue
		}
		if ref.Kind == "ReplicaSet" && u.names[cluster.Ref{Kind: "Deployment", Namespace: pod.Namespace, Name: parentName(pod, appsv1.DefaultDeploymentUniqueLabelKey)}] {
			continue // package admission adds the missing ReplicaSets of a Deployment
		}
		if cluster.RunsOnce(pod) && !lookUpKind(ref).ignoresRestartPolicy {
			u.podsThatRunOnce = append(u.podsThatRunOnce, pod)
			continue
		}
		if pods[ref.UID] == nil {
			order = append(order, ref.UID)
		}
		pods[ref.UID] = append(pods[ref.UID], pod)
	}
	var made, known []cluster.Object
	deployments := map[string][]*appsv1.ReplicaSet{}
	for _, uid := range order {
		owner := u.makeOwner(pods[uid])
		if owner == nil {
			continue
		}
		u.ownersMade[uid] = true
		made = append(made, owner)
		part := parts.all[uid]
		if of, is := owner.(*cluster.UnknownOwner); is && part != nil && part.workload != nil {
			part.complete(of)
			known = append(known, of)
			continue // the input does not lack the controller
		}
		u.pods += len(pods[uid])
		if part != nil && part.controller.UID != uid {
			if u.ownersMade[part.controller.UID] {
				continue // counted already
			}
			u.ownersMade[part.controller.UID] = true
		}
		counted := cluster.KindOf(owner)
		if set, is := owner.(*appsv1.ReplicaSet); is {
			ref := metav1.GetControllerOfNoCopy(set)
			if ref != nil {
				counted = ref.Kind
			}
			if ref != nil && ref.Kind == "Deployment" {
				name := set.Namespace + "/" + ref.Name
				deployments[name] = append(deployments[name], set)
				if len(deployments[name]) > 1 {
					continue // counted already
				}
			}
		}
		if u.owners[counted] == 0 {
			u.kinds = append(u.kinds, counted)
		}
		u.owners[counted]++
	}
	for _, name := range slices.Sorted(maps.Keys(deployments)) {
		made = append(made, makeDeployment(deployments[name]))
	}
	missing := parts.makeMissing()
	if gone {
		return append(known, missing...)
	}
	return append(made, missing...)
}

func (u *Unknown) isKnown(uid types.UID, ref cluster.Ref) bool {
	return u.uids[uid] || u.ownersMade[uid] || u.names[ref]
}

// Notes says what the controllers are assumed to do: they replace their pods or, if gone is true, nobody does.
func (u *Unknown) Notes(gone bool) []string {
	var notes []string
	if u.pods > 0 {
		owners := list.Map(u.kinds, func(kind string) string { return words.Count(u.owners[kind], kind) })
		what := words.Pick(u.pods, "is assumed to come back; --unknown-owners gone assumes that nobody replaces it", "are assumed to come back; --unknown-owners gone assumes that nobody replaces them")
		if gone {
			what = words.Pick(u.pods, "is assumed not to be replaced", "are assumed not to be replaced")
		}
		notes = append(notes, fmt.Sprintf("%s of controllers that the input lacks (%s) %s.", words.Count(u.pods, "pod"), words.Few(owners), what))
	}
	if len(u.podsThatRunOnce) > 0 {
		kinds := list.KeySet(u.podsThatRunOnce, func(pod *v1.Pod) string { return metav1.GetControllerOfNoCopy(pod).Kind })
		notes = append(notes, fmt.Sprintf("%s once, for controllers that the input lacks (%s): what a failure or a drain takes of %s is lost work.",
			words.Count(len(u.podsThatRunOnce), "pod")+words.Pick(len(u.podsThatRunOnce), " runs", " run"), words.Few(slices.Sorted(maps.Keys(kinds))), words.Pick(len(u.podsThatRunOnce), "it", "them")))
	}
	return notes
}

func lookUpKind(ref *metav1.OwnerReference) kind {
	return kinds[schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()]
}

// makeOwner returns an object in place of the controller of the pods. It returns nil if all of them are being deleted: then the controller has
// already replaced them.
func (u *Unknown) makeOwner(pods []*v1.Pod) cluster.Object {
	active := list.Without(pods, func(pod *v1.Pod) bool { return pod.DeletionTimestamp != nil })
	first := slices.MinFunc(pods, func(a, b *v1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	ref := metav1.GetControllerOfNoCopy(first)
	object := metav1.ObjectMeta{
		Namespace: first.Namespace, Name: ref.Name, UID: ref.UID, CreationTimestamp: first.CreationTimestamp, ResourceVersion: first.ResourceVersion,
	}
	known := lookUpKind(ref)
	if known.keepsNames || haveOrdinals(pods) {
		replicas := int32(len(pods))
		o := &cluster.UnknownOwner{TypeMeta: metav1.TypeMeta{APIVersion: ref.APIVersion, Kind: ref.Kind}, ObjectMeta: object,
			Spec: cluster.UnknownOwnerSpec{Replicas: &replicas, Template: newTemplate(newestPod(pods), commonLabels(pods)), Unscaled: u.isUnscaled(known, pods)}}
		for _, pod := range slices.SortedStableFunc(slices.Values(pods), compareOrdinals) {
			named := newTemplate(pod, pod.Labels)
			named.Name = pod.Name
			o.Spec.Named = append(o.Spec.Named, named)
		}
		return o
	}
	if len(active) == 0 {
		return nil
	}
	replicas, labels := int32(len(active)), commonLabels(active)
	made := newTemplate(newestPod(active), labels)
	switch group := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind(); {
	case len(labels) == 0: // a selector without labels would match every pod
	case group == schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}:
		object.Labels = labels
		for key, kind := range hashLabels {
			if name := parentName(first, key); name != "" && len(labels) > 1 {
				object.OwnerReferences = []metav1.OwnerReference{{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: name, Controller: new(true),
					UID: admission.UID(kind.Kind, first.Namespace, name, 0)}}
			}
		}
		made.GenerateName = ""
		return &appsv1.ReplicaSet{ObjectMeta: object, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: made}}
	case group == schema.GroupKind{Kind: "ReplicationController"}:
		made.GenerateName = ""
		return &v1.ReplicationController{ObjectMeta: object, Spec: v1.ReplicationControllerSpec{Replicas: &replicas, Selector: labels, Template: &made}}
	}
	return &cluster.UnknownOwner{TypeMeta: metav1.TypeMeta{APIVersion: ref.APIVersion, Kind: ref.Kind}, ObjectMeta: object,
		Spec: cluster.UnknownOwnerSpec{Replicas: &replicas, Template: made, Unscaled: u.isUnscaled(known, active)}}
}

// hashLabels maps a label of pods to the kind of their ReplicaSet's controller. The value of the label is the part of the ReplicaSet's name
// after the name of this controller.
var hashLabels = map[string]schema.GroupVersionKind{
	appsv1.DefaultDeploymentUniqueLabelKey: appsv1.SchemeGroupVersion.WithKind("Deployment"),
	"rollouts-pod-template-hash":           {Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"},
}

// parentName returns the name of the controller of the pod's ReplicaSet, or "" if the pod has no label with the hash.
func parentName(pod *v1.Pod, label string) string {
	hash := pod.Labels[label]
	name, found := strings.CutSuffix(metav1.GetControllerOfNoCopy(pod).Name, "-"+hash)
	if hash == "" || !found {
		return ""
	}
	return name
}

// makeDeployment returns the Deployment of the ReplicaSets, with the template of the newest one.
func makeDeployment(sets []*appsv1.ReplicaSet) *appsv1.Deployment {
	slices.SortStableFunc(sets, func(a, b *appsv1.ReplicaSet) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	replicas := int32(0)
	for i, set := range sets {
		replicas += *set.Spec.Replicas
		set.Annotations = map[string]string{"deployment.kubernetes.io/revision": fmt.Sprint(i + 1)}
	}
	current := sets[len(sets)-1]
	template := *current.Spec.Template.DeepCopy()
	delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	ref := metav1.GetControllerOfNoCopy(current)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: current.Namespace, Name: ref.Name, UID: ref.UID, CreationTimestamp: sets[0].CreationTimestamp, ResourceVersion: sets[0].ResourceVersion,
			Annotations: current.Annotations,
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: new(intstr.FromString("25%")), MaxUnavailable: new(intstr.FromString("25%")), // the API's defaults
			}},
		},
	}
}

// newTemplate returns a template of pods like this one: its spec without the node and without ephemeral containers.
func newTemplate(pod *v1.Pod, labels map[string]string) v1.PodTemplateSpec {
	t := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{GenerateName: pod.GenerateName, Labels: labels, Annotations: pod.Annotations}, Spec: pod.Spec}
	t.Spec.NodeName, t.Spec.EphemeralContainers = "", nil
	return t
}

func newestPod(pods []*v1.Pod) *v1.Pod {
	return slices.MaxFunc(pods, func(a, b *v1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
}

// commonLabels returns the labels that all pods have.
func commonLabels(pods []*v1.Pod) map[string]string {
	labels := maps.Clone(pods[0].Labels)
	for _, pod := range pods[1:] {
		maps.DeleteFunc(labels, func(key, value string) bool { return pod.Labels[key] != value })
	}
	return labels
}

// generatedSuffixLength is the number of characters that the API server appends to make a name.
const generatedSuffixLength = 5

// haveOrdinals reports whether the names of all pods end in ordinals. Names that the API server generates do not.
func haveOrdinals(pods []*v1.Pod) bool {
	return !slices.ContainsFunc(pods, func(pod *v1.Pod) bool {
		digits := nameSuffix(pod)
		return digits == "" || len(digits) >= generatedSuffixLength || strings.Trim(digits, "0123456789") != ""
	})
}

// nameSuffix returns the part of the pod's name after its last dash.
func nameSuffix(pod *v1.Pod) string {
	return pod.Name[strings.LastIndexByte(pod.Name, '-')+1:]
}

// compareOrdinals compares two pods by ordinal, such as web-2 before web-10, and then by name.
func compareOrdinals(a, b *v1.Pod) int {
	one, other := nameSuffix(a), nameSuffix(b)
	return cmp.Or(cmp.Compare(len(one), len(other)), cmp.Compare(one, other), cmp.Compare(a.Name, b.Name))
}

// newUnscaledCheck returns a function that reports whether the controller of the pods has no scale subresource. A budget of the pods that needs the
// subresource shows it in its status; otherwise the kind decides.
func newUnscaledCheck(budgets []*policyv1.PodDisruptionBudget) func(kind, []*v1.Pod) bool {
	shows := slices.DeleteFunc(budgets, func(b *policyv1.PodDisruptionBudget) bool {
		percent := b.Spec.MinAvailable != nil && b.Spec.MinAvailable.Type == intstr.String
		return b.Spec.MaxUnavailable == nil && !percent || b.Status.ObservedGeneration == 0
	})
	of := cluster.Selecting(shows, func(b *policyv1.PodDisruptionBudget) *metav1.LabelSelector { return b.Spec.Selector })
	return func(known kind, pods []*v1.Pod) bool {
		if guards := of(pods[0]); len(guards) > 0 {
			condition := meta.FindStatusCondition(guards[0].Status.Conditions, policyv1.DisruptionAllowedCondition)
			return condition != nil && condition.Reason == policyv1.SyncFailedReason
		}
		return known.unscaled
	}
}
