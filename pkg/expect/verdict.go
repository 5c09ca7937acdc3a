package expect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/words"
)

// These are the kinds of differences on which a comparison can fail.
const (
	FailOnMoved        = "moved"
	FailOnPending      = "pending"
	FailOnRadius       = "radius"
	FailOnStranded     = "stranded"
	FailOnExpectations = "expectations"
	FailOnRules        = "rules-removed"
	FailOnAny          = "any"
)

// Verdict is the result of a comparison of two results.
type Verdict struct {
	// Line says in one line what differs: first pods that moved, then what got worse, then the rest.
	Line string
	// Kinds has the kinds of differences found. Pending, radius, stranded and expectations are among them only if they got worse.
	Kinds []string
	// Worse is set if something got worse.
	Worse bool
}

// Comparison has the differences between an old and a new result.
type Comparison struct {
	// Steps is the number of steps of the longer result. A single step is not named.
	Steps int
	// Different is the number of steps with any difference.
	Different int
	// Moved are the pods that are on another node, step by step.
	Moved []Move
	// Pending, NotCreated and NotReady have the numbers of pods that changed, step by step.
	Pending, NotCreated, NotReady []Change
	// Radii has the blast radii that changed, step by step. They are not judged, because a radius also grows with the replicas.
	Radii []RadiusChange
	// Excess has the workloads that are further from an even spread, step by step, in each step level by level, the worst first.
	Excess []ExcessChange
	// OneReplica has a sentence for each workload that has at most one replica left of several.
	OneReplica []string
	// RulesRemoved has a sentence for each rule, budget, priority or request that a workload no longer has, or has in a weaker form.
	RulesRemoved []string
	// Declared is the number of other differences in what workloads declare.
	Declared int
	// NotBack has the numbers of lost pods that do not come back after the failures of a level.
	NotBack []Change
	// QuorumLost and Gone have the names of workloads that lose their quorum, or all pods, in a failure. BrokenBudgets has the names of
	// PodDisruptionBudgets that a failure breaks.
	QuorumLost, Gone, BrokenBudgets Names
	// These count the stuck rollouts and the unmet expectations that only one of the results has.
	NewlyStuck, NoLongerStuck, NewlyUnmet, NoLongerUnmet int
	// PodsAdded and PodsRemoved have the names of the pods that only the new or only the old result has, step by step.
	PodsAdded, PodsRemoved []string
	// Decided has the names of the workloads for which Karmada decides otherwise, step by step.
	Decided []string
	// StepsAdded and StepsRemoved count the steps that only the new or only the old result has.
	StepsAdded, StepsRemoved int
}

// Move is a pod that is on another node. Swapped is set if its workload has as many pods on each node as before.
type Move struct {
	Namespace, OldName, Name string
	Swapped                  bool
}

// Change is a number of pods that changed with a step. Newly is the sum over the workloads that have more of these pods than before; others
// may have fewer.
type Change struct {
	Step            string
	Old, New, Newly int
}

// RadiusChange is a change of the blast radius, a share, of a topology key's domains with a step. Text is the change in words.
type RadiusChange struct {
	Step, TopologyKey, Text string
	Old, New                float64
}

// ExcessChange is a workload that is further from an even spread over a topology key's domains, by the share By of its replicas. A New workload
// was not there before. Text is a sentence about it.
type ExcessChange struct {
	Step, TopologyKey, Workload, Text string
	By                                float64
	New                               bool
}

// Names are the names that only the new result has, and the names that only the old one has, failure by failure.
type Names struct{ Newly, NoLonger []string }

// Verdict judges the differences.
func (c *Comparison) Verdict() Verdict {
	v := &verdictBuilder{Comparison: c}
	v.compareMoves()
	v.compareCounts(FailOnPending, "Pending", c.Pending)
	v.compareCounts("", "refused", c.NotCreated)
	v.compareCounts("", "not ready", c.NotReady)
	v.compareExcess()
	v.appendSentences(FailOnRadius, c.OneReplica, "workload", ", too")
	v.compareRadii()
	v.appendSentences(FailOnRules, c.RulesRemoved, "declaration", " dropped or weaker")
	v.compareNotBack(FailOnStranded, c.NotBack)
	v.compareNames("quorum", "lost", c.QuorumLost)
	v.compareNames("workload", "gone", c.Gone)
	v.compareNames("budget", "broken", c.BrokenBudgets)
	v.appendWorse("", phraseCount(c.NewlyStuck, "rollout", "newly stuck"))
	v.appendPart(phraseCount(c.NoLongerStuck, "rollout", "no longer stuck"))
	v.appendWorse(FailOnExpectations, phraseCount(c.NewlyUnmet, "expectation", "newly unmet"))
	v.appendPart(phraseCount(c.NoLongerUnmet, "expectation", "no longer unmet"))
	v.appendPart(phraseCount(countDistinct(c.Decided), "decision", "of Karmada changed"))
	v.appendPart(phraseCount(c.Declared, "declaration", "changed"))
	v.appendPart(phraseCount(countDistinct(c.PodsAdded), "pod", "added"))
	v.appendPart(phraseCount(countDistinct(c.PodsRemoved), "pod", "removed"))
	v.appendPart(phraseCount(c.StepsAdded, "step", "added"))
	v.appendPart(phraseCount(c.StepsRemoved, "step", "removed"))
	parts := slices.Concat(v.movedParts, v.worseParts, v.otherParts)
	if len(parts) == 0 && c.Different > 0 {
		parts = []string{words.Count(c.Different, "step") + " not alike"}
	}
	if v.Worse || len(v.Kinds)+len(c.Decided) > 0 {
		v.Kinds = append(v.Kinds, FailOnAny)
	}
	v.Line = cmp.Or(strings.Join(parts, ", "), "no difference")
	return v.Verdict
}

// verdictBuilder builds a Verdict, with the parts of its line.
type verdictBuilder struct {
	*Comparison
	Verdict
	movedParts, worseParts, otherParts []string
}

func (v *verdictBuilder) appendPart(part string) {
	if part != "" {
		v.otherParts = append(v.otherParts, part)
	}
}

// appendWorse appends a part about something that got worse.
func (v *verdictBuilder) appendWorse(kind, part string) {
	if part == "" {
		return
	}
	v.worseParts = append(v.worseParts, part)
	v.Worse = true
	if kind != "" && !slices.Contains(v.Kinds, kind) {
		v.Kinds = append(v.Kinds, kind)
	}
}

// phraseCount returns, for example, "1 step added", or "" for none.
func phraseCount(n int, noun, what string) string {
	if n == 0 {
		return ""
	}
	return words.Count(n, noun) + " " + what
}

func countDistinct(names []string) int {
	return len(slices.Compact(slices.Sorted(slices.Values(names))))
}

// compareMoves counts the pods that moved. A pod that stays on another node for several steps counts once.
func (v *verdictBuilder) compareMoves() {
	swapped := map[Move]bool{} // whether the pod only changed places with others in all its moves
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
	part := phraseCount(len(swapped), "pod", "moved")
	switch only {
	case 0:
	case len(swapped):
		part += " (only changed places)"
	default:
		part += fmt.Sprintf(" (%d of them only changed places)", only)
	}
	v.movedParts = []string{part}
}

// phraseStep names the step, unless there is only one, and counts the other steps.
func (v *verdictBuilder) phraseStep(w largestChange) string {
	switch {
	case v.Steps == 1:
		return ""
	case w.others > 0:
		return fmt.Sprintf(" in %s and %s", w.step, words.Count(w.others, "other step"))
	}
	return " in " + w.step
}

// largestChange is the step with the largest change, and the number of other steps with one.
type largestChange struct {
	step   string
	by     float64
	others int
}

func (l *largestChange) addStep(step string, by float64) {
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

// compareCounts names the step with the largest increase, or else the step with the largest decrease.
func (v *verdictBuilder) compareCounts(kind, words string, changes []Change) {
	more, fewer := largestChange{}, largestChange{}
	for _, c := range changes {
		more.addStep(c.Step, float64(c.Newly))
		fewer.addStep(c.Step, float64(c.Old-c.New))
	}
	part := func(l largestChange, than string) string {
		part := fmt.Sprintf("%.0f %s %s%s", l.by, than, words, v.phraseStep(l))
		if l.others > 0 {
			part = "up to " + part
		}
		return part
	}
	switch {
	case more.by > 0:
		v.appendWorse(kind, part(more, "newly"))
	case fewer.by > 0:
		v.appendPart(part(fewer, "fewer"))
	}
}

// compareExcess names, for each level, the workload and the step that are furthest from an even spread, and counts the other workloads. New
// workloads are no reason to fail, since the change makes nothing worse that was there.
func (v *verdictBuilder) compareExcess() {
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
		part := worst[key].Text + v.phraseStep(largestChange{step: worst[key].Step})
		if n := countDistinct(workloads[key]) - 1; n > 0 {
			part += " and " + words.Count(n, "other workload")
		}
		kind := ""
		if slices.ContainsFunc(v.Excess, func(e ExcessChange) bool { return e.TopologyKey == key && !e.New }) {
			kind = FailOnRadius
		}
		v.appendWorse(kind, part)
	}
}

// appendSentences appends the first of the sentences, and counts the others.
func (v *verdictBuilder) appendSentences(kind string, sentences []string, noun, what string) {
	if len(sentences) == 0 {
		return
	}
	part := sentences[0]
	if n := countDistinct(sentences) - 1; n > 0 {
		part += " and " + words.Count(n, "other "+noun) + what
	}
	v.appendWorse(kind, part)
}

// compareRadii names, for each level, the step in which the radius grew most, or else the step in which it shrank most. It skips levels with a
// workload in Excess, which says all.
func (v *verdictBuilder) compareRadii() {
	var keys []string
	grown, shrunk := map[string]*largestChange{}, map[string]*largestChange{}
	text := map[[2]string]string{}
	for _, r := range v.Radii {
		if slices.ContainsFunc(v.Excess, func(e ExcessChange) bool { return e.TopologyKey == r.TopologyKey }) {
			continue
		}
		if grown[r.TopologyKey] == nil {
			keys = append(keys, r.TopologyKey)
			grown[r.TopologyKey], shrunk[r.TopologyKey] = &largestChange{}, &largestChange{}
		}
		grown[r.TopologyKey].addStep(r.Step, r.New-r.Old)
		shrunk[r.TopologyKey].addStep(r.Step, r.Old-r.New)
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
		v.appendPart(text[[2]string{key, l.step}] + v.phraseStep(*l) + note)
	}
}

// compareNotBack finds the largest increase in pods that do not come back, or else the largest decrease.
func (v *verdictBuilder) compareNotBack(kind string, changes []Change) {
	more, fewer := 0, 0
	for _, c := range changes {
		more, fewer = max(more, c.Newly), max(fewer, c.Old-c.New)
	}
	switch {
	case more > 0:
		v.appendWorse(kind, fmt.Sprintf("up to %d more lost %s not come back", more, words.Pick(more, "pod does", "pods do")))
	case fewer > 0:
		v.appendPart(fmt.Sprintf("up to %d more lost %s back", fewer, words.Pick(fewer, "pod comes", "pods come")))
	}
}

// compareNames counts the workloads or budgets that a failure of some level newly takes, or no longer takes.
func (v *verdictBuilder) compareNames(noun, words string, names Names) {
	if n := countDistinct(names.Newly); n > 0 {
		v.appendWorse("", phraseCount(n, noun, "newly "+words))
	} else {
		v.appendPart(phraseCount(countDistinct(names.NoLonger), noun, "no longer "+words))
	}
}
