package advice

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/figures"
	"github.com/faultline/faultline/pkg/words"
)

// writer writes an AdviceReport as text: the advice, a table of the best candidates, and the advised one, or all, with the patch.
type writer struct {
	doc.Doc
	report *Report
}

func document(r *Report, opts report.Options) *doc.Doc {
	t := &writer{Doc: doc.New(r.Head, opts), report: r}
	t.Linef(doc.Bold, "%s", r.Advice)
	t.Linef(doc.Plain, "%s", r.describeTrials())
	t.Space()
	shown, rest := r.splitShown()
	t.Table("", r.table(shown)...)
	if !t.All {
		t.candidate(r.advised())
		if len(r.Candidates) > 1 && !t.Page {
			t.Space()
			t.Linef(doc.Plain, "Use --all for the patches of the others, and what beats those that are not listed.")
		}
	} else {
		for _, c := range shown {
			t.candidate(c)
		}
		if lines := r.beatenLines(rest); len(lines) > 0 {
			t.Space()
			t.Sentences("Not shown:", lines)
		}
		if len(r.LeftOut) > 0 {
			t.Space()
			t.Sentences("Not run:", r.LeftOut)
		}
	}
	t.Space()
	t.Header()
	return &t.Doc
}

// describeTrials says what was tried.
func (r *Report) describeTrials() string {
	line := fmt.Sprintf("%s of %s (%s) after step %s", words.Count(len(r.Candidates), "candidate"), r.Workload, words.Count(r.Replicas, "replica"), r.Step)
	if t := r.Candidates[0].Trials; t != nil {
		line += fmt.Sprintf("; %s with random ties of each that no other beats, seeds %d to %d", words.Count(t.N, "run"), t.Seed, t.Seed+uint64(t.N)-1)
	}
	var all []*whatif.Found
	for i := range r.Candidates {
		all = append(all, &r.Candidates[i].Found)
	}
	line += ". An asterisk marks those that are not beaten. NOT BACK counts its own pods. "
	failed := r.namesWhere(func(c *Candidate) bool {
		return slices.ContainsFunc(c.Levels, func(l metric.LevelMetrics) bool { return len(l.Failures) > 0 })
	})
	if open := len(r.Candidates) - len(failed); len(failed) > 0 && open > 0 {
		line += fmt.Sprintf("Failures were simulated of the domains that hold it, for %s: no other could be the advice, whatever does not come back after failures. ", words.Count(len(failed), "candidate"))
	}
	return strings.TrimSpace(line + figures.PartlyNote(all))
}

// splitShown splits the candidates into those that are shown and the others.
func (r *Report) splitShown() (shown, rest []*Candidate) {
	all := r.maxShown >= len(r.Candidates)
	n := 0
	for i := range r.Candidates {
		c := &r.Candidates[i]
		switch {
		case c.SameAs == "" && (all || c.Front) && n < r.maxShown:
			shown = append(shown, c)
			n++
		default:
			rest = append(rest, c)
		}
	}
	return shown, rest
}

// table returns the titles, a row for each shown candidate, and a row for the workload without changes.
func (r *Report) table(shown []*Candidate) [][]doc.Cell {
	now := r.unchanged()
	if !slices.Contains(shown, now) {
		shown = append(slices.Clone(shown), now)
	}
	keys := list.Map(now.Levels, func(l metric.LevelMetrics) string { return l.TopologyKey })
	titles := []string{"RANK", "CANDIDATE", "PENDING", "MOVED", "ROLLOUT"}
	for _, name := range doc.ColumnTitles(keys) {
		titles = append(titles, "RADIUS/"+name, "NOT BACK/"+name)
	}
	trials := now.Trials != nil
	if trials {
		titles = append(titles, "WORST PENDING")
		for _, name := range doc.ColumnTitles(keys) {
			titles = append(titles, "WORST RADIUS/"+name)
		}
	}
	var order []string
	for _, name := range slices.Backward(doc.ColumnTitles(keys)) {
		order = append(order, "WORST RADIUS/"+name)
	}
	order = append(order, "WORST PENDING")
	for _, name := range doc.ColumnTitles(keys) {
		if name == "REGION" {
			order = append(order, "RADIUS/"+name, "NOT BACK/"+name)
		}
	}
	order = append(order, "MOVED", "NOT BACK/HOSTNAME", "RADIUS/HOSTNAME")
	table := [][]doc.Cell{doc.SetDropOrder(doc.Bold.Row(titles...), order...)}
	for _, c := range shown {
		mark := "  "
		if c.Front {
			mark = "* "
		}
		cells := []doc.Cell{doc.Plain.Cellf("%s%d", mark, c.Rank), doc.Plain.Cell(c.Name),
			doc.Number(c.Pending, figures.ComparisonStyle(float64(c.Pending), float64(now.Pending))), doc.Number(c.Moved, doc.Plain), rolloutCell(c)}
		for _, key := range keys {
			level, was := c.Level(key), now.Level(key)
			if level == nil {
				cells = append(cells, doc.Plain.Row(doc.None, doc.None)...)
				continue
			}
			cells = append(cells, figures.ComparisonStyle(level.Radius, was.Radius).Cell(doc.Percent(level.Radius)), notBackCell(level, was))
		}
		if trials {
			cells = append(cells, trialCells(c, now)...)
		}
		table = append(table, cells)
	}
	return table
}

// notBackCell returns the largest number of the workload's pods that do not come back after a failure of the level, or None if no recovery
// was simulated.
func notBackCell(level, now *metric.LevelMetrics) doc.Cell {
	notBack, looked := level.OwnNotBack()
	if !looked {
		return doc.Plain.Cell(doc.None)
	}
	was, _ := now.OwnNotBack()
	cell := doc.Number(notBack, figures.ComparisonStyle(float64(notBack), float64(was)))
	if level.IsPartlyExamined() {
		cell.Text = "≥" + cell.Text
	}
	return cell
}

func rolloutCell(c *Candidate) doc.Cell {
	switch {
	case c.Rollout == nil:
		return doc.Plain.Cell(doc.None)
	case !c.Rollout.Ends:
		return doc.Red.Cell("never ends")
	}
	return doc.Plain.Cell("ends")
}

func trialCells(c, now *Candidate) []doc.Cell {
	if c.Trials == nil {
		return doc.Plain.Row(slices.Repeat([]string{doc.None}, 1+len(now.Trials.Radius))...)
	}
	cells := []doc.Cell{doc.Number(c.Trials.WorstPending, figures.ComparisonStyle(float64(c.Trials.WorstPending), float64(now.Trials.WorstPending)))}
	for i, radius := range c.Trials.Radius {
		cells = append(cells, figures.ComparisonStyle(radius.Worst, now.Trials.Radius[i].Worst).Cell(doc.Percent(radius.Worst)))
	}
	return cells
}

// candidate writes a candidate: its rules, its patch, its costs, its unsolved problems, and the commands that run it again.
func (t *writer) candidate(c *Candidate) {
	r := t.report
	t.Space()
	t.Linef(doc.Bold, "%d. %s", c.Rank, c.Name)
	for _, line := range r.candidateLines(c) {
		t.Linef(doc.Plain, "   %s", line)
	}
	if c.Changed() {
		t.Linef(doc.Plain, "   Apply and run again:")
		t.Verbatim("     PATCH=" + ShellWord(string(c.Patch)))
		t.Verbatim("     " + r.patchCommand(`"$PATCH"`))
	} else {
		t.Linef(doc.Plain, "   Run again:")
	}
	for _, command := range r.commands(c, func(words string) string { return `"` + words + `$PATCH"` }) {
		t.Verbatim("     " + command.Command + "  # " + command.Shows)
	}
}

// candidateLines returns sentences about a candidate.
func (r *Report) candidateLines(c *Candidate) []string {
	lines := []string{"Rule: " + rulesText(c.Rules)}
	if c.BeatenBy != "" {
		lines = append(lines, fmt.Sprintf("Beaten by %s in %s", c.BeatenBy, c.BeatenIn))
	}
	if same := r.namesWhere(func(other *Candidate) bool { return other.SameAs == c.Name }); len(same) > 0 {
		lines = append(lines, "Same result: "+strings.Join(same, "; "))
	}
	if same := r.namesWhere(func(other *Candidate) bool { return other.AtBest == c.Name }); len(same) > 0 {
		lines = append(lines, "At best the same, as failures of them were not simulated: "+strings.Join(same, "; "))
	}
	better, worse := c.DifferencesFrom(&r.unchanged().Candidate)
	if len(better) > 0 {
		lines = append(lines, "Better than now: "+strings.Join(better, "; "))
	}
	if len(worse) > 0 {
		lines = append(lines, "Worse than now: "+strings.Join(worse, "; "))
	}
	for _, cost := range c.Costs {
		lines = append(lines, "It costs: "+cost)
	}
	for _, unsolved := range c.Unsolved {
		lines = append(lines, "Not solved: "+unsolved)
	}
	return lines
}

// namesWhere returns the names of the candidates for which is returns true.
func (r *Report) namesWhere(is func(*Candidate) bool) []string {
	var names []string
	for _, c := range r.Candidates {
		if is(&c) {
			names = append(names, c.Name)
		}
	}
	return names
}

// beatenLines names the candidates that are not shown, grouped by the reason.
func (r *Report) beatenLines(rest []*Candidate) []string {
	var lines []string
	var reasons []string
	names := map[string][]string{}
	for _, c := range rest {
		reason := ""
		switch {
		case c.BeatenBy != "":
			reason = fmt.Sprintf("beaten by %s in %s", c.BeatenBy, c.BeatenIn)
		case c.SameAs != "" || c.AtBest != "":
			continue // named at the candidate that is shown
		case !c.Front:
			reason = "not advised in any case, since more pods are Pending; failures of them were not simulated"
		default:
			reason = "not beaten, but ranked lower"
		}
		if names[reason] == nil {
			reasons = append(reasons, reason)
		}
		names[reason] = append(names[reason], c.Name)
	}
	for _, reason := range reasons {
		lines = append(lines, fmt.Sprintf("%d %s: %s", len(names[reason]), reason, strings.Join(names[reason], "; ")))
	}
	return lines
}
