package report

import (
	"slices"
	"strings"
)

// explainText renders an ExplainReport as text.
type explainText struct {
	page
	report *ExplainReport
	told   string // the workload whose rules were told last
}

func (t *explainText) everything(narrative bool) {
	for i := range t.report.Pods {
		e := &t.report.Pods[i]
		t.space()
		heading := "Pod " + e.Namespace + "/" + e.Name
		if e.Workload != "" {
			heading += " of " + e.Workload
		}
		outcome := outcomeOf(e.Node, e.Decision)
		if e.Runs != "" {
			outcome = "runs on " + e.Runs + "; placed again, " + outcome
		}
		t.linef(bold, "%s, step %s: %s", heading, e.Step, outcome)
		if narrative {
			for i, sentence := range e.Story {
				t.linef(plain, "%3d. %s", i+1, sentence)
			}
			continue
		}
		t.explanation(e)
	}
	if t.report.More > 0 {
		t.space()
		t.more(t.report.More, "pod of the workload", "pods of the workload")
	}
}

func (t *explainText) explanation(e *Explanation) {
	if e.Message != "" {
		t.linef(yellow, "  %s", refused(e.Message))
	}
	if e.Cycle != nil {
		t.cycle(e.Cycle)
	}
	for _, asked := range e.Asked {
		t.line(bold.cell("  Why not "+asked.Node+":"), plain.cellf(" %s", asked.Why))
	}
	t.flips(e.Flips)
	if of := e.Step + " " + e.Namespace + " " + e.Workload; of != t.told || e.Workload == "" {
		t.told = of // the pods of a workload have the same rules
		t.effects(e.Effects)
	}
	t.fixes(e)
	for _, note := range e.Notes {
		t.linef(plain, "  Note: %s", note)
	}
}

// flips lists the flip points that there are, and counts what else was tried.
func (t *explainText) flips(flips []Flip) {
	if len(flips) == 0 {
		return
	}
	t.line(bold.cell("  Flip points"), plain.cell(", the smallest changes that send it elsewhere, each proved by scheduling it again:"))
	var rows [][]cell
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
		rows = append(rows, plain.row(flip.Subject, flip.From+" → "+flip.To, to))
	}
	t.table("    ", rows...)
	for _, of := range []struct{ of, words string }{{"term", "weight of the "}, {"plugin", "weight of "}, {"capacity", ""}} {
		if len(vain[of.of]) > 0 {
			t.linef(plain, "    Searched in vain: %s%s", of.words, joinOr(vain[of.of]))
		}
	}
}

func (t *explainText) effects(effects []Effect) {
	if len(effects) == 0 {
		return
	}
	t.line(bold.cell("  Rules"), plain.cell(", each by a run of the scenario without it:"))
	for _, effect := range effects {
		t.linef(plain, "    %s %s", effect.Rule, effect.Words)
		moves := slices.Concat(effect.Moved, effect.Others)
		t.upTo(len(moves), "pod", "pods", func(i int) {
			t.linef(plain, "      %s: %s → %s", moves[i].Pod, orNone(moves[i].From), orNone(moves[i].To))
		})
	}
}

func (t *explainText) fixes(e *Explanation) {
	if len(e.Fixes)+len(e.Tried) == 0 {
		return
	}
	t.line(bold.cell("  Single changes that help"), plain.cell(", each verified by a run of the scenario with it:"))
	if len(e.Fixes) == 0 {
		t.linef(plain, "    none of those tried")
	}
	var rows [][]cell
	for _, fix := range e.Fixes {
		cells := plain.row(fix.Change, is(fix.Pending, "pod")+" Pending then")
		if fix.Node != "" {
			cells = append(cells, plain.cell("the pod's place on "+fix.Node))
		}
		rows = append(rows, cells)
	}
	t.table("    ", rows...)
	if len(e.Tried) > 0 {
		t.linef(plain, "    Tried in vain: %s", t.tried(e.Tried))
	}
}

func (t *explainText) tried(changes []string) string {
	if t.all {
		return strings.Join(changes, "; ")
	}
	return t.few(changes, len(changes))
}
