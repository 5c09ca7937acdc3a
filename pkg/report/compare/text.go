package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/figures"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// document is the answer, a table of the figures with the best variant first, the pods that do not come back, and the descriptions.
func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	d.Linef(doc.Bold, "%s", r.answer())
	if held := r.describeHeld(); held != "" {
		d.Linef(doc.Yellow, "%s", held)
	}
	if len(r.Variants) > 2 {
		d.Linef(doc.Plain, "%s", r.frontSentence())
	}
	d.Linef(doc.Plain, "%s", r.describeCompared())
	d.Space()
	d.Table("", r.table()...)
	if stuck := r.stuckRollouts(); len(stuck) > 0 {
		d.Space()
		d.Sentences("Rollouts that get stuck:", stuck)
	}
	if failures := r.failures(); len(failures) > 1 {
		d.Space()
		d.Linef(doc.Bold, "%s", failuresTitle)
		d.Table("", failures...)
	}
	if descriptions := r.descriptions(); len(descriptions) > 0 {
		d.Space()
		d.Sentences("Variants:", descriptions)
	}
	d.Space()
	d.Header()
	return &d
}

// describeHeld says how many of the wanted replicas HorizontalPodAutoscalers allow, for each variant; "" if they allow all.
func (r *Report) describeHeld() string {
	var names []string
	for i := range r.Variants {
		if workloads, replicas, wanted := world.SumHeldBack(r.Variants[i].Held); workloads > 0 {
			names = append(names, fmt.Sprintf("%d of %d for %s (%s)", replicas, wanted, r.Variants[i].Name, words.Count(workloads, "workload")))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "HorizontalPodAutoscalers allow fewer replicas: " + joinFew(names) + "."
}

// maxNamed is the largest number of variants that a line names.
const maxNamed = 6

func joinFew(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		names = append(slices.Clone(names[:maxNamed]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// describeCompared says what is compared.
func (r *Report) describeCompared() string {
	line := fmt.Sprintf("%s after step %s, the best first", words.Count(len(r.Variants), "variant"), r.Step)
	if len(r.Workloads) > 0 {
		line += "; skew and blast radius of " + words.And(r.Workloads)
	}
	return strings.TrimSpace(line + ". An asterisk marks those that are not beaten. " + figures.PartlyNote(r.allFound()))
}

func (r *Report) allFound() []*whatif.Found {
	var all []*whatif.Found
	for i := range r.Variants {
		all = append(all, &r.Variants[i].Found)
	}
	return all
}

// levelKeys returns the topology keys of the levels of all variants. It leaves out a level that has one domain in each variant: its loss takes
// everything, in any variant.
func (r *Report) levelKeys() []string {
	var keys []string
	for _, v := range r.Variants {
		for _, level := range v.Levels {
			if level.Domains > 1 && !slices.Contains(keys, level.TopologyKey) {
				keys = append(keys, level.TopologyKey)
			}
		}
	}
	return keys
}

// table returns the titles, and a row for each variant. A figure is green if it is better than the baseline's, and yellow if it is worse.
func (r *Report) table() [][]doc.Cell {
	keys := r.levelKeys()
	titles := []string{"VARIANT", "PODS", "PENDING", "MOVED"}
	for _, name := range doc.ColumnTitles(keys) {
		titles = append(titles, "SKEW/"+name, "RADIUS/"+name)
	}
	looked, cost := r.recoveredKeys(keys), slices.ContainsFunc(r.Variants, func(v Variant) bool { return v.Cost != nil })
	for _, key := range looked {
		titles = append(titles, "NOT BACK/"+doc.ColumnTitles([]string{key})[0])
	}
	scaled := slices.ContainsFunc(r.Variants, func(v Variant) bool { return v.NewNodes != nil })
	if scaled {
		titles = append(titles, "NEW NODES")
	}
	if cost {
		titles = append(titles, "COST/H")
	}
	table := [][]doc.Cell{doc.SetDropOrder(doc.Bold.Row(titles...), figures.DropOrder(keys)...)}
	base := &r.Variants[0]
	for _, v := range r.rankVariants() {
		name := v.Name
		if v.Front {
			name = "* " + name
		} else {
			name = "  " + name
		}
		cells := []doc.Cell{doc.Plain.Cell(name), doc.Number(v.Pods, doc.Plain), doc.Number(v.Pending, figures.ComparisonStyle(float64(v.Pending), float64(base.Pending))), doc.Number(v.Moved, doc.Plain)}
		for _, key := range keys {
			level, was := v.Level(key), base.Level(key)
			if level == nil {
				cells = append(cells, doc.Plain.Row(doc.None, doc.None)...)
				continue
			}
			skew, radius := doc.Plain, doc.Plain
			if was != nil {
				skew, radius = figures.ComparisonStyle(float64(level.Skew), float64(was.Skew)), figures.ComparisonStyle(level.Radius, was.Radius)
			}
			cells = append(cells, skew.Cell(strconv.Itoa(level.Skew)), radius.Cell(doc.Percent(level.Radius)))
		}
		for _, key := range looked {
			cells = append(cells, figures.NotBackCell(v.Level(key), base.Level(key)))
		}
		if scaled {
			cells = append(cells, figures.NewNodesCell(&v.Found, &base.Found))
		}
		if cost {
			cells = append(cells, doc.Plain.Cell(figures.CostText(&v.Metrics)))
		}
		table = append(table, cells)
	}
	return table
}

// recoveredKeys returns the keys of the levels for which recovery was simulated.
func (r *Report) recoveredKeys(keys []string) []string {
	return list.Where(keys, func(key string) bool {
		return slices.ContainsFunc(r.Variants, func(v Variant) bool {
			level := v.Level(key)
			return level != nil && len(level.Failures) > 0
		})
	})
}

// failuresTitle is the title of failures.
const failuresTitle = "Lost pods that do not come back, of those that each failure takes:"

// maxDomains is the largest number of domains that failures names in a row.
const maxDomains = 6

// failures returns the titles, and a row for each level with failures after which some pods do not come back, the worst domains first.
// Variants with the same failures share a row. It leaves out a level with one domain, whose loss leaves no node.
func (r *Report) failures() [][]doc.Cell {
	type row struct{ variant, level, notBack string }
	var rows []row
	for _, v := range r.rankVariants() {
		for _, level := range v.Levels {
			var parts []string
			worst := slices.Clone(level.Failures)
			slices.SortStableFunc(worst, func(a, b metric.FailureMetrics) int {
				return cmp.Compare(b.Stranded+b.Unreplaced, a.Stranded+a.Unreplaced)
			})
			for _, f := range worst {
				part := fmt.Sprintf("%s %d of %d", doc.DomainsText([]string{f.Domain}), f.Stranded+f.Unreplaced, f.Lost)
				if f.Unreplaced > 0 {
					part += fmt.Sprintf(" (%d not replaced)", f.Unreplaced)
				}
				if f.Stranded+f.Unreplaced > 0 && level.Domains != 1 {
					parts = append(parts, part)
				}
			}
			if more := len(parts) - maxDomains; more > 0 {
				parts = append(parts[:maxDomains], fmt.Sprintf("and %d more", more))
			}
			if len(parts) > 0 {
				rows = append(rows, row{v.Name, doc.LevelName(level.TopologyKey), strings.Join(parts, ", ")})
			}
		}
	}
	table := [][]doc.Cell{doc.Bold.Row("VARIANT", "LEVEL", "NOT BACK")}
	for _, same := range list.GroupBy(rows, func(r row) [2]string { return [2]string{r.level, r.notBack} }) {
		names := strings.Join(list.Map(same, func(r row) string { return r.variant }), ", ")
		if len(same) == len(r.Variants) {
			names = "every variant"
		}
		table = append(table, doc.Plain.Row(names, same[0].level, same[0].notBack))
	}
	return table
}

func (r *Report) descriptions() []string {
	var all []string
	for _, v := range r.Variants {
		if v.Description != "" {
			all = append(all, v.Name+": "+v.Description)
		}
	}
	return all
}
