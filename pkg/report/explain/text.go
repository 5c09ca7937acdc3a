package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/ask/explain"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// writer writes an ExplainReport as text.
type writer struct {
	doc.Doc
	report     *Report
	rulesShown string // the workload whose rules were written last
	// changesShown are the admission changes that were written last.
	changesShown []admission.Change
}

// document returns only the story of each pod if opts.Story is set.
func document(r *Report, opts report.Options) *doc.Doc {
	t := &writer{Doc: doc.New(r.Head, opts), report: r}
	if r.Binding != nil {
		t.binding(r.Binding)
	}
	t.notMade(opts.Quiet)
	t.gaps(opts.Quiet)
	t.preempted(opts.Quiet)
	folded := 0
	for i := range r.Pods {
		e := &r.Pods[i]
		fold := !opts.Story && !opts.Quiet && t.isFolded(i)
		if !opts.Quiet && (!fold || folded == 0) {
			t.Space()
		}
		heading := "Pod " + e.Namespace + "/" + e.Name
		if e.Workload != "" {
			heading += " of " + e.Workload
		}
		outcome := e.outcome()
		switch {
		case e.Runs != "" && e.Halted != "":
			outcome = "does not run, though it has node " + e.Runs + ": " + e.Halted
		case e.Runs != "":
			outcome = "runs on " + e.Runs + "; placed again, " + outcome
		}
		if fold && e.Node == "" {
			outcome = "no node takes it, for the same reasons"
		}
		t.Linef(doc.Bold, "%s, step %s: %s", heading, e.Step, outcome)
		if opts.Quiet {
			continue
		}
		if opts.Story {
			for i, sentence := range e.Story {
				t.Linef(doc.Plain, "%3d. %s", i+1, sentence)
			}
			continue
		}
		if fold {
			folded++
		} else {
			t.explanation(e)
		}
	}
	if folded > 0 && !t.Page {
		t.Linef(doc.Plain, "Use --all for the tables of %s, too.", words.Pick(folded, "this pod", "these pods"))
	}
	if r.More > 0 {
		t.Space()
		t.More(r.More, "pod of the workload", "pods of the workload")
	}
	return &t.Doc
}

// outcome says where the pod is, or in a few words why it has no node.
func (e *Explanation) outcome() string {
	outcome := doc.FormatOutcome(e.Node, e.Decision)
	if e.Node != "" {
		return outcome
	}
	why, refused := strings.CutPrefix(e.Verdict, "No ")
	if refused {
		outcome = "no " + strings.TrimSuffix(why, ".")
	}
	brief := cause.Brief(list.Without(e.Causes, func(c cause.Cause) bool { return c.PodGroup != nil || len(c.Gates) > 0 }))
	switch {
	case brief == "":
		return outcome
	case refused:
		return "no node takes it: " + brief
	}
	return "got no node: " + brief
}

// notMade writes what the API server refused to create, and why.
func (t *writer) notMade(quiet bool) {
	for i := range t.report.NotMade {
		r := &t.report.NotMade[i]
		if i > 0 && !quiet {
			t.Space()
		}
		what := r.Qualified()
		if r.OfWorkload() {
			what = words.Count(r.Pods, "pod") + " of " + what
		}
		t.Linef(doc.Bold, "The API server refuses %s, step %s", what, r.Step)
		if quiet {
			continue
		}
		t.Linef(doc.Yellow, "  %s", r.Message)
		for _, line := range doc.CauseLines(r.Causes) {
			t.Linef(doc.Plain, "  %s", line)
		}
		t.fixes("Changes with which the API server takes them", r.Fixes, r.Tried)
	}
}

// gaps writes what the workload lacks though none of its pods is Pending.
func (t *writer) gaps(quiet bool) {
	for i := range t.report.Gaps {
		g := &t.report.Gaps[i]
		if i > 0 && !quiet {
			t.Space()
		}
		t.Linef(doc.Bold, "%s, step %s: %s", g.Qualified(), g.Step, g.Says)
		if !quiet {
			t.fixes("Changes that help", g.Fixes, g.Tried)
		}
	}
}

// isFolded reports whether one line suffices for the pod: it runs already, and so does the pod before it, or pods of the workload are missing, which
// the question is about then; or it is Pending for the reasons for which the pod before it is.
func (t *writer) isFolded(i int) bool {
	if t.All {
		return false
	}
	e := &t.report.Pods[i]
	if e.asksElsewhere() || e.Halted != "" {
		return false
	}
	if e.Runs != "" && len(t.report.NotMade)+len(t.report.Gaps) > 0 {
		return true
	}
	if i == 0 {
		return false
	}
	before := &t.report.Pods[i-1]
	return e.Runs != "" && before.Runs != "" || e.Node == "" && len(e.Fixes)+len(e.Tried) == 0 && e.isPendingLike(before)
}

// asksElsewhere reports whether the user asks about another node than that of the pod.
func (e *Explanation) asksElsewhere() bool {
	return slices.ContainsFunc(e.Asked, func(a Asked) bool { return a.Node != e.Runs })
}

// isPendingLike reports whether the pod waits in the same step with the same message and for the same reasons as another.
func (e *Explanation) isPendingLike(other *Explanation) bool {
	same := func(a, b cause.Cause) bool { return a.Sentence == b.Sentence }
	return other.Node == "" && e.Step == other.Step && e.Workload == other.Workload && e.Message != "" && e.Message == other.Message &&
		slices.EqualFunc(e.Causes, other.Causes, same) && slices.Equal(e.Notes, other.Notes)
}

func (t *writer) explanation(e *Explanation) {
	for _, warning := range e.Warnings {
		t.Linef(doc.Yellow, "  %s", warning)
	}
	if e.Halted != "" && e.Runs != "" && !t.All && !e.asksElsewhere() { // the question is what it waits for, not where it would go
		t.fixes("Changes that help", e.Fixes, e.Tried)
		return
	}
	if e.Node == "" {
		for _, line := range doc.WaitLines(e.Message, e.Reason, e.Untried) {
			t.Linef(doc.Yellow, "  %s", line)
		}
		causes := list.Without(e.Causes, func(c cause.Cause) bool { return c.PodGroup != nil && e.Group != nil }) // a pod group has a line of its own
		for _, line := range doc.CauseLines(causes) {
			t.Linef(doc.Plain, "  %s", line)
		}
	}
	if e.Group != nil {
		t.Linef(doc.Plain, "  %s", e.Group.text())
	}
	if e.Halted != "" && e.Runs == "" {
		t.Linef(doc.Yellow, "  But %s", e.Halted)
	}
	if e.Node != "" && e.Verdict != "" {
		t.Linef(doc.Plain, "  %s", e.Verdict)
	}
	for _, asked := range e.Asked {
		t.Line(doc.Bold.Cell("  Why not "+asked.Node+":"), doc.Plain.Cellf(" %s", asked.Why))
	}
	t.fixes("Changes that help", e.Fixes, e.Tried)
	for _, claim := range e.Claims {
		t.Linef(doc.Plain, "  Claim %s", claimText(&claim))
	}
	t.admission(e.Admission)
	if e.Cycle != nil {
		t.Cycle(e.Cycle)
	}
	t.flips(e.Flips)
	if of := e.Step + " " + e.Namespace + " " + e.Workload; of != t.rulesShown || e.Workload == "" {
		t.rulesShown = of // the pods of a workload have the same rules
		t.effects(e.Effects)
	}
	for _, note := range e.Notes {
		t.Linef(doc.Plain, "  Note: %s", note)
	}
}

// admission lists what plugins changed in the pod, unless the pod before has the same changes, as in a workload.
func (t *writer) admission(changes []admission.Change) {
	if len(changes) == 0 || slices.Equal(changes, t.changesShown) {
		return
	}
	t.changesShown = changes
	t.Line(doc.Bold.Cell("  Admission"), doc.Plain.Cell(", what the API server changed in the pod of its template:"))
	var rows [][]doc.Cell
	for _, c := range changes {
		rows = append(rows, doc.Plain.Row(c.Plugin, c.Field, cmp.Or(c.From, "none")+" → "+cmp.Or(c.To, "none")))
	}
	t.Table("    ", rows...)
}

// claimText returns "gpu, ResourceClaim web-gpu-x7k2p: gpu.example.com/node-1/gpu-0".
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

// flips lists the flip points, and names what was searched without success.
func (t *writer) flips(flips []explain.Flip) {
	if len(flips) == 0 {
		return
	}
	t.Line(doc.Bold.Cell("  Flip points"), doc.Plain.Cell(", the smallest changes that send it elsewhere, each proved by scheduling it again:"))
	var rows [][]doc.Cell
	vain := map[explain.Dimension][]string{}
	for _, flip := range flips {
		if flip.To == "" {
			vain[flip.Of] = append(vain[flip.Of], strings.TrimPrefix(strings.TrimPrefix(flip.Subject, "weight of "), "the "))
			continue
		}
		to := "to " + flip.Node
		if flip.Node == "" {
			to = "to no node"
		}
		rows = append(rows, doc.Plain.Row(flip.Subject, flip.From+" → "+flip.To, to))
	}
	t.Table("    ", rows...)
	for _, of := range []struct {
		of    explain.Dimension
		words string
	}{{explain.Term, "weight of the "}, {explain.Plugin, "weight of "}, {explain.Capacity, ""}} {
		if len(vain[of.of]) > 0 {
			t.Linef(doc.Plain, "    Searched without success: %s%s", of.words, strings.Join(vain[of.of], " or "))
		}
	}
}

func (t *writer) effects(effects []explain.Effect) {
	if len(effects) == 0 {
		return
	}
	t.Line(doc.Bold.Cell("  Rules"), doc.Plain.Cell(", each by a run of the scenario without it:"))
	for _, effect := range effects {
		t.Linef(doc.Plain, "    %s %s", effect.Rule, effect.Words)
		moves := slices.Concat(effect.Moved, effect.Others)
		t.UpTo(len(moves), "pod", "pods", func(i int) {
			t.Linef(doc.Plain, "      %s: %s → %s", moves[i].Pod, doc.OrNone(moves[i].From), doc.OrNone(moves[i].To))
		})
	}
}

func (t *writer) fixes(title string, fixes []explain.Fix, tried []string) {
	if len(fixes)+len(tried) == 0 {
		return
	}
	t.Line(doc.Bold.Cell("  "+title), doc.Plain.Cell(", each applied to the cluster as it is after the step:"))
	if len(fixes) == 0 {
		t.Linef(doc.Plain, "    none of those tried")
	}
	var rows [][]doc.Cell
	for _, fix := range fixes {
		effect := fix.Price
		if fix.Node != "" {
			effect = append([]string{"the pod on " + fix.Node}, effect...)
		}
		rows = append(rows, doc.Plain.Row(fix.Change, words.Is(fix.Pending, "pod")+" Pending then", strings.Join(effect, "; ")))
	}
	t.Table("    ", rows...)
	if len(tried) > 0 {
		t.Linef(doc.Plain, "    Tried without success: %s", t.triedText(tried))
	}
}

func (t *writer) triedText(changes []string) string {
	if t.All {
		return strings.Join(changes, "; ")
	}
	return t.NameFew(changes, len(changes))
}
