package scenario

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/topology"
)

// APIVersion and Kind head every scenario file.
const (
	APIVersion = "faultline/v1alpha1"
	Kind       = "Scenario"
)

// StorageAssumed and StorageNone are what a scenario says of its storage.
const (
	StorageAssumed = "assumed"
	StorageNone    = "none"
)

// The comments of the types below are the descriptions in docs/scenario.schema.json and docs/scenario.md. Each says what the
// field means, what is legal, and what holds if it is left out.

// File describes a cluster, what runs on it at first, and what happens then. Paths are relative to the
// folder of the file.
type File struct {
	// APIVersion is faultline/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is Scenario.
	Kind string `json:"kind"`
	// Metadata names the scenario.
	Metadata Metadata `json:"metadata,omitempty"`
	// Description says in a few sentences what the scenario shows. It is printed on the report. Default: none.
	Description string `json:"description,omitempty"`
	// Seed is the seed of every random choice, a whole number from 0. It has no effect unless ties or arrivals is random. Default: 1.
	Seed *uint64 `json:"seed,omitempty"`
	// Ties says who wins among nodes of equal score: upstream, the first in kube-scheduler's own order, which a real scheduler
	// takes most often; or random, drawn from the seed. Default: upstream.
	Ties string `json:"ties,omitempty" jsonschema:"enum=upstream,enum=random"`
	// Arrivals says in which order the workloads arrive that are applied together: listed, as they are written; or random, drawn from
	// the seed. Objects that make no pods come before them. Default: listed.
	Arrivals string `json:"arrivals,omitempty" jsonschema:"enum=listed,enum=random"`
	// UnknownOwners says what becomes of pods of a dump whose controllers the input lacks, such as StrimziPodSets or, in a dump of nodes and
	// pods, ReplicaSets: replace, they come back with the spec that they have; or gone, nobody replaces them. Default: replace.
	UnknownOwners string `json:"unknownOwners,omitempty" jsonschema:"enum=replace,enum=gone"`
	// Storage says whether StorageClasses are made up that claims name, and a default one, where the scenario has none: assumed, or none.
	// Their volumes are made for the first consumer, and all nodes reach them. Default: assumed if all nodes are synthetic, otherwise none.
	Storage string `json:"storage,omitempty" jsonschema:"enum=assumed,enum=none"`
	// TerminationSeconds is how many seconds a kubelet takes to end a pod that is deleted, from 0; a pod whose terminationGracePeriodSeconds is
	// less takes that. Until then the pod is Terminating and keeps its room. 0: a deleted pod is gone at once. Default: 1.
	TerminationSeconds *int64 `json:"terminationSeconds,omitempty" jsonschema:"minimum=0,maximum=3600"`
	// MaxPods is how many pods the controllers of the scenario may ask for at any time, from 1 to 10000000. What asks for more is
	// refused, since each takes memory and time. Default: 150000.
	MaxPods *int `json:"maxPods,omitempty" jsonschema:"minimum=1,maximum=10000000"`
	// Fresh places all pods of a workload anew that a variant, a point of the sweep, advice or --patch changes. Otherwise a Deployment,
	// StatefulSet or DaemonSet whose pods run is changed by a rollout, as kubectl apply changes it. Default: false.
	Fresh bool `json:"fresh,omitempty"`
	// AsTemplate makes new pods exactly as their templates say. Otherwise new pods of a workload of a dump also get what its newest running pod
	// has and its template lacks, such as a container that a webhook injected. Default: false.
	AsTemplate bool `json:"asTemplate,omitempty"`
	// Cluster lists the sources of the nodes and of whatever else is there at the start, at least one, in order. Default: clusters are given.
	Cluster []Source `json:"cluster,omitempty" jsonschema:"minItems=1"`
	// Clusters are the members of a federation under Karmada, in place of cluster. Default: a single cluster.
	Clusters []Cluster `json:"clusters,omitempty" jsonschema:"minItems=1"`
	// Federation says how Karmada is run over the clusters. Default: as in the release.
	Federation Federation `json:"federation,omitempty"`
	// Scheduler configures the scheduler. Default: as a kube-scheduler that is given no configuration.
	Scheduler Scheduler `json:"scheduler,omitempty"`
	// Operators says what operators are given besides their resources, which they turn into workloads wherever the scenario has them.
	// Default: nothing.
	Operators Operators `json:"operators,omitempty"`
	// CustomResources lists kinds of custom resources, with where they hold a pod template, or with what their operators make of them. Other
	// kinds that no operator is known for take no part in scheduling. Default: none.
	CustomResources []CustomResource `json:"customResources,omitempty"`
	// Workloads lists what is applied before the first step, in order. Default: nothing.
	Workloads []Source `json:"workloads,omitempty"`
	// Steps lists what happens then, one after the other. A step begins when nothing moves any more. Default: no steps.
	Steps []Step `json:"steps,omitempty"`
	// Failures says which failures simulate blast looks at. Default: each domain of every level by itself.
	Failures Failures `json:"failures,omitempty"`
	// Variants lists named changes to the scenario, which simulate compare sets side by side. Default: none.
	Variants []Variant `json:"variants,omitempty"`
	// Sweep is a change to the scenario for many values, which simulate sweep carries out one by one. Default: none.
	Sweep *Sweep `json:"sweep,omitempty"`
	// Expect is what must be so after every step, and after the workloads before the first one. Default: nothing is checked.
	Expect *Expect `json:"expect,omitempty"`
}

// Metadata names a scenario.
type Metadata struct {
	// Name is the scenario's name on the report. Default: the name of the file without its ending, or of the folder if the
	// file is called scenario.yaml.
	Name string `json:"name,omitempty"`
}

// Source is where objects come from. Give exactly one of its fields.
type Source struct {
	// Files lists files, folders (all YAML and JSON in them) and globs. They may hold Kubernetes objects, Lists and kubectl
	// dumps, a kind cluster configuration, or a kube-scheduler-simulator snapshot.
	Files []string `json:"files,omitempty"`
	// Objects lists Kubernetes objects, written out.
	Objects []runtime.RawExtension `json:"objects,omitempty"`
	// Synthetic describes nodes by regions, zones and groups. It is legal under cluster only.
	Synthetic *topology.Spec `json:"synthetic,omitempty"`
}

// Scheduler configures the scheduler.
type Scheduler struct {
	// Config is the path of a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1). Default: kube-scheduler's own.
	Config string `json:"config,omitempty"`
	// Inline is a KubeSchedulerConfiguration, written out. It cannot be given together with config.
	Inline *runtime.RawExtension `json:"inline,omitempty"`
	// FeatureGates switches kube-scheduler's feature gates, by name. Default: as in the release.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// Step is one thing that happens, and what is expected after it. Give it a name and at most one action; fresh and expect can be given
// with an action or alone. A federation takes none of fresh, scaleBy, trigger, addNodes, removeNodes, replaceNodes and drain;
// only a federation takes join.
type Step struct {
	// Name is the step's name on the report. No two steps have the same.
	Name string `json:"name"`
	// Description says what the step shows. Default: none.
	Description string `json:"description,omitempty"`
	// Fresh takes away every workload and pod but those of the cluster itself, as kubectl delete would, before the action.
	// Nodes, volumes, budgets and classes stay. Default: false.
	Fresh bool `json:"fresh,omitempty"`
	// Apply creates or changes objects, as kubectl apply does.
	Apply *Source `json:"apply,omitempty"`
	// Patch changes one object, as kubectl patch does.
	Patch *Patch `json:"patch,omitempty"`
	// Scale sets the number of replicas, as kubectl scale does.
	Scale *Scale `json:"scale,omitempty"`
	// ScaleBy multiplies the replicas of workloads, in one moment, as more traffic would.
	ScaleBy *ScaleBy `json:"scaleBy,omitempty"`
	// Delete removes objects and what they own, one after the other, as kubectl delete does.
	Delete *Delete `json:"delete,omitempty"`
	// Rollout starts a rollout: a restart, or new images.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Trigger runs a CronJob once, as kubectl create job --from does.
	Trigger *Target `json:"trigger,omitempty"`
	// AddNodes adds nodes like one that is there.
	AddNodes *AddNodes `json:"addNodes,omitempty"`
	// RemoveNodes takes nodes away in one moment, without a drain; controllers replace their pods.
	RemoveNodes *RemoveNodes `json:"removeNodes,omitempty"`
	// ReplaceNodes puts nodes of another type in the place of nodes, in one moment; controllers replace their pods.
	ReplaceNodes *ReplaceNodes `json:"replaceNodes,omitempty"`
	// Cordon keeps new pods off nodes, one after the other, as kubectl cordon does.
	Cordon *NodesInTurn `json:"cordon,omitempty"`
	// Uncordon lets new pods on the nodes again, one after the other, as kubectl uncordon does.
	Uncordon *NodesInTurn `json:"uncordon,omitempty"`
	// Drain cordons nodes and evicts their pods, as kubectl drain does.
	Drain *Drain `json:"drain,omitempty"`
	// Fail makes nodes fail, in one moment.
	Fail *Fail `json:"fail,omitempty"`
	// Join adds a cluster to a federation; delete with target cluster/name takes one away.
	Join *Cluster `json:"join,omitempty"`
	// Restore brings failed nodes back, one after the other.
	Restore *NodesInTurn `json:"restore,omitempty"`
	// Expect is what must be so after the step. If it is not, simulate run and simulate test exit with 3. Default: nothing is
	// checked.
	Expect *Expect `json:"expect,omitempty"`
}

// Target names one object.
type Target struct {
	// Target is kind/name as for kubectl, for example deployment/web; short names such as deploy/web are legal. A patch can be of a custom
	// resource of an operator that is known, too, for example kafkacluster/main; and in a federation of cluster/name or a policy.
	Target string `json:"target"`
	// Namespace is the object's namespace, if its kind has one. Default: default.
	Namespace string `json:"namespace,omitempty"`
}

// Argument is the target as a command takes it.
func (t Target) Argument() string { return cluster.Argument(t.Namespace, t.Target) }

// Patch changes one object.
type Patch struct {
	Target `json:",inline"`
	// Type is how the patch is read: strategic, merge or json, as for kubectl patch --type. Default: strategic, and merge for a custom
	// resource.
	Type string `json:"type,omitempty" jsonschema:"enum=strategic,enum=merge,enum=json"`
	// Patch is the patch itself: a part of the object, or a list of operations if the type is json.
	Patch runtime.RawExtension `json:"patch" jsonschema:"oneof_type=object;array"`
}

// Scale sets the number of replicas of a Deployment, ReplicaSet, StatefulSet or ReplicationController.
type Scale struct {
	Target `json:",inline"`
	// Replicas is the new number, 0 or more.
	Replicas int32 `json:"replicas" jsonschema:"minimum=0"`
}

// ScaleBy multiplies the replicas of workloads: of every Deployment, ReplicaSet, StatefulSet and ReplicationController that nothing else
// scales, or of those that workloads and namespace choose. What has no replicas stays so.
type ScaleBy struct {
	// Factor is by how much, above 0: 1.2 for 20 % more. The products are rounded up, and those of a workload with a
	// HorizontalPodAutoscaler stay between its minReplicas and maxReplicas.
	Factor float64 `json:"factor"`
	// Workloads lists workloads as kind/name or namespace/kind/name. Default: all.
	Workloads []string `json:"workloads,omitempty"`
	// Namespace is that of the workloads. Default: default for those named kind/name, otherwise all namespaces.
	Namespace string `json:"namespace,omitempty"`
}

// Delete removes objects: those of files, those named, or pods by label. Give at least one of files, targets and pods.
type Delete struct {
	// Files lists files, folders and globs whose objects are deleted.
	Files []string `json:"files,omitempty"`
	// Targets lists objects as kind/name; in a federation also clusters, policies and custom resources.
	Targets []string `json:"targets,omitempty"`
	// Namespace is the namespace of the targets and pods. Default: default for targets, and all namespaces for pods.
	Namespace string `json:"namespace,omitempty"`
	// Pods deletes pods. Their controllers replace them.
	Pods *Pods `json:"pods,omitempty"`
	// Together deletes everything in one moment. Otherwise controllers and scheduler act between one object and the next, as they do
	// while kubectl goes through its list. Default: false.
	Together bool `json:"together,omitempty"`
}

// Pods selects pods. What is left out does not restrict.
type Pods struct {
	// Selector is a label selector, as for kubectl -l. Default: all pods.
	Selector string `json:"selector,omitempty"`
	// Nodes restricts to the pods on these nodes. Default: all nodes, and Pending pods too.
	Nodes *Nodes `json:"nodes,omitempty"`
}

// Rollout starts a rollout of a Deployment, StatefulSet or DaemonSet. Give either restart or images.
type Rollout struct {
	Target `json:",inline"`
	// Restart replaces the pods by ones of the same template, as kubectl rollout restart does. Default: false.
	Restart bool `json:"restart,omitempty"`
	// Images gives containers new images, by the container's name, as kubectl set image does.
	Images map[string]string `json:"images,omitempty"`
}

// Nodes selects nodes: those named, those that the selector matches, and those of the clusters. Give at least one of the three.
type Nodes struct {
	// Names lists names of nodes.
	Names []string `json:"names,omitempty"`
	// Selector is a label selector, as for kubectl -l, for example topology.kubernetes.io/zone=west-1a.
	Selector string `json:"selector,omitempty"`
	// Clusters lists member clusters of a federation, all of whose nodes are selected.
	Clusters []string `json:"clusters,omitempty"`
}

// AddNodes adds nodes that are ready and have no pods, with the labels, taints, resources and devices of one that is there. A label whose
// value is that node's name, such as kubernetes.io/hostname, has theirs.
type AddNodes struct {
	// Count is how many nodes, from 0 to 10000.
	Count int `json:"count" jsonschema:"minimum=0,maximum=10000"`
	// Like is the name of the node that they are like.
	Like string `json:"like"`
}

// RemoveNodes takes nodes away, as a failure of mode deleted does: those named, those that the selector matches, or some of them.
type RemoveNodes struct {
	Nodes `json:",inline"`
	// Count is how many of the selected nodes go, or of all nodes if none is selected: the emptiest first, by the larger of the shares of cpu
	// and memory that pods request, and of equals in the order of their names. Default: all that are selected.
	Count int `json:"count,omitempty" jsonschema:"minimum=1"`
}

// ReplaceNodes puts nodes of another type in the place of those that are selected, in the same regions and zones. If a node has the label of
// the new ones, they are like it: of several, the one that has most labels in common with those that go. Otherwise they are like those that
// go, with cpu and memory as given; what the system reserves of these is as much as before.
type ReplaceNodes struct {
	Nodes `json:",inline"`
	// Label is the label that tells the new type, as KEY=VALUE: node.kubernetes.io/instance-type=m5.4xlarge.
	Label string `json:"label"`
	// Count is how many new nodes there are. Default: as many as have at least the cpu and the memory of those that go.
	Count int `json:"count,omitempty" jsonschema:"minimum=1,maximum=10000"`
	// CPU of a new node, if none has the label. It goes with memory.
	CPU topology.Quantity `json:"cpu,omitempty"`
	// Memory of a new node, if none has the label. It goes with cpu.
	Memory topology.Quantity `json:"memory,omitempty"`
	// Pods is how many pods a new node with cpu and memory can hold. Default: as many as those that go.
	Pods topology.Quantity `json:"pods,omitempty"`
}

// Type returns the given type of the new nodes.
func (r *ReplaceNodes) Type() *topology.NodeType {
	return &topology.NodeType{CPU: r.CPU, Memory: r.Memory, Pods: r.Pods}
}

// NodesInTurn selects nodes, whose turns come one by one: those named, those that the selector matches, and those of the clusters. Give at
// least one of the three.
type NodesInTurn struct {
	Nodes `json:",inline"`
	// Together takes all nodes in one moment. Otherwise controllers and scheduler act between one node and the next, as they do while
	// kubectl goes through its list: the first node that comes back can take all that was waiting. Default: false.
	Together bool `json:"together,omitempty"`
}

// Drain evicts the pods of nodes, as far as disruption budgets allow. Pods of DaemonSets stay.
type Drain struct {
	Nodes `json:",inline"`
	// DeleteEmptyDirData evicts pods with emptyDir volumes too. Without it, a node that has one is not drained. Default: false.
	DeleteEmptyDirData bool `json:"deleteEmptyDirData,omitempty"`
	// Force evicts pods without a controller too. Without it, a node that has one is not drained. Default: false.
	Force bool `json:"force,omitempty"`
}

// Fail makes nodes fail.
type Fail struct {
	Nodes `json:",inline"`
	// Mode is how they fail. With unreachable the nodes stop answering; their pods are evicted when their tolerations end and
	// replaced, except those of StatefulSets and DaemonSets. With out-of-service an administrator has tainted them so as well,
	// and StatefulSet pods are replaced too. With deleted the nodes are gone, and their pods with them. Default: unreachable.
	Mode string `json:"mode,omitempty" jsonschema:"enum=unreachable,enum=out-of-service,enum=deleted"`
}

// Selects reports whether anything is given by which nodes are selected.
func (n Nodes) Selects() bool { return len(n.Names)+len(n.Clusters) > 0 || n.Selector != "" }

// Select returns those of the nodes that are named or that the selector matches, in their order. A selector that does not parse
// matches none.
func (n Nodes) Select(among []*v1.Node) []*v1.Node {
	selector := labels.Nothing()
	if parsed, err := labels.Parse(n.Selector); err == nil && n.Selector != "" {
		selector = parsed
	}
	var selected []*v1.Node
	for _, node := range among {
		if slices.Contains(n.Names, node.Name) || slices.Contains(n.Clusters, node.Labels[cluster.MemberLabel]) || selector.Matches(labels.Set(node.Labels)) {
			selected = append(selected, node)
		}
	}
	return selected
}
