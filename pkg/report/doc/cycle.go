package doc

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/words"
)

const (
	// maxCandidates is the largest number of nodes in a score table; more are counted.
	maxCandidates = 6
	// MaxNamed is the largest number of names in a cell.
	MaxNamed = 3
)

// Explained is a pod whose scheduling cycle is shown, with its name on the page. Node is "" if the pod got none.
type Explained struct {
	Name, Node string
	Decision   *placement.Decision
	Cycle      *placement.Cycle
}

// Cycles writes the scheduling cycles of the pods that have one.
func (d *Doc) Cycles(pods []Explained) {
	told := slices.DeleteFunc(pods, func(e Explained) bool { return e.Cycle == nil })
	d.UpTo(len(told), "pod", "pods", func(i int) {
		d.Space()
		d.Line(Bold.Cell(told[i].Name), Plain.Cell(" "+FormatOutcome(told[i].Node, told[i].Decision)))
		d.Cycle(told[i].Cycle)
	})
}

// ReplacementCycles writes the scheduling cycles of pods that replace lost ones. name formats their names.
func (d *Doc) ReplacementCycles(recovered []placement.RecoveredPod, stranded []placement.StrandedPod, name func(namespace, name string) string) {
	var pods []Explained
	for _, pod := range recovered {
		pods = append(pods, Explained{Name: name(pod.Namespace, pod.Name), Node: pod.Node, Cycle: pod.Cycle})
	}
	for _, pod := range stranded {
		pods = append(pods, Explained{Name: name(pod.Namespace, pod.Name), Cycle: pod.Cycle})
	}
	d.Cycles(pods)
}

// FormatOutcome returns "→ worker-2 by 102 points over worker-3", or how else the node was chosen.
func FormatOutcome(node string, d *placement.Decision) string {
	switch {
	case node == "":
		return "got no node"
	case d == nil || d.Scored == 0:
		return "→ " + node
	case d.Ties == d.Scored:
		return fmt.Sprintf("→ %s, one of %d equal nodes", node, d.Ties)
	case d.Ties > 1:
		return fmt.Sprintf("→ %s, one of %d equal nodes that are %s ahead of %s", node, d.Ties, words.Count(int(d.Margin), "point"), d.RunnerUp)
	}
	return fmt.Sprintf("→ %s by %s over %s", node, words.Count(int(d.Margin), "point"), d.RunnerUp)
}

// Cycle writes the verdicts of the plugins on the nodes: which plugin refused which nodes, a table of the scores, and the parts that rules
// contributed.
func (d *Doc) Cycle(c *placement.Cycle) {
	d.verdicts(c)
	d.refusals(c)
	switch {
	case c.Scored > 0:
		d.scores(c)
	case len(c.Candidates) > 0 && c.Chosen() == nil:
		d.Linef(Plain, "  %s was the only node left.", c.Candidates[0].Node)
	case len(c.Candidates) > 0:
		d.Linef(Plain, "  %s was the only node left, and was taken without scores.", c.Candidates[0].Node)
	}
}

// verdicts writes which PreFilter plugin refused the pod as a whole.
func (d *Doc) verdicts(c *placement.Cycle) {
	for _, verdict := range c.PreFilter {
		if verdict.Status != "success" && verdict.Status != "skip" {
			d.Linef(Red, "  %s refused the pod before looking at any node: %s", verdict.Plugin, verdict.Status)
		}
	}
}

func (d *Doc) refusals(c *placement.Cycle) {
	if len(c.Refusals) == 0 {
		return
	}
	refused := 0
	for _, refusal := range c.Refusals {
		refused += refusal.Count
	}
	d.Linef(Plain, "  Filters refused %d of %s:", refused, words.Count(c.Searched, "node"))
	var rows [][]Cell
	for _, refusal := range c.Refusals {
		rows = append(rows, []Cell{Plain.Cellf("%d", refusal.Count), Bold.Cell(refusal.Plugin), Plain.Cell(refusal.Message), Plain.Cell(d.NameFew(refusal.Nodes, refusal.Count))})
	}
	d.Table("    ", rows...)
}

// scores writes a table with a row for each node and a column for each plugin whose scores differ. Scores that are equal on all nodes
// decide nothing, and share a line below.
func (d *Doc) scores(c *placement.Cycle) {
	shown := d.shownCandidates(c.Candidates)
	apart, alike := SplitByDifference(c.Candidates)
	head := Bold.Row("NODE", "RANK", "TOTAL")
	for _, i := range apart {
		score := c.Candidates[0].Scores[i]
		head = append(head, Bold.Cellf("%s ×%d", score.Plugin, score.Weight))
	}
	d.Linef(Plain, "  %s scored; each score is weighted (raw→normalised), and TOTAL is their sum:", words.Is(c.Scored, "node"))
	rows := [][]Cell{head}
	for _, candidate := range shown {
		s := Plain
		name := candidate.Node
		switch {
		case candidate.Chosen:
			s, name = Green, "*"+NoBreak+name
		case candidate.Present:
			s, name = Yellow, ">"+NoBreak+name
		default:
			name = NoBreak + NoBreak + name
		}
		cells := []Cell{s.Cell(name), s.Cellf("%d", candidate.Rank), s.Cellf("%d", candidate.Total)}
		for _, i := range apart {
			score := candidate.Scores[i]
			text := strconv.FormatInt(score.Weighted, 10)
			if score.Raw != score.Normalised || score.Weight != 1 {
				text += fmt.Sprintf(" (%s)", scoreOrigin(score))
			}
			cells = append(cells, s.Cell(text))
		}
		rows = append(rows, cells)
	}
	d.Add(Table{Indent: "  ", Rows: rows, Apart: true})
	if more := c.Scored - len(shown); more > 0 {
		d.Linef(Plain, "    and %d more", more)
	}
	if len(alike) > 0 {
		var equal []string
		for _, i := range alike {
			score := c.Candidates[0].Scores[i]
			text := fmt.Sprintf("%s %d", score.Plugin, score.Weighted)
			if score.Raw != score.Normalised {
				text += fmt.Sprintf(" (%s)", scoreOrigin(score))
			}
			equal = append(equal, text)
		}
		of := "every node"
		if c.Scored > len(c.Candidates) {
			of = "each of the best nodes"
		}
		d.Linef(Plain, "  The same for %s: %s", of, strings.Join(equal, ", "))
	}
	for _, i := range apart {
		d.parts(shown, i)
	}
}

// shownCandidates returns the candidates that the table shows: the first ones, the chosen one, the present one, and the best one below the top
// score.
func (d *Doc) shownCandidates(candidates []placement.Candidate) []placement.Candidate {
	if d.All || len(candidates) <= maxCandidates {
		return candidates
	}
	var shown []placement.Candidate
	below := false
	for i, candidate := range candidates {
		next := candidate.Rank > 1 && !below // the first candidate below the top score
		if i < maxCandidates-1 || candidate.Chosen || candidate.Present || next {
			shown = append(shown, candidate)
		}
		below = below || next
	}
	return shown
}

// scoreOrigin returns the scores before weighting: "-100→0", or "-100" if normalising changed nothing.
func scoreOrigin(score placement.PluginScore) string {
	if score.Raw == score.Normalised {
		return strconv.FormatInt(score.Raw, 10)
	}
	return fmt.Sprintf("%d→%d", score.Raw, score.Normalised)
}

// SplitByDifference returns the indices of the plugins whose scores differ between the nodes, and of the others.
func SplitByDifference(candidates []placement.Candidate) (apart, alike []int) {
	for i, first := range candidates[0].Scores {
		differs := slices.ContainsFunc(candidates, func(c placement.Candidate) bool {
			return c.Scores[i].Weighted != first.Weighted || c.Scores[i].Raw != first.Raw
		})
		if differs {
			apart = append(apart, i)
		} else {
			alike = append(alike, i)
		}
	}
	return apart, alike
}

// parts writes what each rule contributed to the raw scores of a plugin, with a row for each failure domain of the shown nodes.
func (d *Doc) parts(candidates []placement.Candidate, plugin int) {
	type domain struct {
		placement.Part
		nodes []string
	}
	var rows []*domain
	for _, candidate := range candidates {
		for _, part := range candidate.Scores[plugin].Parts {
			i := slices.IndexFunc(rows, func(r *domain) bool {
				return r.Rule == part.Rule && r.TopologyKey == part.TopologyKey && r.Domain == part.Domain && r.Score == part.Score && slices.Equal(r.Pods, part.Pods)
			})
			if i < 0 {
				i = len(rows)
				rows = append(rows, &domain{Part: part})
			}
			rows[i].nodes = append(rows[i].nodes, candidate.Node)
		}
	}
	if len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b *domain) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.TopologyKey, b.TopologyKey))
	})
	d.Line(Bold.Cell("  "+candidates[0].Scores[plugin].Plugin), Plain.Cell(", raw score by rule:"))
	var table [][]Cell
	for _, r := range rows {
		where := d.NameFew(r.nodes, len(r.nodes))
		if r.TopologyKey != "" {
			where = ShortKeys([]string{r.TopologyKey})[0] + " " + cmp.Or(r.Domain, `""`)
		}
		cells := Plain.Row(r.Rule, where, formatDecimals(r.Score))
		if r.TopologyKey != "" {
			cells = append(cells, Plain.Cell(partFormula(r.Part)))
		}
		if len(r.Pods) > 0 {
			cells = append(cells, Plain.Cell(d.NameFew(r.Pods, r.Count)))
		}
		table = append(table, cells)
	}
	named := Table{Indent: "    ", Rows: table}
	if !d.All {
		named.Least = 4 // without the names of the pods
	}
	d.Add(named)
}

// partFormula returns how the score of a rule was computed: "2 pods × 1.61 + 2". The last number is the maxSkew of a constraint minus 1.
func partFormula(p placement.Part) string {
	text := fmt.Sprintf("%s × %s", words.Count(p.Count, "pod"), formatDecimals(p.Weight))
	if more := p.Score - float64(p.Count)*p.Weight; more > 0.5 {
		text += " + " + formatDecimals(more)
	}
	return text
}

// formatDecimals returns a number with at most two decimals.
func formatDecimals(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 2, 64), "0"), ".")
}
