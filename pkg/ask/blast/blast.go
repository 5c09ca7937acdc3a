// Package blast computes what the loss of a failure domain takes, and what comes back.
//
// Lost counts, from the state alone, what each domain of a level contains: replicas, budgets, quorums, capacity. Recover lets the real
// controllers and the real scheduler replace the lost pods on what is left. docs/blast-radius.md defines each figure.
package blast

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/simulation"
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
	// Worst limits recovery to that many of the worst failures of each level, as Harm compares them; 0 means all.
	Worst int
	// Until, if set, ends the recovery with the first failure, in the order of the analysis, of which it is true: those after it have none.
	// Waiting and After are left out then.
	Until func(*Failure, *Recovery) bool
	// Worlds, if set, are those in which Recover lets failures happen. It resets them.
	Worlds *simulation.Worlds
	// Only are the workloads that are reported, as Filter.Select returns them; nil means all. What fails does not depend on it.
	Only map[cluster.Ref]bool
	// Record, if set, returns how much of the replacements' scheduling cycles to keep; see world.Hooks. It is called on several
	// goroutines.
	Record func(owner cluster.Ref, pod *v1.Pod) *placement.Depth
}

// QuorumAnnotation on a workload is the number of its pods that must run, or "majority".
const QuorumAnnotation = "faultline.dev/quorum"

// Analysis is what failures take, by level.
type Analysis struct {
	Levels []Level
	// Workloads is the number of workloads with a running replica, without DaemonSets and bare pods.
	Workloads int
	// Single are the workloads with one running replica, in order of arrival. Whatever domain it is in takes all of them, and no placement
	// can change that.
	Single []cluster.Ref
}

type Level struct {
	// TopologyKey is the node label whose values form the domains.
	TopologyKey string
	// Domains is the number of domains; Unlabelled are the nodes in no domain, whose pods no failure of the level takes.
	Domains    int
	Unlabelled []string
	// Failures are the failures that were examined, in order of their domains' names: each domain, or each set of Simultaneous domains, or the
	// set that is Together.
	Failures []Failure
	// Search says which sets of domains were examined, and what is certain about the others. It is empty if all were.
	Search string
	// Radius is the largest share of any workload that one of the failures takes. Ties go to the larger number of lost pods, then to the
	// first workload by namespace, kind and name, then to the first domains. It is empty if nothing is lost.
	Radius Radius
	// Replicated is the radius among the workloads of two or more replicas.
	Replicated Radius
	// Excess is the loss that is furthest beyond what an even spread would lose; empty if none is beyond it.
	Excess Excess
	// Shares are the largest shares of any workload that each failure takes, 0 if none, in ascending order: their distribution over all
	// failures. Mean is their mean. If Search is set they are unknown: nil and 0.
	Shares []float64
	Mean   float64
}

// Radius is the largest share of any workload that a failure takes, and of which.
type Radius struct {
	// Share is between 0 and 1.
	Share          float64
	Workload       cluster.Ref
	Domains        []string
	Lost, Replicas int
}

// Excess is what a failure takes of a workload beyond what it would take if the replicas were spread evenly over the domains that admit them.
// That is the least that any placement could lose to its worst failure.
type Excess struct {
	Workload             cluster.Ref
	Domains              []string
	Lost, Even, Replicas int
}

// Share is the fraction of the workload that a better placement would have kept, between 0 and 1.
func (e Excess) Share() float64 { return beyond(e.Lost, e.Even, e.Replicas) }

// beyond is the share of the replicas that is lost beyond an even spread; below 0 where that would lose more.
func beyond(lost, even, replicas int) float64 { return float64(lost-even) / float64(replicas) }

// Failure is the loss of one domain, or of several at once.
type Failure struct {
	// Domains are the values of the level's key that fail.
	Domains []string
	Nodes   []string
	// Pods is the number of running pods on them, including those of DaemonSets and bare pods.
	Pods int
	// Workloads are the workloads that lose a pod, the largest share first, without DaemonSets and bare pods.
	Workloads []Loss
	// BrokenBudgets are the PodDisruptionBudgets, as namespace/name, that are met before and not after, even if they only cover bare pods
	// or pods of DaemonSets.
	BrokenBudgets []string
	// CPU and Memory are the fractions of the cluster's allocatable resources that fail.
	CPU, Memory float64
	// Recovery is what came back; nil if it was not examined.
	Recovery *Recovery
}

// Loss is what a failure takes of one workload.
type Loss struct {
	Workload cluster.Ref
	// Replicas is the number of its running pods before, Lost of those on the failed nodes.
	Replicas, Lost int
	// Even is what the worst failure would take if the replicas were spread evenly; see Excess.
	Even int
	// BrokenBudgets are the names of the PodDisruptionBudgets that cover one of the lost pods, and are met before and not after.
	BrokenBudgets []string
	// Quorum is the number of pods that it needs; 0 means none. QuorumLost means that it had that many before, and has fewer after.
	Quorum     int
	QuorumLost bool
	// SharedFate are the lost pods' names if two or more were in one failed domain.
	SharedFate []string
}

// Share returns the fraction of the workload that is lost, between 0 and 1.
func (l Loss) Share() float64 { return float64(l.Lost) / float64(l.Replicas) }

// Survivors returns the number of running pods that are left.
func (l Loss) Survivors() int { return l.Replicas - l.Lost }

// Gone reports whether nothing is left.
func (l Loss) Gone() bool { return l.Lost == l.Replicas }

// Recovery is what became of the lost pods once nothing moved any more.
type Recovery struct {
	// Lost is the number of lost pods and of victims preempted to make room for them: each is recovered, stranded, not replaced or lost work.
	Lost      int
	Preempted int
	Recovered []placement.Placement
	// Stranded are the replacements that stay Pending: without a node, or on one to which their volume cannot be attached.
	Stranded []placement.Pending
	// Waiting are the stranded pods that would get a node, or start there, if the lost pods that stay Terminating were gone. They wait for a kubelet to come
	// back, or for somebody to force-delete these pods or taint their nodes out-of-service.
	Waiting []types.UID
	// NotReplaced are the lost pods for which no controller created another: bare pods, DaemonSet pods, those whose controller waits until
	// a pod on an unreachable node has ended, and those that nobody evicts.
	NotReplaced []*v1.Pod
	// Outages are the workloads of which the failure takes every running pod, in the order of Failure.Workloads.
	Outages []Outage
	// LostWork are the lost pods that run once, for a controller that is not known, such as a workflow's.
	LostWork []*v1.Pod
	// LastEviction is the time from when the nodes were found unreachable until the last of the lost pods was evicted from them; 0 if none
	// was, or the nodes' pods were removed at once.
	LastEviction time.Duration
	// LastDetach is the time from the failure until the last of the recovered pods started whose volume was detached by force; 0 if there is
	// none.
	LastDetach time.Duration
	// LastMove is the time from when Karmada found the cluster lost until it moved the last workload away from it; 0 if it moved none.
	LastMove time.Duration
	// After is the blast radius of the level in the new state: whether a second failure is now worse. AfterReplicated is that among the
	// workloads that had two or more replicas before the first.
	After, AfterReplicated Radius
	// State is the cluster once nothing moved any more.
	State *cluster.State

	ending []cluster.Object // the pods that stay Terminating on the failed nodes, for as long as these are down
}

// Outage is the time for which a workload has no running pod.
type Outage struct {
	Workload cluster.Ref
	// Replicas is the number of its pods that ran before.
	Replicas int
	// Ends means that a pod of it runs again, After that time from the failure. Nodes that fail at once are found unreachable later; see
	// node.NodeMonitorGracePeriod and federation.FailureThreshold.
	Ends  bool
	After time.Duration
}
