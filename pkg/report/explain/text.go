package explain

import (
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

// writer renders an ExplainReport as text.
type writer struct {
	text.Page
	report *Report
	shown  string // the workload whose rules were shown last
}

func (t *writer) everything(narrative bool) {
	if t.report.Binding != nil {
		t.binding(t.report.Binding)
	}
	folded := 0
	for i := range t.report.Pods {
		e := &t.report.Pods[i]
		fold := !narrative && t.folds(i)
		if !fold || folded == 0 {
			t.Space()
		}
		heading := "Pod " + e.Namespace + "/" + e.Name
		if e.Workload != "" {
			heading += " of " + e.Workload
		}
		outcome := text.OutcomeOf(e.Node, e.Decision)
		if e.Runs != "" {
			outcome = "runs on " + e.Runs + "; placed again, " + outcome
		}
		t.Linef(text.Bold, "%s, step %s: %s", heading, e.Step, outcome)
		if narrative {
			for i, sentence := range e.Story {
				t.Linef(text.Plain, "%3d. %s", i+1, sentence)
			}
			continue
		}
		if fold {
			folded++
		} else {
			t.explanation(e)
		}
	}
	if folded > 0 {
		t.Linef(text.Plain, "Use --all for the scores of %s, too.", words.Pick(folded, "this pod", "these pods"))
	}
	if t.report.More > 0 {
		t.Space()
		t.More(t.report.More, "pod of the workload", "pods of the workload")
	}
}

// folds reports whether one line is enough of the pod: it runs, and so does the one before it, of the same workload.
func (t *writer) folds(i int) bool {
	e := &t.report.Pods[i]
	asked := slices.ContainsFunc(e.Asked, func(a Asked) bool { return a.Node != e.Runs })
	return i > 0 && !t.All && !asked && e.Runs != "" && t.report.Pods[i-1].Runs != ""
}

func (t *writer) explanation(e *Explanation) {
	if e.Node == "" {
		for _, line := range text.Waits(e.Message, e.Reason, e.Untried) {
			t.Linef(text.Yellow, "  %s", line)
		}
	}
	if e.Group != nil {
		t.Linef(text.Plain, "  %s", e.Group.text())
	}
	for _, claim := range e.Claims {
		t.Linef(text.Plain, "  Claim %s", claimText(&claim))
	}
	if e.Cycle != nil {
		t.Cycle(e.Cycle)
	}
	for _, asked := range e.Asked {
		t.Line(text.Bold.Cell("  Why not "+asked.Node+":"), text.Plain.Cellf(" %s", asked.Why))
	}
	t.flips(e.Flips)
	if of := e.Step + " " + e.Namespace + " " + e.Workload; of != t.shown || e.Workload == "" {
		t.shown = of // the pods of a workload have the same rules
		t.effects(e.Effects)
	}
	t.fixes(e)
	for _, note := range e.Notes {
		t.Linef(text.Plain, "  Note: %s", note)
	}
}

// claimText is "gpu, ResourceClaim web-gpu-x7k2p: gpu.example.com/node-1/gpu-0".
func claimText(c *report.Claim) string {
	name := "for extended resources"
	if c.Name != "" {
		name = c.Name
	}
	switch {
	case c.Claim == "":
		return name + ": not made yet"
	case len(c.Devices) == 0:
		return name + ", ResourceClaim " + c.Claim + ": no devices"
	}
	return name + ", ResourceClaim " + c.Claim + ": " + strings.Join(c.Devices, ", ")
}

// flips lists the flip points that there are, and counts what else was tried.
func (t *writer) flips(flips []Flip) {
	if len(flips) == 0 {
		return
	}
	t.Line(text.Bold.Cell("  Flip points"), text.Plain.Cell(", the smallest changes that send it elsewhere, each proved by scheduling it again:"))
	var rows [][]text.Cell
	vain := map[string][]string{}
	for _, flip := range flips {
		if flip.To == "" {
			vain[flip.Of] = append(vain[flip.Of], strings.TrimPrefix(strings.TrimPrefix(flip.Subject, "weight of "), "the "))
			continue
		}
		to := "to " + flip.Node
		if flip.Node == "" {
			to = "to no node"
		}
		rows = append(rows, text.Plain.Row(flip.Subject, flip.From+" → "+flip.To, to))
	}
	t.Table("    ", rows...)
	for _, of := range []struct{ of, words string }{{"term", "weight of the "}, {"plugin", "weight of "}, {"capacity", ""}} {
		if len(vain[of.of]) > 0 {
			t.Linef(text.Plain, "    Searched without success: %s%s", of.words, strings.Join(vain[of.of], " or "))
		}
	}
}

func (t *writer) effects(effects []Effect) {
	if len(effects) == 0 {
		return
	}
	t.Line(text.Bold.Cell("  Rules"), text.Plain.Cell(", each by a run of the scenario without it:"))
	for _, effect := range effects {
		t.Linef(text.Plain, "    %s %s", effect.Rule, effect.Words)
		moves := slices.Concat(effect.Moved, effect.Others)
		t.UpTo(len(moves), "pod", "pods", func(i int) {
			t.Linef(text.Plain, "      %s: %s → %s", moves[i].Pod, text.OrNone(moves[i].From), text.OrNone(moves[i].To))
		})
	}
}

func (t *writer) fixes(e *Explanation) {
	if len(e.Fixes)+len(e.Tried) == 0 {
		return
	}
	t.Line(text.Bold.Cell("  Single changes that help"), text.Plain.Cell(", each verified by a run of the scenario with it:"))
	if len(e.Fixes) == 0 {
		t.Linef(text.Plain, "    none of those tried")
	}
	var rows [][]text.Cell
	for _, fix := range e.Fixes {
		cells := text.Plain.Row(fix.Change, words.Is(fix.Pending, "pod")+" Pending then")
		if fix.Node != "" {
			cells = append(cells, text.Plain.Cell("the pod's place on "+fix.Node))
		}
		rows = append(rows, cells)
	}
	t.Table("    ", rows...)
	if len(e.Tried) > 0 {
		t.Linef(text.Plain, "    Tried without success: %s", t.tried(e.Tried))
	}
}

func (t *writer) tried(changes []string) string {
	if t.All {
		return strings.Join(changes, "; ")
	}
	return t.Few(changes, len(changes))
}
