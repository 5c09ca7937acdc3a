// Package blast tells what the loss of a failure domain takes, and what comes back.
//
// Lost counts, from the state alone, what each domain of a level holds: replicas, budgets, quorums, capacity. Recover lets the
// real controllers and the real scheduler replace the lost pods on what is left. docs/blast-radius.md defines each figure.
package blast

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// Options say which failures are looked at.
type Options struct {
	// Levels are the topology keys whose domains fail, or the short words of topology.Key; empty: every level that the nodes' labels have.
	Levels []string
	// LevelKeys are further keys that make a level, such as rack, where Levels is empty.
	LevelKeys []string
	// Simultaneous is the number of domains of a level that fail together, at least 1.
	Simultaneous int
	// Quorum are the workloads that need a majority, besides those that say so by annotation and those of known systems, as kind/name or namespace/kind/name.
	Quorum []string
	// Mode is how the nodes fail.
	Mode node.FailureMode
	// Worst is how many failures of a level with more domains than that are recovered: the worst ones. 0: all.
	Worst int
	// Record, if set, is asked how much is to be kept of the replacements' scheduling cycles; see simulation.World. It is called on
	// several goroutines.
	Record func(owner cluster.Ref, pod *v1.Pod) *placement.Depth
}

// QuorumAnnotation on a workload says how many of its pods must run: a number, or "majority".
const QuorumAnnotation = "faultline.dev/quorum"

// Analysis is what failures take, level by level.
type Analysis struct {
	Levels []Level
}

// Level is what the failures of one level take.
type Level struct {
	// TopologyKey is the node label whose values make the domains.
	TopologyKey string
	// Domains is the number of domains; Unlabelled the nodes that are in none, whose pods no failure of the level takes.
	Domains    int
	Unlabelled []string
	// Failures are the failures looked at, in order of their domains' names: each domain, or each set of Simultaneous domains.
	Failures []Failure
	// Search says which sets of domains were looked at, and what is certain of the others, where not all were; it is empty where
	// all were.
	Search string
	// Radius is the largest share of any workload that one of the failures takes. Of equal shares the one of more lost pods is
	// taken, then the first by the workload's namespace, kind and name, then by the domains. It is empty if nothing is lost.
	Radius Radius
	// Shares are the largest shares that each failure takes of any workload, 0 where it takes none, from the smallest: their
	// distribution over all failures. Mean is their mean. Where Search is set they are not known, and are nil and 0.
	Shares []float64
	Mean   float64
}

// Radius is the largest share of any workload that a failure takes, and which.
type Radius struct {
	// Share is between 0 and 1.
	Share          float64
	Workload       cluster.Ref
	Domains        []string
	Lost, Replicas int
}

// Failure is the loss of a domain, or of several together.
type Failure struct {
	// Domains are the values of the level's key that fail.
	Domains []string
	// Nodes are the names of their nodes.
	Nodes []string
	// Pods is the number of running pods on them, those of DaemonSets and bare pods included.
	Pods int
	// Workloads are the workloads that lose a pod, the largest share first, DaemonSets and bare pods apart.
	Workloads []Loss
	// BrokenBudgets are the PodDisruptionBudgets, as namespace/name, that are met before and not after, also where they cover
	// only bare pods or those of DaemonSets.
	BrokenBudgets []string
	// CPU and Memory are the shares of the cluster's allocatable that fail.
	CPU, Memory float64
	// Recovery is what came back; nil where it was not looked at.
	Recovery *Recovery
}

// Loss is what a failure takes of one workload.
type Loss struct {
	Workload cluster.Ref
	// Replicas are its running pods before, Lost those on the failed nodes.
	Replicas, Lost int
	// BrokenBudgets are the names of the PodDisruptionBudgets that cover one of the lost pods, and are met before and not after.
	BrokenBudgets []string
	// Quorum is the number of pods that it needs; 0: none. QuorumLost tells that it had as many before, and has fewer after.
	Quorum     int
	QuorumLost bool
	// SharedFate are the lost pods' names where there are two or more in one failed domain.
	SharedFate []string
}

// Share is the part of the workload that is lost, between 0 and 1.
func (l Loss) Share() float64 { return float64(l.Lost) / float64(l.Replicas) }

// Survivors are the running pods that are left.
func (l Loss) Survivors() int { return l.Replicas - l.Lost }

// Gone tells whether nothing is left.
func (l Loss) Gone() bool { return l.Lost == l.Replicas }

// Recovery is what came of the lost pods once nothing moved any more.
type Recovery struct {
	// Lost are the lost pods and, where preemption made room for them, its victims: each is recovered, stranded or not replaced.
	Lost int
	// Preempted is the number of victims among them.
	Preempted int
	// Recovered are the replacements that got a node.
	Recovered []placement.Placement
	// Stranded are the replacements that stay Pending.
	Stranded []placement.Pending
	// Waiting are those of the stranded that would get a node if the lost pods that stay Terminating were gone: what they wait for is
	// that a kubelet comes back, or that somebody deletes these pods by force or taints their nodes out-of-service.
	Waiting []types.UID
	// NotReplaced are the lost pods for which no controller made another: bare pods, DaemonSet pods, those whose controller waits until
	// a pod on an unreachable node has ended, and those that nobody evicts.
	NotReplaced []*v1.Pod
	// LastEviction is the time from the moment at which the nodes were found unreachable until the last of the lost pods was evicted
	// from them; 0 where none was evicted or the nodes' pods were removed at once.
	LastEviction time.Duration
	// After is the blast radius of the level in the new state: whether a second failure is now worse.
	After Radius
	// State is the cluster once nothing moved any more.
	State *cluster.State
}
