package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/ask/whatif"
)

// compareText renders a CompareReport as text: who is not beaten, a table of the numbers, and what failures leave behind.
type compareText struct {
	page
	report *CompareReport
}

func (t *compareText) everything() {
	r := t.report
	t.linef(bold, "%s", r.verdict())
	t.linef(plain, "%s", r.about())
	t.space()
	t.table("", r.table()...)
	if failures := r.failures(); len(failures) > 1 {
		t.space()
		t.linef(bold, "%s", leftBehind)
		t.table("", failures...)
	}
	if descriptions := r.descriptions(); len(descriptions) > 0 {
		t.space()
		t.sentences("Variants:", descriptions)
	}
}

// verdict says which variants are not beaten by another.
func (r *CompareReport) verdict() string {
	var front []string
	for _, v := range r.Variants {
		if v.Front {
			front = append(front, v.Name)
		}
	}
	switch {
	case len(front) == len(r.Variants):
		return "None of the variants beats another: each is better in one thing and worse in another, or they are alike."
	case len(front) == 1:
		return fmt.Sprintf("%s beats every other variant, or is as good in everything.", front[0])
	}
	return fmt.Sprintf("%s are not beaten: no other variant is better in one thing and as good in the rest.", and(front))
}

// about says what is compared.
func (r *CompareReport) about() string {
	line := fmt.Sprintf("%s after step %s", count(len(r.Variants), "variant"), r.Step)
	if len(r.Workloads) > 0 {
		line += "; skew and blast radius of " + and(r.Workloads)
	}
	return strings.TrimSpace(line + ". An asterisk marks those that are not beaten. " + notLookedAt(r.found()))
}

func (r *CompareReport) found() []*whatif.Found {
	var all []*whatif.Found
	for i := range r.Variants {
		all = append(all, &r.Variants[i].Found)
	}
	return all
}

// keys are the topology keys of the levels of all variants, in the order in which they are met.
func (r *CompareReport) keys() []string {
	var keys []string
	for _, v := range r.Variants {
		for _, level := range v.Levels {
			if !slices.Contains(keys, level.TopologyKey) {
				keys = append(keys, level.TopologyKey)
			}
		}
	}
	return keys
}

// table is a row for each variant below the titles. What is better than in the baseline is green, what is worse is yellow.
func (r *CompareReport) table() [][]cell {
	keys := r.keys()
	titles := []string{"VARIANT", "PODS", "PENDING", "MOVED"}
	for _, name := range heads(keys) {
		titles = append(titles, "SKEW/"+name, "RADIUS/"+name)
	}
	stranded, cost := r.looked(keys), slices.ContainsFunc(r.Variants, func(v CompareVariant) bool { return v.Cost != nil })
	for _, key := range stranded {
		titles = append(titles, "STRANDED/"+heads([]string{key})[0])
	}
	if cost {
		titles = append(titles, "COST/H")
	}
	table := [][]cell{bold.row(titles...)}
	base := &r.Variants[0]
	for i := range r.Variants {
		v := &r.Variants[i]
		name := v.Name
		if v.Front {
			name = "* " + name
		} else {
			name = "  " + name
		}
		cells := []cell{plain.cell(name), number(v.Pods, plain), number(v.Pending, against(float64(v.Pending), float64(base.Pending))), number(v.Moved, plain)}
		for _, key := range keys {
			level, was := v.Level(key), base.Level(key)
			if level == nil {
				cells = append(cells, plain.row(none, none)...)
				continue
			}
			skew, radius := plain, plain
			if was != nil {
				skew, radius = against(float64(level.Skew), float64(was.Skew)), against(level.Radius, was.Radius)
			}
			cells = append(cells, skew.cell(strconv.Itoa(level.Skew)), radius.cell(percent(level.Radius)))
		}
		for _, key := range stranded {
			cells = append(cells, strandedCell(v.Level(key), base.Level(key)))
		}
		if cost {
			cells = append(cells, plain.cell(costText(&v.Metrics)))
		}
		table = append(table, cells)
	}
	return table
}

// looked are the keys of the levels of which it was looked at what comes back.
func (r *CompareReport) looked(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		return !slices.ContainsFunc(r.Variants, func(v CompareVariant) bool {
			level := v.Level(key)
			return level != nil && len(level.Failures) > 0
		})
	})
}

// leftBehind is the title of failures.
const leftBehind = "Pods that are without a node after a failure, once all that can come back has come back:"

// failures is a row for each variant and level of which a failure strands pods, or leaves some that nobody replaces.
func (r *CompareReport) failures() [][]cell {
	table := [][]cell{bold.row("VARIANT", "LEVEL", "STRANDED")}
	for _, v := range r.Variants {
		for _, level := range v.Levels {
			var parts []string
			for _, f := range level.Failures {
				part := fmt.Sprintf("%s %d of %d", domainsText([]string{f.Domain}), f.Stranded, f.Lost)
				if f.Unreplaced > 0 {
					part += fmt.Sprintf(" (%d not replaced)", f.Unreplaced)
				}
				if f.Stranded+f.Unreplaced > 0 {
					parts = append(parts, part)
				}
			}
			if more := len(parts) - maxDomains; more > 0 {
				parts = append(parts[:maxDomains], fmt.Sprintf("and %d more", more))
			}
			if len(parts) == 0 {
				continue
			}
			table = append(table, plain.row(v.Name, levelName(level.TopologyKey), strings.Join(parts, ", ")))
		}
	}
	return table
}

func (r *CompareReport) descriptions() []string {
	var all []string
	for _, v := range r.Variants {
		if v.Description != "" {
			all = append(all, v.Name+": "+v.Description)
		}
	}
	return all
}
