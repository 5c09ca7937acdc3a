// Package blast computes what the loss of a failure domain takes, and what comes back.
//
// Lost counts, from the state alone, what each domain of a level contains: replicas, budgets, quorums, capacity. Recover lets the real
// controllers and the real scheduler replace the lost pods on what is left. docs/blast-radius.md defines each figure.
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
	// Levels are the topology keys whose domains fail, or the short names of topology.Key; if empty, every level of the nodes' labels.
	Levels []string
	// LevelKeys are further keys that form a level, such as rack, if Levels is empty.
	LevelKeys []string
	// Simultaneous is the number of domains of a level that fail at once, at least 1.
	Simultaneous int
	// Together, if set, are the domains of the one level of Levels that fail at once: no other failure is examined, whatever Simultaneous says.
	Together []string
	// Quorum are workloads that need a majority, besides annotated ones and those of known systems, as kind/name or namespace/kind/name.
	Quorum []string
	// Mode is how the nodes fail.
	Mode node.FailureMode
	// StartTime is how long the container of a new pod takes to start, which outages count; DefaultStartTime is what commands assume.
	StartTime time.Duration
	// Worst limits recovery to that many of the worst failures of each level, as Harm compares them; 0 means all.
	Worst int
	// Until, if set, ends the recovery with the first failure, in the order of the analysis, of which it is true: those after it have none.
	// What lookAhead adds is left out then.
	Until func(*Failure, *Recovery) bool
	// Only are the workloads that are reported, as Filter.Select returns them; nil means all. What fails does not depend on it.
	Only map[cluster.Ref]bool
	// From, if set, is the position of the world at which the nodes fail, as after the step that has the state; see simulation.Step. The
	// scheduler's next search begins at another node than a new scheduler's, which decides ties.
	From *world.Mark
	// Record, if set, returns how much of the replacements' scheduling cycles to keep; see world.Hooks. It is called on several
	// goroutines.
	Record func(owner cluster.Ref, pod *v1.Pod) *placement.Depth
}

// DefaultStartTime is how long the container of a new pod is assumed to take to start: nothing in the input says it.
const DefaultStartTime = 10 * time.Second

// QuorumAnnotation on a workload is the number of its pods that must run, or "majority".
const QuorumAnnotation = "faultline.dev/quorum"

// Analysis is what the failures of a cluster's domains take.
type Analysis struct {
	// Workloads is the number of workloads with a running pod, without DaemonSets and bare pods.
	Workloads int `json:"workloads,omitempty"`
	// OneReplica are the workloads with a single running pod, as kind/name, after their namespace unless it is default, in order of arrival.
	// Whatever domain the pod is in takes all of them, and no placement can change that.
	OneReplica []string `json:"oneReplica,omitempty"`
	// Levels are what the failures of each level take, widest first.
	Levels []Level `json:"levels"`
}

// Level is what the failures of one level take.
type Level struct {
	// TopologyKey is the node label whose values are the domains.
	TopologyKey string `json:"topologyKey"`
	// Domains is the number of domains.
	Domains int `json:"domains"`
	// Unlabelled are the nodes that are in no domain, whose pods no failure of the level takes.
	Unlabelled []string `json:"unlabelled,omitempty"`
	// Search says which sets of domains were examined, and what is certain about the others; missing if all were.
	Search string `json:"search,omitempty"`
	// Radius is the blast radius: the largest share of any workload that one of the failures takes. Ties go to the larger number of lost pods,
	// then to the first workload by namespace, kind and name, then to the first domains.
	Radius Radius `json:"radius"`
	// Replicated is the radius among the workloads of two or more replicas.
	Replicated Radius `json:"replicated"`
	// Excess is the loss that is furthest beyond that of an even spread; missing if none is beyond it.
	Excess *Excess `json:"excess,omitempty"`
	// Mean is the mean over all failures of the largest share that each takes of any workload; missing if not all were examined.
	Mean *float64 `json:"mean,omitempty"`
	// Shares are the largest shares that each failure takes of any workload, in ascending order, each with the number of such failures;
	// empty if not all failures were examined.
	Shares []Share `json:"shares,omitempty"`
	// Failures are the failures that were examined, in order of their domains' names: each domain, or each set of domains that fail together.
	Failures []Failure `json:"failures"`
}

// Share is the number of failures that take that share of a workload, and no larger one of any other.
type Share struct {
	// Share is between 0 and 1.
	Share    float64 `json:"share"`
	Failures int     `json:"failures"`
}

// Radius is the largest share of any workload that a failure takes, and of which. Everything is empty if no failure takes a pod of a
// workload.
type Radius struct {
	// Share is between 0 and 1: lost of replicas.
	Share float64 `json:"share"`
	// Workload is the one that loses that share, as kind/name in lower case, and Namespace its namespace.
	Namespace string `json:"namespace,omitempty"`
	Workload  string `json:"workload,omitempty"`
	Lost      int    `json:"lost"`
	Replicas  int    `json:"replicas"`
	// Domains are the values of the level's key that fail.
	Domains []string `json:"domains,omitempty"`
}

// Excess is what a failure takes of a workload beyond what it would take if the replicas were spread evenly over the domains that admit
// them. That is the least that any placement could lose to its worst failure.
type Excess struct {
	// Share is between 0 and 1: lost less even, of replicas. A better placement would have kept it.
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
	// Nodes are the names of their nodes.
	Nodes []string `json:"nodes"`
	// Pods is the number of running pods on them, including those of DaemonSets and bare pods.
	Pods int `json:"pods"`
	// CPU and Memory are the fractions of the cluster's allocatable resources that fail, between 0 and 1.
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
	// Workloads are the workloads that lose a pod, the largest share first, without DaemonSets and bare pods.
	Workloads []Loss `json:"workloads,omitempty"`
	// BrokenBudgets are the PodDisruptionBudgets, as namespace/name, that are met before and not after, even if they only cover bare pods
	// or pods of DaemonSets.
	BrokenBudgets []string `json:"brokenBudgets,omitempty"`
	// Recovery is what came back; missing if it was not examined, and in a report if another failure has it.
	Recovery *Recovery `json:"recovery,omitempty"`
	// LikeDomains are the domains of an earlier failure with the same recovery, since its nodes differ from these in nothing but their names.
	LikeDomains []string `json:"likeDomains,omitempty"`
}

// Loss is what a failure takes of one workload.
type Loss struct {
	cluster.Ref
	// Source is where its object stands; missing if no file has it. A report fills it in.
	Source *manifest.Place `json:"source,omitempty"`
	// Replicas is the number of its running pods before, Lost of those on the failed nodes.
	Replicas int `json:"replicas"`
	Lost     int `json:"lost"`
	// Even is what the worst failure of the level would take if the replicas were spread evenly.
	Even int `json:"even"`
	// Gone means that nothing is left.
	Gone bool `json:"gone,omitempty"`
	// BrokenBudgets are the names of the PodDisruptionBudgets that cover one of the lost pods, and are met before and not after.
	BrokenBudgets []string `json:"brokenBudgets,omitempty"`
	// Quorum is the number of pods that it needs. QuorumLost means that it had that many before, and has fewer after.
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

// Whole reports whether nothing is left.
func (l *Loss) Whole() bool { return l.Lost == l.Replicas }

// Survivors returns the number of running pods that are left.
func (l *Loss) Survivors() int { return l.Replicas - l.Lost }

// beyond is the share of the replicas that is lost beyond an even spread; below 0 if that would lose more.
func (l *Loss) beyond() float64 { return float64(l.Lost-l.Even) / float64(l.Replicas) }

// Share returns the largest share that the failure takes of any workload.
func (f *Failure) Share() float64 {
	if len(f.Workloads) == 0 {
		return 0
	}
	return f.Workloads[0].Share()
}

// Replicated returns the largest share that the failure takes of a workload of two or more replicas.
func (f *Failure) Replicated() float64 {
	if losses := f.OfSeveral(); len(losses) > 0 {
		return losses[0].Share()
	}
	return 0
}

// OfSeveral returns the losses of workloads of two or more replicas.
func (f *Failure) OfSeveral() []Loss {
	return list.Without(f.Workloads, func(l Loss) bool { return l.Replicas < 2 })
}

// Recovery is what became of the lost pods once nothing moved any more.
type Recovery struct {
	// Lost is the number of lost pods and of victims preempted to make room for them. Each of them is recovered, stranded, not replaced or
	// lost work.
	Lost int `json:"lost"`
	// Preempted is the number of victims among them.
	Preempted int `json:"preempted,omitempty"`
	// Recovered are the replacements that got a node.
	Recovered []placement.RecoveredPod `json:"recovered,omitempty"`
	// Stranded are the replacements that stay Pending: without a node, or on one to which their volume cannot be attached.
	Stranded []placement.StrandedPod `json:"stranded,omitempty"`
	// NotReplaced are the lost pods for which no controller created another: bare pods, DaemonSet pods, those whose controller waits until
	// a pod on an unreachable node has ended, and those that nobody evicts.
	NotReplaced []UnreplacedPod `json:"notReplaced,omitempty"`
	// LostWork are the lost pods that run once, and whose controller, such as a Workflow, is not part of the input.
	LostWork []cluster.PodRef `json:"lostWork,omitempty"`
	// OfDaemonSets is the number of pods of DaemonSets among the lost and the not replaced, and OfNodes that of static pods. They live and
	// die with their node, so text counts them as neither.
	OfDaemonSets int `json:"ofDaemonSets,omitempty"`
	OfNodes      int `json:"ofNodes,omitempty"`
	// Outages are the workloads of which the failure takes every running pod, in the order of the failure's workloads.
	Outages []Outage `json:"outages,omitempty"`
	// StartSeconds is how many seconds of each outage a new pod is assumed to take to start.
	StartSeconds float64 `json:"startSeconds,omitempty"`
	// LastEviction is the number of seconds from the failure until the last pod was evicted: until the nodes are found unreachable, have
	// got their NoExecute taints one by one, and no pod tolerates them any longer. It is missing if nothing was evicted, for example because
	// pods are removed at once.
	LastEviction float64 `json:"lastEvictionSeconds,omitempty"`
	// LastDetach is the number of seconds from the failure until the last replacement started whose volume was detached by force from a node
	// that is gone. It is missing if there is none.
	LastDetach float64 `json:"lastDetachSeconds,omitempty"`
	// LastMove is the number of seconds from the loss of a cluster until Karmada moved the last workload away from it: until the cluster is
	// found lost, and no workload tolerates that any longer. It is missing if none was moved later than the cluster was found lost.
	LastMove float64 `json:"lastMoveSeconds,omitempty"`
	// Autoscaling is what the Cluster Autoscaler did for the lost pods; missing if there is none, or no node came or went.
	Autoscaling *world.Autoscaling `json:"autoscaling,omitempty"`
	// LastNode is the number of seconds from the failure until the last node came that the autoscaler added. It is missing if none came.
	LastNode float64 `json:"lastNodeSeconds,omitempty"`
	// After is the blast radius of one more failure of the level.
	After Radius `json:"after"`
	// AfterReplicated is that among the workloads that had two or more replicas before.
	AfterReplicated Radius `json:"afterReplicated"`

	// State is the cluster once nothing moved any more, and Pending are the whole pods of Stranded, for questions that go on from there.
	// A report that is read back has neither.
	State   *cluster.State      `json:"-"`
	Pending []placement.Pending `json:"-"`

	notReplaced []*v1.Pod        // the whole pods of NotReplaced
	ending      []cluster.Object // the pods that stay Terminating on the failed nodes, for as long as these are down
}

// CountLost returns the number of lost pods, without those that live and die with their node, and without lost work.
func (r *Recovery) CountLost() int { return r.Lost - r.OfDaemonSets - r.OfNodes - len(r.LostWork) }

// Unreplaced returns the number of pods that are not replaced, without those that live and die with their node.
func (r *Recovery) Unreplaced() int { return max(0, len(r.NotReplaced)-r.OfDaemonSets-r.OfNodes) }

// Gone returns the number of lost pods that do not come back: their replacements stay Pending, or nobody makes any.
func (r *Recovery) Gone() int { return len(r.Stranded) + r.Unreplaced() }

// GoneOf counts the pods of each workload that do not come back, without those that live and die with their node.
func (r *Recovery) GoneOf() map[cluster.WorkloadRef]int {
	n := map[cluster.WorkloadRef]int{}
	for _, pod := range r.Stranded {
		n[pod.Owner().Workload()]++
	}
	for _, pod := range r.NotReplaced {
		if !pod.OfNode() {
			n[pod.Owner().Workload()]++
		}
	}
	return n
}

// Outage is the time for which a workload has no running pod.
type Outage struct {
	cluster.WorkloadRef
	// Replicas is the number of its pods that ran before.
	Replicas int `json:"replicas"`
	// Seconds is the time from the failure until one of its pods runs again; missing if none does for as long as the failure lasts. Nodes that
	// fail at once are found unreachable later.
	Seconds *float64 `json:"seconds,omitempty"`
}

// Recovery returns what came back after the failure, which an earlier failure may have; nil if it was not examined.
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
