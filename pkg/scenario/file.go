package scenario

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/topology"
)

// APIVersion and Kind head every scenario file.
const (
	APIVersion = "faultline/v1alpha1"
	Kind       = "Scenario"
)

// File is a scenario as it is written: a cluster, what runs on it at first, and what happens then. Paths are relative to the
// file.
type File struct {
	// APIVersion is faultline/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is Scenario.
	Kind string `json:"kind"`
	// Metadata names the scenario.
	Metadata Metadata `json:"metadata,omitempty"`
	// Description says in a few sentences what the scenario shows. It is printed on the report.
	Description string `json:"description,omitempty"`
	// Seed is the seed of every random choice. It has no effect unless ties is random. Default 1.
	Seed *uint64 `json:"seed,omitempty"`
	// Ties says who wins among equal nodes: upstream (default), the first in kube-scheduler's own order, which a real
	// scheduler takes most often; or random, drawn from the seed.
	Ties string `json:"ties,omitempty" jsonschema:"enum=upstream,enum=random"`
	// Cluster are the sources of the nodes and of whatever else is there at the start, in order.
	Cluster []Source `json:"cluster"`
	// Scheduler configures the scheduler. Default: as a kube-scheduler without any configuration.
	Scheduler Scheduler `json:"scheduler,omitempty"`
	// Workloads are what is applied before the first step, in order.
	Workloads []Source `json:"workloads,omitempty"`
	// Steps are what happens then, one after the other. Each begins when nothing moves any more.
	Steps []Step `json:"steps,omitempty"`
}

// Metadata names a scenario.
type Metadata struct {
	// Name is the scenario's name on the report. Default: the name of the file, or of its folder.
	Name string `json:"name,omitempty"`
}

// Source is where objects come from: exactly one of its fields is given.
type Source struct {
	// Files are files, folders (all YAML and JSON in them) or globs: Kubernetes objects, Lists and kubectl dumps, a kind
	// cluster configuration, a kube-scheduler-simulator snapshot.
	Files []string `json:"files,omitempty"`
	// Objects are Kubernetes objects, written out.
	Objects []runtime.RawExtension `json:"objects,omitempty"`
	// Synthetic describes nodes by regions, zones and groups. Only under cluster.
	Synthetic *topology.Spec `json:"synthetic,omitempty"`
}

// Scheduler configures the scheduler.
type Scheduler struct {
	// Config is the path of a KubeSchedulerConfiguration file (kubescheduler.config.k8s.io/v1).
	Config string `json:"config,omitempty"`
	// Inline is a KubeSchedulerConfiguration, written out. Not together with config.
	Inline *runtime.RawExtension `json:"inline,omitempty"`
	// FeatureGates are kube-scheduler's feature gates to switch, by name.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// Step is one thing that happens: a name, exactly one action, and what is expected after it.
type Step struct {
	// Name is the step's name on the report. Names differ within a scenario.
	Name string `json:"name"`
	// Description says what the step shows.
	Description string `json:"description,omitempty"`
	// Fresh takes away every workload and pod of the steps before, as kubectl delete would, before the action. Nodes,
	// volumes, budgets and classes stay.
	Fresh bool `json:"fresh,omitempty"`
	// Apply creates or changes objects, as kubectl apply does.
	Apply *Source `json:"apply,omitempty"`
	// Patch changes one object, as kubectl patch does.
	Patch *Patch `json:"patch,omitempty"`
	// Scale sets the number of replicas, as kubectl scale does.
	Scale *Scale `json:"scale,omitempty"`
	// Delete removes objects and what they own, as kubectl delete does.
	Delete *Delete `json:"delete,omitempty"`
	// Rollout starts a rollout: a restart, or new images.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Trigger runs a CronJob once, as kubectl create job --from does.
	Trigger *Target `json:"trigger,omitempty"`
	// Cordon keeps new pods off nodes, as kubectl cordon does.
	Cordon *Nodes `json:"cordon,omitempty"`
	// Uncordon lets them on again.
	Uncordon *Nodes `json:"uncordon,omitempty"`
	// Drain cordons nodes and evicts their pods one by one, as kubectl drain does.
	Drain *Drain `json:"drain,omitempty"`
	// Fail makes nodes fail.
	Fail *Fail `json:"fail,omitempty"`
	// Restore brings failed nodes back.
	Restore *Nodes `json:"restore,omitempty"`
	// Expect is what must be so after the step; simulate exits with 3 if it is not.
	Expect *Expect `json:"expect,omitempty"`
}

// Target names one object as kubectl does.
type Target struct {
	// Target is kind/name, for example deployment/web; kubectl's short names are known.
	Target string `json:"target"`
	// Namespace is the object's. Default: default.
	Namespace string `json:"namespace,omitempty"`
}

// Patch changes one object.
type Patch struct {
	Target `json:",inline"`
	// Type is strategic (default), merge or json.
	Type string `json:"type,omitempty" jsonschema:"enum=strategic,enum=merge,enum=json"`
	// Patch is the patch itself: a part of the object, or for json a list of operations.
	Patch runtime.RawExtension `json:"patch"`
}

// Scale sets a number of replicas.
type Scale struct {
	Target `json:",inline"`
	// Replicas is the new number.
	Replicas int32 `json:"replicas"`
}

// Delete removes objects: those of files, those named, or pods by label.
type Delete struct {
	// Files are files whose objects are deleted.
	Files []string `json:"files,omitempty"`
	// Targets are objects as kind/name.
	Targets []string `json:"targets,omitempty"`
	// Namespace is the namespace of the targets and pods. Default: default for targets, all for pods.
	Namespace string `json:"namespace,omitempty"`
	// Pods deletes pods; their controllers replace them.
	Pods *Pods `json:"pods,omitempty"`
}

// Pods selects pods. What is not given does not restrict.
type Pods struct {
	// Selector is a label selector, as for kubectl -l.
	Selector string `json:"selector,omitempty"`
	// On restricts to pods on these nodes.
	On *Nodes `json:"on,omitempty"`
}

// Rollout starts a rollout.
type Rollout struct {
	Target `json:",inline"`
	// Restart begins a rollout of the same template, as kubectl rollout restart does.
	Restart bool `json:"restart,omitempty"`
	// Images gives containers new images, by container name, as kubectl set image does.
	Images map[string]string `json:"images,omitempty"`
}

// Nodes selects nodes: by name, by label, or both kinds together.
type Nodes struct {
	// Names are names of nodes.
	Names []string `json:"names,omitempty"`
	// Selector is a label selector, as for kubectl -l: topology.kubernetes.io/zone=west-1a.
	Selector string `json:"selector,omitempty"`
}

// Drain evicts the pods of nodes.
type Drain struct {
	Nodes `json:",inline"`
	// DeleteEmptyDirData evicts pods with emptyDir volumes too.
	DeleteEmptyDirData bool `json:"deleteEmptyDirData,omitempty"`
	// Force evicts pods without a controller too.
	Force bool `json:"force,omitempty"`
}

// Fail makes nodes fail.
type Fail struct {
	Nodes `json:",inline"`
	// Mode is unreachable (default): the nodes stop answering, and their pods are evicted when their tolerations end, except
	// those of StatefulSets and DaemonSets; out-of-service: the administrator has tainted them so, and StatefulSet pods are
	// replaced too; deleted: the Node objects are gone, and all their pods.
	Mode string `json:"mode,omitempty" jsonschema:"enum=unreachable,enum=out-of-service,enum=deleted"`
}

// Expect is what must be so after a step. What is not given is not looked at.
type Expect struct {
	// Pending is the exact number of pods that are Pending.
	Pending *int `json:"pending,omitempty"`
	// Message is a text that kube-scheduler's message for some Pending pod contains.
	Message string `json:"message,omitempty"`
	// Domains bound the running pods by failure domain.
	Domains []Domains `json:"domains,omitempty"`
	// Rollouts is whether every rollout has come to its end.
	Rollouts *bool `json:"rollouts,omitempty"`
}

// Domains bounds running pods by failure domain.
type Domains struct {
	// TopologyKey is the node label whose values make the domains.
	TopologyKey string `json:"topologyKey"`
	// Selector restricts to pods with these labels.
	Selector string `json:"selector,omitempty"`
	// Min and Max bound the pods in each domain, empty ones included.
	Min *int `json:"min,omitempty"`
	Max *int `json:"max,omitempty"`
	// Skew bounds the largest count less the smallest.
	Skew *int `json:"skew,omitempty"`
	// Exactly gives the number of pods in named domains.
	Exactly map[string]int `json:"exactly,omitempty"`
}
