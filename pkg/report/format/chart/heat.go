package chart

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	colormap "gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/faultline/faultline/pkg/words"
)

// maxHeatMaps is the largest number of goals that have a panel each.
const maxHeatMaps = 3

// drawHeatMaps draws a panel for each goal. If there are too many, it draws one for each kind of goal, for the widest level that varies.
func (s *sweepPicture) drawHeatMaps() {
	y, x := s.axes[0], s.axes[1]
	columns, rows := vg.Length(len(x.values)), vg.Length(len(y.values))
	cell := vg.Point{X: min(44, 270/columns), Y: min(26, 230/rows)}
	fits := cell.X >= 26 && cell.Y >= bodySize+2
	xs, turned := x.categoryTicks(cell.X, true)
	ys, _ := y.categoryTicks(cell.Y, false)
	var left, below vg.Length
	for _, tick := range ys {
		left = max(left, textWidth(tick.Label, bodySize))
	}
	for _, tick := range xs {
		below = max(below, textWidth(tick.Label, bodySize))
	}
	if !turned {
		below = bodySize
	}
	s.width, s.height = max(190, columns*cell.X+left+40), max(150, rows*cell.Y+below+56)
	if !fits {
		s.width += 44
	}
	var elsewhere []string
	for i := range s.varying {
		q := &s.varying[i]
		if len(s.varying) > maxHeatMaps && i > 0 && q.kind == s.varying[i-1].kind {
			elsewhere = append(elsewhere, q.name())
			continue
		}
		c := s.newHeatCells(q, y, x)
		c.written = fits
		p := newPlot("")
		p.Add(c)
		p.X.Label.Text, p.Y.Label.Text = Cut(x.name, 40), Cut(y.name, 40)
		p.X.Tick.Marker, p.Y.Tick.Marker = xs, ys
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(columns)-0.5, -0.5, float64(rows)-0.5
		p.X.Padding, p.Y.Padding = 2, 2
		p.X.Tick.Length, p.Y.Tick.Length, p.X.LineStyle.Width, p.Y.LineStyle.Width = 0, 0, 0, 0
		if turned {
			p.X.Tick.Label.Rotation = math.Pi / 2
			p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
		}
		addTitle(p, q.name())
		s.plots = append(s.plots, p)
	}
	if s.anyBeaten() {
		s.addLegend("not beaten", frame{})
	}
	if len(s.Points) < len(x.values)*len(y.values) {
		s.footer = append(s.footer, "Where it is white there is no point.")
	}
	if len(elsewhere) > 0 {
		s.footer = append(s.footer, fmt.Sprintf("Not drawn: %s; give --level, or -o csv.", words.And(elsewhere)))
	}
}

// categoryTicks returns ticks for the values at equal distances, labelled as far as there is room, and whether the labels are turned by 90
// degrees. along says that the labels stand side by side.
func (a *sweepAxis) categoryTicks(slot vg.Length, along bool) (ticks plot.ConstantTicks, turned bool) {
	words := a.labels()
	needs := bodySize + 2
	if along {
		var widest vg.Length
		for _, word := range words {
			widest = max(widest, textWidth(word, bodySize))
		}
		if turned = !a.numeric && widest+6 > slot; !turned {
			needs = widest + 6
		}
	}
	every := max(1, int(math.Ceil(float64(needs/slot))))
	for i := 0; i < len(words); i += every {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: words[i]})
	}
	return ticks, turned
}

// heatCells is a heat map: rows of values from the bottom up. A larger value is darker. A cell without a point is NaN.
type heatCells struct {
	goal   *goal
	values [][]float64
	front  [][]bool
	low    float64
	high   float64
	// written means that each cell shows its value. Otherwise a scale stands beside the cells.
	written bool
}

func (s *sweepPicture) newHeatCells(q *goal, y, x *sweepAxis) *heatCells {
	c := &heatCells{goal: q, values: make([][]float64, len(y.values)), front: make([][]bool, len(y.values))}
	for i := range c.values {
		c.values[i], c.front[i] = make([]float64, len(x.values)), make([]bool, len(x.values))
		for j := range c.values[i] {
			c.values[i][j] = math.NaN()
		}
	}
	beaten := s.anyBeaten()
	for i := range s.Points {
		p := &s.Points[i]
		if value, known := q.valueOf(p.Found); known {
			row, column := y.place[p.Values[y.name]], x.place[p.Values[x.name]]
			c.values[row][column], c.front[row][column] = value, p.Front && beaten
		}
	}
	c.low, c.high = q.span(s.versions)
	return c
}

// heatColours is a colour map from light to dark with even steps, legible with any colour vision and in print.
var heatColours = func() colormap.ColorMap {
	scale, err := moreland.NewLuminance([]color.Color{
		color.RGBA{0x03, 0x23, 0x40, 0xff}, palette[0], color.RGBA{0x8c, 0xc6, 0xe8, 0xff}, color.RGBA{0xe6, 0xf0, 0xf7, 0xff},
	})
	if err != nil {
		panic(err) // the colours are in the order of their luminance
	}
	scale.SetMin(0)
	scale.SetMax(1)
	return scale
}()

// fill returns the colour for a value, and the colour of words on it.
func (c *heatCells) fill(value float64) (of, words color.Color) {
	share := (value - c.low) / (c.high - c.low)
	of, err := heatColours.At(1 - share)
	if err != nil {
		panic(err) // the share is between 0 and 1
	}
	if share > 0.55 {
		return of, color.White
	}
	return of, color.Black
}

// Plot draws the cells.
func (c *heatCells) Plot(page draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&page)
	gap := min(1, (x(1)-x(0))/12)
	style := draw.TextStyle{Font: sans(bodySize), XAlign: draw.XCenter, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
	cell := func(row, column int, gap vg.Length) vg.Rectangle {
		return vg.Rectangle{
			Min: vg.Point{X: x(float64(column)-0.5) + gap, Y: y(float64(row)-0.5) + gap},
			Max: vg.Point{X: x(float64(column)+0.5) - gap, Y: y(float64(row)+0.5) - gap},
		}
	}
	for row := range c.values {
		for column, value := range c.values[row] {
			if math.IsNaN(value) {
				continue
			}
			r := cell(row, column, gap/2)
			fill, words := c.fill(value)
			page.SetColor(fill)
			page.Fill(r.Path())
			if c.written {
				style.Color = words
				page.FillText(style, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}, c.goal.text(value))
			}
		}
	}
	for row := range c.front {
		for column, front := range c.front[row] {
			if front {
				frame{}.drawAround(&page, cell(row, column, gap/2))
			}
		}
	}
	if !c.written {
		c.scale(page)
	}
}

// scale draws the colours to the right of the map, with the values at both ends.
func (c *heatCells) scale(page draw.Canvas) {
	const slices = 40
	left, height := page.Max.X+10, min(page.Max.Y-page.Min.Y, 140)
	bottom := (page.Min.Y + page.Max.Y - height) / 2
	for i := range slices {
		fill, _ := c.fill(c.low + (c.high-c.low)*(float64(i)+0.5)/slices)
		page.SetColor(fill)
		page.Fill(vg.Rectangle{
			Min: vg.Point{X: left, Y: bottom + height*vg.Length(i)/slices},
			Max: vg.Point{X: left + 9, Y: bottom + height*vg.Length(min(slices, float64(i)+1.2))/slices}, // an overlap hides the seams
		}.Path())
	}
	style := draw.TextStyle{Color: black, Font: sans(bodySize), YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
	for i, value := range []float64{c.low, c.high} {
		page.FillText(style, vg.Point{X: left + 13, Y: bottom + height*vg.Length(i)}, c.goal.text(value))
	}
}

// GlyphBoxes reserves the room for the scale.
func (c *heatCells) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	if c.written {
		return nil
	}
	width := 26 + max(textWidth(c.goal.text(c.low), bodySize), textWidth(c.goal.text(c.high), bodySize))
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: width, Y: 1}}}}
}

// frame marks a cell.
type frame struct{}

func (frame) drawAround(c *draw.Canvas, r vg.Rectangle) {
	width := min(1.4, (r.Max.X-r.Min.X)/6)
	in := width / 2
	c.StrokeLines(draw.LineStyle{Color: vermilion, Width: width}, []vg.Point{
		{X: r.Min.X + in, Y: r.Min.Y + in}, {X: r.Max.X - in, Y: r.Min.Y + in}, {X: r.Max.X - in, Y: r.Max.Y - in}, {X: r.Min.X + in, Y: r.Max.Y - in},
		{X: r.Min.X + in, Y: r.Min.Y},
	})
}

// Thumbnail draws the frame in the legend.
func (f frame) Thumbnail(c *draw.Canvas) { f.drawAround(c, c.Rectangle) }
