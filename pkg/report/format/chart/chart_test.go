package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/vg"

	"github.com/faultline/faultline/pkg/report/doc"
)

// svg has the parts of a picture that the tests check.
type svg struct {
	Height string   `xml:"height,attr"`
	Width  string   `xml:"width,attr"`
	Group  svgGroup `xml:"g"`

	data []byte
}

type svgGroup struct {
	Transform string     `xml:"transform,attr"`
	Texts     []svgWords `xml:"text"`
	Groups    []svgGroup `xml:"g"`
}

type svgWords struct {
	X      float64 `xml:"x,attr"`
	Y      float64 `xml:"y,attr"`
	Length float64 `xml:"textLength,attr"`
	Style  string  `xml:"style,attr"`
	Words  string  `xml:",chardata"`
}

// box is the position of words on the page, measured from the bottom left.
type box struct {
	words                     string
	left, right, below, above float64
}

func boxes(t *testing.T, g svgGroup, turned bool) []box {
	t.Helper()
	var all []box
	for _, text := range g.Texts {
		_, after, _ := strings.Cut(text.Style, "font-size:")
		before, _, _ := strings.Cut(after, "px")
		size, err := strconv.ParseFloat(before, 64)
		if err != nil {
			t.Fatal(err)
		}
		b := box{text.Words, text.X, text.X + text.Length, -text.Y, -text.Y + 0.7*size}
		if turned { // by 90 degrees: the page's x is the negative y there, and the page's y is x
			b = box{text.Words, text.Y - 0.7*size, text.Y, text.X, text.X + text.Length}
		}
		all = append(all, b)
	}
	for _, group := range g.Groups {
		all = append(all, boxes(t, group, strings.Contains(group.Transform, "rotate(90)"))...)
	}
	return all
}

func points(t *testing.T, length string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(strings.TrimSuffix(length, "pt"), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// charts returns small and large pictures.
func charts() map[string]*Chart {
	all := sweepCharts()
	for name, s := range stacks() {
		all[name] = s.Chart()
	}
	for name, l := range losses() {
		all[name] = l.Chart()
	}
	few := &doc.Bars{Title: "nodes by group", Parts: []doc.Part{{Name: "needed"}, {Name: "to add", Style: doc.Red}}, Noun: "group", Nouns: "groups"}
	many := *few
	for i, name := range numbered("group-%d-with-a-name-that-goes-on-and-on-until-nobody-reads-it", 40) {
		many.Rows = append(many.Rows, doc.BarRow{Name: name, Values: []int{i, 40 - i}, Note: strings.Repeat("cpu on some nodes, ", i)})
	}
	few.Rows = many.Rows[:1]
	roll := &doc.Course{Title: "nodes and price", Curves: []doc.Curve{{Name: "nodes"}, {Name: "Pending", Style: doc.Red}, {Name: "price an hour"}}}
	for i, name := range numbered("turn %d: node-with-a-long-name.example.com", 30) {
		roll.Moments = append(roll.Moments, name)
		for k := range roll.Curves {
			roll.Curves[k].Values = append(roll.Curves[k].Values, float64(i%(k+3))/float64(k+1))
		}
	}
	short := &doc.Course{Title: roll.Title, Moments: []string{"start", "start +2 min"}, Curves: []doc.Curve{{Name: "nodes", Values: []float64{3, 1200}}}}
	all["course-few"], all["course-many"] = Course("shop: nodes and price", "The roll ends.", short), Course("nodes and price", "", roll)
	all["bars-few"], all["bars-many"] = Bars("shop: nodes by group", "3 nodes will do.", few), Bars("nodes by group", "", &many)
	return all
}

// drawn has the charts as SVG, each drawn once for all tests.
var drawn = sync.OnceValue(func() map[string]svg {
	pictures := map[string]svg{}
	for name, c := range charts() {
		var picture svg
		data, err := c.Draw("svg")
		if err == nil {
			err = xml.Unmarshal(data, &picture)
		}
		if err != nil {
			panic(name + ": " + err.Error())
		}
		picture.data = data
		pictures[name] = picture
	}
	return pictures
})

// numbered returns n names.
func numbered(format string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	return names
}

// filled adds these steps. Bar i of series k has i+k pods, modulo a number.
func filled(s *Stacks, steps ...string) *Stacks {
	bars := 1
	for _, level := range s.Levels {
		bars += len(level.Domains)
	}
	for _, name := range steps {
		step := StackStep{Name: name, Values: make([][]float64, len(s.Series))}
		for k := range step.Values {
			step.Values[k] = make([]float64, bars)
			for i := range bars {
				step.Values[k][i] = float64((i + k) % 7)
			}
		}
		s.Steps = append(s.Steps, step)
	}
	return s
}

func stacks() map[string]*Stacks {
	small := []StackLevel{{Noun: "region", Domains: []string{"east", "west"}}, {Noun: "zone", Domains: []string{"east-1b", "west-1a", "west-1c"}}}
	racks := []StackLevel{
		{Noun: "region", Domains: []string{"eu-central-1"}}, {Noun: "zone", Domains: numbered("eu-central-1%d", 3)},
		{Noun: "rack", Domains: numbered("r%d", 9)}, {Noun: "node", Domains: numbered("ip-10-0-7-%d.eu-central-1.compute.internal", 38)},
	}
	var series []StackSeries
	for _, name := range numbered("shop/deployment/service-%d", 6) {
		series = append(series, StackSeries{name, OneWorkload})
	}
	series = append(series, StackSeries{"3 other workloads", OtherWorkloads}, StackSeries{"not ready", NotReady}, StackSeries{"Pending", Pending})
	long := numbered("again-%d with a name that goes on and on until nobody reads it any more", 50)
	wide := racks
	for _, key := range numbered("level-%d", 10) {
		wide = append(wide[:len(wide):len(wide)], StackLevel{Key: key, Noun: key, Domains: numbered("domain-%d", 38)})
	}
	return map[string]*Stacks{
		"stacks-nothing": {},
		"stacks-one":     filled(&Stacks{Title: "shop: pods", Levels: small[1:], Series: series[:1]}, "apply"),
		"stacks-eight":   filled(&Stacks{Title: "shop: pods", Levels: small, Series: []StackSeries{series[0], series[8]}, Pending: true}, long[:8]...),
		"stacks-fifty":   filled(&Stacks{Title: "shop: pods", Levels: small, Series: series, Pending: true}, long...),
		"stacks-racks":   filled(&Stacks{Title: "racks: pods", Levels: racks, Series: series, Pending: true}, "all"),
		"stacks-endless": filled(&Stacks{Title: endless, Levels: wide, Series: series, Pending: true}, numbered("step-%d", 500)...),
		"stacks-large":   filled(&Stacks{Title: "large: pods", Levels: append(small[1:2:2], StackLevel{Key: "host", Noun: "node", Domains: numbered("n%d", 300)}), Series: series[:3]}, "all"),
	}
}

func losses() map[string]*Losses {
	of := func(steps []string, levels ...string) *Losses {
		l := &Losses{Title: "shop: the largest share of a workload that a failure takes", Levels: levels}
		for i, name := range steps {
			step := LossStep{Name: name, Levels: make([]*LossShare, len(levels))}
			for k := range levels {
				if lost := float64((i+k)%4) / 3; (i+k)%5 > 0 {
					step.Levels[k] = &LossShare{lost, lost / 2}
				}
			}
			l.Steps = append(l.Steps, step)
		}
		return l
	}
	return map[string]*Losses{
		"losses-nothing": {}, "losses-one": of([]string{"apply"}, "zone"), "losses-eight": of(numbered("step-%d", 8), "region", "zone", "node"),
		"losses-many": of(numbered("step-%d with a name that goes on and on", 130), numbered("level-%d", 9)...),
	}
}

// No words cover others, and none are outside of the page.
func TestChartWordsAreLegible(t *testing.T) {
	for name, picture := range drawn() {
		width, height := points(t, picture.Width), points(t, picture.Height)
		all := boxes(t, picture.Group, false)
		if len(all) == 0 {
			t.Errorf("%s has no words", name)
		}
		for i, a := range all {
			if a.left < 0 || a.right > width || a.below < 0 || a.above > height {
				t.Errorf("%s: %q leaves the page of %g × %g: %+v", name, a.words, width, height, a)
			}
			for _, b := range all[:i] {
				const slack = 0.1 // for rounding
				if min(a.right, b.right)-max(a.left, b.left) > slack && min(a.above, b.above)-max(a.below, b.below) > slack {
					t.Errorf("%s: %+v covers %+v", name, a, b)
				}
			}
		}
	}
}

// Drawing a chart twice gives the same bytes.
func TestChartIsDeterministic(t *testing.T) {
	again := charts()
	for name, picture := range drawn() {
		data, err := again[name].Draw("svg")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(picture.data, data) {
			t.Errorf("%s differs from one time to the other", name)
		}
	}
}

// The PNG is the same picture, with the right size.
func TestChartSize(t *testing.T) {
	all := charts()
	for name, picture := range drawn() {
		width, height := points(t, picture.Width)*dpi/72, points(t, picture.Height)*dpi/72
		if width < 480*dpi/72 || height < 40*dpi/72 || width*height > 18_000_000 {
			t.Errorf("%s is %g × %g pixels", name, width, height)
		}
		if width*height > 2_000_000 {
			continue // painting large ones takes long, and shows no more than the small ones do
		}
		data, err := all[name].Draw("png")
		if err != nil {
			t.Fatal(err)
		}
		config, err := png.DecodeConfig(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(float64(config.Width)-width) > 1 || math.Abs(float64(config.Height)-height) > 1 {
			t.Errorf("%s is %d × %d pixels, want %g × %g", name, config.Width, config.Height, width, height)
		}
	}
}

// pixels counts the pixels of a colour.
func pixels(t *testing.T, c *Chart, of color.Color) int {
	t.Helper()
	data, err := c.Draw("png")
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	wr, wg, wb, _ := of.RGBA()
	n := 0
	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
			if pr, pg, pb, _ := picture.At(x, y).RGBA(); pr == wr && pg == wg && pb == wb {
				n++
			}
		}
	}
	return n
}

func TestChartColours(t *testing.T) {
	s := &Stacks{Pending: true, Series: []StackSeries{{"web", OneWorkload}, {"Pending", Pending}}, Levels: []StackLevel{{Noun: "zone", Domains: []string{"a"}}},
		Steps: []StackStep{{Name: "one", Values: [][]float64{{1, 0}, {0, 4}}}}}
	running, pending := pixels(t, s.Chart(), palette[0]), pixels(t, s.Chart(), vermilion)
	if running == 0 || pending < 2*running {
		t.Errorf("%d pixels of 1 running pod, %d of 4 Pending ones", running, pending)
	}
	s.Pending, s.Series, s.Steps[0].Values = false, s.Series[:1], [][]float64{{1}}
	if n := pixels(t, s.Chart(), vermilion); n > 0 {
		t.Errorf("%d pixels of Pending pods where there are none", n)
	}
}

// Between levels there is a gap, and each bar has the values of its domain.
func TestStackAxis(t *testing.T) {
	axis := newStackAxis(&Stacks{Pending: true, Levels: []StackLevel{
		{Noun: "region", Domains: []string{"east", "west"}}, {Noun: "none"}, {Key: "huge", Domains: make([]string, maxBars+1)}, {Noun: "zone", Domains: []string{"a", "", "c"}},
	}})
	want := []stackBar{{"east", 0}, {"west", 1}, {"", -1}, {"a", 43}, {"no label", 44}, {"c", 45}, {"", -1}, {"Pending", 46}}
	if diff := cmp.Diff(want, axis.bars, cmp.AllowUnexported(stackBar{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"huge has 41 domains and is left out"}, axis.notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStackColours(t *testing.T) {
	s := &Stacks{Series: []StackSeries{{"web", OneWorkload}, {"others", OtherWorkloads}, {"lost", NotReady}, {"waits", Pending}}}
	for i, want := range []color.Color{palette[0], grey, black, vermilion} {
		if s.colour(i) != want {
			t.Errorf("the colour of %s stands for something else", s.Series[i].Name)
		}
	}
}

func TestAbbreviated(t *testing.T) {
	for _, test := range []struct{ names, want []string }{
		{[]string{"node-1.example.com", "node-2.example.com"}, []string{"node-1", "node-2"}},
		{[]string{"node-1.example.com"}, []string{"node-1.example.com"}}, // a name of the largest length that is shown whole
		{[]string{"node-1x.example.com"}, []string{"node-1x.e…mple.com"}},
		{[]string{"a.b", "b"}, []string{"a.b", "b"}},
		{[]string{"gke-cluster-default-pool-7f3a-x2k9"}, []string{"gke-clust…f3a-x2k9"}},
		{[]string{"a\x1b", ""}, []string{`a\x1b`, ""}},
	} {
		if diff := cmp.Diff(test.want, abbreviateNames(test.names, maxName)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.names, diff)
		}
	}
}

func TestWholeTicks(t *testing.T) {
	for top, want := range map[float64]string{1: "0 1", 5: "0 1 2 3 4 5", 7: "0 2 4 6", 12: "0 5 10", 74: "0 20 40 60", 997: "0 200 400 600 800", 3000: "0 1000 2000 3000"} {
		var labels []string
		for _, tick := range wholeTicks(top) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("up to %v: %s, want %s", top, got, want)
		}
	}
}

// Without the font, words keep the width for which they were laid out.
func TestSteadyText(t *testing.T) {
	given := `<text x="1" y="2"` + "\n\t" + `style="font-family:Liberation Sans;font-size:9px">a &amp; b</text>`
	width := textWidth("a & b", 9)
	want := fmt.Sprintf(`<text textLength="%.5g" lengthAdjust="spacingAndGlyphs" x="1" y="2"`+"\n\t"+
		`style="font-family:Liberation Sans,Arial,Helvetica,sans-serif;font-size:9px">a &amp; b</text>`, width.Points())
	if got := string(fixTextWidths([]byte(given))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if double := textWidth("a & b", 18); math.Abs(float64(double-2*width)) > float64(vg.Length(0.5)) {
		t.Errorf("%v at size 9, %v at size 18", width, double)
	}
}
