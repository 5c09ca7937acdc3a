// Package blast is the report on failures: what they take from a cluster, what comes back, and how likely that is.
package blast

import (
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/report"
)

// Kind is the kind of a report on failures.
const Kind = "BlastReport"

// Report is what failures take from a cluster, after each step of a scenario, and what comes back.
type Report struct {
	report.Head
	// Mode is how the nodes fail. It decides what comes back.
	Mode string `json:"mode" jsonschema:"enum=unreachable,enum=out-of-service,enum=deleted"`
	// Simultaneous is the number of domains of a level that fail together.
	Simultaneous int `json:"simultaneous" jsonschema:"minimum=1"`
	// Recover says whether recoveries were simulated.
	Recover bool `json:"recover"`
	// Worst is how many failures of a level were recovered, the worst ones, where it has more; 0: all.
	Worst int `json:"worst,omitempty"`
	// Filter selects the workloads that the report is about; missing where it is about all. What fails does not depend on it.
	Filter *Filter `json:"filter,omitempty"`
	// Steps are the clusters whose failures were looked at: after each step, or after the one that was asked for.
	Steps []Step `json:"steps"`
}

// Filter selects workloads: those that all of it matches.
type Filter struct {
	// Workloads are their names, as kind/name or namespace/kind/name.
	Workloads []string `json:"workloads,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	// Selector matches the labels of one of their pods.
	Selector string `json:"selector,omitempty"`
	// MinReplicas is the least number of running pods.
	MinReplicas int `json:"minReplicas,omitempty" jsonschema:"minimum=2"`
}

// Step is what failures take from the cluster after one step.
type Step struct {
	// Name is the step's name.
	Name string `json:"name"`
	// Action says in a few words what was done, as kubectl would be asked to.
	Action string `json:"action"`
	// Running is the number of pods that have a node before anything fails, Pending of those that have none.
	Running int `json:"running"`
	Pending int `json:"pending"`
	// Workloads is the number of workloads with a running pod, without DaemonSets and bare pods.
	Workloads int `json:"workloads,omitempty"`
	// OneReplica are the workloads with a single running pod, as kind/name, after their namespace where that is not default: any domain that it is in takes all of them.
	OneReplica []string `json:"oneReplica,omitempty"`
	// Levels are what the failures of each level take, widest first.
	Levels []Level `json:"levels"`
	// Risk is how likely it is, where failure rates are given.
	Risk *Risk `json:"risk,omitempty"`
}

// Level is what the failures of one level take.
type Level struct {
	// TopologyKey is the node label whose values make the domains.
	TopologyKey string `json:"topologyKey"`
	// Domains is the number of domains.
	Domains int `json:"domains"`
	// Unlabelled are the nodes that are in no domain, whose pods no failure of the level takes.
	Unlabelled []string `json:"unlabelled,omitempty"`
	// Search says which sets of domains were looked at, and what is certain of the others, where not all were.
	Search string `json:"search,omitempty"`
	// Radius is the blast radius: the largest share of any workload that one of the failures takes.
	Radius Radius `json:"radius"`
	// Replicated is the radius among the workloads of two or more replicas.
	Replicated Radius `json:"replicated"`
	// Excess is the loss that is furthest beyond that of an even spread; missing where none is beyond it.
	Excess *Excess `json:"excess,omitempty"`
	// Mean is the mean over all failures of the largest share that each takes of any workload; missing where not all were looked at.
	Mean *float64 `json:"mean,omitempty"`
	// Shares are the largest shares that each failure takes of any workload, from the smallest, each with the number of such
	// failures; empty where not all were looked at.
	Shares []Share `json:"shares,omitempty"`
	// Failures are the failures looked at, in order of their domains' names.
	Failures []Failure `json:"failures"`
}

// Share is the number of failures that take that share of a workload, and no larger one of any other.
type Share struct {
	// Share is between 0 and 1.
	Share    float64 `json:"share"`
	Failures int     `json:"failures"`
}

// Radius is the largest share of any workload that a failure takes, and which. Where no failure takes a pod of a workload, all
// is empty.
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
// them, which is the least that any placement could lose to its worst failure.
type Excess struct {
	// Share is between 0 and 1: lost less even, of replicas.
	Share float64 `json:"share"`
	// Workload is the one that loses it, as kind/name in lower case, and Namespace its namespace.
	Namespace string `json:"namespace"`
	Workload  string `json:"workload"`
	Lost      int    `json:"lost"`
	Even      int    `json:"even"`
	Replicas  int    `json:"replicas"`
	// Domains are the values of the level's key that fail.
	Domains []string `json:"domains"`
}

// Failure is the loss of a domain, or of several together.
type Failure struct {
	// Domains are the values of the level's key that fail.
	Domains []string `json:"domains"`
	// Nodes are the names of their nodes.
	Nodes []string `json:"nodes"`
	// Pods is the number of running pods on them, those of DaemonSets and bare pods included.
	Pods int `json:"pods"`
	// CPU and Memory are the shares of the cluster's allocatable that fail, between 0 and 1.
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
	// Workloads are the workloads that lose a pod, the largest share first, DaemonSets and bare pods apart.
	Workloads []Loss `json:"workloads,omitempty"`
	// BrokenBudgets are the PodDisruptionBudgets, as namespace/name, that are met before and not after.
	BrokenBudgets []string `json:"brokenBudgets,omitempty"`
	// Recovery is what came back; missing where it was not looked at.
	Recovery *Recovery `json:"recovery,omitempty"`
	// LikeDomains are the domains of an earlier failure whose recovery is this one's, too, since its nodes differ from these in
	// nothing but their names. Recovery is then missing here.
	LikeDomains []string `json:"likeDomains,omitempty"`
}

// Loss is what a failure takes of one workload.
type Loss struct {
	// Kind is that of the outermost owner.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Source is where its object stands; missing where no file has it.
	Source *report.Source `json:"source,omitempty"`
	// Replicas are its running pods before, Lost those on the failed nodes.
	Replicas int `json:"replicas"`
	Lost     int `json:"lost"`
	// Even is what the worst failure of the level would take if the replicas were spread evenly.
	Even int `json:"even"`
	// Gone means that nothing is left.
	Gone bool `json:"gone,omitempty"`
	// BrokenBudgets are the PodDisruptionBudgets that cover one of the lost pods, and are met before and not after.
	BrokenBudgets []string `json:"brokenBudgets,omitempty"`
	// Quorum is the number of pods that it needs. QuorumLost means that it had as many before, and has fewer after.
	Quorum     int  `json:"quorum,omitempty"`
	QuorumLost bool `json:"quorumLost,omitempty"`
	// SharedFate are the lost pods' names where there are two or more in one failed domain.
	SharedFate []string `json:"sharedFate,omitempty"`
}

// Recovery is what came of the lost pods once nothing moved any more.
type Recovery struct {
	// Lost is the number of lost pods and of the victims whose preemption made room for them. Each of them is recovered, stranded,
	// not replaced or lost work.
	Lost int `json:"lost"`
	// Preempted is the number of victims among them.
	Preempted int `json:"preempted,omitempty"`
	// Recovered are the replacements that got a node.
	Recovered []placement.RecoveredPod `json:"recovered,omitempty"`
	// Stranded are the replacements that stay Pending: without a node, or on one to which their volume cannot be attached.
	Stranded []placement.StrandedPod `json:"stranded,omitempty"`
	// NotReplaced are the lost pods for which no controller made another.
	NotReplaced []UnreplacedPod `json:"notReplaced,omitempty"`
	// LostWork are the lost pods that run once, and whose controller, such as a Workflow, is not part of the input.
	LostWork []cluster.PodRef `json:"lostWork,omitempty"`
	// OfDaemonSets is the number of pods of DaemonSets among the lost and the not replaced, and OfNodes that of static pods. They live and
	// die with their node, so text counts them as neither.
	OfDaemonSets int `json:"ofDaemonSets,omitempty"`
	OfNodes      int `json:"ofNodes,omitempty"`
	// Outages are the workloads of which the failure takes every running pod.
	Outages []Outage `json:"outages,omitempty"`
	// LastEviction is the number of seconds from the loss until the last pod was evicted: until the nodes are found unreachable, have
	// got their NoExecute taints one by one, and no pod tolerates them any longer. It is missing where nothing was evicted, as where pods
	// are removed at once.
	LastEviction float64 `json:"lastEvictionSeconds,omitempty"`
	// LastDetach is the number of seconds from the loss until the last replacement started whose volume was detached by force from a node that
	// is gone. It is missing where there is none.
	LastDetach float64 `json:"lastDetachSeconds,omitempty"`
	// LastMove is the number of seconds from the loss of a cluster until Karmada moved the last workload away from it: until the cluster is
	// found lost, and no workload tolerates that any longer. It is missing where none was moved later than the cluster was found lost.
	LastMove float64 `json:"lastMoveSeconds,omitempty"`
	// After is the blast radius of one more failure of the level.
	After Radius `json:"after"`
	// AfterReplicated is that among the workloads that had two or more replicas before.
	AfterReplicated Radius `json:"afterReplicated"`
}

// lost is the number of lost pods, without those that live and die with their node, and without lost work.
func (r *Recovery) lost() int { return r.Lost - r.OfDaemonSets - r.OfNodes - len(r.LostWork) }

// Unreplaced is the number of pods that are not replaced, without those that live and die with their node.
func (r *Recovery) Unreplaced() int { return max(0, len(r.NotReplaced)-r.OfDaemonSets-r.OfNodes) }

// Gone is the number of lost pods that do not come back: their replacements stay Pending, or nobody makes any.
func (r *Recovery) Gone() int { return len(r.Stranded) + r.Unreplaced() }

// GoneOf counts the pods of each workload that do not come back, without those that live and die with their node.
func (r *Recovery) GoneOf() map[cluster.Ref]int {
	n := map[cluster.Ref]int{}
	for _, pod := range r.Stranded {
		n[pod.Owner()]++
	}
	for _, pod := range r.NotReplaced {
		if !pod.ofNode() {
			n[pod.Owner()]++
		}
	}
	return n
}

// Outage is the time for which a workload has no running pod.
type Outage struct {
	Namespace string `json:"namespace"`
	// Workload is kind/name, the kind in lower case.
	Workload string `json:"workload"`
	// Replicas is the number of its pods that ran before.
	Replicas int `json:"replicas"`
	// Seconds is the time from the failure until one of its pods runs again; missing where none does for as long as the failure lasts.
	Seconds *float64 `json:"seconds,omitempty"`
}

// UnreplacedPod is a lost pod for which no controller made another.
type UnreplacedPod struct {
	cluster.PodRef
	// Why says in a few words why nobody made another.
	Why string `json:"why"`
}

// ofNode reports whether the pod lives and dies with its node.
func (p UnreplacedPod) ofNode() bool { return p.Why == ofDaemonSet || p.Why == ofNode }

// Risk is how likely workloads are to have pods down at a random moment, at the given failure rates.
type Risk struct {
	// Levels are the levels that fail, widest first.
	Levels []RiskLevel `json:"levels"`
	// Workloads are the controllers and bare pods, in order of arrival.
	Workloads []RiskWorkload `json:"workloads"`
	// Trials and Seed are those of the probabilities that were counted in trials.
	Trials int    `json:"trials,omitempty"`
	Seed   uint64 `json:"seed,omitempty"`
	// Assumptions say, a sentence each, what the figures rest on.
	Assumptions []string `json:"assumptions"`
}

// RiskLevel is a level whose domains fail.
type RiskLevel struct {
	// TopologyKey is the label key; kubernetes.io/hostname stands for each node by itself, whatever its labels.
	TopologyKey string `json:"topologyKey"`
	// Domains is the number of domains, Unlabelled that of the nodes in none, which do not fail at this level.
	Domains    int `json:"domains"`
	Unlabelled int `json:"unlabelled,omitempty"`
	// FailuresPerYear and RecoveryHours are the means for each domain.
	FailuresPerYear float64 `json:"failuresPerYear"`
	RecoveryHours   float64 `json:"recoveryHours"`
	// Unavailability is the share of the time for which each domain is down, between 0 and 1.
	Unavailability float64 `json:"unavailability"`
}

// RiskWorkload is how likely a workload is to have pods down.
type RiskWorkload struct {
	// Kind is that of the outermost owner, or Pod for a pod without one.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Replicas is the number of its pods; Down of those that are down before anything fails, and stay so.
	Replicas int `json:"replicas"`
	Down     int `json:"down,omitempty"`
	// Method is how the probabilities were found: exact or trials.
	Method string `json:"method" jsonschema:"enum=exact,enum=trials"`
	// AllUp and AllDown are the probabilities that no replica and that every replica is down.
	AllUp   Probability `json:"allUp"`
	AllDown Probability `json:"allDown"`
	// Quorum is the number of replicas that it needs, and BelowQuorum the probability that fewer are up; missing if it needs none.
	Quorum      int          `json:"quorum,omitempty"`
	BelowQuorum *Probability `json:"belowQuorum,omitempty"`
	// Budgets are the PodDisruptionBudgets that select any of its replicas.
	Budgets []RiskBudget `json:"budgets,omitempty"`
	// ExpectedDown is the expected number of replicas down.
	ExpectedDown float64 `json:"expectedDown"`
}

// RiskBudget is how likely a PodDisruptionBudget is to be broken. It may cover pods of other workloads, too.
type RiskBudget struct {
	Name string `json:"name"`
	// Pods is the number of pods that it selects, DesiredHealthy how many of them it wants up.
	Pods           int `json:"pods"`
	DesiredHealthy int `json:"desiredHealthy"`
	// Method is how the probability was found: exact or trials.
	Method string `json:"method" jsonschema:"enum=exact,enum=trials"`
	// Below is the probability that fewer are up.
	Below Probability `json:"below"`
}

// Probability is that of something at a random moment.
type Probability struct {
	// Value is between 0 and 1. Low and High bound its 95 % interval if it was counted in trials, and are missing if it is exact.
	Value float64  `json:"value"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	// HoursPerYear is the expected time in a year for which it holds.
	HoursPerYear float64 `json:"hoursPerYear"`
}
