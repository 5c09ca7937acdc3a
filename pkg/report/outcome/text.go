package outcome

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/ask/outcome"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// maxPlacements is the largest number of placements of a step that text lists without All. maxParts is the largest number of nodes or
// domains over which it divides the pods of a placement. If there are more than maxWorkloads, it only counts those that all placements
// place alike.
const (
	maxPlacements = 10
	maxParts      = 12
	maxWorkloads  = 10
)

// writer writes an OutcomesReport as text: for each step a sentence, the placements, and how the figures vary; then the scenario. If there
// is only one step, its sentence is the first line.
type writer struct {
	doc.Doc
	report *Report
}

func newWriter(r *Report, opts report.Options) *writer {
	return &writer{Doc: doc.New(r.Head, opts), report: r}
}

func (t *writer) fullText() {
	if len(t.report.Steps) > 1 {
		t.answer()
	}
	for i := range t.report.Steps {
		t.step(i)
	}
	t.Space()
	t.header()
}

// answer says in how many steps chance decides, and in which a pod can be Pending.
func (t *writer) answer() {
	steps := t.report.Steps
	decided := list.Count(steps, func(s outcome.Step) bool { return s.Different != "1" })
	line := fmt.Sprintf("Chance decides in %d of %d steps", decided, len(steps))
	style, said := doc.Bold, "no pod is ever Pending"
	if waiting := list.Where(steps, func(s outcome.Step) bool { return s.AnyPending.Share > 0 }); len(waiting) > 0 {
		names := list.Map(waiting, func(s outcome.Step) string { return s.Name + " (" + formatShare(s.AnyPending.Share) + ")" })
		style, said = doc.Yellow, "a pod can be Pending in "+t.ListNames(names)
	}
	if preempting := list.Where(steps, func(s outcome.Step) bool { return len(s.Preempted) > 0 }); len(preempting) > 0 {
		names := list.Map(preempting, func(s outcome.Step) string { return s.Name + " (" + t.preempted(&s) + ")" })
		style, said = doc.Yellow, said+"; pods are preempted in "+t.ListNames(names)
	}
	t.Line(style.Cell(line + "; " + said + "."))
}

// preempted names the workloads that lose pods to preemption, each with its share of the trials: "job/work in 96.7%".
func (t *writer) preempted(s *outcome.Step) string {
	return t.ListNames(list.Map(s.Preempted, func(p outcome.PreemptedWorkload) string { return p.Qualified() + " in " + formatShare(p.Share) }))
}

// header writes the header of a run, without the ties, which are the subject of this report.
func (t *writer) header() {
	r := t.report
	var about doc.Fields
	about.AddHead("Scenario:", doc.OrNone(r.Scenario))
	about.AddHead("Cluster:", doc.ClusterLine(r.Cluster))
	about.AddHead("Scheduler:", doc.SchedulerLine(r.Head))
	about.Add("Outcomes:", t.method())
	about.AddHead("Notes:", r.Notes...)
	t.Add(about)
}

// method says how the shares were determined.
func (t *writer) method() string {
	r := t.report
	if e := r.Exact; e != nil {
		return fmt.Sprintf("exact: every way to decide the ties among nodes, from %s through %s", words.Count(e.Runs, "run"), words.Count(e.States, "state"))
	}
	n := r.Trials
	line := fmt.Sprintf("%s, seeds %d to %d; intervals of %s", words.Count(n.N, "trial"), n.Seed, n.Seed+uint64(n.N)-1, formatShare(n.Confidence))
	switch {
	case n.Until > 0 && n.Reached:
		line += fmt.Sprintf(", the shares within ±%s", formatShare(n.Until))
	case n.Until > 0:
		line += fmt.Sprintf(", of which some are wider than ±%s; give more --trials", formatShare(n.Until))
	}
	return line
}

func (t *writer) step(i int) {
	s := &t.report.Steps[i]
	heading := doc.StepHeading(i, len(t.report.Steps), s.Name, s.Action)
	style := doc.Plain
	if s.AnyPending.Share > 0 {
		style = doc.Yellow
	}
	lines := []doc.Cell{doc.Bold.Cell(heading), style.Cell(t.headline(s))}
	if len(t.report.Steps) == 1 {
		slices.Reverse(lines)
	}
	for _, line := range lines {
		t.Space()
		t.Line(line)
	}
	if len(s.Preempted) > 0 {
		t.Linef(doc.Yellow, "Pods are preempted: of %s of the trials.", t.preempted(s))
	}
	for _, d := range s.Decided {
		t.Linef(doc.Plain, "In %d of %d trials %s.", d.Seen, t.report.Trials.N, cmp.Or(d.Did, "no decider acts"))
	}
	t.Space()
	table, left := t.placementTable(s)
	t.Table("", table...)
	for _, line := range left {
		t.Linef(doc.Plain, "%s", line)
	}
	t.Space()
	t.Table("", t.figureTable(s)...)
}

// headline says how many placements there are, and whether a pod can be Pending.
func (t *writer) headline(s *outcome.Step) string {
	if countPods(s) == 0 {
		return "There are no pods."
	}
	var line string
	first := &s.Placements[0]
	exact := t.report.Exact != nil
	switch {
	case s.Different == "1" && exact:
		line = "A single placement is possible."
	case s.Different == "1":
		line = fmt.Sprintf("All %d trials have the same placement.", t.report.Trials.N)
	case exact && len(s.Placements) == int(parseBigInt(s.Different).Int64()) && first.Share == s.Placements[len(s.Placements)-1].Share:
		line = fmt.Sprintf("%s placements are possible, each with %s.", s.Different, chanceText(first.Chance))
	case exact:
		line = fmt.Sprintf("%s placements are possible; the likeliest has %s.", s.Different, chanceText(first.Chance))
	default:
		line = fmt.Sprintf("The trials ended in %s different placements; the most frequent one has %s.", s.Different, chanceText(first.Chance))
	}
	switch pending := s.AnyPending; {
	case pending.Share == 0 && exact:
		line += " No pod is ever Pending."
	case pending.Share == 0:
		line += fmt.Sprintf(" No trial leaves a pod Pending: fewer than %s of all runs do, with 95%% confidence.", formatShare(*pending.High))
	case pending.Share == 1 && exact:
		line += fmt.Sprintf(" %s always Pending.", pendingPodsText(s.Pending))
	case pending.Share == 1:
		line += fmt.Sprintf(" %s Pending in every trial.", pendingPodsText(s.Pending))
	default:
		line += fmt.Sprintf(" In %s a pod is Pending.", chanceText(pending))
	}
	return line
}

func pendingPodsText(v outcome.Variation) string {
	if v.Median == v.Worst {
		return words.Is(int(v.Worst), "pod")
	}
	return "Pods are"
}

func parseBigInt(text string) *big.Int {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return new(big.Int)
	}
	return n
}

func countPods(s *outcome.Step) int {
	if len(s.Placements) == 0 {
		return 0
	}
	pods := s.Placements[0].Pending
	for _, w := range s.Placements[0].Workloads {
		for _, n := range w.Nodes {
			pods += n
		}
	}
	return pods
}

// chanceText returns "33.3% (1/3)", or "34.2% (31.3% to 37.2%)".
func chanceText(c outcome.Chance) string {
	switch {
	case c.Low != nil:
		return fmt.Sprintf("%s (%s to %s)", formatShare(c.Share), formatShare(*c.Low), formatShare(*c.High))
	case shortFraction(c) != "" && c.Share > 0 && c.Share < 1:
		return fmt.Sprintf("%s (%s)", formatShare(c.Share), shortFraction(c))
	}
	return formatShare(c.Share)
}

// shortFraction returns the exact probability, or "" if it is too long to read.
func shortFraction(c outcome.Chance) string {
	if len(c.Probability) > len("9999/99999") {
		return ""
	}
	return c.Probability
}

// formatShare returns "33.3%". A share below 1 % has two significant digits, so that a rare outcome does not become 0%.
func formatShare(share float64) string {
	switch p := 100 * share; {
	case p == 0 || p == 100:
		return strconv.Itoa(int(p)) + "%"
	case p < 0.0095:
		return strconv.FormatFloat(p, 'e', 1, 64) + "%"
	case p < 1:
		return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 2, 64), "0") + "%"
	case p > 99.9:
		return strconv.FormatFloat(p, 'f', 2, 64) + "%"
	default:
		return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + "%"
	}
}

// placementTable returns the titles with a row for each of the likeliest placements, and lines about the others.
func (t *writer) placementTable(s *outcome.Step) (table [][]doc.Cell, left []string) {
	if countPods(s) == 0 {
		return nil, nil
	}
	exact := t.report.Exact != nil
	titles := []string{"SHARE", "FROM", "TO", "PENDING", "SEED", "PODS"}
	if exact {
		titles = []string{"SHARE", "PROBABILITY", "PENDING", "PODS"}
	}
	ways := slices.ContainsFunc(s.Placements, func(p outcome.Placement) bool { return p.Ways != "" })
	if ways {
		titles = slices.Insert(titles, 2, "WAYS")
	}
	table = append(table, doc.Bold.Row(titles...))
	listed := s.Placements
	if !t.All {
		listed = listed[:min(len(listed), maxPlacements)]
	}
	same := 0
	if !t.All && len(listed[0].Workloads) > maxWorkloads {
		listed, same = onlyDiffering(listed)
	}
	key := t.dividingKey(listed)
	named := slices.ContainsFunc(listed, func(p outcome.Placement) bool { return same+len(p.Workloads) > 1 })
	shown, standing := 0.0, new(big.Int)
	for _, p := range listed {
		n := big.NewInt(1)
		if p.Ways != "" {
			n = parseBigInt(p.Ways)
		}
		standing.Add(standing, n)
		number1, _ := new(big.Float).SetInt(n).Float64()
		shown += p.Share * number1
		cells := []doc.Cell{doc.Plain.Cell(formatShare(p.Share))}
		if exact {
			cells = append(cells, doc.Plain.Cell(doc.OrNone(shortFraction(p.Chance))))
		} else {
			cells = append(cells, doc.Plain.Cell(formatShare(*p.Low)), doc.Plain.Cell(formatShare(*p.High)))
		}
		if ways {
			cells = append(cells, doc.Plain.Cell("×"+n.String()))
		}
		cells = append(cells, doc.Number(p.Pending, doc.Yellow))
		if !exact {
			cells = append(cells, doc.Plain.Cell(strconv.FormatUint(*p.Seed, 10)))
		}
		table = append(table, append(cells, doc.Plain.Cell(t.pods(&p, key, named))))
	}
	if rest := new(big.Int).Sub(parseBigInt(s.Different), standing); rest.Sign() > 0 {
		line := fmt.Sprintf("and %s more, with %s together", rest, formatShare(max(1-shown, 0)))
		if len(listed) < len(s.Placements) {
			line += t.HowToList("them")
		}
		left = append(left, line)
	}
	if same > 0 {
		left = append(left, words.Has(same, "workload")+" the same nodes in each"+t.HowToList("them")+".")
	}
	if ways {
		left = append(left, "A row with ×N stands for N placements, each with that share, in which identical nodes change places.")
	}
	return table, left
}

// onlyDiffering returns the placements with only the workloads that they place differently, and the number of the other workloads.
func onlyDiffering(placements []outcome.Placement) (differ []outcome.Placement, same int) {
	seen := map[string]int{} // in how many placements a workload has the same nodes
	for _, p := range placements {
		for _, w := range p.Workloads {
			seen[fmt.Sprint(w)]++
		}
	}
	for _, p := range placements {
		all := len(p.Workloads)
		p.Workloads = list.Without(p.Workloads, func(w outcome.PlacedWorkload) bool { return seen[fmt.Sprint(w)] == len(placements) })
		differ, same = append(differ, p), all-len(p.Workloads)
	}
	return differ, same
}

// dividingKey returns the topology key by whose domains pods are counted: that of the host name, unless a placement has too many nodes.
func (t *writer) dividingKey(placements []outcome.Placement) string {
	for _, p := range placements {
		nodes := map[string]bool{}
		for _, w := range p.Workloads {
			for node := range w.Nodes {
				nodes[node] = true
			}
		}
		if len(nodes) <= maxParts {
			continue
		}
		levels := t.report.Cluster.Levels
		for i := len(levels) - 1; i >= 0; i-- {
			if levels[i].TopologyKey != doc.Hostname && levels[i].Domains <= maxParts {
				return levels[i].TopologyKey
			}
		}
	}
	return doc.Hostname
}

// pods returns where the pods of a placement are, in the order of the nodes: "web: a 1, b 2; db: c 1". With named, a single workload has
// its name, too.
func (t *writer) pods(p *outcome.Placement, key string, named bool) string {
	var parts []string
	for _, w := range p.Workloads {
		var order []string
		counts := map[string]int{}
		add := func(value string, n int) {
			if n == 0 {
				return
			}
			if counts[value] == 0 {
				order = append(order, value)
			}
			counts[value] += n
		}
		left := map[string]bool{}
		for node := range w.Nodes {
			left[node] = true
		}
		for _, node := range t.report.Nodes {
			value := node.Name
			if key != doc.Hostname {
				value = doc.OrNone(node.Topology[key])
			}
			add(value, w.Nodes[node.Name])
			delete(left, node.Name)
		}
		for _, node := range slices.Sorted(maps.Keys(left)) { // nodes that a later step adds
			add(node, w.Nodes[node])
		}
		texts := list.Map(order[:min(len(order), 2*maxParts)], func(value string) string { return fmt.Sprintf("%s %d", value, counts[value]) })
		if more := len(order) - 2*maxParts; more > 0 {
			texts = append(texts, fmt.Sprintf("… %d more", more))
		}
		if len(texts) == 0 {
			texts = []string{"none has a node"}
		}
		part := strings.Join(texts, ", ")
		if named {
			part = strings.TrimPrefix(w.Workload, "deployment/") + ": " + part
		}
		parts = append(parts, part)
	}
	return doc.OrNone(strings.Join(parts, "; "))
}

// figureTable returns the titles, and a row for each figure that can vary over the placements.
func (t *writer) figureTable(s *outcome.Step) [][]doc.Cell {
	if countPods(s) == 0 {
		return nil
	}
	exact := t.report.Exact != nil
	titles := []string{"NUMBER", "MEDIAN", "95%", "WORST"}
	if !exact {
		titles = append(titles, "SEED")
	}
	table := [][]doc.Cell{doc.Bold.Row(titles...)}
	add := func(name string, v outcome.Variation, format func(float64) string) {
		median := format(v.Median)
		if v.Low != nil && (*v.Low != v.Median || *v.High != v.Median) {
			median += fmt.Sprintf(" (%s to %s)", format(*v.Low), format(*v.High))
		}
		cells := []doc.Cell{doc.Plain.Cell(name), doc.Plain.Cell(median), doc.Plain.Cell(format(v.P95)), doc.Plain.Cell(format(v.Worst))}
		if !exact {
			cells = append(cells, doc.Plain.Cell(strconv.FormatUint(*v.Seed, 10)))
		}
		table = append(table, cells)
	}
	whole := func(f float64) string { return strconv.Itoa(int(f)) }
	add("Pending pods", s.Pending, whole)
	for _, level := range s.Levels {
		add("skew over "+doc.LevelName(level.TopologyKey)+"s", level.Skew, whole)
	}
	for _, level := range s.Levels {
		add("radius of a "+doc.LevelName(level.TopologyKey), level.Radius, formatShare)
	}
	return table
}

// stepTable returns the titles, and a row for each step.
func (t *writer) stepTable() [][]doc.Cell {
	table := [][]doc.Cell{doc.Bold.Row("NAME", "PLACEMENTS", "LIKELIEST", "PENDING")}
	for i := range t.report.Steps {
		s := &t.report.Steps[i]
		likeliest, style := doc.None, doc.Plain
		if countPods(s) > 0 {
			likeliest = chanceText(s.Placements[0].Chance)
		}
		if s.AnyPending.Share > 0 {
			style = doc.Yellow
		}
		table = append(table, []doc.Cell{doc.Plain.Cell(doc.OrNone(s.Name)), doc.Plain.Cell(s.Different), doc.Plain.Cell(likeliest), style.Cell(chanceText(s.AnyPending))})
	}
	return table
}
