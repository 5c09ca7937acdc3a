package report

import (
	"cmp"
	"fmt"
	"slices"
)

// How much a finding matters, in the words of SARIF.
const (
	Error   = "error"
	Warning = "warning"
)

// Finding is one thing that somebody who reviews the files should look at.
type Finding struct {
	// ID is the rule's; Rules describe it.
	ID string
	// Level is error or warning.
	Level string
	// Message says in one line what was found.
	Message string
	// Source is where the cause stands; nil where no file has it.
	Source *Source
	// Step is the name of the step.
	Step string
	// Workload is the workload that it is about, as kind/name in lower case, and Namespace its namespace. Both are empty for an
	// expectation, and the workload for a pod without an owner.
	Namespace string
	Workload  string
}

// Rule is a kind of finding.
type Rule struct {
	ID, Level string
	// Short and Full say what was found, Help what to do.
	Short, Full, Help string
}

// ExpectationNotMet is the ID of the findings that are expectations.
const ExpectationNotMet = "expectation-not-met"

const (
	RulePending  = "pods-pending"
	RuleRollout  = "rollout-stuck"
	RuleGone     = "workload-gone"
	RuleQuorum   = "quorum-lost"
	RuleBudget   = "budget-broken"
	RuleStranded = "pods-stranded"
)

// Rules are all kinds of findings, those of a Report before those of a BlastReport.
func Rules() []Rule {
	return []Rule{
		{
			ID: ExpectationNotMet, Level: Error, Short: "An expectation was not met",
			Full: "The scenario says what should be so after a step, and it is not.",
			Help: "Look at the step with simulate run: Why tells what decided. Change the workload, or the expectation if it is out of date.",
		}, {
			ID: RulePending, Level: Warning, Short: "Pods stay Pending",
			Full: "kube-scheduler finds no node for some of the workload's pods. The message is its own and counts the nodes by reason.",
			Help: "Give the workload fewer replicas, softer rules or smaller requests, or the cluster more nodes; simulate explain finds the smallest change.",
		}, {
			ID: RuleRollout, Level: Error, Short: "A rollout cannot end",
			Full: "The controller waits for pods of the new revision, and these wait for room that the old ones hold.",
			Help: "Let the rollout take an old pod away first (maxUnavailable of at least 1), or make room for the pods that it adds (maxSurge).",
		}, {
			ID: RuleGone, Level: Warning, Short: "One failure takes a whole workload",
			Full: "All running pods of the workload are in one failure domain, so that its failure leaves none.",
			Help: "Spread the pods over the level with topologySpreadConstraints or podAntiAffinity, or run more than one replica.",
		}, {
			ID: RuleQuorum, Level: Error, Short: "One failure takes a quorum",
			Full: "The failure leaves fewer pods than the workload needs to decide by majority, and it had enough before.",
			Help: "Spread the pods so that no failure domain holds as many as the quorum can spare, or use more domains.",
		}, {
			ID: RuleBudget, Level: Warning, Short: "One failure breaks a PodDisruptionBudget",
			Full: "The failure leaves fewer healthy pods than a PodDisruptionBudget asks for, so that no drain can go on until they are back.",
			Help: "Spread the pods over more failure domains, run more replicas, or ask for fewer in the budget.",
		}, {
			ID: RuleStranded, Level: Warning, Short: "Lost pods find no other node",
			Full: "The controller makes replacements of the lost pods, and these stay Pending on what is left of the cluster.",
			Help: "Make the rule that refuses the nodes left preferred instead of required, or give the other domains room for the pods.",
		},
	}
}

// NewFinding fills in the level of the rule.
func NewFinding(id, step string, of Owner, source *Source, format string, args ...any) Finding {
	rules := Rules()
	i := slices.IndexFunc(rules, func(rule Rule) bool { return rule.ID == id })
	return Finding{
		ID: id, Level: rules[i].Level, Message: fmt.Sprintf(format, args...), Source: source,
		Step: step, Namespace: of.Namespace, Workload: of.Workload,
	}
}

// Owner is a workload as findings name it: kind/name in lower case, and its namespace.
type Owner struct{ Namespace, Workload string }

// OwnerOf is the workload of a pod; a pod without one is its own.
func OwnerOf(namespace, workload, pod string) Owner {
	return Owner{Namespace: namespace, Workload: cmp.Or(workload, "pod/"+pod)}
}

func (p StrandedPod) Owner() Owner { return OwnerOf(p.Namespace, p.Workload, p.Name) }
