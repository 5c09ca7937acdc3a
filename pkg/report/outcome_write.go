package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

var OutcomesFormats = formats[OutcomesReport]{
	textFormat("text", func(r *OutcomesReport, opts Options) []byte {
		t := newOutcomesText(r, opts)
		if opts.Quiet {
			t.table("", t.summary()...)
		} else {
			t.everything()
		}
		return t.bytes()
	}),
	jsonFormat(completeOutcomes),
	yamlFormat(completeOutcomes),
	plainFormat("markdown", outcomesMarkdown),
	encodedFormat("csv", placementsCSV),
}

// completeOutcomes is complete for an OutcomesReport.
func completeOutcomes(r *OutcomesReport) *OutcomesReport {
	c := *r
	c.Head, c.Steps = completeHead(r.Head), list(slices.Clone(r.Steps))
	for i := range c.Steps {
		c.Steps[i].Placements = list(slices.Clone(c.Steps[i].Placements))
		for j := range c.Steps[i].Placements {
			p := &c.Steps[i].Placements[j]
			p.Workloads = list(p.Workloads)
		}
	}
	return &c
}

// summary is a row for each step below the titles.
func (t *outcomesText) summary() [][]cell {
	table := [][]cell{bold.row("NAME", "PLACEMENTS", "LIKELIEST", "PENDING")}
	for i := range t.report.Steps {
		s := &t.report.Steps[i]
		likeliest, style := none, plain
		if s.pods() > 0 {
			likeliest = s.Placements[0].Chance.text()
		}
		if s.AnyPending.Share > 0 {
			style = yellow
		}
		table = append(table, []cell{plain.cell(orNone(s.Name)), plain.cell(s.Different), plain.cell(likeliest), style.cell(s.AnyPending.text())})
	}
	return table
}

// outcomesMarkdown is a table of the steps, and details of each.
func outcomesMarkdown(r *OutcomesReport) []byte {
	m, t := &markdown{}, newOutcomesText(r, Options{})
	m.block("**%s**", prose("Outcomes: "+t.method()))
	m.about(r.Head)
	m.table(t.summary(), "step")
	m.details(len(r.Steps), "step", func(i int) string {
		s := &r.Steps[i]
		d := &markdown{}
		d.block("%s", summary(s.Name, t.headline(s)))
		table, left := t.placements(s)
		d.table(table, "placement")
		if left != "" {
			d.block("%s", prose(left))
		}
		d.table(t.numbers(s), "number")
		d.block("</details>")
		return d.out.String()
	})
	m.list("Notes", proses(r.Notes))
	return m.bytes()
}

// placementsCSV has a row for each workload's pods on each node, by step and placement. Its head:
//
//	step
//	placement: its position among those of the step, from 1, the likeliest first
//	share (between 0 and 1), probability (an exact fraction), low, high (the bounds of the share's interval), seed, ways: its chance
//	namespace, workload (kind/name), node (empty: Pending), pods
//
// The columns of the placement are the same in each of its rows: do not add them up over nodes. What there is not is an empty cell.
func placementsCSV(r *OutcomesReport) ([]byte, error) {
	table := [][]string{{"step", "placement", "share", "probability", "low", "high", "seed", "ways", "namespace", "workload", "node", "pods"}}
	decimal := func(f *float64) string {
		if f == nil {
			return ""
		}
		return strconv.FormatFloat(*f, 'g', -1, 64)
	}
	for _, step := range r.Steps {
		for i, p := range step.Placements {
			seed := ""
			if p.Seed != nil {
				seed = fmt.Sprint(*p.Seed)
			}
			head := []string{step.Name, strconv.Itoa(i + 1), decimal(&p.Share), p.Probability, decimal(p.Low), decimal(p.High), seed, p.Ways}
			for _, w := range p.Workloads {
				for _, node := range sortedKeys(w.Nodes) {
					table = append(table, slices.Concat(head, []string{w.Namespace, w.Workload, node, strconv.Itoa(w.Nodes[node])}))
				}
				if w.Pending > 0 {
					table = append(table, slices.Concat(head, []string{w.Namespace, w.Workload, "", strconv.Itoa(w.Pending)}))
				}
			}
		}
	}
	return toCSV(table)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
