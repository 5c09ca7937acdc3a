package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

const (
	// maxPlaces is the largest number of places on the front that have a number.
	maxPlaces = 8
	// maxPlaceNames is the largest number of points that are named for one place.
	maxPlaceNames = 3
)

// drawPareto draws the points by two goals, as dots whose size grows with the number of points. A line joins the places that no other place
// beats, and lines of text below describe them. If only one goal varies, there is no trade-off and no such panel.
func (s *sweepPicture) drawPareto() {
	if len(s.plots) == 0 {
		return
	}
	x, y := s.tradeOff()
	if x == nil {
		return
	}
	places := s.places(x, y)
	p := newPlot("")
	p.X.Label.Text, p.Y.Label.Text = x.name(), y.name()
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = pale, pale
	line := &plotter.Line{LineStyle: plotter.DefaultLineStyle, StepStyle: plotter.PostStep}
	line.Color, line.Width = vermilion, 1.5
	p.Add(grid, line)
	var front []*place
	for _, of := range places {
		if of.front {
			front = append(front, of)
			line.XYs = append(line.XYs, of.at)
		} else {
			p.Add(of.dot(palette[4]))
		}
	}
	for _, of := range front {
		p.Add(of.dot(vermilion))
	}
	versions := s.versions
	across, knowsX := x.valueOf(s.Baseline)
	up, knowsY := y.valueOf(s.Baseline)
	if knowsX && knowsY {
		cross := &plotter.Scatter{XYs: plotter.XYs{{X: across, Y: up}}, GlyphStyle: draw.GlyphStyle{Color: black, Radius: 5, Shape: draw.PlusGlyph{}}}
		p.Add(cross)
		s.addLegend("the scenario as it is", cross)
		versions = append(slices.Clip(versions), s.Baseline)
	}
	_, right := x.span(versions)
	_, top := y.span(versions)
	p.X.Tick.Marker, p.Y.Tick.Marker = x.ticks(right), y.ticks(top)
	p.X.Min, p.X.Max = padRange(0, right)
	p.Y.Min, p.Y.Max = padRange(0, top)
	s.nameFront(p, front, x, y)
	addTitle(p, "trade-off")
	s.plots = append(s.plots, p)
}

// dot returns the dot of a place. It grows slowly with the number of points, since that number says nothing about any one of them.
func (p *place) dot(colour color.Color) *plotter.Scatter {
	radius := min(6, 2.5+0.4*vg.Length(math.Log2(float64(len(p.points)))))
	return &plotter.Scatter{XYs: plotter.XYs{p.at}, GlyphStyle: draw.GlyphStyle{Color: colour, Radius: radius, Shape: draw.CircleGlyph{}}}
}

// nameFront numbers the places of the front, and names their points below the plots. Of places that are too close for two numbers, only the
// first has one.
func (s *sweepPicture) nameFront(p *plot.Plot, front []*place, x, y *goal) {
	names := s.parameterNames()
	var lines []string
	last := plotter.XY{X: math.Inf(-1), Y: math.Inf(1)}
	for _, of := range front {
		if of.at.X-last.X < 0.05*(p.X.Max-p.X.Min) && last.Y-of.at.Y < 0.08*(p.Y.Max-p.Y.Min) || len(lines) == maxPlaces {
			continue
		}
		last = of.at
		number := strconv.Itoa(len(lines) + 1)
		p.Add(newLabel(of.at.X, of.at.Y, vg.Point{X: -5, Y: -8}, draw.XRight, number)) // this corner is free: no place is less in both goals
		lines = append(lines, fmt.Sprintf("%s:  %s, %s: %s", number, x.valueWithName(of.at.X), y.valueWithName(of.at.Y), of.pointNames(names)))
	}
	if more := len(front) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more on the line; see -o csv", more))
	}
	head := fmt.Sprintf("Not beaten in %s and %s, from left to right:", x.name(), y.name())
	if len(front) == 1 {
		head = fmt.Sprintf("Best in both %s and %s:", x.name(), y.name())
	}
	s.footer = append(append(s.footer, head), lines...)
}

// tradeOff returns the two goals by which points are compared: Pending pods and the blast radius of the level that varies most. If these do
// not vary, others take their place. It returns nil if only one goal varies.
func (s *sweepPicture) tradeOff() (x, y *goal) {
	most := 0.0
	for i := range s.varying {
		q := &s.varying[i]
		if low, high := q.span(s.versions); q.kind == radiusGoal && high-low > most {
			y, most = q, high-low
		}
	}
	for i := range s.varying {
		switch q := &s.varying[i]; {
		case q == y:
		case y == nil && i == len(s.varying)-1:
			y = q
		case x == nil, x.kind == radiusGoal, x.kind == notBackGoal && q.kind == costGoal: // the first of Pending, cost and pods not back that varies
			x = q
		}
	}
	if x == nil || y == nil {
		return nil, nil
	}
	return x, y
}

// place is a pair of values of two goals, and the points that have these values.
type place struct {
	at     plotter.XY
	points []*Point
	front  bool
}

// places returns the places of the points for which both goals are known, sorted by x and then by y. A place is on the front if no other
// place is less in one goal and not more in the other.
func (s *sweepPicture) places(x, y *goal) []*place {
	var all []*place
	known := map[plotter.XY]*place{}
	for i := range s.Points {
		across, knowsX := x.valueOf(s.Points[i].Found)
		up, knowsY := y.valueOf(s.Points[i].Found)
		if !knowsX || !knowsY {
			continue
		}
		at := plotter.XY{X: across, Y: up}
		if known[at] == nil {
			known[at] = &place{at: at}
			all = append(all, known[at])
		}
		known[at].points = append(known[at].points, &s.Points[i])
	}
	slices.SortFunc(all, func(a, b *place) int { return cmp.Or(cmp.Compare(a.at.X, b.at.X), cmp.Compare(a.at.Y, b.at.Y)) })
	best := math.Inf(1)
	for _, p := range all {
		p.front = p.at.Y < best
		best = min(best, p.at.Y)
	}
	return all
}

// pointNames returns the values of the place's points, or of the first few and the number of the others.
func (p *place) pointNames(parameters []string) string {
	names := list.Map(p.points[:min(len(p.points), maxPlaceNames)], func(of *Point) string { return of.describe(parameters) })
	line := strings.Join(names, "; ")
	if more := len(p.points) - len(names); more > 0 {
		line += fmt.Sprintf("; and %s", words.Count(more, "more point"))
	}
	return line
}

// valueWithName returns a value with the name of the goal: "3 Pending pods".
func (q *goal) valueWithName(value float64) string {
	if q.kind == pendingGoal {
		return words.Count(int(value), "Pending pod")
	}
	return q.name() + " " + q.text(value)
}
