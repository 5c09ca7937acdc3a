package chart

import (
	"cmp"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/faultline/faultline/pkg/report/doc"
)

const (
	// barsWidth is the length of the longest bar.
	barsWidth vg.Length = 320
	// maxNote is the largest number of characters of a note behind a bar.
	maxNote = 110
)

// styleColours are the colours of parts, by their styles. A part with another style has the first colour of the palette.
var styleColours = map[doc.Style]color.Color{doc.Red: vermilion, doc.Yellow: palette[1], doc.Green: palette[2], doc.Bold: pale}

// Bars returns a chart of horizontal bars, with a name before and a note behind each.
func Bars(title, notes string, b *doc.Bars) *Chart {
	rows, longest, more := b.Shown()
	rows = slices.Clone(rows)
	slices.Reverse(rows) // bars go upward
	c := newChart(title, notes)
	if len(rows) == 0 {
		return c
	}
	if more != "" {
		c.footer = []string{capitalize(more) + "."}
	}
	p := newPlot("")
	ends := make([]float64, len(rows))
	var below *plotter.BarChart
	for k, part := range b.Parts {
		values := make([]float64, len(rows))
		for i, row := range rows {
			values[i] = float64(row.Values[k])
			ends[i] += values[i]
		}
		of := newBarSeries(values, barWidth, cmp.Or(styleColours[part.Style], palette[0]))
		of.Horizontal = true
		if below != nil {
			of.StackOn(below)
		}
		below = of
		p.Add(of)
		c.addLegend(part.Name, of)
	}
	var names []string
	var widest, widestNote vg.Length
	for i, row := range rows {
		names = append(names, row.Name)
		note := row.Figures()
		if row.Note != "" {
			note += "  " + Cut(row.Note, maxNote)
		}
		widestNote = max(widestNote, textWidth(note, bodySize))
		p.Add(newLabel(ends[i], float64(i), vg.Point{X: 4, Y: -bodySize / 3}, draw.XLeft, note))
	}
	names = abbreviateNames(names, 2*maxName)
	for _, name := range names {
		widest = max(widest, textWidth(name, bodySize))
	}
	p.NominalY(names...)
	p.Y.Tick.Label.Font = sans(bodySize)
	p.X.Label.Text = b.Unit
	p.X.Tick.Marker = wholeTicks(float64(longest))
	p.X.Min, p.X.Max = 0, float64(longest)*float64((barsWidth+widestNote+8)/barsWidth)
	p.Y.Min, p.Y.Max = -0.6, float64(len(rows))-0.4
	p.X.Padding, p.Y.Padding = 0, 0
	c.plots = []*plot.Plot{p}
	c.width, c.height = widest+barsWidth+widestNote+40, vg.Length(len(rows))*(barWidth+5)+44
	return c
}
