// Package diff is the report on what differs between two reports on runs, or on failures.
package diff

import (
	"slices"

	askblast "github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/run"
)

// Kind is the kind of a report on what differs between two others.
const Kind = "DiffReport"

// Report is what differs between two reports of one kind: an old one, such as that of the main branch, and a new one. Steps
// are compared by their names.
type Report struct {
	// APIVersion is the version of this model, faultline/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is DiffReport.
	Kind string `json:"kind"`
	// Version is the version of Faultline that compared the reports.
	Version string `json:"version"`
	// Of is the kind of the two reports.
	Of string `json:"of" jsonschema:"enum=Report,enum=BlastReport"`
	// Old and New are the two reports.
	Old Compared `json:"old"`
	New Compared `json:"new"`
	// Verdict says in one line what differs.
	Verdict string `json:"verdict"`
	// Differences are the kinds of differences that there are: moved, pending, radius, stranded, rules-removed, expectations, any. Of pending,
	// radius, stranded and expectations it is what got worse.
	Differences []string `json:"differences,omitempty"`
	// FailOn are the kinds of differences that were not wanted, in the order asked for.
	FailOn []string `json:"failOn,omitempty"`
	// Worse means that something got worse: pods that are newly Pending or not ready, a rollout that is newly stuck, an expectation that is
	// newly unmet, a workload that is further from an even spread or has one replica left, pods that are newly stranded or not replaced, a
	// workload of several replicas that newly loses its quorum, its budget or everything, a rule that a workload no longer has.
	Worse bool `json:"worse"`
	// Conditions are what is not alike in how the two reports came about, which may be all there is to explain the differences.
	// They are no differences themselves.
	Conditions []Condition `json:"conditions,omitempty"`
	// Declared is what workloads declare otherwise, in the order of the new report's steps, each in the first step in which it is so. It is
	// missing where one of the reports does not say what workloads declare, as those of older versions.
	Declared []DeclaredDiff `json:"declared,omitempty"`
	// Added and Removed are the steps that the new or the old report alone has, Unchanged those without a difference.
	Added     []string `json:"added,omitempty"`
	Removed   []string `json:"removed,omitempty"`
	Unchanged []string `json:"unchanged,omitempty"`
	// Steps are the steps that differ, of two Reports, and Failures those of two BlastReports, in the new one's order.
	Steps    []StepDiff  `json:"steps,omitempty"`
	Failures []BlastDiff `json:"failures,omitempty"`
}

// Compared is one of two reports.
type Compared struct {
	// File is the file that it was read from; empty where it was not stored.
	File string `json:"file,omitempty"`
	// Version is the version of Faultline that wrote it.
	Version string `json:"version"`
	// Scenario is the name of the scenario.
	Scenario string `json:"scenario"`
	// Steps is the number of its steps.
	Steps int `json:"steps"`
}

// Condition is something about how two reports came about that is not alike.
type Condition struct {
	// What it is, in words, such as nodes or kube-scheduler.
	What string `json:"what"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// Change is a number that changed.
type Change struct {
	Old int `json:"old"`
	New int `json:"new"`
}

// DeclaredDiff is something that a workload declares otherwise.
type DeclaredDiff struct {
	// Step is the first step in which it is so.
	Step string `json:"step"`
	cluster.WorkloadRef
	// Source is where the workload's object stands in the new report's files; missing where no file has it.
	Source *manifest.Place `json:"source,omitempty"`
	// What it is: a workload that only one of the reports has, or something that the workload declares in both.
	What string `json:"what" jsonschema:"enum=workload,enum=rule,enum=budget,enum=priority,enum=request,enum=replicas"`
	// Change says what became of it. Numbers are lowered or raised; rules and budgets are weakened or strengthened, or only changed.
	Change string `json:"change" jsonschema:"enum=added,enum=dropped,enum=lowered,enum=raised,enum=weakened,enum=strengthened,enum=changed"`
	// Old and New are both versions in words; missing where there is none.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// StepDiff is what differs after one step.
type StepDiff struct {
	// Name is the step's name.
	Name string `json:"name"`
	// Pods, Pending, NotCreated and NotReady count the pods after the step; missing where the number is the same.
	Pods       *Change `json:"pods,omitempty"`
	Pending    *Change `json:"pending,omitempty"`
	NotCreated *Change `json:"notCreated,omitempty"`
	NotReady   *Change `json:"notReady,omitempty"`
	// Moved are the pods that run in both reports, and on different nodes.
	Moved []MovedPod `json:"moved,omitempty"`
	// Added and Removed are the pods that the new or the old report alone has.
	Added   []DiffPod `json:"added,omitempty"`
	Removed []DiffPod `json:"removed,omitempty"`
	// NewlyPending are the new report's Pending pods that run in the old one or are not there. NoLongerPending are the old one's
	// that run in the new one or are no longer there, with their nodes.
	NewlyPending    []placement.StrandedPod `json:"newlyPending,omitempty"`
	NoLongerPending []DiffPod               `json:"noLongerPending,omitempty"`
	// OtherMessage are the pods that are Pending in both, and of which kube-scheduler says something else.
	OtherMessage []OtherMessage `json:"otherMessage,omitempty"`
	// Workloads are the workloads whose pods are counted or distributed differently.
	Workloads []WorkloadDiff `json:"workloads,omitempty"`
	// Bindings are, in a federation, the workloads that Karmada gives to other clusters, in other shares, or to none for another reason.
	Bindings []BindingDiff `json:"bindings,omitempty"`
	// NewlyStuck are the rollouts that do not end in the new report alone, NoLongerStuck those in the old one alone.
	NewlyStuck    []controller.Rollout `json:"newlyStuck,omitempty"`
	NoLongerStuck []controller.Rollout `json:"noLongerStuck,omitempty"`
	// NewlyUnmet are the expectations that the new report alone does not meet, NoLongerUnmet those of the old one alone.
	NewlyUnmet    []expect.Judged `json:"newlyUnmet,omitempty"`
	NoLongerUnmet []expect.Judged `json:"noLongerUnmet,omitempty"`
}

// MovedPod is a pod that is on another node. The pods of a Deployment, ReplicaSet or Job, whose names are generated, are matched
// by name, or by their order within the workload if that moves fewer of them; those of a DaemonSet by their nodes, and all
// others by name.
type MovedPod struct {
	Namespace string `json:"namespace"`
	// Name is its name in the new report, OldName in the old one where it has another there.
	Name    string `json:"name"`
	OldName string `json:"oldName,omitempty"`
	// Position is the pod's place among those of its workload in the new report, from 1; missing where the names are the same.
	Position int `json:"position,omitempty"`
	// Workload is the outermost owner, as kind/name in lower case; empty for a pod without one.
	Workload string `json:"workload,omitempty"`
	// From is its node in the old report, To in the new one.
	From string `json:"from"`
	To   string `json:"to"`
	// OldChoice and NewChoice are how the nodes were chosen; missing for a pod that has had its node from the start.
	OldChoice *Choice `json:"oldChoice,omitempty"`
	NewChoice *Choice `json:"newChoice,omitempty"`
	// AmongEquals means that the node was one of several with the top score in both reports, so that chance may have moved the pod.
	// Where a report keeps the scores of the nodes, neither node is below the best there.
	AmongEquals bool `json:"amongEquals,omitempty"`
	// SameNodes means that the workload has as many pods on each node in both reports: its pods have changed places.
	SameNodes bool `json:"sameNodes,omitempty"`
	// Since is the earlier step since which it has been so; missing where it is this one.
	Since string `json:"since,omitempty"`
}

// Choice is how a pod's node was chosen.
type Choice struct {
	// Scored is the number of nodes that were scored; 0: the node was the only one that passed every filter.
	Scored int `json:"scored"`
	// Ties is the number of nodes with the top score, Margin that score less the next lower one.
	Ties   int   `json:"ties"`
	Margin int64 `json:"margin"`
	// Deciders are the plugins without whose score other nodes would have been the best.
	Deciders []string `json:"deciders,omitempty"`
}

// DiffPod is a pod of one of two reports.
type DiffPod struct {
	cluster.PodRef
	// Node is the pod's node; empty where it is Pending, or no longer there.
	Node string `json:"node,omitempty"`
}

// OtherMessage is a pod that waits for another reason.
type OtherMessage struct {
	cluster.PodRef
	// Old and New are kube-scheduler's messages.
	Old string `json:"old"`
	New string `json:"new"`
}

// BindingDiff is a workload of which Karmada decides otherwise. A report without the workload has no binding of it.
type BindingDiff struct {
	Kind      string       `json:"kind"`
	Namespace string       `json:"namespace,omitempty"`
	Name      string       `json:"name"`
	Old       *run.Binding `json:"old,omitempty"`
	New       *run.Binding `json:"new,omitempty"`
}

// WorkloadDiff is a workload whose pods are counted or distributed differently.
type WorkloadDiff struct {
	cluster.Ref // the outermost owner, or the pod itself if it has none
	// Source is where its object stands in the new report's files; missing where no file has it.
	Source *manifest.Place `json:"source,omitempty"`
	// Desired, Running and Pending count its pods; missing where the number is the same.
	Desired *Change `json:"desired,omitempty"`
	Running *Change `json:"running,omitempty"`
	Pending *Change `json:"pending,omitempty"`
	// Levels are the levels at which its pods are distributed differently, widest first.
	Levels []LevelDiff `json:"levels,omitempty"`
}

// LevelDiff is how the pods of a workload are distributed over the domains of one level. A report without the workload has none.
type LevelDiff struct {
	TopologyKey string            `json:"topologyKey"`
	Old         *run.Distribution `json:"old,omitempty"`
	New         *run.Distribution `json:"new,omitempty"`
}

// BlastDiff is what differs in what failures take after one step.
type BlastDiff struct {
	// Name is the step's name.
	Name string `json:"name"`
	// Pending counts the Pending pods before anything fails; missing where the number is the same.
	Pending *Change `json:"pending,omitempty"`
	// Added and Removed are the topology keys whose failures the new or the old report alone has looked at.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// OneReplica are the workloads that have one replica in the new report and several in the old one, in order of their names.
	OneReplica []OneReplica `json:"oneReplica,omitempty"`
	// Levels are the levels that differ, widest first.
	Levels []BlastLevelDiff `json:"levels,omitempty"`
}

// OneReplica is a workload that any failure of its node takes whole, and that did not have to fear that before.
type OneReplica struct {
	cluster.WorkloadRef
	// Replicas is how many it had.
	Replicas int `json:"replicas"`
}

// BlastLevelDiff is what differs in what the failures of one level take.
type BlastLevelDiff struct {
	// TopologyKey is the node label whose values make the domains.
	TopologyKey string `json:"topologyKey"`
	// Domains is the number of domains; missing where it is the same.
	Domains *Change `json:"domains,omitempty"`
	// Radius is the blast radius; missing where the share is the same. A larger one is not worse by itself: seven replicas in three zones
	// lose more than six, wherever they are. Excess is what is judged.
	Radius *RadiusDiff `json:"radius,omitempty"`
	// Excess are the workloads of several replicas that are further from an even spread, those that are worst first.
	Excess []ExcessDiff `json:"excess,omitempty"`
	// NotBack, Stranded and NotReplaced are the most pods that one of the failures leaves so: those that do not come back are the other two
	// together. They are missing where the number is the same, or where one of the reports has not looked at recoveries.
	NotBack     *Change `json:"notBack,omitempty"`
	Stranded    *Change `json:"stranded,omitempty"`
	NotReplaced *Change `json:"notReplaced,omitempty"`
	// NewlyStranded are the workloads of which more pods do not come back after a failure than after any of the level before, the most first.
	NewlyStranded []StrandedDiff `json:"newlyStranded,omitempty"`
	// QuorumLost, Gone and BrokenBudgets are the workloads and PodDisruptionBudgets of which any failure of the level takes that, named as
	// in the failures. Gone leaves out workloads of one replica, and QuorumLost, too.
	QuorumLost    *NameDiff `json:"quorumLost,omitempty"`
	Gone          *NameDiff `json:"gone,omitempty"`
	BrokenBudgets *NameDiff `json:"brokenBudgets,omitempty"`
	// Failures are the failures that differ, in order of their domains' names.
	Failures []FailureDiff `json:"failures,omitempty"`
}

// RadiusDiff is a blast radius that changed.
type RadiusDiff struct {
	Old askblast.Radius `json:"old"`
	New askblast.Radius `json:"new"`
}

// ExcessDiff is a workload that is further from an even spread: a failure takes more of it beyond what it would take if the replicas were
// spread evenly over the domains that admit them in the old report. Old is missing where the old report does not have the workload.
type ExcessDiff struct {
	cluster.WorkloadRef
	Old *Spread `json:"old,omitempty"`
	New Spread  `json:"new"`
}

// Spread is what the worst failure of a level takes of a workload.
type Spread struct {
	// Lost of the replicas are in the domains, and Even would be if they were spread evenly.
	Lost     int      `json:"lost"`
	Even     int      `json:"even"`
	Replicas int      `json:"replicas"`
	Domains  []string `json:"domains"`
}

// StrandedDiff is a workload of which more pods do not come back after a failure than before.
type StrandedDiff struct {
	cluster.WorkloadRef
	// Old is the most pods that a failure of the level left so, New that of the new report, and Domains what fails there.
	Old     int      `json:"old"`
	New     int      `json:"new"`
	Domains []string `json:"domains"`
}

// FailureDiff is what differs in what one failure takes. A failure that a report does not have takes nothing there.
type FailureDiff struct {
	// Domains are the values of the level's key that fail.
	Domains []string `json:"domains"`
	// Share is the largest share that it takes of any workload, between 0 and 1; missing where it is the same.
	Share *ShareDiff `json:"share,omitempty"`
	// NotBack, Stranded and NotReplaced count pods, as in the level; missing where the number is the same, or where one of the reports has
	// not looked at the recovery.
	NotBack     *Change `json:"notBack,omitempty"`
	Stranded    *Change `json:"stranded,omitempty"`
	NotReplaced *Change `json:"notReplaced,omitempty"`
	// QuorumLost and Gone are workloads, as namespace/kind/name in lower case; BrokenBudgets are PodDisruptionBudgets, as
	// namespace/name.
	QuorumLost    *NameDiff `json:"quorumLost,omitempty"`
	Gone          *NameDiff `json:"gone,omitempty"`
	BrokenBudgets *NameDiff `json:"brokenBudgets,omitempty"`
}

// ShareDiff is a share that changed.
type ShareDiff struct {
	Old float64 `json:"old"`
	New float64 `json:"new"`
}

// NameDiff is a set of names that changed.
type NameDiff struct {
	// Newly are the names that the new report alone has, NoLonger those that the old one alone has.
	Newly    []string `json:"newly,omitempty"`
	NoLonger []string `json:"noLonger,omitempty"`
}

// FailOns are the kinds of differences that a comparison of two reports of the kind can be asked to fail on: any pod that moved, pods that
// are newly Pending after any step, a workload that is further from an even spread at any level or has one replica left, pods that are
// newly stranded after any failure, an expectation that is newly unmet, anything that is worse.
func FailOns(of string) []string {
	if of == blast.Kind {
		return []string{expect.FailOnPending, expect.FailOnRadius, expect.FailOnStranded, expect.FailOnRules, expect.FailOnAny}
	}
	return []string{expect.FailOnMoved, expect.FailOnPending, expect.FailOnExpectations, expect.FailOnRules, expect.FailOnAny}
}

// Failed are the kinds of differences that were not wanted, and are there.
func (d *Report) Failed() []string {
	return list.Where(d.FailOn, func(kind string) bool { return slices.Contains(d.Differences, kind) })
}
