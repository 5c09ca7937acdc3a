package chart

import (
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/plotter"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/scenario"
)

// found returns a version with that many Pending pods, and these blast radii of zones and of nodes.
func found(pending int, zones, nodes float64) whatif.Found {
	return whatif.Found{Metrics: metric.Metrics{Pods: 10, Pending: pending, Levels: []metric.LevelMetrics{
		{TopologyKey: doc.Zone, Domains: 3, Radius: zones}, {TopologyKey: doc.Hostname, Domains: 9, Radius: nodes},
	}}}
}

// recovered adds the pods that the loss of a zone strands, and the cost of the nodes.
func recovered(f whatif.Found, stranded int, cost float64) whatif.Found {
	f.Levels[0].Failures = []metric.FailureMetrics{{Domain: "a", Lost: stranded + 1, Stranded: stranded}, {Domain: "b", Lost: 1}}
	f.Cost = &cost
	return f
}

func scalar(value string) scenario.Scalar {
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return scenario.Scalar{Value: json.Number(value)}
	}
	return scenario.Scalar{Value: value}
}

// swept returns a sweep over the parameters, each a name and its values. of returns the figures of each combination.
func swept(of func(values []string) whatif.Found, parameters ...string) *Sweep {
	base := found(1, 0.5, 0.2)
	r := &Sweep{Title: "shop: a sweep", Notes: "after step apply; less is better", Baseline: &base}
	combinations := [][]string{nil}
	for _, parameter := range parameters {
		words := strings.Split(parameter, " ")
		r.Parameters = append(r.Parameters, words[0])
		var longer [][]string
		for _, before := range combinations {
			for _, value := range words[1:] {
				longer = append(longer, append(before[:len(before):len(before)], value))
			}
		}
		combinations = longer
	}
	for _, values := range combinations {
		found := of(values)
		p := Point{Values: map[string]scenario.Scalar{}, Found: &found}
		for j, name := range r.Parameters {
			p.Values[name] = scalar(values[j])
		}
		r.Points = append(r.Points, p)
	}
	if len(r.Points) <= 1000 { // the test compares every point with every other
		markFront(r)
	}
	return r
}

// markFront marks the points that are not beaten.
func markFront(s *Sweep) {
	goals := make([]map[string]float64, len(s.Points))
	for i := range s.Points {
		goals[i] = s.Points[i].Found.Goals()
	}
	for i, front := range metric.Front(goals) {
		s.Points[i].Front = front
	}
}

func upTo(n int) string {
	words := ""
	for i := range n {
		words += fmt.Sprint(" ", i+1)
	}
	return words
}

// mixed returns other figures for each combination, with a long front.
func mixed(values []string) whatif.Found {
	sum, product := 0, 1
	for i, value := range values {
		n, err := strconv.Atoi(value)
		if err != nil {
			n = len(value) + i
		}
		sum, product = sum+n, product*n%97
	}
	return recovered(found(sum/2, 1/(1+float64(sum)), 1/(2+float64(product))), product%7, 1+float64(sum)/10)
}

const endless = "a-name-that-goes-on-and-on-and-on-until-nobody-reads-it-any-more-and-then-some-more-of-it"

// sweeps returns sweeps of every form.
func sweeps() map[string]*Sweep {
	all := map[string]*Sweep{
		"sweep-nothing":      {Title: "nothing", Parameters: []string{"a"}},
		"sweep-of-one-point": swept(mixed, "a 1"),
		"sweep-number":       swept(mixed, "replicas"+upTo(30)),
		"sweep-spread-out":   swept(mixed, "weight 1 2 3 1000 100000"),
		"sweep-text":         swept(mixed, "rule none soft hard spread"),
		"sweep-many-texts":   swept(mixed, "image"+strings.ReplaceAll(upTo(70), " ", " v")),
		"sweep-with-text":    swept(mixed, "replicas"+upTo(12), "rule none soft spread"),
		"sweep-texts":        swept(mixed, "rule none soft hard", "key zone hostname "+endless),
		"sweep-small":        swept(mixed, "a 1 2", "b 5 6 7"),
		"sweep-grid":         swept(mixed, "memory"+upTo(40), "replicas"+upTo(50)),
		"sweep-large-grid":   swept(mixed, "memory"+upTo(120), "replicas"+upTo(60)),
		"sweep-three":        swept(mixed, "a"+upTo(9), "b x y z", "c"+upTo(7)),
		"sweep-four-texts":   swept(mixed, "a p qq", "b r sss", "c t uuuu", "d v ww xxx y z"),
		"sweep-long-names":   swept(mixed, endless+" 1 2 3", endless+"2 "+endless+" "+endless+"x x"),
		"sweep-same":         swept(func([]string) whatif.Found { return found(0, 0.5, 0.5) }, "a 1 2 3"),
		"sweep-no-levels":    swept(func(v []string) whatif.Found { return whatif.Found{Metrics: metric.Metrics{Pending: len(v[0])}} }, "a 1 20 300"),
		"sweep-hostile":      swept(mixed, "a<b>&\"\x1b[31m <script> \x00 \u202e &amp;", "b 1 2 3"),
		"sweep-seven-of-nine": swept(func(values []string) whatif.Found {
			f := mixed(values)
			for i := range 7 {
				f.Levels = append(f.Levels, metric.LevelMetrics{TopologyKey: fmt.Sprint("example.com/level-", i), Radius: f.Levels[0].Radius / float64(2+i)})
			}
			return f
		}, "a 1 2 3 4"),
	}
	shard := *all["sweep-grid"]
	shard.Points = shard.Points[95:210]
	all["sweep-shard"] = &shard
	empty := shard
	empty.Points = nil
	all["sweep-empty-shard"] = &empty
	scattered := *all["sweep-grid"]
	scattered.Points = nil
	for i := 0; i < 2000; i += 131 {
		scattered.Points = append(scattered.Points, all["sweep-grid"].Points[i])
	}
	all["sweep-scattered"] = &scattered
	return all
}

// compared returns versions with these names.
func compared(names ...string) []Version {
	var versions []Version
	for i, name := range names {
		found := mixed([]string{name, fmt.Sprint(i)})
		versions = append(versions, Version{Name: name, Found: &found, Front: i%2 == 0, Baseline: i == 0})
	}
	return versions
}

// sweepCharts returns charts of sweeps and comparisons of every form.
func sweepCharts() map[string]*Chart {
	all := map[string]*Chart{}
	for name, s := range sweeps() {
		all[name] = s.Chart()
	}
	for name, versions := range map[string][]Version{
		"compare": compared("baseline", "soft", "hard zone=100+node=50"), "compare-nothing": nil, "compare-many": compared(append([]string{"baseline"}, numbered("variant-%d", 60)...)...),
		"compare-plain": {{Name: "baseline", Found: &whatif.Found{}, Front: true, Baseline: true}}, "compare-hostile": compared("baseline", endless, endless+"x", "<b>&\x1b[31m", ""),
	} {
		all[name] = Versions("shop: variants side by side", "after step apply", versions)
	}
	return all
}

// panelTitles returns the words in the size of a plot's title.
func panelTitles(name string) []string {
	var titles []string
	var look func(svgGroup)
	look = func(g svgGroup) {
		for _, text := range g.Texts {
			if strings.Contains(text.Style, fmt.Sprintf("font-size:%gpx", float64(bodySize+2))) {
				titles = append(titles, text.Words)
			}
		}
		for _, group := range g.Groups {
			look(group)
		}
	}
	look(drawn()[name].Group)
	return titles
}

// The varying parameters decide the form.
func TestSweepChartForms(t *testing.T) {
	for name, want := range map[string]string{
		"sweep-number":     "Pending pods, Blast radius, Pods not back by zone, Cost per hour, Trade-off",
		"sweep-with-text":  "Pending pods, Blast radius by zone, Blast radius by node, Pods not back by zone, Cost per hour, Trade-off",
		"sweep-small":      "Pending pods, Blast radius by zone, Pods not back by zone, Cost per hour, Trade-off",
		"sweep-text":       "Pending pods, Blast radius, Pods not back by zone, Cost per hour, Trade-off",
		"sweep-no-levels":  "Pending pods",
		"sweep-scattered":  "Pending pods, Blast radius by zone, Blast radius by node, Pods not back by zone, Cost per hour, Trade-off",
		"sweep-nothing":    "",
		"sweep-same":       "Pending pods, Blast radius",
		"sweep-four-texts": "Pending pods, Blast radius, Pods not back by zone, Cost per hour, Trade-off",
	} {
		if got := strings.Join(panelTitles(name), ", "); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// paretoSweep is a sweep of eight points at seven places:
//
//	radius
//	100%  a
//	 50%  b,c  d
//	 25%            e  f
//	 10%               g,h
//	      0    1    2  3    Pending
func paretoSweep() *Sweep {
	at := map[string]whatif.Found{
		"a": found(0, 1, 0.1), "b": found(0, 0.5, 0.1), "c": found(0, 0.5, 0.1), "d": found(1, 0.5, 0.1),
		"e": found(2, 0.25, 0.1), "f": found(3, 0.25, 0.1), "g": found(3, 0.1, 0.1), "h": found(3, 0.1, 0.1),
	}
	return swept(func(values []string) whatif.Found { return at[values[0]] }, "name h g f e d c b a")
}

func TestParetoPlaces(t *testing.T) {
	s := &sweepPicture{Sweep: paretoSweep()}
	for i := range s.Points {
		s.versions = append(s.versions, s.Points[i].Found)
	}
	s.varying, _ = goals(s.versions)
	x, y := s.tradeOff()
	if x.name() != "Pending pods" || y.name() != "blast radius by zone" {
		t.Fatalf("%s against %s", y.name(), x.name())
	}
	var got []string
	for _, p := range s.places(x, y) {
		mark := ""
		if p.front {
			mark = "*"
		}
		got = append(got, fmt.Sprint(mark, p.pointNames([]string{"name"}), " at ", p.at))
	}
	want := []string{"*name c; name b at {0 0.5}", "name a at {0 1}", "name d at {1 0.5}", "*name e at {2 0.25}", "*name h; name g at {3 0.1}", "name f at {3 0.25}"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c := paretoSweep().Chart()
	wantFooter := []string{
		"Not beaten in Pending pods and blast radius by zone, from left to right:",
		"1:  0 Pending pods, blast radius by zone 50%: name c; name b",
		"2:  2 Pending pods, blast radius by zone 25%: name e",
		"3:  3 Pending pods, blast radius by zone 10%: name h; name g",
	}
	if diff := cmp.Diff(wantFooter, c.footer[2:6]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The trade-off is Pending pods against blast radius; or else cost, stranded pods, or the blast radius of another level takes the place of
// the first.
func TestTradeOff(t *testing.T) {
	for _, test := range []struct {
		name, want string
		found      []whatif.Found
	}{
		{"nodes vary most", "Pending pods/blast radius by node", []whatif.Found{recovered(found(0, 0.5, 0.1), 0, 1), recovered(found(1, 0.6, 0.9), 1, 2)}},
		{"none is Pending", "cost per hour/blast radius by zone", []whatif.Found{recovered(found(0, 0.5, 0.1), 0, 1), recovered(found(0, 0.9, 0.2), 1, 2)}},
		{"and all cost as much", "pods not back by zone/blast radius by zone", []whatif.Found{recovered(found(0, 0.5, 0.1), 0, 1), recovered(found(0, 0.9, 0.2), 1, 1)}},
		{"nothing else", "blast radius by node/blast radius by zone", []whatif.Found{found(0, 0.5, 0.1), found(0, 0.9, 0.2)}},
		{"the same radius", "Pending pods/cost per hour", []whatif.Found{recovered(found(0, 0.5, 0.1), 0, 1), recovered(found(1, 0.5, 0.1), 0, 2)}},
		{"one thing", "", []whatif.Found{found(0, 0.5, 0.1), found(1, 0.5, 0.1)}},
	} {
		s := &sweepPicture{}
		for i := range test.found {
			s.versions = append(s.versions, &test.found[i])
		}
		known, _ := goals(s.versions)
		for _, q := range known {
			if low, high := q.span(s.versions); low < high {
				s.varying = append(s.varying, q)
			}
		}
		got := ""
		if x, y := s.tradeOff(); x != nil {
			got = x.name() + "/" + y.name()
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// Numbers are in ascending order, not in that of the report, and a cell without a point has no value.
func TestCells(t *testing.T) {
	r := swept(func(values []string) whatif.Found {
		a, _ := strconv.Atoi(values[0])
		b, _ := strconv.Atoi(values[1])
		return found(a*b, 0.5, 0.5)
	}, "a 10 9 1", "b 3 2")
	r.Points = r.Points[:5] // without a=1, b=2
	markFront(r)
	s := &sweepPicture{Sweep: r}
	for i := range r.Points {
		s.versions = append(s.versions, r.Points[i].Found)
	}
	known, _ := goals(s.versions)
	c := s.newHeatCells(&known[0], newSweepAxis(r.Points, "a"), newSweepAxis(r.Points, "b"))
	none := math.NaN()
	want := [][]float64{{none, 3}, {18, 27}, {20, 30}}
	if diff := cmp.Diff(want, c.values, cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.low != 3 || c.high != 30 {
		t.Errorf("from %v to %v", c.low, c.high)
	}
	if diff := cmp.Diff([][]bool{{false, true}, {false, false}, {false, false}}, c.front); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A larger value is darker, and words are legible on every colour: the contrast is at least 4.5, as WCAG requires.
func TestHeatIsLegible(t *testing.T) {
	luminance := func(c color.Color) float64 {
		r, g, b, _ := c.RGBA()
		sum := 0.0
		for i, part := range []uint32{r, g, b} {
			v := float64(part) / 0xffff
			if v = math.Pow((v+0.055)/1.055, 2.4); part < 0x0a00 {
				v = float64(part) / 0xffff / 12.92
			}
			sum += v * []float64{0.2126, 0.7152, 0.0722}[i]
		}
		return sum
	}
	c := &heatCells{low: 2, high: 12}
	before := math.Inf(1)
	for value := 2.0; value <= 12; value += 0.25 {
		fill, words := c.fill(value)
		light := luminance(fill)
		if light >= before {
			t.Errorf("%v is no darker than the value before", value)
		}
		before = light
		other := luminance(words)
		if contrast := (max(light, other) + 0.05) / (min(light, other) + 0.05); contrast < 4.5 {
			t.Errorf("words on %v have a contrast of %.1f", value, contrast)
		}
	}
}

// Combinations with equal figures share a line, and its name says which they are.
func TestCombinations(t *testing.T) {
	r := swept(func(values []string) whatif.Found {
		n, _ := strconv.Atoi(values[0])
		switch {
		case values[1] == "hard":
			return found(n, 0.5, 0.5)
		case values[2] == "big" && values[1] == "none":
			return found(2*n, 0.5, 0.5)
		}
		return found(0, 0.5, 0.5)
	}, "replicas 3 1 2", "rule none soft hard", "size small big")
	s := &sweepPicture{Sweep: r}
	for i := range r.Points {
		s.versions = append(s.versions, r.Points[i].Found)
	}
	s.varying, _ = goals(s.versions)
	for _, name := range r.Parameters {
		s.axes = append(s.axes, newSweepAxis(r.Points, name))
	}
	var got []string
	for _, c := range s.combinations(s.axes[0]) {
		line, _ := c.lineAndDots(&s.varying[0], s.axes[0])
		got = append(got, fmt.Sprint(s.curveName(c, s.axes[0]), " ", line.XYs))
	}
	want := []string{
		"rule none, size small; rule soft, size small; rule soft, size big " + fmt.Sprint(plotter.XYs{{X: 1}, {X: 2}, {X: 3}}),
		"rule none, size big " + fmt.Sprint(plotter.XYs{{X: 1, Y: 2}, {X: 2, Y: 4}, {X: 3, Y: 6}}),
		"rule hard " + fmt.Sprint(plotter.XYs{{X: 1, Y: 1}, {X: 2, Y: 2}, {X: 3, Y: 3}}),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// If values are close together, some have no label.
func TestSweepTicks(t *testing.T) {
	a := newSweepAxis(swept(mixed, "weight 1 2 3 1000 100000").Points, "weight")
	var got []string
	for _, tick := range a.ticks(200) {
		got = append(got, tick.Label)
	}
	if diff := cmp.Diff([]string{"1", "100000"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWrapped(t *testing.T) {
	if diff := cmp.Diff([]string{"one two", "three"}, wrapText("one  two three", textWidth("one two", bodySize))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, line := range wrapText("a "+strings.Repeat("w", 5000)+" b", 100) {
		if textWidth(line, bodySize) > 100 {
			t.Errorf("%q is wider than 100 points", line)
		}
	}
}
