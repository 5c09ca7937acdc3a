// Package cluster holds the state of a cluster at one moment: its nodes, pods, workloads, volumes, budgets and priorities. A state is
// immutable; the next state is derived from it.
package cluster

import (
	"fmt"
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
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
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
	// Policies holds the ValidatingAdmissionPolicies and MutatingAdmissionPolicies, their bindings, and their parameters, which are a Param each.
	Policies []Object

	// JobBackoffs holds the backoff of each Job whose pods have failed, by the Job's UID.
	JobBackoffs map[types.UID]JobBackoff
	// Attachments are the volumes that can be attached to one node at a time, and the nodes that have them.
	Attachments []Attachment

	// Mutations lists the changes that the cluster makes to new pods besides the API server's own plugins; nil if nothing shows any.
	Mutations *Mutations
	// AsTemplate means that new pods are as their templates say, whatever the running pods show.
	AsTemplate bool
	// APIServer is how the API server is run.
	APIServer APIServer

	// Federation holds the clusters that a state of several clusters shows; nil for a single cluster.
	Federation *Federation

	// Refused lists the requests of users that the API server has refused since the step began, and the requests of controllers that it
	// refuses now.
	Refused []Refusal

	arrivals map[types.UID]int // see Arrival; never changed in place

	// Name endings of the lists that are long or change often.
	nodeEndings       endings[*v1.Node]
	podEndings        endings[*v1.Pod]
	deploymentEndings endings[*appsv1.Deployment]
	setEndings        endings[*appsv1.ReplicaSet]
}

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
	return s.derive(objs, change{merge: true})
}

// Without returns a state without the objects, matched by kind, namespace and name. Unknown objects are ignored.
func (s *State) Without(objs ...Object) *State {
	if s.Federation != nil && len(objs) > 0 {
		return s.Federation.without(objs).Join()
	}
	return s.derive(objs, change{})
}

// Objects returns all objects in the state: the kinds in the order of the fields, the objects of each kind in the order of arrival.
func (s *State) Objects() []Object {
	var all []Object
	all = list(all, s.Namespaces)
	all = list(all, s.Nodes)
	all = list(all, s.Pods)
	all = list(all, s.Services)
	all = list(all, s.PersistentVolumes)
	all = list(all, s.PersistentVolumeClaims)
	all = list(all, s.LimitRanges)
	all = list(all, s.ResourceQuotas)
	all = list(all, s.ReplicationControllers)
	all = list(all, s.Deployments)
	all = list(all, s.ReplicaSets)
	all = list(all, s.StatefulSets)
	all = list(all, s.DaemonSets)
	all = list(all, s.ControllerRevisions)
	all = list(all, s.UnknownOwners)
	all = list(all, s.Jobs)
	all = list(all, s.CronJobs)
	all = list(all, s.HorizontalPodAutoscalers)
	all = list(all, s.PodDisruptionBudgets)
	all = list(all, s.PriorityClasses)
	all = list(all, s.StorageClasses)
	all = list(all, s.CSINodes)
	all = list(all, s.CSIDrivers)
	all = list(all, s.CSIStorageCapacities)
	all = list(all, s.RuntimeClasses)
	all = list(all, s.DeviceClasses)
	all = list(all, s.ResourceSlices)
	all = list(all, s.DeviceTaintRules)
	all = list(all, s.ResourceClaims)
	all = list(all, s.ResourceClaimTemplates)
	all = list(all, s.SchedulingWorkloads)
	all = list(all, s.PodGroups)
	return append(all, s.Policies...)
}

func (s *State) NodesByName() map[string]*v1.Node {
	nodes := make(map[string]*v1.Node, len(s.Nodes))
	for _, node := range s.Nodes {
		nodes[node.Name] = node
	}
	return nodes
}

// Unscheduled returns the pods that wait for a node, in order of arrival.
func (s *State) Unscheduled() []*v1.Pod {
	var pods []*v1.Pod
	for _, pod := range s.Pods {
		if Waits(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// Scalable returns the workloads that have replicas, in the state's order: Deployments, StatefulSets, unknown owners, and ReplicaSets and
// ReplicationControllers that nothing in the state controls. Of a Rollout's ReplicaSets and a DeploymentConfig's ReplicationControllers these
// are the ones that have replicas.
func (s *State) Scalable() []Object {
	var all []Object
	deployments := map[types.UID]bool{}
	for _, d := range s.Deployments {
		deployments[d.UID] = true
	}
	for _, obj := range s.Objects() {
		replicas, scales := Replicas(obj)
		by := metav1.GetControllerOfNoCopy(obj)
		if scales && (by == nil || !deployments[by.UID] && replicas > 0) {
			all = append(all, obj)
		}
	}
	return all
}

// Desired returns spec.replicas of each Deployment, StatefulSet and unknown owner, and of each ReplicaSet and ReplicationController without a
// controller.
func (s *State) Desired() map[Ref]int {
	desired := map[Ref]int{}
	set := func(obj Object) {
		n, _ := Replicas(obj)
		desired[RefTo(obj)] = int(n)
	}
	for _, d := range s.Deployments {
		set(d)
	}
	for _, ss := range s.StatefulSets {
		set(ss)
	}
	for _, rs := range s.ReplicaSets {
		if metav1.GetControllerOfNoCopy(rs) == nil {
			set(rs)
		}
	}
	for _, rc := range s.ReplicationControllers {
		if metav1.GetControllerOfNoCopy(rc) == nil {
			set(rc)
		}
	}
	for _, owner := range s.UnknownOwners {
		set(owner)
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

// change says whether derive adds or removes the objects.
type change struct{ merge bool }

func (s *State) derive(objs []Object, c change) *State {
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
	next.Namespaces = apply(c, s.Namespaces, given.Namespaces)
	next.Nodes, next.nodeEndings = s.nodeEndings.apply(c, s.Nodes, given.Nodes)
	next.Pods, next.podEndings = s.podEndings.apply(c, s.Pods, given.Pods)
	next.Services = apply(c, s.Services, given.Services)
	next.PersistentVolumes = apply(c, s.PersistentVolumes, given.PersistentVolumes)
	next.PersistentVolumeClaims = apply(c, s.PersistentVolumeClaims, given.PersistentVolumeClaims)
	next.LimitRanges = apply(c, s.LimitRanges, given.LimitRanges)
	next.ResourceQuotas = apply(c, s.ResourceQuotas, given.ResourceQuotas)
	next.ReplicationControllers = apply(c, s.ReplicationControllers, given.ReplicationControllers)
	next.Deployments, next.deploymentEndings = s.deploymentEndings.apply(c, s.Deployments, given.Deployments)
	next.ReplicaSets, next.setEndings = s.setEndings.apply(c, s.ReplicaSets, given.ReplicaSets)
	next.StatefulSets = apply(c, s.StatefulSets, given.StatefulSets)
	next.DaemonSets = apply(c, s.DaemonSets, given.DaemonSets)
	next.ControllerRevisions = apply(c, s.ControllerRevisions, given.ControllerRevisions)
	next.UnknownOwners = apply(c, s.UnknownOwners, given.UnknownOwners)
	next.Jobs = apply(c, s.Jobs, given.Jobs)
	next.CronJobs = apply(c, s.CronJobs, given.CronJobs)
	next.HorizontalPodAutoscalers = apply(c, s.HorizontalPodAutoscalers, given.HorizontalPodAutoscalers)
	next.PodDisruptionBudgets = apply(c, s.PodDisruptionBudgets, given.PodDisruptionBudgets)
	next.PriorityClasses = apply(c, s.PriorityClasses, given.PriorityClasses)
	next.StorageClasses = apply(c, s.StorageClasses, given.StorageClasses)
	next.CSINodes = apply(c, s.CSINodes, given.CSINodes)
	next.CSIDrivers = apply(c, s.CSIDrivers, given.CSIDrivers)
	next.CSIStorageCapacities = apply(c, s.CSIStorageCapacities, given.CSIStorageCapacities)
	next.RuntimeClasses = apply(c, s.RuntimeClasses, given.RuntimeClasses)
	next.DeviceClasses = apply(c, s.DeviceClasses, given.DeviceClasses)
	next.ResourceSlices = apply(c, s.ResourceSlices, given.ResourceSlices)
	next.DeviceTaintRules = apply(c, s.DeviceTaintRules, given.DeviceTaintRules)
	next.ResourceClaims = apply(c, s.ResourceClaims, given.ResourceClaims)
	next.ResourceClaimTemplates = apply(c, s.ResourceClaimTemplates, given.ResourceClaimTemplates)
	next.SchedulingWorkloads = apply(c, s.SchedulingWorkloads, given.SchedulingWorkloads)
	next.PodGroups = apply(c, s.PodGroups, given.PodGroups)
	next.Policies = applyMixed(c, s.Policies, given.Policies)
	if c.merge {
		next.arrivals = arrived(s.arrivals, objs)
	}
	return &next
}

func (s *State) collect(obj Object) error {
	switch o := obj.(type) {
	case *v1.Namespace:
		s.Namespaces = append(s.Namespaces, o)
	case *v1.Node:
		s.Nodes = append(s.Nodes, o)
	case *v1.Pod:
		s.Pods = append(s.Pods, o)
	case *v1.Service:
		s.Services = append(s.Services, o)
	case *v1.PersistentVolume:
		s.PersistentVolumes = append(s.PersistentVolumes, o)
	case *v1.PersistentVolumeClaim:
		s.PersistentVolumeClaims = append(s.PersistentVolumeClaims, o)
	case *v1.LimitRange:
		s.LimitRanges = append(s.LimitRanges, o)
	case *v1.ResourceQuota:
		s.ResourceQuotas = append(s.ResourceQuotas, o)
	case *v1.ReplicationController:
		s.ReplicationControllers = append(s.ReplicationControllers, o)
	case *appsv1.Deployment:
		s.Deployments = append(s.Deployments, o)
	case *appsv1.ReplicaSet:
		s.ReplicaSets = append(s.ReplicaSets, o)
	case *appsv1.StatefulSet:
		s.StatefulSets = append(s.StatefulSets, o)
	case *appsv1.DaemonSet:
		s.DaemonSets = append(s.DaemonSets, o)
	case *appsv1.ControllerRevision:
		s.ControllerRevisions = append(s.ControllerRevisions, o)
	case *UnknownOwner:
		s.UnknownOwners = append(s.UnknownOwners, o)
	case *batchv1.Job:
		s.Jobs = append(s.Jobs, o)
	case *batchv1.CronJob:
		s.CronJobs = append(s.CronJobs, o)
	case *autoscalingv2.HorizontalPodAutoscaler:
		s.HorizontalPodAutoscalers = append(s.HorizontalPodAutoscalers, o)
	case *policyv1.PodDisruptionBudget:
		s.PodDisruptionBudgets = append(s.PodDisruptionBudgets, o)
	case *schedulingv1.PriorityClass:
		s.PriorityClasses = append(s.PriorityClasses, o)
	case *storagev1.StorageClass:
		s.StorageClasses = append(s.StorageClasses, o)
	case *storagev1.CSINode:
		s.CSINodes = append(s.CSINodes, o)
	case *storagev1.CSIDriver:
		s.CSIDrivers = append(s.CSIDrivers, o)
	case *storagev1.CSIStorageCapacity:
		s.CSIStorageCapacities = append(s.CSIStorageCapacities, o)
	case *nodev1.RuntimeClass:
		s.RuntimeClasses = append(s.RuntimeClasses, o)
	case *resourcev1.DeviceClass:
		s.DeviceClasses = append(s.DeviceClasses, o)
	case *resourcev1.ResourceSlice:
		s.ResourceSlices = append(s.ResourceSlices, o)
	case *resourcev1.DeviceTaintRule:
		s.DeviceTaintRules = append(s.DeviceTaintRules, o)
	case *resourcev1.ResourceClaim:
		s.ResourceClaims = append(s.ResourceClaims, o)
	case *resourcev1.ResourceClaimTemplate:
		s.ResourceClaimTemplates = append(s.ResourceClaimTemplates, o)
	case *schedulingv1beta1.Workload:
		s.SchedulingWorkloads = append(s.SchedulingWorkloads, o)
	case *schedulingv1beta1.PodGroup:
		s.PodGroups = append(s.PodGroups, o)
	case *admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding, *admissionv1.MutatingAdmissionPolicy,
		*admissionv1.MutatingAdmissionPolicyBinding, *Param:
		s.Policies = append(s.Policies, obj)
	default:
		return fmt.Errorf("cluster: a state cannot hold a %T", obj)
	}
	return nil
}

func list[T Object](all []Object, objs []T) []Object {
	for _, obj := range objs {
		all = append(all, obj)
	}
	return all
}
