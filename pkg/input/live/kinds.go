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
	// absenceNote says, as the end of a sentence, what the absence of the objects means for an answer. If it is empty, no answer is possible
	// without the objects.
	absenceNote string
}

// stage orders the kinds in time. The client reads a kind that creates objects after the kind that it creates. So a pod in the dump never
// has a controller or a node that is too young for the dump, and a Deployment never has an older template than its ReplicaSets.
type stage int

const (
	podStage stage = iota
	makerStage
	otherStage
	nodeStage
)

// kinds lists the kinds that take part in scheduling, in the order in which kubectl get writes them into a dump. It has no Secrets and no
// ConfigMaps; params.go reads the parameters of policies.
var kinds = []kind{
	{groupResource("", "nodes"), "Node", nodeStage, ""},
	{groupResource("", "pods"), "Pod", podStage, ""},
	{groupResource("apps", "deployments"), "Deployment", otherStage, "no rollout goes on, and their ReplicaSets stand alone"},
	{groupResource("apps", "replicasets"), "ReplicaSet", makerStage, "those of Deployments are made up from their templates, and pods of others are assumed to come back"},
	{groupResource("apps", "statefulsets"), "StatefulSet", otherStage, "their pods are assumed to come back"},
	{groupResource("apps", "daemonsets"), "DaemonSet", otherStage, "new nodes get none of their pods"},
	{groupResource("", "replicationcontrollers"), "ReplicationController", makerStage, "their pods are assumed to come back"},
	{groupResource("apps", "controllerrevisions"), "ControllerRevision", makerStage, "the revisions of StatefulSets and DaemonSets are made up"},
	{groupResource("batch", "jobs"), "Job", makerStage, "what a failure takes of their pods counts as lost work"},
	{groupResource("batch", "cronjobs"), "CronJob", otherStage, "no report says when they run"},
	{groupResource("autoscaling", "horizontalpodautoscalers"), "HorizontalPodAutoscaler", otherStage, "no workload is known to be scaled by its load"},
	{groupResource("", "services"), "Service", otherStage, "pods of a Service alone are not spread by default"},
	{groupResource("policy", "poddisruptionbudgets"), "PodDisruptionBudget", otherStage, "nothing blocks a drain, and no failure breaks a budget"},
	{groupResource("", "persistentvolumes"), "PersistentVolume", otherStage, "which nodes reach the volumes of running pods is assumed"},
	{groupResource("", "persistentvolumeclaims"), "PersistentVolumeClaim", otherStage, "the claims of running pods are assumed to be there"},
	{groupResource("storage.k8s.io", "storageclasses"), "StorageClass", otherStage, "nothing provisions volumes"},
	{groupResource("scheduling.k8s.io", "priorityclasses"), "PriorityClass", otherStage, "one that a running pod has is known by it, and any other counts as 0"},
	{groupResource("storage.k8s.io", "csinodes"), "CSINode", otherStage, "no node has a limit of volumes"},
	{groupResource("storage.k8s.io", "csidrivers"), "CSIDriver", otherStage, "no driver is known to need free storage"},
	{groupResource("storage.k8s.io", "csistoragecapacities"), "CSIStorageCapacity", otherStage, "drivers that publish their free storage have none"},
	{groupResource("", "namespaces"), "Namespace", otherStage, "namespace selectors of rules match no namespace by its labels"},
	{groupResource("node.k8s.io", "runtimeclasses"), "RuntimeClass", otherStage, "those that pods name are assumed to have no overhead, unless a running pod has it, and no node selector"},
	{groupResource("", "limitranges"), "LimitRange", otherStage, "new pods get no default requests, and one could refuse them"},
	{groupResource("", "resourcequotas"), "ResourceQuota", otherStage, "a quota could refuse new pods"},
	{groupResource("scheduling.k8s.io", "podgroups"), "PodGroup", otherStage, "pods that name one wait, although it may be there"},
	{groupResource("scheduling.k8s.io", "compositepodgroups"), "CompositePodGroup", otherStage, "pods of groups that name one wait, although it may be there"},
	{groupResource("scheduling.k8s.io", "workloads"), "Workload", otherStage, "new pod groups are not made"},
	{groupResource("resource.k8s.io", "deviceclasses"), "DeviceClass", otherStage, "no new claim on devices is allocated, although it may well be"},
	{groupResource("resource.k8s.io", "resourceslices"), "ResourceSlice", otherStage, "no new claim on devices is allocated, although it may well be"},
	{groupResource("resource.k8s.io", "resourceclaims"), "ResourceClaim", otherStage, "devices that pods use count as free, and pods that name a claim wait"},
	{groupResource("resource.k8s.io", "resourceclaimtemplates"), "ResourceClaimTemplate", otherStage, "new pods that name one wait for their claims, although it may be there"},
	{groupResource("resource.k8s.io", "devicetaintrules"), "DeviceTaintRule", otherStage, "no rule taints devices"},
	{groupResource(admissionv1.GroupName, "validatingadmissionpolicies"), validatingPolicy, otherStage, "a policy could refuse new pods and workloads"},
	{groupResource(admissionv1.GroupName, "validatingadmissionpolicybindings"), validatingPolicy + "Binding", otherStage, "a policy could refuse new pods and workloads"},
	{groupResource(admissionv1.GroupName, "mutatingadmissionpolicies"), mutatingPolicy, otherStage, "a policy could change new pods and workloads"},
	{groupResource(admissionv1.GroupName, "mutatingadmissionpolicybindings"), mutatingPolicy + "Binding", otherStage, "a policy could change new pods and workloads"},
	{groupResource(admissionv1.GroupName, "validatingwebhookconfigurations"), "ValidatingWebhookConfiguration", otherStage, "a webhook could refuse new pods and workloads"},
	{groupResource(admissionv1.GroupName, "mutatingwebhookconfigurations"), "MutatingWebhookConfiguration", otherStage, "a webhook could change new pods and workloads"},
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

func groupResource(group, resource string) schema.GroupResource {
	return schema.GroupResource{Group: group, Resource: resource}
}

// readOrder returns the indexes of the kinds in the order in which the client reads them.
func readOrder() []int {
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
