package live

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/input/admission"
)

// kind is a kind of objects that the client reads if the server has it.
type kind struct {
	schema.GroupResource
	name  string // the name of the kind, such as Pod
	stage stage
	// without says, as the end of a sentence, what the absence of the objects means for an answer. If it is empty, no answer is possible
	// without the objects.
	without string
}

// stage orders the kinds in time. The client reads a kind that creates objects after the kind that it creates. So a pod in the dump never
// has a controller or a node that is too young for the dump, and a Deployment never has an older template than its ReplicaSets.
type stage int

const (
	pods stage = iota
	makers
	others
	nodes
)

// kinds lists the kinds that take part in scheduling, in the order in which kubectl get writes them into a dump. It has no Secrets and no
// ConfigMaps; params.go reads the parameters of policies.
var kinds = []kind{
	{of("", "nodes"), "Node", nodes, ""},
	{of("", "pods"), "Pod", pods, ""},
	{of("apps", "deployments"), "Deployment", others, "no rollout goes on, and their ReplicaSets stand alone"},
	{of("apps", "replicasets"), "ReplicaSet", makers, "those of Deployments are made up from their templates, and pods of others are assumed to come back"},
	{of("apps", "statefulsets"), "StatefulSet", others, "their pods are assumed to come back"},
	{of("apps", "daemonsets"), "DaemonSet", others, "new nodes get none of their pods"},
	{of("", "replicationcontrollers"), "ReplicationController", makers, "their pods are assumed to come back"},
	{of("apps", "controllerrevisions"), "ControllerRevision", makers, "the revisions of StatefulSets and DaemonSets are made up"},
	{of("batch", "jobs"), "Job", makers, "what a failure takes of their pods counts as lost work"},
	{of("batch", "cronjobs"), "CronJob", others, "no report says when they run"},
	{of("autoscaling", "horizontalpodautoscalers"), "HorizontalPodAutoscaler", others, "no workload is known to be scaled by its load"},
	{of("", "services"), "Service", others, "pods of a Service alone are not spread by default"},
	{of("policy", "poddisruptionbudgets"), "PodDisruptionBudget", others, "nothing blocks a drain, and no failure breaks a budget"},
	{of("", "persistentvolumes"), "PersistentVolume", others, "which nodes reach the volumes of running pods is assumed"},
	{of("", "persistentvolumeclaims"), "PersistentVolumeClaim", others, "the claims of running pods are assumed to be there"},
	{of("storage.k8s.io", "storageclasses"), "StorageClass", others, "nothing provisions volumes"},
	{of("scheduling.k8s.io", "priorityclasses"), "PriorityClass", others, "one that a running pod has is known by it, and any other counts as 0"},
	{of("storage.k8s.io", "csinodes"), "CSINode", others, "no node has a limit of volumes"},
	{of("storage.k8s.io", "csidrivers"), "CSIDriver", others, "no driver is known to need free storage"},
	{of("storage.k8s.io", "csistoragecapacities"), "CSIStorageCapacity", others, "drivers that publish their free storage have none"},
	{of("", "namespaces"), "Namespace", others, "namespace selectors of rules match no namespace by its labels"},
	{of("node.k8s.io", "runtimeclasses"), "RuntimeClass", others, "those that pods name are assumed to have no overhead, unless a running pod has it, and no node selector"},
	{of("", "limitranges"), "LimitRange", others, "new pods get no default requests, and one could refuse them"},
	{of("", "resourcequotas"), "ResourceQuota", others, "a quota could refuse new pods"},
	{of("scheduling.k8s.io", "podgroups"), "PodGroup", others, "pods that name one wait, although it may be there"},
	{of("scheduling.k8s.io", "workloads"), "Workload", others, "new pod groups are not made"},
	{of("resource.k8s.io", "deviceclasses"), "DeviceClass", others, "no new claim on devices is allocated, although it may well be"},
	{of("resource.k8s.io", "resourceslices"), "ResourceSlice", others, "no new claim on devices is allocated, although it may well be"},
	{of("resource.k8s.io", "resourceclaims"), "ResourceClaim", others, "devices that pods use count as free, and pods that name a claim wait"},
	{of("resource.k8s.io", "resourceclaimtemplates"), "ResourceClaimTemplate", others, "new pods that name one wait for their claims, although it may be there"},
	{of("resource.k8s.io", "devicetaintrules"), "DeviceTaintRule", others, "no rule taints devices"},
	{of(admissionv1.GroupName, "validatingadmissionpolicies"), validatingPolicy, others, "a policy could refuse new pods and workloads"},
	{of(admissionv1.GroupName, "validatingadmissionpolicybindings"), validatingPolicy + "Binding", others, "a policy could refuse new pods and workloads"},
	{of(admissionv1.GroupName, "mutatingadmissionpolicies"), mutatingPolicy, others, "a policy could change new pods and workloads"},
	{of(admissionv1.GroupName, "mutatingadmissionpolicybindings"), mutatingPolicy + "Binding", others, "a policy could change new pods and workloads"},
	{of(admissionv1.GroupName, "validatingwebhookconfigurations"), "ValidatingWebhookConfiguration", others, "a webhook could refuse new pods and workloads"},
	{of(admissionv1.GroupName, "mutatingwebhookconfigurations"), "MutatingWebhookConfiguration", others, "a webhook could change new pods and workloads"},
}

const (
	validatingPolicy = "ValidatingAdmissionPolicy"
	mutatingPolicy   = "MutatingAdmissionPolicy"
)

// Kinds returns the names of the kinds that a client reads, such as Pod.
func Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

func of(group, resource string) schema.GroupResource {
	return schema.GroupResource{Group: group, Resource: resource}
}

// reading returns the indexes of the kinds in the order in which the client reads them.
func reading() []int {
	order := make([]int, len(kinds))
	for i := range kinds {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(kinds[a].stage) - int(kinds[b].stage) })
	return order
}

// version returns the version in which to read the kind, and false if the server has no version that is known here.
func (k kind) version(served []schema.GroupVersion) (schema.GroupVersion, bool) {
	known := admission.KindNamed(k.name)
	if known == nil { // configurations of webhooks, which a report only names
		v1 := schema.GroupVersion{Group: k.Group, Version: "v1"}
		return v1, slices.Contains(served, v1)
	}
	if slices.Contains(served, known.GroupVersion()) {
		return known.GroupVersion(), true
	}
	at := slices.IndexFunc(served, known.Serves)
	if at < 0 {
		return schema.GroupVersion{}, false
	}
	return served[at], true
}

// makesPods reports whether the kind is a controller that owns pods.
func (k kind) makesPods() bool {
	return slices.Contains([]string{"ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job"}, k.name)
}

// plural returns the plural of the kind's name, such as ReplicaSets.
func (k kind) plural() string {
	switch {
	case strings.HasSuffix(k.name, "Class"):
		return k.name + "es"
	case strings.HasSuffix(k.name, "y"): // a capacity, a policy
		return strings.TrimSuffix(k.name, "y") + "ies"
	}
	return k.name + "s"
}
