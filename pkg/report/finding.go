package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	rulePending  = "pods-pending"
	ruleRollout  = "rollout-stuck"
	ruleGone     = "workload-gone"
	ruleQuorum   = "quorum-lost"
	ruleBudget   = "budget-broken"
	ruleStranded = "pods-stranded"
)

// Rules are all kinds of findings, those of a Report before those of a BlastReport.
func Rules() []Rule {
	return []Rule{
		{
			ID: ExpectationNotMet, Level: Error, Short: "An expectation was not met",
			Full: "The scenario says what should be so after a step, and it is not.",
			Help: "Look at the step with simulate run: Why tells what decided. Change the workload, or the expectation if it is out of date.",
		}, {
			ID: rulePending, Level: Warning, Short: "Pods stay Pending",
			Full: "kube-scheduler finds no node for some of the workload's pods. The message is its own and counts the nodes by reason.",
			Help: "Give the workload fewer replicas, softer rules or smaller requests, or the cluster more nodes; simulate explain finds the smallest change.",
		}, {
			ID: ruleRollout, Level: Error, Short: "A rollout cannot end",
			Full: "The controller waits for pods of the new revision, and these wait for room that the old ones hold.",
			Help: "Let the rollout take an old pod away first (maxUnavailable of at least 1), or make room for the pods that it adds (maxSurge).",
		}, {
			ID: ruleGone, Level: Warning, Short: "One failure takes a whole workload",
			Full: "All running pods of the workload are in one failure domain, so that its failure leaves none.",
			Help: "Spread the pods over the level with topologySpreadConstraints or podAntiAffinity, or run more than one replica.",
		}, {
			ID: ruleQuorum, Level: Error, Short: "One failure takes a quorum",
			Full: "The failure leaves fewer pods than the workload needs to decide by majority, and it had enough before.",
			Help: "Spread the pods so that no failure domain holds as many as the quorum can spare, or use more domains.",
		}, {
			ID: ruleBudget, Level: Warning, Short: "One failure breaks a PodDisruptionBudget",
			Full: "The failure leaves fewer healthy pods than a PodDisruptionBudget asks for, so that no drain can go on until they are back.",
			Help: "Spread the pods over more failure domains, run more replicas, or ask for fewer in the budget.",
		}, {
			ID: ruleStranded, Level: Warning, Short: "Lost pods find no other node",
			Full: "The controller makes replacements of the lost pods, and these stay Pending on what is left of the cluster.",
			Help: "Make the rule that refuses the nodes left preferred instead of required, or give the other domains room for the pods.",
		},
	}
}

// newFinding fills in the level of the rule.
func newFinding(id, step string, of owner, source *Source, format string, args ...any) Finding {
	rules := Rules()
	i := slices.IndexFunc(rules, func(rule Rule) bool { return rule.ID == id })
	return Finding{
		ID: id, Level: rules[i].Level, Message: fmt.Sprintf(format, args...), Source: source,
		Step: step, Namespace: of.namespace, Workload: of.workload,
	}
}

// Findings are the expectations that were not met, the workloads with Pending pods and the rollouts that are stuck, step by step.
func (r *Report) Findings() []Finding {
	var found []Finding
	for i := range r.Steps {
		found = append(found, r.Steps[i].findings()...)
	}
	return found
}

func (s *Step) findings() []Finding {
	var found []Finding
	for _, e := range failures(s.Expectations) {
		found = append(found, newFinding(ExpectationNotMet, s.Name, owner{}, e.Source, "%s", e.failure()))
	}
	for _, pods := range grouped(s.pendingPods(), func(p Pod) owner { return ownerOf(p.Namespace, p.Workload, p.Name) }) {
		of := ownerOf(pods[0].Namespace, pods[0].Workload, pods[0].Name)
		w := s.workload(of)
		subject := fmt.Sprintf("%s of %s", count(len(pods), "pod"), of.workload)
		switch {
		case pods[0].Workload == "":
			subject = of.workload
		case w != nil && w.Desired >= len(pods):
			subject = fmt.Sprintf("%d of %s of %s", len(pods), count(w.Desired, "pod"), of.workload)
		}
		message := cmp.Or(pods[0].Message, silent)
		if more := len(grouped(pods, func(p Pod) string { return p.Message })) - 1; more > 0 {
			message += fmt.Sprintf(" (and %s)", count(more, "other message"))
		}
		found = append(found, newFinding(rulePending, s.Name, of, w.source(), "%s Pending: %s", subject, message))
	}
	for _, rollout := range s.Rollouts {
		of := owner{rollout.Namespace, strings.ToLower(rollout.Kind) + "/" + rollout.Name}
		found = append(found, newFinding(ruleRollout, s.Name, of, s.workload(of).source(),
			"the rollout of %s is stuck at %d of %d updated: %s", of.workload, rollout.Updated, rollout.Desired, rollout.Waiting))
	}
	return found
}

// owner is a workload as findings name it: kind/name in lower case, and its namespace.
type owner struct{ namespace, workload string }

// ownerOf is the workload of a pod; a pod without one is its own.
func ownerOf(namespace, workload, pod string) owner {
	return owner{namespace, cmp.Or(workload, "pod/"+pod)}
}

// workload is nil if the step has none of that name.
func (s *Step) workload(of owner) *Workload {
	i := slices.IndexFunc(s.Workloads, func(w Workload) bool { return owner{w.Namespace, w.title()} == of })
	if i < 0 {
		return nil
	}
	return &s.Workloads[i]
}

func (w *Workload) source() *Source {
	if w == nil {
		return nil
	}
	return w.Source
}

// Findings are what the failures of each level do to each workload, step by step: one finding for each workload and rule, which
// names the worst failure and counts the others.
func (r *BlastReport) Findings() []Finding {
	var found []Finding
	for i := range r.Steps {
		for j := range r.Steps[i].Levels {
			found = append(found, r.Steps[i].findings(j)...)
		}
	}
	return found
}

// findings are those of one level of the step, in the order in which its failures first have them.
func (s *BlastStep) findings(level int) []Finding {
	l := &s.Levels[level]
	type subject struct {
		owner
		rule string
	}
	type worst struct {
		subject
		failures, pods int
		message        string
	}
	var all []*worst
	bySubject := map[subject]*worst{}
	tell := func(rule string, of owner, pods int, message string) {
		w := bySubject[subject{of, rule}]
		if w == nil {
			w = &worst{subject: subject{of, rule}}
			bySubject[w.subject] = w
			all = append(all, w)
		}
		if w.failures++; pods > w.pods {
			w.pods, w.message = pods, message
		}
	}
	sources := map[owner]*Source{}
	for i := range l.Failures {
		f := &l.Failures[i]
		failure := "the failure of " + s.failed(level, f)
		for _, loss := range f.Workloads {
			of := owner{loss.Namespace, strings.ToLower(loss.Kind) + "/" + loss.Name}
			sources[of] = loss.Source
			takes := fmt.Sprintf("%s takes %d of %s of %s", failure, loss.Lost, count(loss.Replicas, "running pod"), of.workload)
			if loss.QuorumLost {
				tell(ruleQuorum, of, loss.Lost, fmt.Sprintf("%s, whose quorum is %d", takes, loss.Quorum))
			}
			if loss.Gone {
				tell(ruleGone, of, loss.Lost, takes)
			}
			if len(loss.BrokenBudgets) > 0 {
				tell(ruleBudget, of, loss.Lost, fmt.Sprintf("%s, which breaks PodDisruptionBudget %s", takes, strings.Join(loss.BrokenBudgets, ", ")))
			}
		}
		if recovery := l.recovery(f); recovery != nil {
			for _, pods := range grouped(recovery.Stranded, StrandedPod.owner) {
				of := pods[0].owner()
				tell(ruleStranded, of, len(pods), fmt.Sprintf("%s leaves %s of %s stranded: %s",
					failure, count(len(pods), "pod"), of.workload, cmp.Or(pods[0].Message, silent)))
			}
		}
	}
	var found []Finding
	for _, w := range all {
		if more := w.failures - 1; more > 0 {
			w.message += fmt.Sprintf(" (likewise %s)", count(more, "other failure"))
		}
		found = append(found, newFinding(w.rule, s.Name, w.owner, sources[w.owner], "%s", w.message))
	}
	return found
}

func (p StrandedPod) owner() owner { return ownerOf(p.Namespace, p.Workload, p.Name) }

// failed names the failed domains with their level: "zone a", or "zones a + b together".
func (s *BlastStep) failed(level int, f *Failure) string {
	name := domainNoun(s.Levels[level].TopologyKey, s.levels()[level])
	if len(f.Domains) > 1 {
		return fmt.Sprintf("%ss %s together", name, domainsText(f.Domains))
	}
	return name + " " + domainsText(f.Domains)
}
