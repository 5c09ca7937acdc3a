// Package cluster has the state of a cluster at one moment: its nodes, pods, workloads, volumes, budgets and priorities. A state is
// immutable; the next state is derived from it.
package cluster

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/list"
)

// Epoch is the logical time at which a simulation starts if the cluster's objects have no timestamps. No result depends on the wall clock.
var Epoch = metav1.NewTime(time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC))

// Latest returns the latest timestamp in the objects: when an object was created, a pod or node changed, or a container ended. The objects
// were dumped then or later. Latest is zero if they have no timestamps.
func Latest(objs []Object) metav1.Time {
	var latest metav1.Time
	consider := func(t metav1.Time) {
		if latest.Before(&t) {
			latest = metav1.NewTime(t.Truncate(time.Second))
		}
	}
	for _, obj := range objs {
		consider(obj.GetCreationTimestamp())
		switch o := obj.(type) {
		case *v1.Pod:
			for _, condition := range o.Status.Conditions {
				consider(condition.LastTransitionTime)
				consider(condition.LastProbeTime)
			}
			if o.DeletionTimestamp != nil {
				consider(metav1.NewTime(DeletionRequested(o)))
			}
			for _, status := range o.Status.ContainerStatuses {
				if ended := status.State.Terminated; ended != nil {
					consider(ended.FinishedAt)
				}
			}
		case *v1.Node:
			for _, condition := range o.Status.Conditions {
				consider(condition.LastTransitionTime)
			}
		}
	}
	return latest
}

// State is a cluster at one moment. Neither a State nor anything that it points to is ever changed in place: With and Without derive the
// next state, which shares what did not change. Each list keeps the order in which its objects arrived, as a real control plane would have
// seen them.
type State struct {
	// Now is the logical time, in whole seconds like the API's timestamps.
	Now metav1.Time
	// TerminationSeconds is how long kubelets take to end a pod after its deletion was requested, unless its grace period is shorter. With
	// 0 a pod ends at once.
	TerminationSeconds int64
	// Created counts the objects that controllers have created. Their names and UIDs derive from it, so that they are unique and the same
	// in every run.
	Created int

	Namespaces               []*v1.Namespace
	Nodes                    []*v1.Node
	Pods                     []*v1.Pod
	Services                 []*v1.Service
	ServiceAccounts          []*v1.ServiceAccount
	PersistentVolumes        []*v1.PersistentVolume
	PersistentVolumeClaims   []*v1.PersistentVolumeClaim
	LimitRanges              []*v1.LimitRange
	ResourceQuotas           []*v1.ResourceQuota
	ReplicationControllers   []*v1.ReplicationController
	Deployments              []*appsv1.Deployment
	ReplicaSets              []*appsv1.ReplicaSet
	StatefulSets             []*appsv1.StatefulSet
	DaemonSets               []*appsv1.DaemonSet
	ControllerRevisions      []*appsv1.ControllerRevision
	UnknownOwners            []*UnknownOwner
	Jobs                     []*batchv1.Job
	CronJobs                 []*batchv1.CronJob
	HorizontalPodAutoscalers []*autoscalingv2.HorizontalPodAutoscaler
	PodDisruptionBudgets     []*policyv1.PodDisruptionBudget
	PriorityClasses          []*schedulingv1.PriorityClass
	StorageClasses           []*storagev1.StorageClass
	CSINodes                 []*storagev1.CSINode
	CSIDrivers               []*storagev1.CSIDriver
	CSIStorageCapacities     []*storagev1.CSIStorageCapacity
	RuntimeClasses           []*nodev1.RuntimeClass
	DeviceClasses            []*resourcev1.DeviceClass
	ResourceSlices           []*resourcev1.ResourceSlice
	DeviceTaintRules         []*resourcev1.DeviceTaintRule
	ResourceClaims           []*resourcev1.ResourceClaim
	ResourceClaimTemplates   []*resourcev1.ResourceClaimTemplate
	SchedulingWorkloads      []*schedulingv1beta1.Workload
	PodGroups                []*schedulingv1beta1.PodGroup
	CompositePodGroups       []*schedulingv1alpha3.CompositePodGroup
	// Policies holds the ValidatingAdmissionPolicies and MutatingAdmissionPolicies, their bindings, and their parameters, each as a Param.
	Policies []Object
	// CustomResources holds the objects of deciders.
	CustomResources []*CustomResource

	// JobBackoffs holds the backoff of each Job whose pods have failed, by the Job's UID.
	JobBackoffs map[types.UID]JobBackoff
	// Attachments are the volumes that can be attached to one node at a time, and the nodes that have them.
	Attachments []Attachment

	// Mutations are the changes that the cluster makes to new pods beyond the API server's own plugins; nil if no pod shows any.
	Mutations *Mutations
	// AsTemplate means that new pods are as their templates say, even if the running pods show changes.
	AsTemplate bool
	// Containers, if set, says what the pods' containers do.
	Containers *Containers
	// APIServer is how the API server is run.
	APIServer APIServer
	// Unread lists the kinds of which the cluster may have more objects than are here, because nobody was allowed to read them.
	Unread []string

	// Federation has the clusters that a state of several clusters shows; nil for a single cluster.
	Federation *Federation

	// Refused lists the requests of users that the API server has refused since the step began, and the requests of controllers that it
	// refuses now.
	Refused []Refusal

	arrivals map[types.UID]int // see Arrival; never changed in place

	// The name endings of lists that are long or change often.
	nodeHashes       nameHashes[*v1.Node]
	podHashes        nameHashes[*v1.Pod]
	deploymentHashes nameHashes[*appsv1.Deployment]
	replicaSetHashes nameHashes[*appsv1.ReplicaSet]
}

// KnowsKind reports whether the state has all objects of the kind. If the kind was not read, its objects are unknown, not missing.
func (s *State) KnowsKind(kind string) bool { return !slices.Contains(s.Unread, kind) }

// JobBackoff is how long a Job must wait before it may replace a pod.
type JobBackoff struct {
	// Failures counts the pods that have failed since the last success; Last is the time of the latest failure.
	Failures int
	Last     time.Time
	// Retry is when the controller syncs the Job again; zero if the Job does not wait.
	Retry time.Time
}

// Attachment is a volume that is attached to a node.
type Attachment struct {
	// Volume is the name of the volume's driver and the volume's handle there.
	Volume, Node string
	// Unused is the time since which no pod on the node needs the volume; zero while one does.
	Unused metav1.Time
}

// Object is any Kubernetes object that a State can hold.
type Object interface {
	metav1.Object
	runtime.Object
}

// Supports reports whether a State can hold the object.
func Supports(obj runtime.Object) bool {
	o, ok := obj.(Object)
	return ok && new(State).collect(o) == nil
}

// With returns a state in which each object replaces the object of the same kind, namespace and name, or is added at the end. It panics if
// a State cannot hold an object, which is a programming error; see Supports. Do not call it on the state of a federation: derive the state
// of a member instead.
func (s *State) With(objs ...Object) *State {
	return s.derive(objs, deriveMode{merge: true})
}

// Without returns a state without the objects, matched by kind, namespace and name. Unknown objects are ignored.
func (s *State) Without(objs ...Object) *State {
	if s.Federation != nil && len(objs) > 0 {
		return s.Federation.withoutObjects(objs).Join()
	}
	return s.derive(objs, deriveMode{})
}

// objectLists has the lists of objects of a State, in the order of its fields.
var objectLists = []objectList{
	listOf(func(s *State) *[]*v1.Namespace { return &s.Namespaces }),
	listOf(func(s *State) *[]*v1.Node { return &s.Nodes }, func(s *State) *nameHashes[*v1.Node] { return &s.nodeHashes }),
	listOf(func(s *State) *[]*v1.Pod { return &s.Pods }, func(s *State) *nameHashes[*v1.Pod] { return &s.podHashes }),
	listOf(func(s *State) *[]*v1.Service { return &s.Services }),
	listOf(func(s *State) *[]*v1.ServiceAccount { return &s.ServiceAccounts }),
	listOf(func(s *State) *[]*v1.PersistentVolume { return &s.PersistentVolumes }),
	listOf(func(s *State) *[]*v1.PersistentVolumeClaim { return &s.PersistentVolumeClaims }),
	listOf(func(s *State) *[]*v1.LimitRange { return &s.LimitRanges }),
	listOf(func(s *State) *[]*v1.ResourceQuota { return &s.ResourceQuotas }),
	listOf(func(s *State) *[]*v1.ReplicationController { return &s.ReplicationControllers }),
	listOf(func(s *State) *[]*appsv1.Deployment { return &s.Deployments }, func(s *State) *nameHashes[*appsv1.Deployment] { return &s.deploymentHashes }),
	listOf(func(s *State) *[]*appsv1.ReplicaSet { return &s.ReplicaSets }, func(s *State) *nameHashes[*appsv1.ReplicaSet] { return &s.replicaSetHashes }),
	listOf(func(s *State) *[]*appsv1.StatefulSet { return &s.StatefulSets }),
	listOf(func(s *State) *[]*appsv1.DaemonSet { return &s.DaemonSets }),
	listOf(func(s *State) *[]*appsv1.ControllerRevision { return &s.ControllerRevisions }),
	listOf(func(s *State) *[]*UnknownOwner { return &s.UnknownOwners }),
	listOf(func(s *State) *[]*batchv1.Job { return &s.Jobs }),
	listOf(func(s *State) *[]*batchv1.CronJob { return &s.CronJobs }),
	listOf(func(s *State) *[]*autoscalingv2.HorizontalPodAutoscaler { return &s.HorizontalPodAutoscalers }),
	listOf(func(s *State) *[]*policyv1.PodDisruptionBudget { return &s.PodDisruptionBudgets }),
	listOf(func(s *State) *[]*schedulingv1.PriorityClass { return &s.PriorityClasses }),
	listOf(func(s *State) *[]*storagev1.StorageClass { return &s.StorageClasses }),
	listOf(func(s *State) *[]*storagev1.CSINode { return &s.CSINodes }),
	listOf(func(s *State) *[]*storagev1.CSIDriver { return &s.CSIDrivers }),
	listOf(func(s *State) *[]*storagev1.CSIStorageCapacity { return &s.CSIStorageCapacities }),
	listOf(func(s *State) *[]*nodev1.RuntimeClass { return &s.RuntimeClasses }),
	listOf(func(s *State) *[]*resourcev1.DeviceClass { return &s.DeviceClasses }),
	listOf(func(s *State) *[]*resourcev1.ResourceSlice { return &s.ResourceSlices }),
	listOf(func(s *State) *[]*resourcev1.DeviceTaintRule { return &s.DeviceTaintRules }),
	listOf(func(s *State) *[]*resourcev1.ResourceClaim { return &s.ResourceClaims }),
	listOf(func(s *State) *[]*resourcev1.ResourceClaimTemplate { return &s.ResourceClaimTemplates }),
	listOf(func(s *State) *[]*schedulingv1beta1.Workload { return &s.SchedulingWorkloads }),
	listOf(func(s *State) *[]*schedulingv1beta1.PodGroup { return &s.PodGroups }),
	listOf(func(s *State) *[]*schedulingv1alpha3.CompositePodGroup { return &s.CompositePodGroups }),
	{func(s *State, name Ref) Object { return Find(s.Policies, name) }, collectPolicy, func(s *State, to []Object) []Object { return append(to, s.Policies...) }, func(c deriveMode, next, given *State) {
		next.Policies = applyMixed(c, next.Policies, given.Policies)
	}, func(before, after *State, f func(was, is Object)) {
		VisitChanges(before.Policies, after.Policies, func(was, is Object, _ int) { f(was, is) })
	}},
	customResources,
}

// collectPolicy adds an admission policy, a binding or a parameter to the state. It reports false for any other object.
func collectPolicy(s *State, obj Object) bool {
	switch obj.(type) {
	case *admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding, *admissionv1.MutatingAdmissionPolicy,
		*admissionv1.MutatingAdmissionPolicyBinding, *Param:
		s.Policies = append(s.Policies, obj)
		return true
	}
	return false
}

// objectList gives access to one list of a State, whose objects have one kind.
type objectList struct {
	find     func(s *State, name Ref) Object
	collect  func(s *State, obj Object) bool      // adds the object if it is of the kind
	appendTo func(s *State, to []Object) []Object // appends the objects of the list
	apply    func(c deriveMode, next, given *State)
	visit    func(before, after *State, f func(was, is Object)) // calls f for each change
}

// listOf returns access to a list of a State, and to the list's endings if it is long or changes often.
func listOf[T interface {
	Object
	comparable
}](list func(*State) *[]T, ends ...func(*State) *nameHashes[T]) objectList {
	kind := reflect.TypeFor[T]().Elem().Name()
	return objectList{
		find: func(s *State, name Ref) Object {
			if kind != name.Kind && kind != "UnknownOwner" { // an unknown owner has a kind of its own
				return nil
			}
			for _, obj := range *list(s) {
				if obj.GetName() == name.Name && obj.GetNamespace() == name.Namespace && KindOf(obj) == name.Kind {
					return obj
				}
			}
			return nil
		},
		collect: func(s *State, obj Object) bool {
			o, is := obj.(T)
			if is {
				*list(s) = append(*list(s), o)
			}
			return is
		},
		appendTo: func(s *State, to []Object) []Object {
			for _, obj := range *list(s) {
				to = append(to, obj)
			}
			return to
		},
		apply: func(c deriveMode, next, given *State) {
			if len(*list(given)) == 0 {
				return
			}
			of := &nameHashes[T]{}
			if len(ends) > 0 {
				of = ends[0](next)
			}
			*list(next), *of = of.apply(c, *list(next), *list(given))
		},
		visit: func(before, after *State, f func(was, is Object)) {
			VisitChanges(*list(before), *list(after), func(was, is T, _ int) { f(orNil(was), orNil(is)) })
		},
	}
}

// orNil returns the object, or nil for a nil pointer.
func orNil[T Object](obj T) Object {
	if reflect.ValueOf(obj).IsNil() {
		return nil
	}
	return obj
}

// VisitChanges calls f for each object that is in only one of the two states. It passes both objects if one replaces the other, and otherwise nil
// for the missing one. The kinds come in the order of the fields of a State.
func (s *State) VisitChanges(after *State, f func(was, is Object)) {
	for _, list := range objectLists {
		list.visit(s, after, f)
	}
}

// Objects returns all objects in the state: the kinds in the order of the fields, the objects of each kind in the order of arrival.
func (s *State) Objects() []Object {
	var all []Object
	for _, list := range objectLists {
		all = list.appendTo(s, all)
	}
	return all
}

// Find returns the object with that name, or nil if there is none. It searches all objects of the kind.
func (s *State) Find(name Ref) Object {
	for _, list := range objectLists {
		if obj := list.find(s, name); obj != nil {
			return obj
		}
	}
	return nil
}

// NodesByName returns the nodes by their names, in a new map.
func (s *State) NodesByName() map[string]*v1.Node {
	return list.IndexBy(s.Nodes, func(node *v1.Node) string { return node.Name })
}

// Unscheduled returns the pods that wait for a node, in order of arrival.
func (s *State) Unscheduled() []*v1.Pod {
	return list.Where(s.Pods, IsUnscheduled)
}

// Scaled returns the objects of the kinds that have replicas, in the state's order.
func (s *State) Scaled() iter.Seq[Object] {
	return func(yield func(Object) bool) {
		_ = yieldAll(s.ReplicationControllers, yield) && yieldAll(s.Deployments, yield) && yieldAll(s.ReplicaSets, yield) && yieldAll(s.StatefulSets, yield) &&
			yieldAll(s.UnknownOwners, yield)
	}
}

// yieldAll yields the objects, and reports whether the loop goes on.
func yieldAll[T Object](objs []T, yield func(Object) bool) bool {
	for _, obj := range objs {
		if !yield(obj) {
			return false
		}
	}
	return true
}

// Scalable returns the workloads that have replicas, in the state's order: Deployments, StatefulSets, unknown owners, and ReplicaSets and
// ReplicationControllers that nothing in the state controls. A Rollout and a DeploymentConfig are not in the state: their ReplicaSets and
// ReplicationControllers with at least one replica are returned.
func (s *State) Scalable() []Object {
	var all []Object
	deployments := list.KeySet(s.Deployments, func(d *appsv1.Deployment) types.UID { return d.UID })
	for obj := range s.Scaled() {
		replicas, _ := Replicas(obj)
		by := metav1.GetControllerOfNoCopy(obj)
		if by == nil || !deployments[by.UID] && replicas > 0 {
			all = append(all, obj)
		}
	}
	return all
}

// Desired returns spec.replicas of each Deployment, StatefulSet and unknown owner, and of each ReplicaSet and ReplicationController that
// nothing controls.
func (s *State) Desired() map[Ref]int {
	desired := map[Ref]int{}
	for obj := range s.Scaled() {
		switch obj.(type) {
		case *appsv1.ReplicaSet, *v1.ReplicationController:
			if metav1.GetControllerOfNoCopy(obj) != nil {
				continue
			}
		}
		n, _ := Replicas(obj)
		desired[RefTo(obj)] = int(n)
	}
	return desired
}

// Node returns the node with that name, or nil.
func (s *State) Node(name string) *v1.Node {
	for _, node := range s.Nodes {
		if node.Name == name {
			return node
		}
	}
	return nil
}

// deriveMode says whether derive adds (merge) or removes the objects.
type deriveMode struct{ merge bool }

// derive returns a state with the objects added or removed.
func (s *State) derive(objs []Object, c deriveMode) *State {
	if len(objs) == 0 {
		return s
	}
	var given State
	for _, obj := range objs {
		if err := given.collect(obj); err != nil {
			panic(err)
		}
	}
	next := *s
	for _, list := range objectLists {
		list.apply(c, &next, &given)
	}
	if c.merge {
		next.arrivals = extendArrivals(s.arrivals, objs)
	}
	return &next
}

// collect adds the object to its list. It returns an error if a State cannot hold the object.
func (s *State) collect(obj Object) error {
	for _, list := range objectLists {
		if list.collect(s, obj) {
			return nil
		}
	}
	return fmt.Errorf("cluster: a state cannot hold a %T", obj)
}
