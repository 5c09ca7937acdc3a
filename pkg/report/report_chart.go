package report

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
)

const (
	// maxBars is how many domains of a level are drawn, maxAllBars of all levels together.
	maxBars    = 40
	maxAllBars = 100
	// maxArea bounds the plots in square points; a picture of it is one of 16 million pixels.
	maxArea = 16e6 * 72 * 72 / dpi / dpi
	// maxChartWidth is up to where plots stand beside each other.
	maxChartWidth vg.Length = 1100
	// leastSlot is the least place for a bar.
	leastSlot vg.Length = 26
	// maxName is how many letters of a domain's name are shown.
	maxName = 18
)

// podsChart has a plot for each step: how many pods are in each failure domain of each level, by workload, and how many are in none.
func podsChart(r *Report) *chart {
	d := newDomainAxis(r)
	notes := d.notes
	slot, turned := d.slot()
	width, height := max(150, vg.Length(len(d.bars))*slot+56), vg.Length(130)
	if len(r.Steps) <= 2 {
		height = 220
	}
	if turned {
		height += d.labelWidth()
	}
	steps := r.Steps[:min(len(r.Steps), int(maxArea/float64(width*height)))]
	if more := len(r.Steps) - len(steps); more > 0 {
		notes = append(notes, "without the last "+count(more, "step"))
	}
	if len(r.Steps) == 0 {
		notes = append(notes, "no steps")
	}
	c := newChart(chartTitle(r.Head, "pods by failure domain after each step"), strings.Join(notes, "; "))
	if len(d.bars) == 0 {
		return c
	}
	c.width, c.height = width, height
	c.columns = max(1, min(len(steps), int(maxChartWidth/width)))
	series := newSeries(steps)
	top := 1.0
	columns := make([][][]float64, len(steps)) // by step, series and bar
	topologies := nodeTopologies(r)
	for i := range steps {
		columns[i] = series.count(&steps[i], d, topologies[i])
		for bar := range d.bars {
			sum := 0.0
			for _, values := range columns[i] {
				sum += values[bar]
			}
			top = max(top, sum)
		}
	}
	for i := range steps {
		p := newPlot(stepTitle(i, len(r.Steps), &steps[i]))
		d.axis(p, turned)
		p.Y.Label.Text = "pods"
		p.Y.Tick.Marker = wholeTicks(top)
		grid := plotter.NewGrid()
		grid.Vertical.Width, grid.Horizontal.Color = 0, pale
		p.Add(grid)
		var below *plotter.BarChart
		for k, values := range columns[i] {
			b := bars(values, slot*0.7, series.colour(k))
			if below != nil {
				b.StackOn(below)
			}
			below = b
			p.Add(b)
			if i == 0 {
				c.explain(series.names[k], b)
			}
		}
		for bar := range d.bars {
			if n := below.BarHeight(bar); n > 0 {
				p.Add(label(float64(bar), n, vg.Point{Y: 2}, draw.XCenter, strconv.Itoa(int(n))))
			}
		}
		for _, group := range d.groups {
			if group.name == "" {
				continue
			}
			p.Add(label(float64(group.first)-0.5, top*1.3, vg.Point{}, draw.XLeft, group.name))
		}
		p.Y.Min, p.Y.Max = 0, top*1.5
		c.plots = append(c.plots, p)
	}
	return c
}

func stepTitle(i, n int, s *Step) string {
	return fmt.Sprintf("%d/%d %s", i+1, n, cut(s.Name, 40))
}

// domainAxis is what the bars stand for: the domains of each level, widest first, with a gap between levels, and Pending.
type domainAxis struct {
	bars   []domainBar
	groups []barGroup
	notes  []string
}

// domainBar is a bar's domain. A bar without a key is a gap, or stands for the Pending pods.
type domainBar struct {
	key, domain, name string
	pending           bool
}

type barGroup struct {
	name  string
	first int
}

func newDomainAxis(r *Report) *domainAxis {
	var keys []string
	for _, step := range r.Steps {
		for _, w := range step.Workloads {
			for _, d := range w.Domains {
				if !slices.Contains(keys, d.TopologyKey) {
					keys = append(keys, d.TopologyKey)
				}
			}
		}
	}
	rank := func(key string) int {
		i := slices.IndexFunc(r.Cluster.Levels, func(l Level) bool { return l.TopologyKey == key })
		if i < 0 {
			return len(r.Cluster.Levels)
		}
		return i
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	d := &domainAxis{}
	for i, short := range shorts(keys) {
		domains := domainsOf(r, keys[i])
		switch n := len(domains); {
		case n == 0:
			continue
		case n > maxBars, len(d.bars)+n > maxAllBars:
			d.notes = append(d.notes, fmt.Sprintf("%s has %d domains and is left out", clean(keys[i]), n))
			continue
		}
		d.group(cut(domainNoun(keys[i], short), 24))
		for j, name := range abbreviated(domains, maxName) {
			d.bars = append(d.bars, domainBar{key: keys[i], domain: domains[j], name: cmp.Or(name, "no label")})
		}
	}
	if slices.ContainsFunc(r.Steps, func(s Step) bool { return len(s.pendingPods()) > 0 }) {
		d.group("")
		d.bars = append(d.bars, domainBar{name: "Pending", pending: true})
	}
	return d
}

// group begins a level: with a gap, and as much of it as the name of the one before needs.
func (d *domainAxis) group(name string) {
	if n := len(d.groups); n > 0 {
		needs := textWidth(d.groups[n-1].name, bodySize) + 6
		for d.bars = append(d.bars, domainBar{}); vg.Length(len(d.bars)-d.groups[n-1].first)*leastSlot < needs; {
			d.bars = append(d.bars, domainBar{})
		}
	}
	d.groups = append(d.groups, barGroup{name: name, first: len(d.bars)})
}

// domainsOf are the values of the key, in order: those of nodes that keep no ordinary pod away, and those where pods are all the
// same. The empty one stands for nodes without the label.
func domainsOf(r *Report, key string) []string {
	found := map[string]bool{}
	add := func(nodes []Node) {
		for _, node := range nodes {
			repels := slices.ContainsFunc(node.Taints, func(t string) bool { return !strings.HasSuffix(t, ":PreferNoSchedule") })
			if value, labelled := node.Topology[key]; labelled && !repels {
				found[value] = true
			}
		}
	}
	add(r.Nodes)
	topologies := nodeTopologies(r)
	for i, step := range r.Steps {
		add(step.Nodes)
		for _, pod := range step.Pods {
			if domain, known := podDomain(pod, key, topologies[i]); known {
				found[domain] = true
			}
		}
	}
	domains := make([]string, 0, len(found))
	for domain := range found {
		domains = append(domains, domain)
	}
	slices.Sort(domains)
	return domains
}

// slot is the width of a bar's place, and whether the names below are turned.
func (d *domainAxis) slot() (vg.Length, bool) {
	widest := d.labelWidth()
	switch {
	case widest <= 40:
		return max(leastSlot, widest+8), false
	case len(d.bars) > maxBars:
		return leastSlot * 2 / 3, true
	}
	return leastSlot, true
}

func (d *domainAxis) labelWidth() vg.Length {
	var widest vg.Length
	for _, bar := range d.bars {
		widest = max(widest, textWidth(bar.name, bodySize))
	}
	return widest
}

// axis names the bars below the plot.
func (d *domainAxis) axis(p *plot.Plot, turned bool) {
	var ticks plot.ConstantTicks
	for i, bar := range d.bars {
		if bar.key != "" || bar.pending {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: bar.name})
		}
	}
	p.X.Label.Text = "failure domain"
	p.X.Min, p.X.Max, p.X.Tick.Marker, p.X.Tick.Length = -0.6, float64(len(d.bars))-0.4, ticks, 6
	p.X.Tick.LineStyle.Color = color.Transparent // the ticks' length keeps the names from the bars
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Label.YAlign = draw.YTop
	if turned {
		p.X.Tick.Label.Rotation = math.Pi / 2
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}
}

// nodeTopologies are the labels of the nodes after each step, by their names.
func nodeTopologies(r *Report) []map[string]map[string]string {
	all := make([]map[string]map[string]string, len(r.Steps))
	of := func(nodes []Node) map[string]map[string]string {
		labels := make(map[string]map[string]string, len(nodes))
		for _, node := range nodes {
			labels[node.Name] = node.Topology
		}
		return labels
	}
	last := of(r.Nodes)
	for i, step := range r.Steps {
		if step.Nodes != nil {
			last = of(step.Nodes)
		}
		all[i] = last
	}
	return all
}

// podDomain is the pod's failure domain of the level, empty where its node has no label, and whether it is known: a report need not
// hold its nodes, and its pods have the labels of the step's topology keys alone.
func podDomain(pod Pod, key string, topologies map[string]map[string]string) (string, bool) {
	if topology, found := topologies[pod.Node]; found {
		return topology[key], true
	}
	value, found := pod.Topology[key]
	return value, found
}

// podSeries are the parts that bars are put together from: the largest workloads, all others, pods that are not ready, Pending.
type podSeries struct {
	names    []string
	position map[owner]int // of a workload; of any other, others
	others   int
	notReady int
	pending  int
}

func newSeries(steps []Step) *podSeries {
	const absent = -1
	s := &podSeries{position: map[owner]int{}, others: absent, notReady: absent, pending: absent}
	var order []owner
	pods := map[owner]int{}
	var notReady, pending, namespaced bool
	for i := range steps {
		for _, pod := range steps[i].Pods {
			of := owner{pod.Namespace, pod.Workload}
			if pods[of]++; pods[of] == 1 {
				order = append(order, of)
			}
			pending = pending || pod.Node == ""
			notReady = notReady || pod.Node != "" && pod.Status != "Running"
			namespaced = namespaced || pod.Namespace != "default"
		}
	}
	slices.SortStableFunc(order, func(a, b owner) int { return cmp.Compare(pods[b], pods[a]) })
	add := func(name string) int {
		s.names = append(s.names, cut(name, 70))
		return len(s.names) - 1
	}
	for i, of := range order {
		if i == len(palette) {
			s.others = add(count(len(order)-i, "other workload"))
			break
		}
		name := cmp.Or(of.workload, "pods without owner")
		if namespaced {
			name = of.namespace + "/" + name
		}
		s.position[of] = add(name)
	}
	if notReady {
		s.notReady = add("not ready")
	}
	if pending {
		s.pending = add("Pending")
	}
	return s
}

func (s *podSeries) colour(k int) color.Color {
	switch k {
	case s.pending:
		return vermilion
	case s.notReady:
		return black
	case s.others:
		return grey
	}
	return palette[k]
}

// count returns the pods of the step by series and bar.
func (s *podSeries) count(step *Step, d *domainAxis, topologies map[string]map[string]string) [][]float64 {
	values := make([][]float64, len(s.names))
	for k := range values {
		values[k] = make([]float64, len(d.bars))
	}
	for _, pod := range step.Pods {
		k, known := s.position[owner{pod.Namespace, pod.Workload}]
		switch {
		case pod.Node == "":
			k = s.pending
		case pod.Status != "Running":
			k = s.notReady
		case !known:
			k = s.others
		}
		for i, bar := range d.bars {
			domain, known := podDomain(pod, bar.key, topologies)
			if bar.pending && pod.Node == "" || bar.key != "" && known && domain == bar.domain {
				values[k][i]++
			}
		}
	}
	return values
}
