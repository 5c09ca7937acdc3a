package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// stepText is a step and how its tables look.
type stepText struct {
	*Step
	// keys are the levels by which pods are counted, columns those that the pods' table shows.
	keys, columns []string
	// namespaced tells that names need their namespace, as with kubectl's --all-namespaces.
	namespaced bool
}

func (t *runText) stepText(i int) *stepText {
	s := &stepText{Step: &t.report.Steps[i], keys: t.report.Steps[i].TopologyKeys}
	if len(s.keys) == 0 {
		for _, level := range t.report.Cluster.Levels {
			if level.TopologyKey != hostname || level.Domains <= maxDomains {
				s.keys = append(s.keys, level.TopologyKey)
			}
		}
	}
	for _, key := range s.keys {
		shown := len(s.TopologyKeys) > 0 || slices.ContainsFunc(s.Pods, func(pod Pod) bool { return pod.Topology[key] != "" })
		if key != hostname && shown { // the NODE column says it
			s.columns = append(s.columns, key)
		}
	}
	s.namespaced = slices.ContainsFunc(s.Pods, func(pod Pod) bool { return pod.Namespace != v1.NamespaceDefault }) ||
		slices.ContainsFunc(s.Workloads, func(w Workload) bool { return w.Namespace != v1.NamespaceDefault })
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
func (t *runText) pods(s *stepText) {
	titles := append([]string{"NAME", "READY", "STATUS", "NODE"}, heads(s.columns)...)
	if s.namespaced {
		titles = append([]string{"NAMESPACE"}, titles...)
	}
	if t.wide {
		titles = append(titles, "NOMINATED NODE", "TIES", "MARGIN", "DECIDED BY")
	}
	table := [][]cell{bold.row(titles...)}
	for _, pod := range s.Pods {
		var cells []cell
		if s.namespaced {
			cells = append(cells, plain.cell(orNone(pod.Namespace)))
		}
		cells = append(cells, plain.cell(pod.Name), plain.cell(orNone(pod.Ready)), statusStyle(pod.Status).cell(orNone(pod.Status)),
			plain.cell(orNone(pod.Node)))
		for _, key := range s.columns {
			cells = append(cells, plain.cell(orNone(pod.Topology[key])))
		}
		if t.wide {
			cells = append(cells, plain.cell(orNone(pod.Nominated)))
			cells = append(cells, plain.row(decided(pod.Decision)...)...)
		}
		table = append(table, cells)
	}
	t.table("", table...)
}

func statusStyle(status string) style {
	switch status {
	case "Running":
		return green
	case "Pending", statusGated:
		return yellow
	case "NotReady", statusTerminating:
		return red
	}
	return plain
}

// decided fills the columns TIES, MARGIN and DECIDED BY.
func decided(d *Decision) []string {
	switch {
	case d == nil:
		return []string{none, none, none}
	case d.Scored == 0:
		return []string{none, none, "only feasible node"}
	}
	return []string{strconv.Itoa(d.Ties), strconv.FormatInt(d.Margin, 10), orNone(strings.Join(d.Deciders, ","))}
}

// decisions shows, plugin by plugin, what the nodes chosen in this step scored, and in brackets how far that is ahead of the
// runner-up's.
func (t *runText) decisions(s *stepText) {
	table := [][]cell{bold.row("NAME", "NODE", "FEASIBLE", "SCORED", "RUNNER-UP", "SCORES")}
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
		table = append(table, plain.row(s.qualified(pod.Namespace, pod.Name), orNone(pod.Node), strconv.Itoa(d.Feasible),
			strconv.Itoa(d.Scored), orNone(d.RunnerUp), orNone(strings.Join(scores, ", "))))
	}
	if len(table) > 1 {
		t.space()
		t.table("", table...)
	}
}
