//go:build !js

package blast

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/chart"
)

func draw(r *Report, format string) ([]byte, error) { return newChart(r).Draw(format) }

// newChart returns a chart of the failures of one step, or of the worst failures of several steps.
func newChart(r *Report) *chart.Chart {
	if len(r.Steps) == 1 {
		b := r.bars()
		return chart.Bars(chart.Title(r.Head, b.Title), strings.TrimSuffix(r.verdict().Text, "."), b)
	}
	return r.losses()
}

// bars returns a bar for each failure of the first step, the worst first: its lost pods, and those of them that do not come back.
func (r *Report) bars() *doc.Bars {
	b := &doc.Bars{
		Title: "pods that each failure takes", Unit: "pods", Noun: "failure", Nouns: "failures",
		Parts: []doc.Part{{Name: "come back, or were not looked at", Style: doc.Plain}, {Name: "do not come back", Style: doc.Red}},
	}
	if r.Recover {
		b.Parts[0].Name = "come back"
	}
	step := &r.Steps[0]
	var all []failurePlace
	for i := range step.Levels {
		l := &step.Levels[i]
		for k := range l.Failures {
			if f := &l.Failures[k]; !r.secondary(l) {
				all = append(all, failurePlace{step, i, f, l.Harm(f)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b failurePlace) int { return a.harm.Compare(b.harm) })
	for _, w := range all {
		lost := w.failure.Pods
		if recovery := w.recovery(); recovery != nil {
			lost = recovery.CountLost()
		}
		b.Rows = append(b.Rows, doc.BarRow{Name: step.failureName(w.level, w.failure), Values: []int{lost - w.harm.Gone, w.harm.Gone}, Note: strings.Join(w.takes(), ", ")})
	}
	return b
}

// losses returns a chart with a bar for each step and level: the largest share of a workload that a failure takes, and the part of it that
// does not come back.
func (r *Report) losses() *chart.Chart {
	title := "the largest share of a workload of several replicas that a failure takes"
	if r.Simultaneous > 1 {
		title = fmt.Sprintf("the largest share of a workload of several replicas that %d failures together take", r.Simultaneous)
	}
	l := &chart.Losses{Title: chart.Title(r.Head, title), Verdict: r.verdict().Text}
	var keys []string
	for _, step := range r.Steps {
		for _, level := range step.Levels {
			if !slices.Contains(keys, level.TopologyKey) {
				keys = append(keys, level.TopologyKey)
			}
		}
	}
	for k, short := range doc.ShortKeys(keys) {
		l.Levels = append(l.Levels, doc.DomainNoun(keys[k], short))
	}
	for i := range r.Steps {
		step := chart.LossStep{Name: r.Steps[i].Name, Levels: make([]*chart.LossShare, len(keys))}
		for j := range r.Steps[i].Levels {
			level := &r.Steps[i].Levels[j]
			step.Levels[slices.Index(keys, level.TopologyKey)] = &chart.LossShare{Lost: level.Replicated.Share, NotBack: shareNotBack(level)}
		}
		l.Steps = append(l.Steps, step)
	}
	return l.Chart()
}

// shareNotBack returns the share of a workload that does not come back, for the workload and the failure that make the blast radius.
func shareNotBack(l *blast.Level) float64 {
	i := slices.IndexFunc(l.Failures, func(f blast.Failure) bool { return slices.Equal(f.Domains, l.Replicated.Domains) })
	if i < 0 || l.Replicated.Replicas == 0 {
		return 0
	}
	r := l.Recovery(&l.Failures[i])
	if r == nil {
		return 0
	}
	gone := r.NotBackByWorkload()[cluster.WorkloadRef{Namespace: l.Replicated.Namespace, Workload: l.Replicated.Workload}]
	return min(l.Replicated.Share, float64(gone)/float64(l.Replicated.Replicas))
}
