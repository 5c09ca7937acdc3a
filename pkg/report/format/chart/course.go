package chart

import (
	"cmp"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/faultline/faultline/pkg/report/doc"
)

// maxMoments is the largest number of moments that are all named below a course.
const maxMoments = 12

// Course returns a chart with a plot for each curve, one below the other, so that the moments are aligned.
func Course(title, notes string, course *doc.Course) *Chart {
	c := newChart(title, notes)
	c.width, c.height = 520, 130
	for i := range course.Curves {
		curve := &course.Curves[i]
		if len(curve.Values) == 0 {
			continue
		}
		p := newPlot("")
		at := make(plotter.XYs, 0, len(curve.Values)+1)
		for moment, value := range append(curve.Values[:len(curve.Values):len(curve.Values)], curve.Values[len(curve.Values)-1]) {
			at = append(at, plotter.XY{X: float64(moment), Y: value}) // a value holds until the next moment
		}
		line := &plotter.Line{XYs: at, LineStyle: plotter.DefaultLineStyle, StepStyle: plotter.PostStep}
		line.Color, line.Width = cmp.Or(styleColours[curve.Style], palette[0]), 1.6
		grid := plotter.NewGrid()
		grid.Vertical.Width, grid.Horizontal.Color = 0, pale
		p.Add(grid, line)
		top := max(curve.Most(), 1)
		p.Y.Tick.Marker = wholeTicks(top)
		p.X.Tick.Marker = plot.ConstantTicks(nil)
		if i == len(course.Curves)-1 {
			p.X.Tick.Marker = momentTicks(course.Moments)
		}
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(len(at)-1), 0, top*1.2
		addTitle(p, curve.Name+": "+curve.Note())
		c.plots = append(c.plots, p)
	}
	return c
}

// momentTicks returns the names of the moments, each in the middle of its moment. If there are many, it returns only the first and the
// last.
func momentTicks(moments []string) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for i, name := range abbreviateNames(moments, maxName) {
		if len(moments) <= maxMoments || i == 0 || i == len(moments)-1 {
			ticks = append(ticks, plot.Tick{Value: float64(i) + 0.5, Label: name})
		}
	}
	return ticks
}
