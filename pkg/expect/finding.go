package expect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/words"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/simulation"
)

// These are the levels of findings, in the words of SARIF.
const (
	Error   = "error"
	Warning = "warning"
	Note    = "note"
)

// Finding is something that a reviewer of the files should look at.
type Finding struct {
	// ID is the ID of the finding's rule, which Rules describe.
	ID string
	// Level is error, warning or note.
	Level string
	// Message says in one line what was found.
	Message string
	// Source is the place of the cause; nil if no file has it.
	Source *manifest.Place
	// Step is the name of the step.
	Step string
	// Workload is the workload concerned, as kind/name in lower case, and Namespace is its namespace. A pod without an owner is its own
	// workload. Both are empty for an expectation.
	Namespace, Workload string
}

// Rule is a kind of finding.
type Rule struct {
	ID, Level string
	// Short and Full describe what was found, and Help says what to do.
	Short, Full, Help string
}

// The IDs of the rules.
const (
	NotMet       = "expectation-not-met"
	PodsPending  = "pods-pending"
	PodsRefused  = "pods-refused"
	RolloutStuck = "rollout-stuck"
	WorkloadGone = "workload-gone"
	OneReplica   = "one-replica"
	QuorumLost   = "quorum-lost"
	BudgetBroken = "budget-broken"
	PodsStranded = "pods-stranded"
)

// Rules has all kinds of findings, first those of a step, then those of failures.
var Rules = []Rule{
	{NotMet, Error, "An expectation was not met",
		"The scenario says what should be so after a step, and it is not.",
		"Look at the step with simulate run: its Why line shows what decided. Change the workload, or the expectation if it is out of date."},
	{PodsPending, Warning, "Pods stay Pending",
		"kube-scheduler finds no node for some of the workload's pods. The message is its own and counts the nodes by reason.",
		"Give the workload fewer replicas, softer rules or smaller requests, or the cluster more nodes; simulate explain finds the smallest change."},
	{PodsRefused, Warning, "The API server refuses pods",
		"A RuntimeClass, a LimitRange or a ResourceQuota keeps pods of the workload from being created. The message is the API server's, or the controller's event that quotes it.",
		"Raise the quota or the limits, or ask for fewer or smaller pods. During a rolling update a quota must have room for maxSurge."},
	{RolloutStuck, Error, "A rollout cannot end",
		"The controller waits for pods of the new revision, and these wait for room that the old ones hold.",
		"Let the rollout take an old pod away first (maxUnavailable of at least 1), or make room for the pods that it adds (maxSurge)."},
	{WorkloadGone, Warning, "One failure takes a whole workload",
		"All running pods of the workload are in one failure domain, so that its failure leaves none.",
		"Spread the pods over the level with topologySpreadConstraints or podAntiAffinity."},
	{OneReplica, Note, "A workload has one replica",
		"The workload has a single running pod, so that any failure of its domain takes it whole, wherever it is.",
		"Run a second replica if the workload must not be gone until its pod is replaced."},
	{QuorumLost, Error, "One failure takes a quorum",
		"The failure leaves fewer pods than the workload needs to decide by majority, and it had enough before.",
		"Spread the pods so that no failure domain holds as many as the quorum can spare, or use more domains."},
	{BudgetBroken, Warning, "One failure breaks a PodDisruptionBudget",
		"The failure leaves fewer healthy pods than a PodDisruptionBudget asks for, so that no drain can go on until they are back.",
		"Spread the pods over more failure domains, run more replicas, or ask for fewer in the budget."},
	{PodsStranded, Warning, "Lost pods do not come back",
		"Replacements of the lost pods stay Pending on what is left of the cluster, or no controller makes any for as long as the failure lasts.",
		"Make the rule that refuses the nodes left preferred instead of required, or give the other domains room for the pods."},
}

// NoMessage stands for a missing message of kube-scheduler.
const NoMessage = "kube-scheduler gave no message"

// Facts has what happened in a step, as far as it can lead to a finding.
type Facts struct {
	Step string
	// Unmet are the expectations that were not met.
	Unmet []Judged
	// Pending has the Pending pods by workload, and Stuck the rollouts that cannot end.
	Pending []Pods
	Stuck   []controller.Rollout
	// Refused has the objects that the API server did not create.
	Refused []cluster.Refusal
	// Failures has the losses by failures of one level.
	Failures []Failure
	// Source returns the place of a workload, or nil if no file has it. It may be nil for facts without files.
	Source func(cluster.Ref) *manifest.Place
}

// Pods has the pods of one workload that have no node.
type Pods struct {
	Workload cluster.Ref
	// Desired is the number of pods that the workload should have; 0 if unknown.
	Desired int
	// Messages has kube-scheduler's message for each of the pods.
	Messages []string
}

// Failure has the losses by one failure.
type Failure struct {
	// Domains names the failed domains, for example "zone a".
	Domains string
	Losses  []blast.Loss
	// Gone has the lost pods that do not come back, with the reasons.
	Gone []Pods
}

// Findings returns findings about unmet expectations, workloads with Pending pods, refused objects, stuck rollouts, and the losses of each
// workload by failures.
func (f *Facts) Findings() []Finding {
	var found []Finding
	for _, e := range f.Unmet {
		finding := f.newFinding(NotMet, cluster.Ref{}, e.String())
		finding.Source = e.Source
		found = append(found, finding)
	}
	for _, pods := range f.Pending {
		found = append(found, f.newFinding(PodsPending, pods.Workload, pods.pendingMessage()))
	}
	for _, r := range f.Refused {
		subject := r.Ref.String()
		if r.OfWorkload() {
			subject = fmt.Sprintf("%s of %s", words.Count(r.Pods, "pod"), r.Ref)
		}
		found = append(found, f.newFinding(PodsRefused, r.Ref, subject+" refused: "+r.Message))
	}
	for _, r := range f.Stuck {
		found = append(found, f.newFinding(RolloutStuck, r.Ref,
			fmt.Sprintf("the rollout of %s is stuck at %d of %d updated: %s", r.Ref, r.Updated, r.Desired, r.Waiting)))
	}
	return append(found, f.failureFindings()...)
}

// newFinding returns a finding with the level of its rule and, if there is a workload, with its name and place.
func (f *Facts) newFinding(id string, of cluster.Ref, message string) Finding {
	i := slices.IndexFunc(Rules, func(rule Rule) bool { return rule.ID == id })
	found := Finding{ID: id, Level: Rules[i].Level, Message: message, Step: f.Step}
	if of != (cluster.Ref{}) {
		found.Namespace, found.Workload = of.Namespace, of.String()
		if f.Source != nil {
			found.Source = f.Source(of)
		}
	}
	return found
}

// pendingMessage returns, for example, "2 of 3 pods of deployment/web Pending: 0/3 nodes are available: …".
func (p *Pods) pendingMessage() string {
	subject := fmt.Sprintf("%s of %s", words.Count(len(p.Messages), "pod"), p.Workload)
	switch {
	case strings.EqualFold(p.Workload.Kind, "Pod"):
		subject = p.Workload.String()
	case p.Desired >= len(p.Messages):
		subject = fmt.Sprintf("%d of %s of %s", len(p.Messages), words.Count(p.Desired, "pod"), p.Workload)
	}
	others := slices.Clone(p.Messages)
	slices.Sort(others)
	message := cmp.Or(p.Messages[0], NoMessage)
	if more := len(slices.Compact(others)) - 1; more > 0 {
		message += fmt.Sprintf(" (and %s)", words.Count(more, "other message"))
	}
	return fmt.Sprintf("%s Pending: %s", subject, message)
}

// failureFindings returns one finding for each workload and rule, in the order in which they first occur among the failures. The finding describes
// the worst failure and counts the others.
func (f *Facts) failureFindings() []Finding {
	type subject struct {
		rule string
		of   cluster.Ref
	}
	type worst struct {
		subject
		failures, pods int
		message        string
	}
	var all []*worst
	bySubject := map[subject]*worst{}
	add := func(rule string, of cluster.Ref, pods int, message string) {
		w := bySubject[subject{rule, of}]
		if w == nil {
			w = &worst{subject: subject{rule, of}}
			bySubject[w.subject] = w
			all = append(all, w)
		}
		if w.failures++; pods > w.pods {
			w.pods, w.message = pods, message
		}
	}
	for i := range f.Failures {
		failure := "the failure of " + f.Failures[i].Domains
		for k := range f.Failures[i].Losses {
			loss := &f.Failures[i].Losses[k]
			takes := fmt.Sprintf("%s takes %d of %s of %s", failure, loss.Lost, words.Count(loss.Replicas, "running pod"), loss.Ref)
			if loss.QuorumLost {
				add(QuorumLost, loss.Ref, loss.Lost, fmt.Sprintf("%s, whose quorum is %d", takes, loss.Quorum))
			}
			switch {
			case loss.TakesAll() && loss.Replicas == 1:
				add(OneReplica, loss.Ref, loss.Lost, fmt.Sprintf("%s has one replica, and %s takes it", loss.Ref, failure))
			case loss.TakesAll():
				add(WorkloadGone, loss.Ref, loss.Lost, takes)
			}
			if len(loss.BrokenBudgets) > 0 {
				add(BudgetBroken, loss.Ref, loss.Lost, fmt.Sprintf("%s, which breaks PodDisruptionBudget %s", takes, strings.Join(loss.BrokenBudgets, ", ")))
			}
		}
		for _, pods := range f.Failures[i].Gone {
			n := len(pods.Messages)
			add(PodsStranded, pods.Workload, n, fmt.Sprintf("%s takes %s of %s that %s not come back: %s",
				failure, words.Count(n, "pod"), pods.Workload, words.Pick(n, "does", "do"), cmp.Or(pods.Messages[0], NoMessage)))
		}
	}
	var found []Finding
	for _, w := range all {
		if more := w.failures - 1; more > 0 {
			w.message += fmt.Sprintf(" (likewise %s)", words.Count(more, "other failure"))
		}
		found = append(found, f.newFinding(w.rule, w.of, w.message))
	}
	return found
}

// newFacts returns the facts of a step without failures: its Pending pods, workload by workload in order of arrival, and its stuck rollouts.
func newFacts(step *simulation.Step) *Facts {
	f := &Facts{Step: step.Name, Refused: step.Refused}
	messages := map[types.UID]string{}
	for _, p := range step.Pending {
		messages[p.Pod.UID] = p.Why()
	}
	var order []cluster.Ref
	workloads := map[cluster.Ref]*Pods{}
	owner := step.State.Owners()
	for _, pod := range step.State.Pods {
		if cluster.IsTerminal(pod) {
			continue
		}
		of := owner(pod)
		w := workloads[of]
		if w == nil {
			w = &Pods{Workload: of}
			workloads[of], order = w, append(order, of)
		}
		switch {
		case pod.Spec.NodeName == "":
			w.Desired++
			w.Messages = append(w.Messages, messages[pod.UID])
		case pod.DeletionTimestamp == nil:
			w.Desired++
		}
	}
	desired := step.State.Desired()
	for _, of := range order {
		w := workloads[of]
		if len(w.Messages) == 0 {
			continue
		}
		if n, known := desired[of]; known {
			w.Desired = n
		}
		f.Pending = append(f.Pending, *w)
	}
	for _, r := range step.Rollouts {
		if r.Stuck() {
			f.Stuck = append(f.Stuck, r)
		}
	}
	return f
}
