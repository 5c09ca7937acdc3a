//go:build !js

package blast

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/chart"
)

func draw(r *Report, format string) ([]byte, error) { return drawing(r).Draw(format) }

// drawing has a bar for each step and level: the largest share of a workload that a failure takes, and in it the share that
// does not come back.
func drawing(r *Report) *chart.Chart {
	words := "the largest share of a workload of several replicas that a failure takes"
	if r.Simultaneous > 1 {
		words = fmt.Sprintf("the largest share of a workload of several replicas that %d failures together take", r.Simultaneous)
	}
	l := &chart.Losses{Title: chart.Title(r.Head, words), Verdict: r.verdict().Text}
	var keys []string
	for _, step := range r.Steps {
		for _, level := range step.Levels {
			if !slices.Contains(keys, level.TopologyKey) {
				keys = append(keys, level.TopologyKey)
			}
		}
	}
	for k, short := range doc.Shorts(keys) {
		l.Levels = append(l.Levels, doc.DomainNoun(keys[k], short))
	}
	for i := range r.Steps {
		step := chart.LossStep{Name: r.Steps[i].Name, Levels: make([]*chart.LossShare, len(keys))}
		for j := range r.Steps[i].Levels {
			level := &r.Steps[i].Levels[j]
			step.Levels[slices.Index(keys, level.TopologyKey)] = &chart.LossShare{Lost: level.Replicated.Share, NotBack: level.shareNotBack()}
		}
		l.Steps = append(l.Steps, step)
	}
	return l.Chart()
}

// shareNotBack is the share of the workload of the blast radius that does not come back after that failure.
func (l *Level) shareNotBack() float64 {
	i := slices.IndexFunc(l.Failures, func(f Failure) bool { return slices.Equal(f.Domains, l.Replicated.Domains) })
	if i < 0 || l.Replicated.Replicas == 0 {
		return 0
	}
	r := l.Recovery(&l.Failures[i])
	if r == nil {
		return 0
	}
	gone := r.GoneOf()[cluster.PodRef{Namespace: l.Replicated.Namespace, Workload: l.Replicated.Workload}.Owner()]
	return min(l.Replicated.Share, float64(gone)/float64(l.Replicated.Replicas))
}
