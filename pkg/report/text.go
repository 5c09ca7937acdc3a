package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	// maxPods is how many pods a step lists before it sums them up by workload.
	maxPods = 40
	// maxDetails is how many entries other lists of a step have before the rest is counted.
	maxDetails = 20
)

// runText renders text and wide: what the run was about, each step, and one line on the whole.
type runText struct {
	page
	report *Report
	wide   bool
}

func (t *runText) everything() {
	t.header(t.report.Head)
	for i := range t.report.Steps {
		t.step(i)
	}
	t.space()
	t.conclusion()
}

// header says what the run was about.
func (p *page) header(h Head) {
	var about fields
	about.add("Scenario:", orNone(h.Scenario))
	if description := strings.TrimSpace(h.Description); description != "" {
		about.add("Description:", strings.Split(description, "\n")...)
	}
	about.add("Cluster:", clusterLine(h.Cluster))
	about.add("Scheduler:", schedulerLine(h))
	about.add("Ties:", orNone(tiesText(h)))
	if len(h.Scheduler.FeatureGates) > 0 {
		about.add("Feature gates:", strings.Join(h.Scheduler.FeatureGates, ", "))
	}
	if len(h.Ignored) > 0 {
		about.add("Ignored:", ignoredLines(h.Ignored, p.all)...)
	}
	about.add("Notes:", h.Notes...)
	p.table("", about...)
}

// clusterLine is "4 nodes, 2 regions (1 node without), 3 zones (1 node without)". Hosts are nodes, and go without saying.
func clusterLine(c Cluster) string {
	parts := []string{count(c.Nodes, "node")}
	for _, level := range c.Levels {
		if level.TopologyKey == hostname {
			continue
		}
		part := count(level.Domains, noun(level.TopologyKey))
		if noun(level.TopologyKey) == "domain" {
			part += " of " + level.TopologyKey
		}
		if level.Unlabelled > 0 {
			part += fmt.Sprintf(" (%s without)", count(level.Unlabelled, "node"))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func schedulerLine(h Head) string {
	line := "kube-scheduler " + h.Scheduler.Version
	if profiles := h.Scheduler.Profiles; len(profiles) > 0 && !slices.Equal(profiles, []string{"default-scheduler"}) {
		line += ", profiles " + strings.Join(profiles, ", ")
	}
	if h.Version != "" {
		line += ", in Faultline " + h.Version
	}
	return line
}

// ignoredLines count the ignored objects by kind, the most frequent first, and list them below that if all is wanted.
func ignoredLines(objects []Ignored, all bool) []string {
	var kinds []string
	number := map[string]int{}
	for _, object := range objects {
		if number[object.Kind] == 0 {
			kinds = append(kinds, object.Kind)
		}
		number[object.Kind]++
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(number[b], number[a]) })
	parts := make([]string, len(kinds))
	for i, kind := range kinds {
		parts[i] = fmt.Sprintf("%d %s", number[kind], kind)
	}
	verb := "take"
	if len(objects) == 1 {
		verb = "takes"
	}
	lines := []string{fmt.Sprintf("%s that %s no part in scheduling: %s", count(len(objects), "object"), verb, strings.Join(parts, ", "))}
	if custom := customKinds(objects); len(custom) > 0 {
		lines = append(lines, "give customResources with a podTemplatePath in the scenario if one holds a pod template: "+strings.Join(custom, ", "))
	}
	if all {
		for _, object := range objects {
			lines = append(lines, object.text())
		}
	}
	return lines
}

// customKinds are the kinds of the objects whose group is not Kubernetes' own, which may be custom resources, sorted. Kubernetes' groups
// have no dot, or end in k8s.io.
func customKinds(objects []Ignored) []string {
	var kinds []string
	for _, object := range objects {
		if group, _, _ := strings.Cut(object.APIVersion, "/"); strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
			kinds = append(kinds, object.Kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// text says which object it is and where it stands: "ConfigMap kafka/settings of v1 in kafka.yaml".
func (i Ignored) text() string {
	name := i.Name
	if i.Namespace != "" {
		name = i.Namespace + "/" + i.Name
	}
	return fmt.Sprintf("%s %s of %s in %s", i.Kind, name, i.APIVersion, i.Source)
}

// step writes one step: the pods, or a table of their workloads if they are many, then what is worth knowing about them.
func (t *runText) step(i int) {
	s := t.stepText(i)
	heading := fmt.Sprintf("Step %d/%d  %s", i+1, len(t.report.Steps), s.Name)
	if s.Action != "" {
		heading += ": " + s.Action
	}
	t.space()
	t.linef(bold, "%s", heading)
	t.space()

	workloads := rows(s.Workloads)
	listed := t.all || len(s.Pods) <= maxPods
	switch {
	case len(s.Pods) == 0:
		t.linef(plain, "No pods.")
	case listed:
		t.pods(s)
		if t.wide {
			t.decisions(s)
		}
		var pods []explained
		for _, pod := range s.Pods {
			pods = append(pods, explained{name: "Pod " + s.qualified(pod.Namespace, pod.Name), node: pod.Node, decision: pod.Decision, cycle: pod.Cycle})
		}
		t.cycles(pods)
	default:
		t.linef(plain, "%s. Use --all to list every pod.", s.Summary.text())
	}
	t.space()
	if len(workloads) > 1 || !listed {
		t.workloads(s, workloads)
		t.space()
	} else if len(workloads) == 1 && len(s.Pods) > 0 {
		t.distributions(s, workloads[0])
	}
	t.pending(s)
	t.preempted(s)
	t.rollouts(s)
	t.notCreated(s)
	t.sentences("Why:", s.Why)
	t.sentences("Notes:", s.Notes)
	t.expectations(s)
}

// text is "50 pods: 48 running, 2 pending; 50 placed in this step".
func (s Summary) text() string {
	line := fmt.Sprintf("%s: %d running, %d pending", count(s.Pods, "pod"), s.Running, s.Pending)
	if s.NotReady > 0 {
		line += fmt.Sprintf(", %d not ready", s.NotReady)
	}
	if s.Terminating > 0 {
		line += fmt.Sprintf(", and %d more Terminating", s.Terminating)
	}
	line += fmt.Sprintf("; %d placed", s.Placed)
	if s.Preempted > 0 {
		line += fmt.Sprintf(" and %d preempted", s.Preempted)
	}
	return line + " in this step"
}

// sentences puts one sentence beside the title, and several below it.
func (p *page) sentences(title string, sentences []string) {
	if len(sentences) == 1 {
		p.line(bold.cell(title), plain.cell(" "+sentences[0]))
		return
	}
	for i, sentence := range sentences {
		if i == 0 {
			p.line(bold.cell(title))
		}
		p.linef(plain, "  %s", sentence)
	}
}

// expectations counts those that were met, and tells of the others.
func (t *runText) expectations(s *stepText) {
	if len(s.Expectations) == 0 {
		return
	}
	failed := failures(s.Expectations)
	result := green.cellf(" %d of %d met", len(s.Expectations)-len(failed), len(s.Expectations))
	if len(failed) > 0 {
		result.style = red
	}
	t.line(bold.cell("Expectations:"), result)
	for _, e := range failed {
		t.linef(red, "  FAILED  %s", e.failure())
		if e.Why != "" {
			t.linef(plain, "          why  %s", e.Why)
		}
	}
}

func (e Expectation) failure() string { return fmt.Sprintf("want %s, got %s", e.Want, e.Got) }

// quiet writes a line a step.
func (t *runText) quiet() {
	if len(t.report.Steps) == 0 {
		t.linef(plain, "No steps.")
		return
	}
	t.table("", t.steps()...)
}

// steps is a row for each step below the titles.
func (t *runText) steps() [][]cell {
	notReady := slices.ContainsFunc(t.report.Steps, func(s Step) bool { return s.Summary.NotReady > 0 })
	heads := []string{"NAME", "RUNNING", "PENDING"}
	if notReady {
		heads = append(heads, "NOT READY")
	}
	table := [][]cell{bold.row(append(heads, "EXPECTATIONS")...)}
	for _, s := range t.report.Steps {
		cells := []cell{plain.cell(orNone(s.Name)), number(s.Summary.Running, plain), number(s.Summary.Pending, yellow)}
		if notReady {
			cells = append(cells, number(s.Summary.NotReady, red))
		}
		failed := len(failures(s.Expectations))
		switch {
		case len(s.Expectations) == 0:
			cells = append(cells, plain.cell(none))
		case failed == 0:
			cells = append(cells, green.cell("ok"))
		default:
			cells = append(cells, red.cellf("%d of %d failed", failed, len(s.Expectations)))
		}
		table = append(table, cells)
	}
	return table
}

// number has its style unless it is 0.
func number(n int, s style) cell {
	if n == 0 {
		s = plain
	}
	return s.cellf("%d", n)
}

func failures(expectations []Expectation) []Expectation {
	var failed []Expectation
	for _, e := range expectations {
		if !e.Met {
			failed = append(failed, e)
		}
	}
	return failed
}
