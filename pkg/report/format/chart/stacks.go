package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"strconv"
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
	// maxBars is the largest number of domains of a level that are drawn, maxAllBars of all levels together.
	maxBars    = 40
	maxAllBars = 100
	// maxArea bounds the area of the plots, in square points; it corresponds to 16 million pixels.
	maxArea = 16e6 * 72 * 72 / dpi / dpi
	// maxChartWidth is the largest width of plots that stand side by side.
	maxChartWidth vg.Length = 1100
	// leastSlot is the least room for a bar.
	leastSlot vg.Length = 26
	// maxName is the largest number of characters of a domain's name.
	maxName = 18
)

// Stacks is a chart with a plot for each step, and in it a bar for each failure domain, in which the pods of several series are stacked.
type Stacks struct {
	Title  string
	Levels []StackLevel
	// Pending adds a bar for the pods that are in no domain.
	Pending bool
	Series  []StackSeries
	Steps   []StackStep
}

// StackLevel has the failure domains of one topology key. The domain "" stands for nodes without the label.
type StackLevel struct {
	Key, Noun string
	Domains   []string
}

// StackSeries is a part of each bar.
type StackSeries struct {
	Name string
	Role Role
}

// Role says what a series stands for. It decides the colour.
type Role int

// The roles of series.
const (
	OneWorkload Role = iota
	OtherWorkloads
	NotReady
	Pending
)

// StackStep is a plot.
type StackStep struct {
	Name string
	// Values are the numbers of pods by series and bar. The bars are the domains of the first level, then those of the next, and at last
	// Pending.
	Values [][]float64
}

// Chart returns the chart.
func (s *Stacks) Chart() *Chart {
	d := newStackAxis(s)
	notes := d.notes
	slot, turned := d.slot()
	width, height := max(150, vg.Length(len(d.bars))*slot+56), vg.Length(130)
	if len(s.Steps) <= 2 {
		height = 220
	}
	if turned {
		height += d.labelWidth()
	}
	steps := s.Steps[:min(len(s.Steps), int(maxArea/float64(width*height)))]
	if more := len(s.Steps) - len(steps); more > 0 {
		notes = append(notes, "without the last "+words.Count(more, "step"))
	}
	if len(s.Steps) == 0 {
		notes = append(notes, "no steps")
	}
	c := newChart(s.Title, strings.Join(notes, "; "))
	if len(d.bars) == 0 {
		return c
	}
	c.width, c.height = width, height
	c.columns = max(1, min(len(steps), int(maxChartWidth/width)))
	top := 1.0
	for i := range steps {
		for _, bar := range d.bars {
			sum := 0.0
			for _, values := range steps[i].Values {
				sum += bar.valueIn(values)
			}
			top = max(top, sum)
		}
	}
	for i := range steps {
		p := newPlot(fmt.Sprintf("%d/%d %s", i+1, len(s.Steps), Cut(steps[i].Name, 40)))
		d.nameBars(p, turned)
		p.Y.Label.Text = "pods"
		p.Y.Tick.Marker = wholeTicks(top)
		grid := plotter.NewGrid()
		grid.Vertical.Width, grid.Horizontal.Color = 0, pale
		p.Add(grid)
		var below *plotter.BarChart
		for k, values := range steps[i].Values {
			heights := list.Map(d.bars, func(bar stackBar) float64 { return bar.valueIn(values) })
			b := newBarSeries(heights, slot*0.7, s.colour(k))
			if below != nil {
				b.StackOn(below)
			}
			below = b
			p.Add(b)
			if i == 0 {
				c.addLegend(Cut(s.Series[k].Name, 70), b)
			}
		}
		for bar := range d.bars {
			if n := below.BarHeight(bar); n > 0 {
				p.Add(newLabel(float64(bar), n, vg.Point{Y: 2}, draw.XCenter, strconv.Itoa(int(n))))
			}
		}
		for _, group := range d.groups {
			if group.name == "" {
				continue
			}
			p.Add(newLabel(float64(group.first)-0.5, top*1.3, vg.Point{}, draw.XLeft, group.name))
		}
		p.Y.Min, p.Y.Max = 0, top*1.5
		c.plots = append(c.plots, p)
	}
	return c
}

func (s *Stacks) colour(k int) color.Color {
	switch s.Series[k].Role {
	case Pending:
		return vermilion
	case NotReady:
		return black
	case OtherWorkloads:
		return grey
	}
	return palette[k]
}

// stackAxis has the bars of a plot: the domains of each level, widest first, with a gap between levels, then Pending.
type stackAxis struct {
	bars   []stackBar
	groups []barGroup
	notes  []string
}

// stackBar is a bar. Its value is at index place; -1 marks a gap.
type stackBar struct {
	name  string
	place int
}

func (b stackBar) valueIn(values []float64) float64 {
	if b.place < 0 {
		return 0
	}
	return values[b.place]
}

type barGroup struct {
	name  string
	first int
}

func newStackAxis(s *Stacks) *stackAxis {
	d, place := &stackAxis{}, 0
	for _, level := range s.Levels {
		first := place
		place += len(level.Domains)
		switch n := len(level.Domains); {
		case n == 0:
			continue
		case n > maxBars, len(d.bars)+n > maxAllBars:
			d.notes = append(d.notes, fmt.Sprintf("%s has %d domains and is left out", doc.Clean(level.Key), n))
			continue
		}
		d.beginLevel(Cut(level.Noun, 24))
		for j, name := range abbreviateNames(level.Domains, maxName) {
			d.bars = append(d.bars, stackBar{cmp.Or(name, "no label"), first + j})
		}
	}
	if s.Pending {
		d.beginLevel("")
		d.bars = append(d.bars, stackBar{"Pending", place})
	}
	return d
}

// beginLevel begins a level with a gap, which is wide enough for the name of the level before it.
func (d *stackAxis) beginLevel(name string) {
	gap := stackBar{place: -1}
	if n := len(d.groups); n > 0 {
		needs := textWidth(d.groups[n-1].name, bodySize) + 6
		for d.bars = append(d.bars, gap); vg.Length(len(d.bars)-d.groups[n-1].first)*leastSlot < needs; {
			d.bars = append(d.bars, gap)
		}
	}
	d.groups = append(d.groups, barGroup{name: name, first: len(d.bars)})
}

// slot returns the width of the room for a bar, and whether the names below are turned.
func (d *stackAxis) slot() (vg.Length, bool) {
	widest := d.labelWidth()
	switch {
	case widest <= 40:
		return max(leastSlot, widest+8), false
	case len(d.bars) > maxBars:
		return leastSlot * 2 / 3, true
	}
	return leastSlot, true
}

func (d *stackAxis) labelWidth() vg.Length {
	var widest vg.Length
	for _, bar := range d.bars {
		widest = max(widest, textWidth(bar.name, bodySize))
	}
	return widest
}

// nameBars sets the names below the bars of the plot.
func (d *stackAxis) nameBars(p *plot.Plot, turned bool) {
	var ticks plot.ConstantTicks
	for i, bar := range d.bars {
		if bar.place >= 0 {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: bar.name})
		}
	}
	p.X.Label.Text = "failure domain"
	p.X.Min, p.X.Max, p.X.Tick.Marker, p.X.Tick.Length = -0.6, float64(len(d.bars))-0.4, ticks, 6
	p.X.Tick.LineStyle.Color = color.Transparent // invisible ticks keep the names away from the bars
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Label.YAlign = draw.YTop
	if turned {
		p.X.Tick.Label.Rotation = math.Pi / 2
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}
}
