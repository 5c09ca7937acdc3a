// Package diff has the report on the differences between two reports on runs, or on failures.
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

// Report has the differences between two reports of one kind: an old one, such as that of the main branch, and a new one. Steps are paired
// by their names.
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
	// Verdict sums up the differences on one line.
	Verdict string `json:"verdict"`
	// Differences are the kinds of differences that were found: moved, pending, radius, stranded, rules-removed, expectations, any. The
	// kinds pending, radius, stranded and expectations only count changes for the worse.
	Differences []string `json:"differences,omitempty"`
	// FailOn are the unwanted kinds of differences, in the order in which the user gave them.
	FailOn []string `json:"failOn,omitempty"`
	// Worse means that something got worse: pods are newly Pending or not ready, a rollout is newly stuck, an expectation is newly unmet, a
	// workload is further from an even spread or has at most one replica left, pods are newly stranded or not replaced, a workload of several
	// replicas newly loses its quorum, its budget or all its pods, or a workload drops or weakens a rule.
	Worse bool `json:"worse"`
	// Conditions are the circumstances in which the two reports differ, such as the release. They may explain all differences, and do not
	// count as differences themselves.
	Conditions []Condition `json:"conditions,omitempty"`
	// Declared are the differences in what workloads declare, in the order of the new report's steps. Each is in the first step that has
	// it. It is missing if one of the reports has no declarations, as those of older versions.
	Declared []DeclaredDiff `json:"declared,omitempty"`
	// Added and Removed are the steps that only the new or only the old report has. Unchanged are the steps without a difference.
	Added     []string `json:"added,omitempty"`
	Removed   []string `json:"removed,omitempty"`
	Unchanged []string `json:"unchanged,omitempty"`
	// Steps are the steps of two Reports that differ, and Failures those of two BlastReports, in the new report's order.
	Steps    []StepDiff  `json:"steps,omitempty"`
	Failures []BlastDiff `json:"failures,omitempty"`
}

// Compared is one of the two reports.
type Compared struct {
	// File is the file from which it was read; missing if it was not read from a file.
	File string `json:"file,omitempty"`
	// Version is the version of Faultline that wrote it.
	Version string `json:"version"`
	// Scenario is the name of the scenario.
	Scenario string `json:"scenario"`
	// Steps is the number of its steps.
	Steps int `json:"steps"`
}

// Condition is a circumstance in which the two reports differ.
type Condition struct {
	// What names the circumstance, such as nodes or kube-scheduler.
	What string `json:"what"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// Change is a number in both reports.
type Change struct {
	Old int `json:"old"`
	New int `json:"new"`
}

// DeclaredDiff is a difference in what a workload declares.
type DeclaredDiff struct {
	// Step is the first step that has the difference.
	Step string `json:"step"`
	cluster.WorkloadRef
	// Source is the place of the workload's object in the new report's files; missing if no file has it.
	Source *manifest.Place `json:"source,omitempty"`
	// What says what differs: a workload that only one of the reports has, or a part of a declaration. A quota is a limit of the ResourceQuota
	// that takes the workload's place.
	What string `json:"what" jsonschema:"enum=workload,enum=rule,enum=budget,enum=priority,enum=request,enum=replicas,enum=autoscaler,enum=quota"`
	// Change says how it differs. Numbers are lowered or raised; rules and budgets are weakened or strengthened, or only changed.
	Change string `json:"change" jsonschema:"enum=added,enum=dropped,enum=lowered,enum=raised,enum=weakened,enum=strengthened,enum=changed"`
	// Old and New are both versions in words; missing if a report has none.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// StepDiff has the differences after one step.
type StepDiff struct {
	// Name is the step's name.
	Name string `json:"name"`
	// Pods, Pending, NotCreated and NotReady count the pods after the step; missing if the number is the same.
	Pods       *Change `json:"pods,omitempty"`
	Pending    *Change `json:"pending,omitempty"`
	NotCreated *Change `json:"notCreated,omitempty"`
	NotReady   *Change `json:"notReady,omitempty"`
	// Moved are the pods that run on different nodes in the two reports.
	Moved []MovedPod `json:"moved,omitempty"`
	// Added and Removed are the pods that only the new or only the old report has.
	Added   []DiffPod `json:"added,omitempty"`
	Removed []DiffPod `json:"removed,omitempty"`
	// NewlyPending are the new report's Pending pods that run in the old one or are missing there. NoLongerPending are the old report's
	// Pending pods that run in the new one, with their nodes, or are missing there.
	NewlyPending    []placement.StrandedPod `json:"newlyPending,omitempty"`
	NoLongerPending []DiffPod               `json:"noLongerPending,omitempty"`
	// OtherMessage are the pods that are Pending in both reports with different messages of kube-scheduler.
	OtherMessage []OtherMessage `json:"otherMessage,omitempty"`
	// Workloads are the workloads whose pods differ in number or distribution.
	Workloads []WorkloadDiff `json:"workloads,omitempty"`
	// Bindings are, in a federation, the workloads to which Karmada gives other clusters or other shares, or none for another reason.
	Bindings []BindingDiff `json:"bindings,omitempty"`
	// NewlyStuck are the rollouts that are stuck only in the new report, NoLongerStuck those that are stuck only in the old one.
	NewlyStuck    []controller.Rollout `json:"newlyStuck,omitempty"`
	NoLongerStuck []controller.Rollout `json:"noLongerStuck,omitempty"`
	// NewlyUnmet are the expectations that only the new report does not meet, NoLongerUnmet those that only the old one does not meet.
	NewlyUnmet    []expect.Judged `json:"newlyUnmet,omitempty"`
	NoLongerUnmet []expect.Judged `json:"noLongerUnmet,omitempty"`
}

// MovedPod is a pod that is on another node than before. Pods of a Deployment, ReplicaSet or Job have generated names. They are paired by
// name, or by their order within the workload if fewer pods then move. Pods of a DaemonSet are paired by node, and all others by name.
type MovedPod struct {
	Namespace string `json:"namespace"`
	// Name is its name in the new report. OldName is its name in the old one; missing if it is the same.
	Name    string `json:"name"`
	OldName string `json:"oldName,omitempty"`
	// Position is the pod's position among those of its workload in the new report, from 1; missing if the names are the same.
	Position int `json:"position,omitempty"`
	// Workload is the outermost owner, as kind/name in lower case; missing for a pod without one.
	Workload string `json:"workload,omitempty"`
	// From is its node in the old report, To in the new one.
	From string `json:"from"`
	To   string `json:"to"`
	// OldChoice and NewChoice say how the nodes were chosen; missing for a pod that has had its node from the start.
	OldChoice *Choice `json:"oldChoice,omitempty"`
	NewChoice *Choice `json:"newChoice,omitempty"`
	// AmongEquals means that in both reports the pod's node was one of several with the top score, so that chance may have moved the pod.
	// If the reports have the scores of the nodes, each node also has the top score in the other report.
	AmongEquals bool `json:"amongEquals,omitempty"`
	// SameNodes means that each node has as many pods of the workload in both reports: its pods have changed places.
	SameNodes bool `json:"sameNodes,omitempty"`
	// Since is the earlier step with the same move; missing if this is the first one.
	Since string `json:"since,omitempty"`
}

// Choice says how a pod's node was chosen.
type Choice struct {
	// Scored is the number of nodes that were scored. It is 0 if the node was the only one that passed every filter.
	Scored int `json:"scored"`
	// Ties is the number of nodes with the top score, Margin the distance to the next lower score.
	Ties   int   `json:"ties"`
	Margin int64 `json:"margin"`
	// Deciders are the plugins that decided. Together means that none of them decided alone.
	Deciders []string `json:"deciders,omitempty"`
	Together bool     `json:"together,omitempty"`
}

// DiffPod is a pod of one of two reports.
type DiffPod struct {
	cluster.PodRef
	// Node is the pod's node; missing if it is Pending, or no longer there.
	Node string `json:"node,omitempty"`
}

// OtherMessage is a pod that is Pending for another reason than before.
type OtherMessage struct {
	cluster.PodRef
	// Old and New are kube-scheduler's messages.
	Old string `json:"old"`
	New string `json:"new"`
}

// BindingDiff is a workload about which Karmada decides otherwise. Old or New is missing if that report does not have the workload.
type BindingDiff struct {
	Kind      string       `json:"kind"`
	Namespace string       `json:"namespace,omitempty"`
	Name      string       `json:"name"`
	Old       *run.Binding `json:"old,omitempty"`
	New       *run.Binding `json:"new,omitempty"`
}

// WorkloadDiff is a workload whose pods differ in number or distribution.
type WorkloadDiff struct {
	cluster.Ref // the outermost owner, or the pod itself if it has none
	// Source is the place of its object in the new report's files; missing if no file has it.
	Source *manifest.Place `json:"source,omitempty"`
	// Desired, Running and Pending count its pods; missing if the number is the same.
	Desired *Change `json:"desired,omitempty"`
	Running *Change `json:"running,omitempty"`
	Pending *Change `json:"pending,omitempty"`
	// Levels are the levels at which its pods are distributed differently, widest first.
	Levels []LevelDiff `json:"levels,omitempty"`
}

// LevelDiff is the distribution of a workload's pods over the domains of one level. Old or New is missing if that report does not have the
// workload.
type LevelDiff struct {
	TopologyKey string            `json:"topologyKey"`
	Old         *run.Distribution `json:"old,omitempty"`
	New         *run.Distribution `json:"new,omitempty"`
}

// BlastDiff has the differences in what failures take after one step.
type BlastDiff struct {
	// Name is the step's name.
	Name string `json:"name"`
	// Pending counts the Pending pods before anything fails; missing if the number is the same.
	Pending *Change `json:"pending,omitempty"`
	// Added and Removed are the topology keys whose failures only the new or only the old report has.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// OneReplica are the workloads that have at most one replica in the new report and several in the old one, in order of their names.
	OneReplica []OneReplica `json:"oneReplica,omitempty"`
	// Levels are the levels that differ, widest first.
	Levels []BlastLevelDiff `json:"levels,omitempty"`
}

// OneReplica is a workload that had several replicas and has one now, so that a failure of its node takes it whole, or none.
type OneReplica struct {
	cluster.WorkloadRef
	// Left is the number of replicas that it has now, 1 or 0.
	Left int `json:"left"`
	// Replicas is the number of replicas that it had.
	Replicas int `json:"replicas"`
}

// BlastLevelDiff has the differences in what the failures of one level take.
type BlastLevelDiff struct {
	// TopologyKey is the node label whose values make the domains.
	TopologyKey string `json:"topologyKey"`
	// Domains is the number of domains; missing if it is the same.
	Domains *Change `json:"domains,omitempty"`
	// Radius is the blast radius; missing if the share is the same. A larger radius is not worse by itself: in three zones, seven replicas
	// lose at least 3 and six replicas only 2. Excess is what counts.
	Radius *RadiusDiff `json:"radius,omitempty"`
	// Excess are the workloads of several replicas that are further from an even spread, the largest share first.
	Excess []ExcessDiff `json:"excess,omitempty"`
	// NotBack, Stranded and NotReplaced are the largest numbers of pods that one of the failures leaves behind. NotBack counts stranded and
	// not replaced pods together. They are missing if the number is the same, or if one of the reports has no recoveries.
	NotBack     *Change `json:"notBack,omitempty"`
	Stranded    *Change `json:"stranded,omitempty"`
	NotReplaced *Change `json:"notReplaced,omitempty"`
	// NewlyStranded are the workloads of which a failure leaves more pods that do not come back than any failure of the level did before,
	// the largest increase first.
	NewlyStranded []StrandedDiff `json:"newlyStranded,omitempty"`
	// QuorumLost and Gone are the workloads that lose their quorum, or all their pods, to any failure of the level, and BrokenBudgets the
	// PodDisruptionBudgets that any failure breaks. They are named as in FailureDiff. Gone and QuorumLost leave out workloads of one
	// replica.
	QuorumLost    *NameDiff `json:"quorumLost,omitempty"`
	Gone          *NameDiff `json:"gone,omitempty"`
	BrokenBudgets *NameDiff `json:"brokenBudgets,omitempty"`
	// Failures are the failures that differ, sorted by their domains.
	Failures []FailureDiff `json:"failures,omitempty"`
}

// RadiusDiff is a blast radius that changed.
type RadiusDiff struct {
	Old askblast.Radius `json:"old"`
	New askblast.Radius `json:"new"`
}

// ExcessDiff is a workload that is further from an even spread: its worst failure takes more beyond what it would take of an even spread
// over the domains that admit the workload in the old report. Old is missing if the old report does not have the workload.
type ExcessDiff struct {
	cluster.WorkloadRef
	Old *Spread `json:"old,omitempty"`
	New Spread  `json:"new"`
}

// Spread is what the worst failure of a level takes of a workload.
type Spread struct {
	// Lost is how many of the replicas are in the failed domains, and Even how many would be if they were spread evenly.
	Lost     int      `json:"lost"`
	Even     int      `json:"even"`
	Replicas int      `json:"replicas"`
	Domains  []string `json:"domains"`
}

// StrandedDiff is a workload of which a failure leaves more pods that do not come back than before.
type StrandedDiff struct {
	cluster.WorkloadRef
	// Old is the largest number of such pods after a failure of the level in the old report, New that in the new one, and Domains what
	// fails there.
	Old     int      `json:"old"`
	New     int      `json:"new"`
	Domains []string `json:"domains"`
}

// FailureDiff has the differences in what one failure takes. A failure that a report does not have takes nothing there.
type FailureDiff struct {
	// Domains are the failed domains.
	Domains []string `json:"domains"`
	// Share is the largest share that it takes of any workload, between 0 and 1; missing if it is the same.
	Share *ShareDiff `json:"share,omitempty"`
	// NotBack, Stranded and NotReplaced count pods as in BlastLevelDiff; missing if the number is the same, or if one of the reports does
	// not have the recovery.
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
	// Newly are the names that only the new report has, NoLonger those that only the old one has.
	Newly    []string `json:"newly,omitempty"`
	NoLonger []string `json:"noLonger,omitempty"`
}

// FailOns returns the kinds of differences on which a comparison of two reports of kind of can fail: a pod that moved, pods that are newly
// Pending after any step, a workload that is further from an even spread at any level or has at most one replica left, pods that are newly stranded
// after any failure, an expectation that is newly unmet, a rule that is dropped or weaker, anything that is worse.
func FailOns(of string) []string {
	if of == blast.Kind {
		return []string{expect.FailOnPending, expect.FailOnRadius, expect.FailOnStranded, expect.FailOnRules, expect.FailOnAny}
	}
	return []string{expect.FailOnMoved, expect.FailOnPending, expect.FailOnExpectations, expect.FailOnRules, expect.FailOnAny}
}

// Failed returns the unwanted kinds of differences that were found.
func (d *Report) Failed() []string {
	return list.Where(d.FailOn, func(kind string) bool { return slices.Contains(d.Differences, kind) })
}
