package chart

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

const (
	// maxBarSteps is the largest number of steps that are drawn.
	maxBarSteps = 120
	// barWidth is the width of the bar of a level.
	barWidth vg.Length = 11
)

// Losses is a chart with a bar for each step and level: the largest share of a workload that a failure takes, and the part of it that does
// not come back.
type Losses struct {
	Title string
	// Verdict says what the worst failure does.
	Verdict string
	// Levels are the names of the levels.
	Levels []string
	Steps  []LossStep
}

// LossStep has the losses after a step, by level; nil for a level without a failure.
type LossStep struct {
	Name   string
	Levels []*LossShare
}

// LossShare is the largest share of a workload that a failure takes, and the part of it that does not come back.
type LossShare struct{ Lost, NotBack float64 }

// Chart returns the chart.
func (l *Losses) Chart() *Chart {
	var notes []string
	if l.Verdict != "" {
		notes = append(notes, strings.TrimSuffix(l.Verdict, "."))
	}
	if more := len(l.Steps) - maxBarSteps; more > 0 {
		notes = append(notes, fmt.Sprintf("without the last %s", words.Count(more, "step")))
	}
	steps := slices.Clone(l.Steps[:min(len(l.Steps), maxBarSteps)])
	slices.Reverse(steps) // bars go upward
	levels := l.Levels
	if more := len(levels) - len(palette); more > 0 {
		notes = append(notes, fmt.Sprintf("without the last %s", words.Count(more, "level")))
		levels = levels[:len(palette)]
	}
	if len(steps) == 0 || len(levels) == 0 {
		return newChart(l.Title, "no failures")
	}
	c := newChart(l.Title, strings.Join(notes, "; "))

	p := newPlot("")
	p.X.Label.Text, p.Y.Label.Text = "share of the workload's running pods", "step"
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0%"}, {Value: 0.25, Label: "25%"}, {Value: 0.5, Label: "50%"}, {Value: 0.75, Label: "75%"}, {Value: 1, Label: "100%"}}
	grid := plotter.NewGrid()
	grid.Horizontal.Width, grid.Vertical.Color = 0, pale
	p.Add(grid)
	var last *plotter.BarChart
	for k, name := range levels {
		lost, notBack := make([]float64, len(steps)), make([]float64, len(steps))
		offset := (vg.Length(len(levels)-1)/2 - vg.Length(k)) * barWidth
		for i := range steps {
			share := steps[i].Levels[k]
			if share == nil {
				continue
			}
			lost[i], notBack[i] = share.Lost, share.NotBack
			p.Add(newLabel(lost[i], float64(i), vg.Point{X: 4, Y: offset - bodySize/3}, draw.XLeft, doc.Percent(lost[i])))
		}
		of := newBarSeries(lost, barWidth-2, palette[k])
		of.Horizontal, of.Offset = true, offset
		last = newBarSeries(notBack, (barWidth-2)/3, black)
		last.Horizontal, last.Offset = true, offset
		p.Add(of, last)
		c.addLegend("lost with one "+name, of)
	}
	c.addLegend("of these, do not come back", last)
	p.NominalY(list.Map(steps, func(s LossStep) string { return Cut(s.Name, 32) })...)
	p.Y.Tick.Label.Font = sans(bodySize)
	p.X.Min, p.X.Max = 0, 1.08
	p.Y.Min, p.Y.Max = -0.6, float64(len(steps))-0.4
	p.X.Padding, p.Y.Padding = 0, 0
	c.plots = []*plot.Plot{p}
	c.width = 640
	c.height = vg.Length(len(steps))*(vg.Length(len(levels))*barWidth+8) + 50
	return c
}
