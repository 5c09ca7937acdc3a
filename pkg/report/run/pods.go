package run

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// stepText is a step and how its tables look.
type stepText struct {
	*Step
	// keys are the levels by which pods are counted, columns those that the pods' table shows.
	keys, columns []string
	// namespaced means that names need their namespace, as with kubectl's --all-namespaces.
	namespaced bool
}

func (t *writer) stepText(i int) *stepText {
	s := &stepText{Step: &t.report.Steps[i], keys: t.report.Steps[i].TopologyKeys}
	if len(s.keys) == 0 {
		for _, level := range t.report.Cluster.Levels {
			if level.TopologyKey != text.Hostname || level.Domains <= text.MaxDomains {
				s.keys = append(s.keys, level.TopologyKey)
			}
		}
	}
	for _, key := range s.keys {
		shown := len(s.TopologyKeys) > 0 || slices.ContainsFunc(s.Pods, func(pod Pod) bool { return pod.Topology[key] != "" })
		if key != text.Hostname && shown { // the NODE column says it
			s.columns = append(s.columns, key)
		}
	}
	s.namespaced = slices.ContainsFunc(s.Pods, func(pod Pod) bool { return pod.Namespace != v1.NamespaceDefault }) ||
		slices.ContainsFunc(s.Workloads, func(w Workload) bool { return w.Namespace != v1.NamespaceDefault }) ||
		slices.ContainsFunc(s.Bindings, func(b Binding) bool { return b.Namespace != "" && b.Namespace != v1.NamespaceDefault })
	return s
}

// qualified puts the namespace before a name where names need one.
func (s *stepText) qualified(namespace, name string) string {
	if s.namespaced {
		return namespace + "/" + name
	}
	return name
}

// pods is the table that "kubectl get pods -o wide" would print, as far as a simulation knows it.
func (t *writer) pods(s *stepText) {
	titles := append([]string{"NAME", "READY", "STATUS", "NODE"}, text.Heads(s.columns)...)
	if s.namespaced {
		titles = append([]string{"NAMESPACE"}, titles...)
	}
	claims := slices.ContainsFunc(s.Pods, func(pod Pod) bool { return len(pod.Claims) > 0 })
	if claims {
		titles = append(titles, "DEVICES")
	}
	if t.wide {
		titles = append(titles, "NOMINATED NODE", "TIES", "MARGIN", "DECIDED BY")
	}
	table := [][]text.Cell{text.Bold.Row(titles...)}
	for _, pod := range s.Pods {
		var cells []text.Cell
		if s.namespaced {
			cells = append(cells, text.Plain.Cell(text.OrNone(pod.Namespace)))
		}
		cells = append(cells, text.Plain.Cell(pod.Name), text.Plain.Cell(text.OrNone(pod.Ready)), statusStyle(pod.Status).Cell(text.OrNone(pod.Status)),
			text.Plain.Cell(text.OrNone(pod.Node)))
		for _, key := range s.columns {
			cells = append(cells, text.Plain.Cell(text.OrNone(pod.Topology[key])))
		}
		if claims {
			cells = append(cells, text.Plain.Cell(text.OrNone(report.DevicesOn(pod.Node, pod.Claims))))
		}
		if t.wide {
			cells = append(cells, text.Plain.Cell(text.OrNone(pod.Nominated)))
			cells = append(cells, text.Plain.Row(decided(pod.Decision)...)...)
		}
		table = append(table, cells)
	}
	t.Table("", table...)
}

func statusStyle(status string) text.Style {
	switch status {
	case "Running":
		return text.Green
	case "Pending", statusGated:
		return text.Yellow
	case "NotReady", statusTerminating:
		return text.Red
	}
	return text.Plain
}

// decided fills the columns TIES, MARGIN and DECIDED BY.
func decided(d *report.Decision) []string {
	switch {
	case d == nil:
		return []string{text.None, text.None, text.None}
	case d.Scored == 0:
		return []string{text.None, text.None, "only feasible node"}
	}
	return []string{strconv.Itoa(d.Ties), strconv.FormatInt(d.Margin, 10), text.OrNone(strings.Join(d.Deciders, ","))}
}

// decisions shows, plugin by plugin, what the nodes chosen in this step scored, and in brackets how far that is ahead of the
// runner-up's.
func (t *writer) decisions(s *stepText) {
	table := [][]text.Cell{text.Bold.Row("NAME", "NODE", "FEASIBLE", "SCORED", "RUNNER-UP", "SCORES")}
	for _, pod := range s.Pods {
		d := pod.Decision
		if d == nil {
			continue
		}
		scores := make([]string, len(d.Scores))
		for i, score := range d.Scores {
			scores[i] = fmt.Sprintf("%s %d", score.Plugin, score.Weighted)
			if d.RunnerUp != "" {
				scores[i] += fmt.Sprintf(" (%+d)", score.Ahead)
			}
		}
		table = append(table, text.Plain.Row(s.qualified(pod.Namespace, pod.Name), text.OrNone(pod.Node), strconv.Itoa(d.Feasible),
			strconv.Itoa(d.Scored), text.OrNone(d.RunnerUp), text.OrNone(strings.Join(scores, ", "))))
	}
	if len(table) > 1 {
		t.Space()
		t.Table("", table...)
	}
}
