// Package blast computes what the loss of a failure domain takes, and what comes back.
//
// Lost counts, from the state alone, what each domain of a level contains: replicas, budgets, quorums, capacity. Recover lets the real
// controllers and the real scheduler replace the lost pods on the remaining nodes. docs/blast-radius.md defines each figure.
package blast

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/world"
)

// Options select the failures.
type Options struct {
	// Levels are the topology keys whose domains fail, or the short names of topology.Key; if empty, every level that the nodes' labels
	// form.
	Levels []string
	// LevelKeys are further keys that form a level, such as rack, if Levels is empty.
	LevelKeys []string
	// Simultaneous is the number of domains of a level that fail at once, at least 1.
	Simultaneous int
	// Together, if set, are domains of the only level in Levels. They fail at once, and no other failure is examined, whatever Simultaneous
	// says.
	Together []string
	// Quorum are workloads that need a majority, as kind/name or namespace/kind/name, in addition to annotated workloads and known systems.
	Quorum []string
	// Mode says how the nodes fail.
	Mode node.FailureMode
	// StartTime is how long the container of a new pod takes to start. Outages include it. Commands use DefaultStartTime.
	StartTime time.Duration
	// Worst limits recovery to that many failures of each level, the worst as [Harm] compares them; 0 means all.
	Worst int
	// Until, if set, ends the recovery with the first failure, in the order of the analysis, for which it returns true: later failures have
	// no recovery. The results then lack what [job.lookAhead] adds.
	Until func(*Failure, *Recovery) bool
	// Only are the workloads to report, as Filter.Select returns them; nil means all. It does not change what fails.
	Only map[cluster.Ref]bool
	// From, if set, is the position of the world at which the nodes fail, such as the one after the step that has the state; see
	// simulation.Step. The scheduler of that world starts its next search at another node than a new scheduler does, and this decides ties.
	From *world.Mark
	// Record, if set, returns how much of the replacements' scheduling cycles to keep; see world.Hooks. It is called on several
	// goroutines.
	Record func(owner cluster.Ref, pod *v1.Pod) *placement.Depth
}

// DefaultStartTime is how long the container of a new pod is assumed to take to start, since nothing in the input says it.
const DefaultStartTime = 10 * time.Second

// QuorumAnnotation is the annotation of a workload that has the number of its pods that must run, or "majority".
const QuorumAnnotation = "faultline.dev/quorum"

// Analysis says what the failures of a cluster's domains take.
type Analysis struct {
	// Workloads is the number of workloads with a running pod, without DaemonSets and bare pods.
	Workloads int `json:"workloads,omitempty"`
	// OneReplica are the workloads with a single running pod, as kind/name, preceded by the namespace unless it is default, in order of
	// arrival. The failure of the pod's domain takes the whole workload, and no placement can change that.
	OneReplica []string `json:"oneReplica,omitempty"`
	// NotRunning are the workloads of which no pod runs although pods wait for a node, named and ordered as in OneReplica. No failure takes
	// anything of them.
	NotRunning []string `json:"notRunning,omitempty"`
	// Levels say what the failures of each level take, widest level first.
	Levels []Level `json:"levels"`
}

// Level says what the failures of one level take.
type Level struct {
	// TopologyKey is the node label whose values are the domains.
	TopologyKey string `json:"topologyKey"`
	// Domains is the number of domains.
	Domains int `json:"domains"`
	// Unlabelled are the nodes without the label. They are in no domain, so no failure of the level takes their pods.
	Unlabelled []string `json:"unlabelled,omitempty"`
	// Search says which sets of domains were examined, and what is certain about the others; missing if all sets were.
	Search string `json:"search,omitempty"`
	// Radius is the blast radius: the largest share of any workload that one failure takes. Among equal shares, the larger number of lost
	// pods counts, then the first workload by namespace, kind and name, then the first domains.
	Radius Radius `json:"radius"`
	// Replicated is the radius among the workloads with two or more replicas.
	Replicated Radius `json:"replicated"`
	// Excess is the loss that exceeds the loss of an even spread the most; missing if none exceeds it.
	Excess *Excess `json:"excess,omitempty"`
	// Mean is the mean, over all failures, of the largest share that each failure takes of any workload; missing if not all failures were
	// examined.
	Mean *float64 `json:"mean,omitempty"`
	// Shares are the largest shares that each failure takes of any workload, in ascending order, each with the number of such failures;
	// empty if not all failures were examined.
	Shares []Share `json:"shares,omitempty"`
	// Failures are the failures that were examined, in the order of their domains' names: of each domain, or of each set of domains that
	// fail at once.
	Failures []Failure `json:"failures"`
}

// Share is a number of failures: each takes this share of some workload, and no larger share of any other.
type Share struct {
	// Share is between 0 and 1.
	Share    float64 `json:"share"`
	Failures int     `json:"failures"`
}

// Radius is the largest share of any workload that a failure takes, and the workload that loses it. Everything is empty if no failure takes
// a pod of a workload.
type Radius struct {
	// Share is Lost / Replicas, between 0 and 1.
	Share float64 `json:"share"`
	// Workload is the workload that loses that share, as kind/name in lower case, and Namespace its namespace.
	Namespace string `json:"namespace,omitempty"`
	Workload  string `json:"workload,omitempty"`
	Lost      int    `json:"lost"`
	Replicas  int    `json:"replicas"`
	// Domains are the values of the level's key that fail.
	Domains []string `json:"domains,omitempty"`
}

// Excess is the number of replicas that a failure takes of a workload beyond Even: what the worst failure would take if the replicas were
// spread evenly over the domains that admit them. No placement can lose fewer to its worst failure.
type Excess struct {
	// Share is (Lost − Even) / Replicas, between 0 and 1: the part that a better placement would have kept.
	Share float64 `json:"share"`
	cluster.WorkloadRef
	Lost     int `json:"lost"`
	Even     int `json:"even"`
	Replicas int `json:"replicas"`
	// Domains are the values of the level's key that fail.
	Domains []string `json:"domains"`
}

// Failure is the loss of one domain, or of several at once.
type Failure struct {
	// Domains are the values of the level's key that fail.
	Domains []string `json:"domains"`
	// Nodes are the names of the nodes in these domains.
	Nodes []string `json:"nodes"`
	// Pods is the number of running pods on these nodes, including pods of DaemonSets and bare pods.
	Pods int `json:"pods"`
	// CPU and Memory are the fractions of the cluster's allocatable resources that fail, between 0 and 1.
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
	// Workloads are the losses of the workloads that lose a pod, the largest share first, without DaemonSets and bare pods.
	Workloads []Loss `json:"workloads,omitempty"`
	// BrokenBudgets are the PodDisruptionBudgets, as namespace/name, that are met before the failure and not after it, even if they only
	// cover bare pods or pods of DaemonSets.
	BrokenBudgets []string `json:"brokenBudgets,omitempty"`
	// Recovery says what comes back; missing if that was not examined. In a report it is also missing if LikeDomains names an earlier
	// failure that has it.
	Recovery *Recovery `json:"recovery,omitempty"`
	// LikeDomains are the domains of an earlier failure with the same recovery, whose nodes differ from these only in their names.
	LikeDomains []string `json:"likeDomains,omitempty"`
}

// Loss says what a failure takes of one workload.
type Loss struct {
	cluster.Ref
	// Source is the place of its object in the input; missing if no file has it. A report fills it in.
	Source *manifest.Place `json:"source,omitempty"`
	// Replicas is the number of its running pods before the failure, and Lost the number of these on the failed nodes.
	Replicas int `json:"replicas"`
	Lost     int `json:"lost"`
	// Even is the number of replicas that the worst failure of the level would take if they were spread evenly.
	Even int `json:"even"`
	// Gone means that no replica is left.
	Gone bool `json:"gone,omitempty"`
	// BrokenBudgets are the names of the PodDisruptionBudgets that cover one of the lost pods, and are met before the failure and not after
	// it.
	BrokenBudgets []string `json:"brokenBudgets,omitempty"`
	// Quorum is the number of pods that the workload needs. QuorumLost means that it had that many before the failure, and has fewer after
	// it.
	Quorum     int  `json:"quorum,omitempty"`
	QuorumLost bool `json:"quorumLost,omitempty"`
	// SharedFate are the lost pods' names if two or more were in one failed domain.
	SharedFate []string `json:"sharedFate,omitempty"`
}

// Share returns the fraction of the workload that is lost, between 0 and 1.
func (l *Loss) Share() float64 {
	if l.Replicas == 0 { // in no report that Faultline wrote
		return 0
	}
	return float64(l.Lost) / float64(l.Replicas)
}

// TakesAll reports whether no replica is left.
func (l *Loss) TakesAll() bool { return l.Lost == l.Replicas }

// Survivors returns the number of replicas that are left.
func (l *Loss) Survivors() int { return l.Replicas - l.Lost }

// excessShare returns the share of the replicas that is lost beyond an even spread; negative if an even spread would lose more.
func (l *Loss) excessShare() float64 { return float64(l.Lost-l.Even) / float64(l.Replicas) }

// Share returns the largest share that the failure takes of any workload.
func (f *Failure) Share() float64 {
	if len(f.Workloads) == 0 {
		return 0
	}
	return f.Workloads[0].Share()
}

// ReplicatedShare returns the largest share that the failure takes of a workload of two or more replicas.
func (f *Failure) ReplicatedShare() float64 {
	if losses := f.ReplicatedLosses(); len(losses) > 0 {
		return losses[0].Share()
	}
	return 0
}

// ReplicatedLosses returns the losses of workloads of two or more replicas.
func (f *Failure) ReplicatedLosses() []Loss {
	return list.Without(f.Workloads, func(l Loss) bool { return l.Replicas < 2 })
}

// Recovery says what became of the lost pods once nothing moved any more.
type Recovery struct {
	// Lost is the number of lost pods and of victims preempted to make room for them. Each of them is recovered, stranded, not replaced or
	// lost work.
	Lost int `json:"lost"`
	// Preempted is the number of preempted victims in Lost.
	Preempted int `json:"preempted,omitempty"`
	// Recovered are the replacements that got a node.
	Recovered []placement.RecoveredPod `json:"recovered,omitempty"`
	// Stranded are the replacements that stay Pending: without a node, or on one to which their volume cannot be attached.
	Stranded []placement.StrandedPod `json:"stranded,omitempty"`
	// NotReplaced are the lost pods for which no controller created another: bare pods, DaemonSet pods, pods whose controller waits until a
	// pod on an unreachable node has ended, and pods that nobody evicts.
	NotReplaced []UnreplacedPod `json:"notReplaced,omitempty"`
	// LostWork are the lost pods that run only once, and whose controller, such as a Workflow, is not part of the input.
	LostWork []cluster.PodRef `json:"lostWork,omitempty"`
	// OfDaemonSets is the number of DaemonSet pods in Lost and in NotReplaced, and OfNodes the number of static pods in both. These pods
	// live and die with their node, so the text of a report counts them as neither.
	OfDaemonSets int `json:"ofDaemonSets,omitempty"`
	OfNodes      int `json:"ofNodes,omitempty"`
	// Outages are the workloads that lose every running pod, in the order of the failure's workloads.
	Outages []Outage `json:"outages,omitempty"`
	// StartSeconds is the part of each outage that a new pod is assumed to take to start, in seconds.
	StartSeconds float64 `json:"startSeconds,omitempty"`
	// LastEviction is the number of seconds from the failure until the last eviction of a pod: until the nodes are found unreachable, have
	// their NoExecute taints, which come one by one, and the last toleration of them has ended. It is missing if no pod was evicted, for
	// example because pods are removed at once.
	LastEviction float64 `json:"lastEvictionSeconds,omitempty"`
	// LastDetach is the number of seconds from the failure until the start of the last replacement whose volume had to be detached by force
	// from a failed node. It is missing if there is none.
	LastDetach float64 `json:"lastDetachSeconds,omitempty"`
	// LastMove is the number of seconds from the loss of a cluster until Karmada moved the last workload away from it: until the cluster is
	// found lost, and the last toleration of that has ended. It is missing if no workload moved later than the cluster was found lost.
	LastMove float64 `json:"lastMoveSeconds,omitempty"`
	// Autoscaling is what the Cluster Autoscaler did for the lost pods; missing without an autoscaler, and if it added and removed no node.
	Autoscaling *world.Autoscaling `json:"autoscaling,omitempty"`
	// Decided is what each decider did to nodes; missing without a decider, and if none added or removed a node.
	Decided []world.Decided `json:"decided,omitempty"`
	// LastNode is the number of seconds from the failure until the last node that the autoscaler or a decider added. It is missing if none was
	// added.
	LastNode float64 `json:"lastNodeSeconds,omitempty"`
	// After is the blast radius of one more failure of the level.
	After Radius `json:"after"`
	// AfterReplicated is the same among the workloads that had two or more replicas before the first failure.
	AfterReplicated Radius `json:"afterReplicated"`

	// State is the cluster once nothing moved any more, and Pending has the complete pods of Stranded, for questions that continue from
	// there. A report that is read back has neither.
	State   *cluster.State      `json:"-"`
	Pending []placement.Pending `json:"-"`

	unreplacedPods []*v1.Pod        // the complete pods of NotReplaced
	terminating    []cluster.Object // the pods that stay Terminating on the failed nodes, for as long as these are down
}

// CountLost returns the number of lost pods, without lost work and without pods that live and die with their node.
func (r *Recovery) CountLost() int { return r.Lost - r.OfDaemonSets - r.OfNodes - len(r.LostWork) }

// CountNotReplaced returns the number of pods that are not replaced, without pods that live and die with their node.
func (r *Recovery) CountNotReplaced() int { return max(0, len(r.NotReplaced)-r.OfDaemonSets-r.OfNodes) }

// CountNotBack returns the number of lost pods that do not come back: their replacements stay Pending, or nobody makes any.
func (r *Recovery) CountNotBack() int { return len(r.Stranded) + r.CountNotReplaced() }

// NotBackByWorkload counts the pods of each workload that do not come back, without pods that live and die with their node.
func (r *Recovery) NotBackByWorkload() map[cluster.WorkloadRef]int {
	n := map[cluster.WorkloadRef]int{}
	for _, pod := range r.Stranded {
		n[pod.Owner().Workload()]++
	}
	for _, pod := range r.NotReplaced {
		if !pod.BelongsToNode() {
			n[pod.Owner().Workload()]++
		}
	}
	return n
}

// Outage is the time for which a workload has no running pod.
type Outage struct {
	cluster.WorkloadRef
	// Replicas is the number of its pods that ran before the failure.
	Replicas int `json:"replicas"`
	// Seconds is the time from the failure until one of its pods runs again; missing if none does while the failure lasts. It includes the
	// time until nodes are found unreachable.
	Seconds *float64 `json:"seconds,omitempty"`
}

// Recovery returns the recovery of the failure, which an earlier failure may hold; nil if it was not examined.
func (l *Level) Recovery(f *Failure) *Recovery {
	switch {
	case f == nil:
		return nil
	case f.Recovery != nil || len(f.LikeDomains) == 0:
		return f.Recovery
	}
	i := slices.IndexFunc(l.Failures, func(other Failure) bool { return slices.Equal(other.Domains, f.LikeDomains) })
	if i < 0 {
		return nil
	}
	return l.Failures[i].Recovery
}
