package chart

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/figures"
	"github.com/faultline/faultline/pkg/words"
)

// maxBarRows is the largest number of versions with bars.
const maxBarRows = 40

// Versions returns a chart with a row of bars for each version of a scenario, and a panel for each kind of goal.
func Versions(title, notes string, versions []Version) *Chart {
	if len(versions) == 0 {
		return newChart(title, "no variants")
	}
	c := newChart(title, notes+"; less is better in everything")
	c.barRows(versions)
	return c
}

// Version is one of the versions of a scenario.
type Version struct {
	Name  string
	Found *whatif.Found
	// Front says that no other version is better in one goal and as good in the others. Baseline says that it is the scenario without
	// changes.
	Front, Baseline bool
}

// barRows adds horizontal bars to the chart, the first row on top.
func (c *Chart) barRows(rows []Version) {
	if more := len(rows) - maxBarRows; more > 0 {
		rows = rows[:maxBarRows]
		c.footer = append(c.footer, fmt.Sprintf("Without the last %d; see -o csv.", more))
	}
	versions := make([]*whatif.Found, len(rows))
	names := make([]string, len(rows))
	for i := range rows {
		versions[i], names[i] = rows[i].Found, rows[i].Name
	}
	known, leftOut := goals(versions)
	groups := groupByKind(known)
	most := 1
	for _, group := range groups {
		most = max(most, len(group))
	}
	var widest vg.Length
	ticks := make(plot.ConstantTicks, len(rows))
	for i, name := range abbreviateNames(names, 28) {
		if rows[i].Front {
			name = "* " + name
		}
		ticks[i] = plot.Tick{Value: float64(len(rows) - 1 - i), Label: name}
		widest = max(widest, textWidth(name, bodySize))
	}
	legend := map[int]bool{}
	for i, group := range groups {
		p := newPlot("")
		p.Y.Tick.Marker = ticks
		if i > 0 {
			p.Y.Tick.Marker = plot.ConstantTicks{}
		}
		c.barPanel(p, rows, group, legend)
		c.plots = append(c.plots, p)
	}
	c.columns = len(groups)
	c.width = (widest+16)/vg.Length(len(groups)) + 140
	c.height = vg.Length(len(rows))*(vg.Length(most)*barWidth+7) + 44
	c.footer = append(c.footer, explainGoals(known, leftOut, versions)...)
	if len(rows) > 1 {
		c.footer = append(c.footer, "An asterisk marks what is not beaten: nothing else is better in one of these and as good in the rest.")
	}
}

// barPanel draws a bar for each row and goal of the group.
func (c *Chart) barPanel(p *plot.Plot, rows []Version, group []goal, legend map[int]bool) {
	top := 0.0
	for i := range rows {
		if rows[i].Baseline {
			p.Add(band{float64(len(rows)-1-i) - 0.5, float64(len(rows)-1-i) + 0.5})
		}
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Width, grid.Vertical.Color = 0, pale
	p.Add(grid)
	for k := range group {
		q := &group[k]
		offset := (vg.Length(len(group)-1)/2 - vg.Length(k)) * barWidth
		values := make([]float64, len(rows))
		for i := range rows {
			at := len(rows) - 1 - i
			value, known := q.valueOf(rows[i].Found)
			words := doc.None
			if known {
				values[at], words = value, q.text(value)
				top = max(top, value)
			}
			p.Add(newLabel(values[at], float64(at), vg.Point{X: 3, Y: offset - bodySize/3}, draw.XLeft, words))
		}
		b := newBarSeries(values, barWidth-2, q.colour())
		b.Horizontal, b.Offset = true, offset
		p.Add(b)
		if q.level != "" && !legend[q.place] {
			legend[q.place] = true
			c.addLegend(Cut(q.level, 40), b)
		}
	}
	if top == 0 {
		top = 1
	}
	p.X.Min, p.X.Max = 0, top*1.02
	p.X.Tick.Marker = group[0].ticks(top)
	p.Y.Min, p.Y.Max = -0.5, float64(len(rows))-0.5
	p.X.Padding, p.Y.Padding = 0, 0
	p.Y.Tick.Length = 0
	addTitle(p, panelTitle(group))
}

// colour returns the colour of the goal's level, or a colour of its own for a goal of the whole cluster.
func (q *goal) colour() color.Color {
	switch q.kind {
	case pendingGoal:
		return vermilion
	case costGoal:
		return grey
	}
	return palette[q.place]
}

// explainGoals explains words that a reader may not know, and what is left out.
func explainGoals(known []goal, leftOut int, versions []*whatif.Found) []string {
	var parts []string
	said := map[goalKind]bool{}
	for i := range known {
		if said[known[i].kind] {
			continue
		}
		said[known[i].kind] = true
		switch known[i].kind {
		case radiusGoal:
			parts = append(parts, "Blast radius: the largest share of a workload that the loss of one domain takes.")
		case notBackGoal:
			parts = append(parts, "Stranded: the most pods that such a loss leaves without a node.")
		}
	}
	if partly := figures.PartlyNote(versions); partly != "" {
		parts = append(parts, partly)
	}
	if leftOut > 0 {
		parts = append(parts, fmt.Sprintf("Without the last %s.", words.Count(leftOut, "level")))
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{strings.Join(parts, " ")}
}

// band is a pale stripe behind a row, from one height to another.
type band struct{ from, to float64 }

// Plot draws the band over the plot's whole width.
func (b band) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	from, to := max(c.Min.Y, y(b.from)), min(c.Max.Y, y(b.to))
	c.FillPolygon(color.RGBA{0xf3, 0xf3, 0xf3, 0xff}, []vg.Point{{X: c.Min.X, Y: from}, {X: c.Max.X, Y: from}, {X: c.Max.X, Y: to}, {X: c.Min.X, Y: to}})
}
