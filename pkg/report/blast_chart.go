package report

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	// maxBarSteps is how many steps are drawn.
	maxBarSteps = 120
	// barWidth is that of a level's bar.
	barWidth vg.Length = 11
)

// lossesChart has a bar for each step and level: the largest share of a workload that a failure takes, and in it the share whose
// replacements are stranded.
func lossesChart(r *BlastReport) *chart {
	var notes []string
	if more := len(r.Steps) - maxBarSteps; more > 0 {
		notes = append(notes, fmt.Sprintf("without the last %s", count(more, "step")))
	}
	steps := slices.Clone(r.Steps[:min(len(r.Steps), maxBarSteps)])
	slices.Reverse(steps) // bars go upward
	var keys []string
	for _, step := range r.Steps {
		for _, level := range step.Levels {
			if !slices.Contains(keys, level.TopologyKey) {
				keys = append(keys, level.TopologyKey)
			}
		}
	}
	if more := len(keys) - len(palette); more > 0 {
		notes = append(notes, fmt.Sprintf("without the last %s", count(more, "level")))
		keys = keys[:len(palette)]
	}
	words := "the largest share of a workload that a failure takes"
	if r.Simultaneous > 1 {
		words = fmt.Sprintf("the largest share of a workload that %d failures together take", r.Simultaneous)
	}
	if len(steps) == 0 || len(keys) == 0 {
		return newChart(chartTitle(r.Head, words), "no failure was looked at")
	}
	c := newChart(chartTitle(r.Head, words), strings.Join(notes, "; "))

	p := newPlot("")
	p.X.Label.Text, p.Y.Label.Text = "share of the workload's running pods", "step"
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0%"}, {Value: 0.25, Label: "25%"}, {Value: 0.5, Label: "50%"}, {Value: 0.75, Label: "75%"}, {Value: 1, Label: "100%"}}
	grid := plotter.NewGrid()
	grid.Horizontal.Width, grid.Vertical.Color = 0, pale
	p.Add(grid)
	var last *plotter.BarChart
	for k, short := range shorts(keys) {
		lost, stranded := make([]float64, len(steps)), make([]float64, len(steps))
		offset := (vg.Length(len(keys)-1)/2 - vg.Length(k)) * barWidth
		for i := range steps {
			j := slices.IndexFunc(steps[i].Levels, func(l BlastLevel) bool { return l.TopologyKey == keys[k] })
			if j < 0 {
				continue
			}
			level := &steps[i].Levels[j]
			lost[i], stranded[i] = level.Radius.Share, level.strandedShare()
			p.Add(label(lost[i], float64(i), vg.Point{X: 4, Y: offset - bodySize/3}, draw.XLeft, percent(lost[i])))
		}
		of := bars(lost, barWidth-2, palette[k])
		of.Horizontal, of.Offset = true, offset
		last = bars(stranded, (barWidth-2)/3, black)
		last.Horizontal, last.Offset = true, offset
		p.Add(of, last)
		c.explain("lost with one "+domainNoun(keys[k], short), of)
	}
	c.explain("of these, stranded: the replacements stay Pending", last)
	var names []string
	for _, step := range steps {
		names = append(names, cut(step.Name, 32))
	}
	p.NominalY(names...)
	p.Y.Tick.Label.Font = sans(bodySize)
	p.X.Min, p.X.Max = 0, 1.08
	p.Y.Min, p.Y.Max = -0.6, float64(len(steps))-0.4
	p.X.Padding, p.Y.Padding = 0, 0
	c.plots = []*plot.Plot{p}
	c.width = 640
	c.height = vg.Length(len(steps))*(vg.Length(len(keys))*barWidth+8) + 50
	return c
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
