package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

const (
	// maxSweepWidth is the largest width of plots that stand side by side, so that the picture is legible at the width of a text.
	maxSweepWidth vg.Length = 780
	// maxCurves is the largest number of lines with a colour; readers do not follow more.
	maxCurves = 6
	// maxPaleCurves is the largest number of pale lines behind them.
	maxPaleCurves = 200
)

// Sweep is a chart of the goals that vary by the parameters that vary, in one of three forms:
//
//	two numbers, or two texts, that make a grid   a heat map for each goal
//	a number, by itself or with others            a curve for each combination of the others
//	anything else                                 a row of bars for each point
//
// If two goals conflict, it also shows all points by these two.
type Sweep struct {
	Title, Notes string
	// Parameters are the names of the parameters.
	Parameters []string
	// Baseline is the scenario without changes.
	Baseline *whatif.Found
	Points   []Point
}

// Point is a point of a sweep.
type Point struct {
	// Values are the point's values, by parameter.
	Values map[string]scenario.Scalar
	Found  *whatif.Found
	// Front says that no other point is better in one goal and as good in the others.
	Front bool
}

// Chart returns the chart.
func (s *Sweep) Chart() *Chart {
	if len(s.Points) == 0 {
		return newChart(s.Title, "no points")
	}
	return newSweepPicture(s).Chart
}

// sweepPicture is the chart of a sweep, and the data for it.
type sweepPicture struct {
	*Sweep
	*Chart
	versions []*whatif.Found
	// varying are the goals that differ between points, and axes the parameters that do.
	varying []goal
	axes    []*sweepAxis
}

func newSweepPicture(sweep *Sweep) *sweepPicture {
	s := &sweepPicture{Sweep: sweep, Chart: newChart(sweep.Title, sweep.Notes)}
	for i := range s.Points {
		s.versions = append(s.versions, s.Points[i].Found)
	}
	known, leftOut := goals(s.versions)
	var same []string
	for _, q := range known {
		if low, high := q.span(s.versions); low < high {
			s.varying = append(s.varying, q)
		} else {
			same = append(same, q.valueWithName(low))
		}
	}
	for _, name := range s.Parameters {
		if a := newSweepAxis(s.Points, name); len(a.values) > 1 {
			s.axes = append(s.axes, a)
		}
	}
	number := slices.IndexFunc(s.axes, func(a *sweepAxis) bool { return a.numeric })
	barred := false // the names of bars are beside the first plot only, so that all plots stand in one row
	switch {
	case len(s.varying) == 0 || len(s.axes) == 0:
		s.drawPointBars()
		return s
	case s.isGrid():
		s.drawHeatMaps()
	case number >= 0:
		s.drawCurves(s.axes[number])
	default:
		s.drawPointBars()
		barred = true
		s.height = max(s.height, 170)
	}
	s.drawPareto()
	if s.columns = len(s.plots); !barred {
		s.columns = max(1, min(s.columns, int(maxSweepWidth/s.width)))
	}
	if len(same) > 0 {
		s.footer = append(s.footer, "The same at every point: "+words.And(same)+".")
	}
	if !barred { // barRows has explained the goals of bars
		s.footer = append(s.footer, explainGoals(s.varying, leftOut, s.versions)...)
	}
	return s
}

// anyBeaten reports whether any point is beaten. Otherwise no point is marked.
func (s *sweepPicture) anyBeaten() bool {
	return slices.ContainsFunc(s.Points, func(p Point) bool { return !p.Front })
}

// sweepAxis has the values of a parameter: numbers in ascending order, other values in the order of the points.
type sweepAxis struct {
	name    string
	values  []scenario.Scalar
	numeric bool
	place   map[scenario.Scalar]int // index of a value in values
}

func newSweepAxis(points []Point, name string) *sweepAxis {
	a := &sweepAxis{name: name, numeric: true, place: map[scenario.Scalar]int{}}
	for i := range points {
		value := points[i].Values[name]
		if _, known := a.place[value]; !known {
			a.place[value] = len(a.values)
			a.values = append(a.values, value)
			_, number := value.Float()
			a.numeric = a.numeric && number
		}
	}
	if a.numeric {
		slices.SortStableFunc(a.values, func(x, y scenario.Scalar) int { return cmp.Compare(toFloat(x), toFloat(y)) })
		for i, value := range a.values {
			a.place[value] = i
		}
	}
	return a
}

// parameterNames returns the names of the parameters that vary.
func (s *sweepPicture) parameterNames() []string {
	return list.Map(s.axes, func(a *sweepAxis) string { return a.name })
}

// labels returns the values in words.
func (a *sweepAxis) labels() []string {
	words := list.Map(a.values, func(value scenario.Scalar) string { return cmp.Or(value.String(), `""`) })
	return abbreviateNames(words, maxName)
}

func toFloat(value scenario.Scalar) float64 {
	f, _ := value.Float()
	return f
}

// isGrid reports whether two parameters suit two axes, and at least half of the grid has a point.
func (s *sweepPicture) isGrid() bool {
	if len(s.axes) != 2 || 2*len(s.Points) < len(s.axes[0].values)*len(s.axes[1].values) {
		return false
	}
	a, b := s.axes[0], s.axes[1]
	fewTexts := func(of *sweepAxis) bool { return !of.numeric && len(of.values) <= maxCurves }
	return a.numeric == b.numeric || !fewTexts(a) && !fewTexts(b)
}

// drawPointBars draws points that no axis puts in order: all points if they are few, and otherwise those that are not beaten.
func (s *sweepPicture) drawPointBars() {
	rows := []Version{{Name: "as it is", Found: s.Baseline, Baseline: true}}
	all := len(s.Points) < maxBarRows
	if !all {
		s.footer = append(s.footer, "Only points that are not beaten have bars; see -o csv for all.")
	}
	names := s.parameterNames()
	for i := range s.Points {
		p := &s.Points[i]
		if all || p.Front {
			rows = append(rows, Version{Name: p.describe(names), Found: p.Found, Front: p.Front})
		}
	}
	s.barRows(rows)
}

// key returns the values of these parameters as a key for points with equal values.
func (p *Point) key(parameters []string) string {
	values := list.Map(parameters, func(name string) string { return p.Values[name].String() })
	return fmt.Sprintf("%q", values)
}

// describe returns the values of these parameters in words: "replicas 3, rule soft".
func (p *Point) describe(parameters []string) string {
	parts := list.Map(parameters, func(name string) string { return Cut(name, 16) + " " + Cut(cmp.Or(p.Values[name].String(), `""`), 24) })
	if len(parts) == 0 {
		return "the only point"
	}
	return strings.Join(parts, ", ")
}

// curve is a line over an axis: the points of one combination of the other parameters, or of several combinations with the same values.
type curve struct {
	members [][]*Point // the points of each combination
	points  []*Point   // the points of the first combination
	front   bool       // a point is not beaten
}

// combinations returns the curves over the axis. If they are many, those with a point that is not beaten come first.
func (s *sweepPicture) combinations(x *sweepAxis) []*curve {
	points := make([]*Point, len(s.Points))
	for i := range s.Points {
		points[i] = &s.Points[i]
	}
	others := s.otherParameters(x)
	var curves []*curve
	alike := map[string]*curve{}
	for _, of := range list.GroupBy(points, func(p *Point) string { return p.key(others) }) {
		slices.SortStableFunc(of, func(p, q *Point) int { return cmp.Compare(x.place[p.Values[x.name]], x.place[q.Values[x.name]]) })
		var course strings.Builder
		front := false
		for _, p := range of {
			front = front || p.Front
			fmt.Fprint(&course, p.Values[x.name])
			for k := range s.varying {
				fmt.Fprintln(&course, k)
				if value, known := s.varying[k].valueOf(p.Found); known {
					fmt.Fprint(&course, value)
				}
			}
		}
		c := alike[course.String()]
		if c == nil {
			c = &curve{points: of}
			alike[course.String()] = c
			curves = append(curves, c)
		}
		c.members, c.front = append(c.members, of), c.front || front
	}
	if len(curves) > maxCurves {
		slices.SortStableFunc(curves, func(a, b *curve) int {
			switch {
			case a.front == b.front:
				return 0
			case a.front:
				return -1
			}
			return 1
		})
	}
	return curves
}

// otherParameters returns the parameters that vary, without that of the axis.
func (s *sweepPicture) otherParameters(x *sweepAxis) []string {
	var names []string
	for _, a := range s.axes {
		if a != x {
			names = append(names, a.name)
		}
	}
	return names
}

// curveName returns the combinations of the curve: "rule none or soft" if these have equal values for every memory, and otherwise a list of
// combinations.
func (s *sweepPicture) curveName(c *curve, x *sweepAxis) string {
	var parts []string
	product := 1
	others := s.otherParameters(x)
	for _, a := range s.axes {
		if a == x {
			continue
		}
		of := newSweepAxis(list.Map(c.members, func(points []*Point) Point { return *points[0] }), a.name)
		product *= len(of.values)
		if len(of.values) == len(a.values) {
			continue
		}
		labels := of.labels()
		if more := len(labels) - maxPlaceNames; more > 0 {
			labels = append(labels[:maxPlaceNames], fmt.Sprintf("%d more", more))
		}
		parts = append(parts, Cut(a.name, 16)+" "+words.Or(labels))
	}
	if product == len(c.members) && len(parts) > 0 {
		return strings.Join(parts, ", ")
	}
	parts = nil
	for _, points := range c.members[:min(len(c.members), maxPlaceNames)] {
		parts = append(parts, points[0].describe(others))
	}
	if more := len(c.members) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, "; ")
}

// drawCurves draws a panel for each goal, with a line for each combination of the other parameters. If there is only one parameter, it draws a
// panel for each kind of goal, with a line for each level.
func (s *sweepPicture) drawCurves(x *sweepAxis) {
	s.width, s.height = 330, 190
	lines := s.combinations(x)
	if others := s.otherParameters(x); len(lines) == 1 && len(others) > 0 {
		s.footer = append(s.footer, "Alike whatever "+words.And(others)+" is.")
	}
	groups := groupByKind(s.varying)
	if len(lines) > 1 {
		groups = nil
		for _, q := range s.varying {
			groups = append(groups, []goal{q})
		}
	}
	legend := map[string]bool{}
	explain := func(name string, shown ...plot.Thumbnailer) {
		if !legend[name] {
			legend[name] = true
			s.addLegend(name, shown...)
		}
	}
	var front *plotter.Scatter
	for _, group := range groups {
		p := newPlot("")
		p.X.Label.Text = Cut(x.name, 40)
		p.X.Tick.Marker = x.ticks(s.width - 60)
		top := 0.0
		for i := range group {
			_, high := group[i].span(s.versions)
			top = max(top, high)
		}
		p.Y.Tick.Marker = group[0].ticks(top)
		grid := plotter.NewGrid()
		grid.Vertical.Width, grid.Horizontal.Color = 0, pale
		p.Add(grid)
		if more := len(lines) - maxCurves; more > 0 {
			for i, of := range lines[maxCurves:min(len(lines), maxCurves+maxPaleCurves)] {
				line, _ := of.lineAndDots(&group[0], x)
				line.Color, line.Width = pale, 1
				p.Add(line)
				if i == 0 {
					defer explain(words.Count(more, "other combination"), line)
				}
			}
		}
		coloured := lines[:min(len(lines), maxCurves)]
		for i, of := range coloured {
			for k := range group {
				q := &group[k]
				line, dots := of.lineAndDots(q, x)
				colour, name, rank := palette[i], s.curveName(of, x), i
				if len(lines) == 1 {
					colour, name, rank = q.colour(), Cut(q.level, 40), k
				}
				line.Color, dots.Color = colour, colour
				line.Width = 1.3 + 0.5*vg.Length(max(len(coloured), len(group))-1-rank) // a line below another is wider, so that it shows
				p.Add(line)
				if len(x.values) <= 60 {
					p.Add(dots)
				}
				if name != "" && (len(lines) > 1 || len(group) > 1) {
					explain(name, line)
				}
			}
		}
		for _, of := range lines {
			for k := range group {
				if rings := of.unbeatenRings(&group[k], x); rings != nil && s.anyBeaten() {
					front = rings
					p.Add(rings)
				}
			}
		}
		low, high := toFloat(x.values[0]), toFloat(x.values[len(x.values)-1])
		p.X.Min, p.X.Max = padRange(low, high)
		p.Y.Min, p.Y.Max = padRange(0, top)
		addTitle(p, panelTitle(group))
		s.plots = append(s.plots, p)
	}
	if front != nil {
		explain("not beaten", front)
	}
}

// lineAndDots returns the curve's line and dots. It leaves out points for which the goal is unknown.
func (c *curve) lineAndDots(q *goal, x *sweepAxis) (*plotter.Line, *plotter.Scatter) {
	var at plotter.XYs
	for _, p := range c.points {
		if value, known := q.valueOf(p.Found); known {
			at = append(at, plotter.XY{X: toFloat(p.Values[x.name]), Y: value})
		}
	}
	line, dots := &plotter.Line{XYs: at, LineStyle: plotter.DefaultLineStyle}, &plotter.Scatter{XYs: at}
	dots.Shape, dots.Radius = draw.CircleGlyph{}, 2.5
	return line, dots
}

// unbeatenRings returns rings around the points that are not beaten, or nil if there are none.
func (c *curve) unbeatenRings(q *goal, x *sweepAxis) *plotter.Scatter {
	var at plotter.XYs
	for _, p := range c.points {
		if value, known := q.valueOf(p.Found); known && p.Front {
			at = append(at, plotter.XY{X: toFloat(p.Values[x.name]), Y: value})
		}
	}
	if at == nil {
		return nil
	}
	rings := &plotter.Scatter{XYs: at}
	rings.Shape, rings.Radius, rings.Color = draw.RingGlyph{}, 4.5, black
	return rings
}

// padRange returns a range with room for the signs at both ends. All plots keep the same share free.
func padRange(low, high float64) (float64, float64) {
	if low == high {
		high++
	}
	room := 0.04 * (high - low)
	return low - room, high + room
}

// ticks returns the parameter's values, as many as there is room for their labels.
func (a *sweepAxis) ticks(width vg.Length) plot.ConstantTicks {
	low, high := toFloat(a.values[0]), toFloat(a.values[len(a.values)-1])
	var ticks plot.ConstantTicks
	taken := vg.Length(math.Inf(-1))
	for i, words := range a.labels() {
		value := toFloat(a.values[i])
		at := vg.Length((value-low)/(high-low)) * width
		half := textWidth(words, bodySize) / 2
		if at-half < taken {
			continue
		}
		taken = at + half + 6
		ticks = append(ticks, plot.Tick{Value: value, Label: words})
	}
	return ticks
}
