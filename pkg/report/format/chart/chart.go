// Package chart draws the pictures of reports as SVG and PNG, from plain figures.
package chart

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// palette is the palette of Okabe and Ito, whose colours anyone can distinguish, with any colour vision: https://jfly.uni-koeln.de/color/.
var palette = [MaxColours]color.Color{
	color.RGBA{0x00, 0x72, 0xb2, 0xff}, color.RGBA{0xe6, 0x9f, 0x00, 0xff}, color.RGBA{0x00, 0x9e, 0x73, 0xff},
	color.RGBA{0xcc, 0x79, 0xa7, 0xff}, color.RGBA{0x56, 0xb4, 0xe9, 0xff}, color.RGBA{0xf0, 0xe4, 0x42, 0xff},
}

// MaxColours is the number of series that have a colour of their own.
const MaxColours = 6

var (
	vermilion = color.RGBA{0xd5, 0x5e, 0x00, 0xff} // of the same palette; marks trouble
	black     = color.RGBA{0x22, 0x22, 0x22, 0xff}
	grey      = color.RGBA{0x99, 0x99, 0x99, 0xff}
	pale      = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
)

const (
	bodySize  vg.Length = 9
	titleSize vg.Length = 13
	margin    vg.Length = 12
	// dpi is the resolution of a PNG; a plain screen has 96.
	dpi = 120
)

// Chart is a picture: a title, notes, a legend, rows of plots of one size, and lines of text below them.
type Chart struct {
	title, notes  string
	footer        []string
	legend        plot.Legend
	entries       int // number of entries of the legend
	plots         []*plot.Plot
	columns       int
	width, height vg.Length // of a plot
}

func newChart(title, notes string) *Chart {
	c := &Chart{title: title, notes: Cut(notes, 160), legend: plot.NewLegend(), columns: 1}
	c.legend.TextStyle.Font = sans(bodySize)
	c.legend.Top, c.legend.Left = true, true
	c.legend.ThumbnailWidth, c.legend.Padding = 14, 3
	return c
}

// sans returns the font of every text: Liberation Sans, which is part of the program.
func sans(size vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
}

// addLegend adds an entry to the legend.
func (c *Chart) addLegend(name string, shown ...plot.Thumbnailer) {
	c.legend.Add(name, shown...)
	c.entries++
}

// Draw returns the chart as svg or png.
func (c *Chart) Draw(format string) ([]byte, error) {
	rows := (len(c.plots) + c.columns - 1) / c.columns
	head := margin + titleSize + 8
	if c.notes != "" {
		head += bodySize + 6
	}
	if c.entries > 0 {
		head += vg.Length(c.entries) * (bodySize + c.legend.Padding)
	}
	width := max(480, vg.Length(c.columns)*c.width+2*margin, textWidth(c.title, titleSize)+2*margin, textWidth(c.notes, bodySize)+2*margin)
	var footer []string
	for _, words := range c.footer {
		footer = append(footer, wrapText(words, width-2*margin)...)
	}
	foot := margin + vg.Length(len(footer))*(bodySize+4)
	height := head + vg.Length(rows)*c.height + foot

	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	if format == "svg" {
		canvas = vgsvg.New(width, height)
	} else {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))}
	}
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())

	style := draw.TextStyle{Color: black, Font: sans(titleSize), YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
	at := vg.Point{X: margin, Y: height - margin}
	page.FillText(style, at, c.title)
	at.Y -= titleSize + 8
	style.Font = sans(bodySize)
	if c.notes != "" {
		page.FillText(style, at, c.notes)
		at.Y -= bodySize + 6
	}
	c.legend.Draw(draw.Crop(page, margin, -margin, margin, at.Y-height))
	if rows > 0 {
		c.drawPlots(draw.Crop(page, margin, -margin, foot, -head), rows)
	}
	at.Y = foot - 4
	for _, words := range footer {
		page.FillText(style, at, words)
		at.Y -= bodySize + 4
	}

	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	if format == "svg" {
		return fixTextWidths(out.Bytes()), nil
	}
	return out.Bytes(), nil
}

// svgText matches a text that vgsvg writes, up to its end.
var svgText = regexp.MustCompile(`<text ([^>]*)font-family:Liberation Sans;([^>]*font-size:([0-9]+(?:[.][0-9]+)?)px[^>]*)>([^<]*)<`)

// fixTextWidths gives each text of an SVG the width for which it was laid out. A reader may lack the font and every font of the same measures;
// without the width, names would run into bars.
func fixTextWidths(svg []byte) []byte {
	return svgText.ReplaceAllFunc(svg, func(found []byte) []byte {
		parts := svgText.FindSubmatch(found)
		size, _ := strconv.ParseFloat(string(parts[3]), 64) // the expression matches only numbers
		width := textWidth(html.UnescapeString(string(parts[4])), vg.Length(size))
		return fmt.Appendf(nil, `<text textLength="%.5g" lengthAdjust="spacingAndGlyphs" %sfont-family:Liberation Sans,Arial,Helvetica,sans-serif;%s>%s<`,
			width.Points(), parts[1], parts[2], parts[4])
	})
}

// drawPlots draws the plots row by row, with their axes aligned.
func (c *Chart) drawPlots(page draw.Canvas, rows int) {
	table := make([][]*plot.Plot, rows)
	for i := range table {
		table[i] = make([]*plot.Plot, c.columns)
		copy(table[i], c.plots[i*c.columns:min(len(c.plots), (i+1)*c.columns)])
	}
	page.Max.X = page.Min.X + vg.Length(c.columns)*c.width
	tiles := plot.Align(table, draw.Tiles{Rows: rows, Cols: c.columns, PadX: 2 * margin, PadY: margin}, page)
	for i := range table {
		for j, p := range table[i] {
			if p != nil {
				p.Draw(tiles[i][j])
			}
		}
	}
}

// newPlot returns a plot with the chart's fonts and a plain look.
func newPlot(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.Title.TextStyle.Font, p.Title.Padding = title, sans(bodySize+2), 4
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font, axis.Tick.Label.Font = sans(bodySize), sans(bodySize)
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = grey, grey
	}
	p.BackgroundColor = nil
	return p
}

// addTitle sets a title above the middle of the plot's data, however wide the labels beside them are. The ranges of the axes must be set
// before.
func addTitle(p *plot.Plot, title string) {
	l := newLabel((p.X.Min+p.X.Max)/2, p.Y.Max-1e-6*(p.Y.Max-p.Y.Min), vg.Point{Y: 7}, draw.XCenter, capitalize(title))
	l.TextStyle[0].Font = sans(bodySize + 2)
	p.Add(heading{l})
}

// heading is a label that takes no width from the plot, which may be narrower than the label.
type heading struct{ *plotter.Labels }

// GlyphBoxes returns the boxes with their height, but without their width.
func (h heading) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	boxes := h.Labels.GlyphBoxes(p)
	for i := range boxes {
		boxes[i].Min.X, boxes[i].Max.X = 0, 0
	}
	return boxes
}

// capitalize returns the words with a capital letter at the beginning.
func capitalize(words string) string { return strings.ToUpper(words[:1]) + words[1:] }

// newBarSeries returns a series of a bar chart. A missing value is 0.
func newBarSeries(values []float64, width vg.Length, fill color.Color) *plotter.BarChart {
	b, err := plotter.NewBarChart(plotter.Values(values), width)
	if err != nil {
		panic(err) // there is no value, or one is not a number
	}
	b.Color, b.LineStyle.Width = fill, 0
	return b
}

// newLabel returns a text at a point of the plot, moved by the offset.
func newLabel(x, y float64, offset vg.Point, align draw.XAlignment, words string) *plotter.Labels {
	l, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{words}})
	if err != nil {
		panic(err) // a coordinate is not a number
	}
	l.TextStyle[0].Font, l.TextStyle[0].Color, l.TextStyle[0].XAlign = sans(bodySize), black, align
	l.Offset = offset
	return l
}

func textWidth(words string, size vg.Length) vg.Length {
	return draw.TextStyle{Font: sans(size), Handler: plot.DefaultTextHandler}.Width(words)
}

// wrapText breaks words into lines of the width. It cuts a word that is longer than a line.
func wrapText(words string, width vg.Length) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(doc.Clean(words)) {
		for letters := []rune(word); textWidth(word, bodySize) > width; letters = letters[:len(letters)*9/10] {
			word = string(letters) + "…"
		}
		longer := strings.TrimSpace(line + " " + word)
		if textWidth(longer, bodySize) > width {
			lines, longer = append(lines, line), word
		}
		line = longer
	}
	return append(lines, line)
}

// shareTicks returns at most six round percentages from 0 to top, which is between 0 and 1.
func shareTicks(top float64) plot.ConstantTicks {
	ticks := wholeTicks(100 * top)
	for i := range ticks {
		ticks[i].Value /= 100
		ticks[i].Label += "%"
	}
	return ticks
}

// wholeTicks returns at most six whole numbers from 0 to top.
func wholeTicks(top float64) plot.ConstantTicks {
	step := 1.0
	for _, factor := 0, []float64{2, 2.5, 2}; top/step > 5; factor = append(factor[1:], factor[0]) { // 1, 2, 5, 10, 20, 50, …
		step *= factor[0]
	}
	var ticks plot.ConstantTicks
	for at := 0.0; at <= math.Ceil(top); at += step {
		ticks = append(ticks, plot.Tick{Value: at, Label: strconv.FormatFloat(at, 'f', -1, 64)})
	}
	return ticks
}

// abbreviateNames shortens names to the limit. It removes the longest common ending that begins with a dot, as in node-1.example.com, then the
// middle.
func abbreviateNames(names []string, limit int) []string {
	short := list.Map(names, doc.Clean)
	if end := commonEnd(short); end != "" {
		for i := range short {
			short[i] = strings.TrimSuffix(short[i], end)
		}
	}
	for i := range short {
		if letters := []rune(short[i]); len(letters) > limit {
			short[i] = string(letters[:limit/2]) + "…" + string(letters[len(letters)-(limit-limit/2-1):])
		}
	}
	return short
}

// commonEnd returns the longest ending of all names that begins with a dot, or "".
func commonEnd(names []string) string {
	if len(names) < 2 {
		return ""
	}
	for at, letter := range names[0] {
		if letter != '.' || at == 0 {
			continue
		}
		end, all := names[0][at:], true
		for _, name := range names {
			all = all && strings.HasSuffix(name, end) && len(name) > len(end)
		}
		if all {
			return end
		}
	}
	return ""
}

// Cut shortens a text to the limit, with … at its end.
func Cut(words string, limit int) string {
	words = doc.Clean(words)
	if utf8.RuneCountInString(words) > limit {
		words = string([]rune(words)[:limit-1]) + "…"
	}
	return words
}

// Title returns the title of a picture: the words, and the name of the input.
func Title(h report.Head, words string) string {
	if h.Partial != "" {
		words += " (partial)"
	}
	if h.Title() == "" {
		return capitalize(words)
	}
	return capitalize(words) + ": " + Cut(h.Title(), 60)
}
