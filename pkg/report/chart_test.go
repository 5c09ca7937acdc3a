package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/vg"
)

// svg is what a chart's test looks at.
type svg struct {
	Height string   `xml:"height,attr"`
	Width  string   `xml:"width,attr"`
	Group  svgGroup `xml:"g"`
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

// box is where words stand on the page, from the bottom left.
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
		if turned { // by 90 degrees: the page's x is -y there, and its y is x
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

// charts are pictures small and large.
func charts(t *testing.T) map[string]*chart {
	t.Helper()
	reports, blasts := rendered(t)
	reports["large"], reports["racks"], reports["nothing"] = large(), racks(), &Report{}
	fifty := *storedReport(t)
	fiftyBlasts := *storedBlast(t)
	for i := range 42 {
		step, blast := fifty.Steps[i%8], fiftyBlasts.Steps[i%8]
		step.Name = fmt.Sprintf("again-%d-%s with a name that goes on and on until nobody reads it any more", i, step.Name)
		blast.Name = step.Name
		fifty.Steps, fiftyBlasts.Steps = append(fifty.Steps, step), append(fiftyBlasts.Steps, blast)
	}
	endless := racks()
	for range 500 {
		endless.Steps = append(endless.Steps, endless.Steps[0])
	}
	for i := range endless.Nodes { // ten levels of 38 domains
		for level := range 10 {
			endless.Nodes[i].Topology[fmt.Sprint("level-", level)] = fmt.Sprintf("domain-%d", i)
		}
	}
	for level := range 10 {
		endless.Steps[0].Workloads[0].Domains = append(endless.Steps[0].Workloads[0].Domains, Distribution{TopologyKey: fmt.Sprint("level-", level)})
	}
	reports["endless"] = endless
	reports["fifty"], blasts["fifty-blasts"], blasts["many"], blasts["no-blast"] = &fifty, &fiftyBlasts, many(5000), &BlastReport{}
	all := sweepCharts()
	for name, r := range reports {
		all[name] = podsChart(r)
	}
	for name, r := range blasts {
		all[name] = lossesChart(r)
	}
	return all
}

// racks is a report of 38 nodes with long names in 9 racks of 3 zones, and of 9 workloads; one pod waits, one is not ready.
func racks() *Report {
	keys := []string{region, zone, "example.com/rack", hostname}
	r := &Report{Head: Head{Scenario: "racks"}}
	s := Step{Name: "all", Workloads: []Workload{{}}}
	for _, key := range keys {
		r.Cluster.Levels = append(r.Cluster.Levels, Level{TopologyKey: key})
		s.Workloads[0].Domains = append(s.Workloads[0].Domains, Distribution{TopologyKey: key})
	}
	for i := range 38 {
		name := fmt.Sprintf("ip-10-0-%d-%d.eu-central-1.compute.internal", i/8, i*7)
		r.Nodes = append(r.Nodes, Node{Name: name, Topology: map[string]string{
			region: "eu-central-1", zone: fmt.Sprintf("eu-central-1%c", 'a'+i%3), "example.com/rack": fmt.Sprintf("r%d", i%9), hostname: name,
		}})
		for j := range i % 5 {
			s.Pods = append(s.Pods, Pod{Namespace: "shop", Name: fmt.Sprint(i, j), Workload: fmt.Sprintf("deployment/service-%d", (i+j)%9), Node: name, Status: "Running"})
		}
	}
	s.Pods = append(s.Pods, Pod{Namespace: "shop", Name: "x", Workload: "deployment/service-0"},
		Pod{Namespace: "shop", Name: "y", Node: r.Nodes[3].Name, Workload: "deployment/service-0", Status: "NotReady"})
	r.Steps = []Step{s}
	return r
}

// No words cover others, and none leave the page.
func TestChartWordsAreLegible(t *testing.T) {
	for name, c := range charts(t) {
		data, err := c.draw("svg")
		if err != nil {
			t.Fatal(err)
		}
		var picture svg
		if err := xml.Unmarshal(data, &picture); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
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
				const slack = 0.1 // of rounding
				if min(a.right, b.right)-max(a.left, b.left) > slack && min(a.above, b.above)-max(a.below, b.below) > slack {
					t.Errorf("%s: %+v covers %+v", name, a, b)
				}
			}
		}
	}
}

// A picture is the same each time, and as large as it says.
func TestChartIsDeterministic(t *testing.T) {
	again := charts(t)
	for name, c := range charts(t) {
		for _, format := range []string{"svg", "png"} {
			first, err := c.draw(format)
			if err != nil {
				t.Fatal(err)
			}
			second, err := again[name].draw(format)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first, second) {
				t.Errorf("%s.%s differs from one time to the other", name, format)
			}
			if format == "svg" {
				continue
			}
			config, err := png.DecodeConfig(bytes.NewReader(first))
			if err != nil {
				t.Fatal(err)
			}
			if config.Width < 480*dpi/72 || config.Height < 40*dpi/72 || config.Width*config.Height > 18_000_000 {
				t.Errorf("%s is %d × %d pixels", name, config.Width, config.Height)
			}
		}
	}
}

// pixels counts the pixels of a colour.
func pixels(t *testing.T, r *Report, of color.Color) int {
	t.Helper()
	picture, err := png.Decode(strings.NewReader(write(t, r, "png", Options{})))
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
	r := sourced()
	running, pending := pixels(t, r, palette[0]), pixels(t, r, vermilion)
	if running == 0 || pending < 2*running {
		t.Errorf("%d pixels of 1 running pod, %d of 4 Pending ones", running, pending)
	}
	r.Steps[0].Pods = r.Steps[0].Pods[:1]
	if n := pixels(t, r, vermilion); n > 0 {
		t.Errorf("%d pixels of Pending pods where there are none", n)
	}
}

// The figures behind the bars of the walkthrough's fourth step, three pods on three nodes and a fourth that waits.
func TestPodSeries(t *testing.T) {
	r := storedReport(t)
	levels := stackLevels(r)
	var domains [][]string
	for _, level := range levels {
		domains = append(domains, level.Domains)
	}
	want := [][]string{{"east", "west"}, {"east-1b", "west-1a", "west-1c"}, {"affinity-worker", "affinity-worker2", "affinity-worker3"}}
	if diff := cmp.Diff(want, domains); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	series := newPodSeries(r.Steps)
	if diff := cmp.Diff([]StackSeries{{"deployment/lorem-ipsum-deployment", AWorkload}, {"Pending", Pending}}, series.list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := series.count(&r.Steps[3], levels, nodeTopologies(r)[3])
	if diff := cmp.Diff([][]float64{{1, 2, 1, 1, 1, 1, 1, 1, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 1}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Beyond the palette workloads are one series, and pods that are not ready are told apart.
func TestPodSeriesOfMany(t *testing.T) {
	var want []StackSeries
	for i := range 6 {
		want = append(want, StackSeries{fmt.Sprintf("shop/deployment/service-%d", i), AWorkload})
	}
	want = append(want, StackSeries{"3 other workloads", OtherWorkloads}, StackSeries{"not ready", NotReady}, StackSeries{"Pending", Pending})
	if diff := cmp.Diff(want, newPodSeries(racks().Steps).list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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
	s := &Stacks{Series: []StackSeries{{"web", AWorkload}, {"others", OtherWorkloads}, {"lost", NotReady}, {"waits", Pending}}}
	for i, want := range []color.Color{palette[0], grey, black, vermilion} {
		if s.colour(i) != want {
			t.Errorf("the colour of %s stands for something else", s.Series[i].Name)
		}
	}
}

func TestStrandedShare(t *testing.T) {
	level := &zones().Steps[0].Levels[0]
	if got := level.strandedShare(); got != 0 { // solo comes back
		t.Errorf("%v of solo stranded", got)
	}
	level.Radius = Radius{Share: 0.5, Namespace: "shop", Workload: "deployment/web", Lost: 2, Replicas: 4, Domains: []string{"b"}}
	if got := level.strandedShare(); got != 0.5 {
		t.Errorf("%v of web stranded, want 2 of 4", got)
	}
	level.Failures[1].Recovery.Stranded[0].Workload = "deployment/other"
	if got := level.strandedShare(); got != 0.25 {
		t.Errorf("%v of web stranded, want 1 of 4, as the other pod is another's", got)
	}
}

func TestAbbreviated(t *testing.T) {
	for _, test := range []struct{ names, want []string }{
		{[]string{"node-1.example.com", "node-2.example.com"}, []string{"node-1", "node-2"}},
		{[]string{"node-1.example.com"}, []string{"node-1.example.com"}}, // as many letters as are shown
		{[]string{"node-1x.example.com"}, []string{"node-1x.e…mple.com"}},
		{[]string{"a.b", "b"}, []string{"a.b", "b"}},
		{[]string{"gke-cluster-default-pool-7f3a-x2k9"}, []string{"gke-clust…f3a-x2k9"}},
		{[]string{"a\x1b", ""}, []string{`a\x1b`, ""}},
	} {
		if diff := cmp.Diff(test.want, abbreviated(test.names, maxName)); diff != "" {
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

// A reader without the font gets the words in the width for which they were laid out.
func TestSteadyText(t *testing.T) {
	given := `<text x="1" y="2"` + "\n\t" + `style="font-family:Liberation Sans;font-size:9px">a &amp; b</text>`
	width := textWidth("a & b", 9)
	want := fmt.Sprintf(`<text textLength="%.5g" lengthAdjust="spacingAndGlyphs" x="1" y="2"`+"\n\t"+
		`style="font-family:Liberation Sans,Arial,Helvetica,sans-serif;font-size:9px">a &amp; b</text>`, width.Points())
	if got := string(steadyText([]byte(given))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if double := textWidth("a & b", 18); math.Abs(float64(double-2*width)) > float64(vg.Length(0.5)) {
		t.Errorf("%v at size 9, %v at size 18", width, double)
	}
}
