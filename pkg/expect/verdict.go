package expect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/words"
)

// The kinds of differences that a comparison can be asked to fail on.
const (
	FailOnMoved        = "moved"
	FailOnPending      = "pending"
	FailOnRadius       = "radius"
	FailOnStranded     = "stranded"
	FailOnExpectations = "expectations"
	FailOnRules        = "rules-removed"
	FailOnAny          = "any"
)

// Verdict is what a comparison of two results comes to.
type Verdict struct {
	// Line is what differs, in one line: pods that moved first, then what got worse, then the rest.
	Line string
	// Kinds are the kinds of differences that there are. Of pending, radius, stranded and expectations it is what got worse.
	Kinds []string
	// Worse is set where something got worse.
	Worse bool
}

// Comparison is what differs between an old and a new result.
type Comparison struct {
	// Steps is the number of steps of the longer one; a single step is not named.
	Steps int
	// Different is the number of steps that differ in anything.
	Different int
	// Moved are the pods that are on another node, step by step.
	Moved []Move
	// Pending, NotCreated and NotReady are numbers of pods that changed, step by step.
	Pending, NotCreated, NotReady []Change
	// Radii are the blast radii that changed, step by step. They are not judged: a radius grows with the replicas, too.
	Radii []RadiusChange
	// Excess are the workloads that are further from an even spread, step by step, and of a step level by level, the worst first.
	Excess []ExcessChange
	// OneReplica say of the workloads that have one replica left of several that they do.
	OneReplica []string
	// RulesRemoved say of the rules, budgets, priorities and requests that a workload no longer has, or that hold less, that they do.
	RulesRemoved []string
	// Declared is the number of other differences in what workloads declare.
	Declared int
	// NotBack are numbers of lost pods that do not come back after the failures of a level.
	NotBack []Change
	// QuorumLost and Gone are the workloads, BrokenBudgets the PodDisruptionBudgets, of which a failure takes that.
	QuorumLost, Gone, BrokenBudgets Names
	// Rollouts that are stuck and expectations that are not met, of one of the results alone.
	NewlyStuck, NoLongerStuck, NewlyUnmet, NoLongerUnmet int
	// PodsAdded and PodsRemoved are the names of the pods that the new or the old result alone has, step by step.
	PodsAdded, PodsRemoved []string
	// Decided are the names of the workloads of which Karmada decides otherwise, step by step.
	Decided []string
	// StepsAdded and StepsRemoved count the steps that the new or the old result alone has.
	StepsAdded, StepsRemoved int
}

// Move is a pod that is on another node. Swapped is set where its workload has as many pods on each node as before.
type Move struct {
	Namespace, OldName, Name string
	Swapped                  bool
}

// Change is a number of pods that changed with a step. Newly are those of workloads that have more of them: others may have fewer.
type Change struct {
	Step            string
	Old, New, Newly int
}

// RadiusChange is the blast radius of a topology key's domains, as a share, that changed with a step. Text is the change in words.
type RadiusChange struct {
	Step, TopologyKey, Text string
	Old, New                float64
}

// ExcessChange is a workload that is further from an even spread over a topology key's domains, by that share of its replicas. Text says so.
type ExcessChange struct {
	Step, TopologyKey, Workload, Text string
	By                                float64
}

// Names are the names that only the new result has, and the names that only the old one has, failure by failure.
type Names struct{ Newly, NoLonger []string }

// Verdict judges what differs.
func (c *Comparison) Verdict() Verdict {
	v := &verdict{Comparison: c}
	v.moved()
	v.counted(FailOnPending, "Pending", c.Pending)
	v.counted("", "refused", c.NotCreated)
	v.counted("", "not ready", c.NotReady)
	v.excess()
	v.several(FailOnRadius, c.OneReplica, "workload", ", too")
	v.radii()
	v.several(FailOnRules, c.RulesRemoved, "declaration", " dropped or weaker")
	v.afterFailures(FailOnStranded, c.NotBack)
	v.names("quorum", "lost", c.QuorumLost)
	v.names("workload", "gone", c.Gone)
	v.names("budget", "broken", c.BrokenBudgets)
	v.worse("", counted(c.NewlyStuck, "rollout", "newly stuck"))
	v.other(counted(c.NoLongerStuck, "rollout", "no longer stuck"))
	v.worse(FailOnExpectations, counted(c.NewlyUnmet, "expectation", "newly unmet"))
	v.other(counted(c.NoLongerUnmet, "expectation", "no longer unmet"))
	v.other(counted(distinct(c.Decided), "decision", "of Karmada changed"))
	v.other(counted(c.Declared, "declaration", "changed"))
	v.other(counted(distinct(c.PodsAdded), "pod", "added"))
	v.other(counted(distinct(c.PodsRemoved), "pod", "removed"))
	v.other(counted(c.StepsAdded, "step", "added"))
	v.other(counted(c.StepsRemoved, "step", "removed"))
	parts := slices.Concat(v.first, v.bad, v.rest)
	if len(parts) == 0 && c.Different > 0 {
		parts = []string{words.Count(c.Different, "step") + " not alike"}
	}
	if v.Worse || len(v.Kinds)+len(c.Decided) > 0 {
		v.Kinds = append(v.Kinds, FailOnAny)
	}
	v.Line = cmp.Or(strings.Join(parts, ", "), "no difference")
	return v.Verdict
}

// verdict is a verdict in the making, with the parts of its line.
type verdict struct {
	*Comparison
	Verdict
	first, bad, rest []string
}

func (v *verdict) other(part string) {
	if part != "" {
		v.rest = append(v.rest, part)
	}
}

// worse is other for what got worse.
func (v *verdict) worse(kind, part string) {
	if part == "" {
		return
	}
	v.bad = append(v.bad, part)
	v.Worse = true
	if kind != "" && !slices.Contains(v.Kinds, kind) {
		v.Kinds = append(v.Kinds, kind)
	}
}

// counted is "1 step added"; "" of none.
func counted(n int, noun, what string) string {
	if n == 0 {
		return ""
	}
	return words.Count(n, noun) + " " + what
}

func distinct(names []string) int {
	return len(slices.Compact(slices.Sorted(slices.Values(names))))
}

// moved counts the pods that moved. One that stays away for several steps counts once.
func (v *verdict) moved() {
	swapped := map[Move]bool{} // whether it has only changed places with others, wherever it moved
	for _, m := range v.Moved {
		pod := Move{Namespace: m.Namespace, OldName: m.OldName, Name: m.Name}
		only, seen := swapped[pod]
		swapped[pod] = m.Swapped && (only || !seen)
	}
	if len(swapped) == 0 {
		return
	}
	v.Kinds = append(v.Kinds, FailOnMoved)
	only := 0
	for _, is := range swapped {
		if is {
			only++
		}
	}
	part := counted(len(swapped), "pod", "moved")
	switch only {
	case 0:
	case len(swapped):
		part += " (only changed places)"
	default:
		part += fmt.Sprintf(" (%d of them only changed places)", only)
	}
	v.first = []string{part}
}

// where names the step, unless there is only one, and counts the others.
func (v *verdict) where(w largest) string {
	switch {
	case v.Steps == 1:
		return ""
	case w.others > 0:
		return fmt.Sprintf(" in %s and %s", w.step, words.Count(w.others, "other step"))
	}
	return " in " + w.step
}

// largest is the step with the largest increase, and the number of others with one.
type largest struct {
	step   string
	by     float64
	others int
}

func (l *largest) add(step string, by float64) {
	if by <= 0 {
		return
	}
	if l.by > 0 {
		l.others++
	}
	if by > l.by {
		l.step, l.by = step, by
	}
}

// counted names the step with the largest increase, or else the step with the largest decrease.
func (v *verdict) counted(kind, words string, changes []Change) {
	more, fewer := largest{}, largest{}
	for _, c := range changes {
		more.add(c.Step, float64(c.Newly))
		fewer.add(c.Step, float64(c.Old-c.New))
	}
	part := func(l largest, than string) string {
		part := fmt.Sprintf("%.0f %s %s%s", l.by, than, words, v.where(l))
		if l.others > 0 {
			part = "up to " + part
		}
		return part
	}
	switch {
	case more.by > 0:
		v.worse(kind, part(more, "newly"))
	case fewer.by > 0:
		v.other(part(fewer, "fewer"))
	}
}

// excess names for each level the workload and the step that are furthest from an even spread, and counts the other workloads.
func (v *verdict) excess() {
	var keys []string
	worst, workloads := map[string]ExcessChange{}, map[string][]string{}
	for _, e := range v.Excess {
		if workloads[e.TopologyKey] == nil {
			keys = append(keys, e.TopologyKey)
		}
		workloads[e.TopologyKey] = append(workloads[e.TopologyKey], e.Workload)
		if e.By > worst[e.TopologyKey].By {
			worst[e.TopologyKey] = e
		}
	}
	for _, key := range keys {
		part := worst[key].Text + v.where(largest{step: worst[key].Step})
		if n := distinct(workloads[key]) - 1; n > 0 {
			part += " and " + words.Count(n, "other workload")
		}
		v.worse(FailOnRadius, part)
	}
}

// several has the first of the sentences, and counts the others.
func (v *verdict) several(kind string, sentences []string, noun, what string) {
	if len(sentences) == 0 {
		return
	}
	part := sentences[0]
	if n := distinct(sentences) - 1; n > 0 {
		part += " and " + words.Count(n, "other "+noun) + what
	}
	v.worse(kind, part)
}

// radii names for each level the step in which the radius grew most, or else that in which it shrank most. Where a workload is further from
// an even spread, that says it all.
func (v *verdict) radii() {
	var keys []string
	grown, shrunk := map[string]*largest{}, map[string]*largest{}
	text := map[[2]string]string{}
	for _, r := range v.Radii {
		if slices.ContainsFunc(v.Excess, func(e ExcessChange) bool { return e.TopologyKey == r.TopologyKey }) {
			continue
		}
		if grown[r.TopologyKey] == nil {
			keys = append(keys, r.TopologyKey)
			grown[r.TopologyKey], shrunk[r.TopologyKey] = &largest{}, &largest{}
		}
		grown[r.TopologyKey].add(r.Step, r.New-r.Old)
		shrunk[r.TopologyKey].add(r.Step, r.Old-r.New)
		text[[2]string{r.TopologyKey, r.Step}] = r.Text
	}
	for _, key := range keys {
		l, note := grown[key], " (spread no worse)"
		if l.by == 0 {
			l = shrunk[key]
		}
		if l == shrunk[key] || len(v.OneReplica) > 0 {
			note = ""
		}
		v.other(text[[2]string{key, l.step}] + v.where(*l) + note)
	}
}

// afterFailures finds the level whose failures leave the most more pods so, or else the most fewer.
func (v *verdict) afterFailures(kind string, changes []Change) {
	more, fewer := 0, 0
	for _, c := range changes {
		more, fewer = max(more, c.Newly), max(fewer, c.Old-c.New)
	}
	switch {
	case more > 0:
		v.worse(kind, fmt.Sprintf("up to %d more lost %s not come back", more, words.Pick(more, "pod does", "pods do")))
	case fewer > 0:
		v.other(fmt.Sprintf("up to %d more lost %s back", fewer, words.Pick(fewer, "pod comes", "pods come")))
	}
}

// names counts the workloads or budgets that a failure of some level newly takes, or no longer does.
func (v *verdict) names(noun, words string, names Names) {
	if n := distinct(names.Newly); n > 0 {
		v.worse("", counted(n, noun, "newly "+words))
	} else {
		v.other(counted(distinct(names.NoLonger), noun, "no longer "+words))
	}
}
