package report

import (
	"fmt"
	"slices"
)

// lossesChart has a bar for each step and level: the largest share of a workload that a failure takes, and in it the share whose
// replacements are stranded.
func lossesChart(r *BlastReport) *chart {
	words := "the largest share of a workload that a failure takes"
	if r.Simultaneous > 1 {
		words = fmt.Sprintf("the largest share of a workload that %d failures together take", r.Simultaneous)
	}
	l := &Losses{Title: chartTitle(r.Head, words)}
	var keys []string
	for _, step := range r.Steps {
		for _, level := range step.Levels {
			if !slices.Contains(keys, level.TopologyKey) {
				keys = append(keys, level.TopologyKey)
			}
		}
	}
	for k, short := range shorts(keys) {
		l.Levels = append(l.Levels, domainNoun(keys[k], short))
	}
	for i := range r.Steps {
		step := LossStep{Name: r.Steps[i].Name, Levels: make([]*LossShare, len(keys))}
		for j := range r.Steps[i].Levels {
			level := &r.Steps[i].Levels[j]
			step.Levels[slices.Index(keys, level.TopologyKey)] = &LossShare{level.Radius.Share, level.strandedShare()}
		}
		l.Steps = append(l.Steps, step)
	}
	return l.Chart()
}

// strandedShare is the share of the workload of the blast radius whose replacements stay Pending after that failure.
func (l *BlastLevel) strandedShare() float64 {
	r := l.recovery(l.worst())
	if r == nil {
		return 0
	}
	stranded := 0
	for _, pod := range r.Stranded {
		if pod.Namespace == l.Radius.Namespace && pod.Workload == l.Radius.Workload {
			stranded++
		}
	}
	return min(l.Radius.Share, float64(stranded)/float64(l.Radius.Replicas))
}
