package run

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// stepText is a step and the layout of its tables.
type stepText struct {
	*Step
	// keys are the levels by which pods are counted, columns those that the table of pods shows.
	keys, columns []string
	// namespaced means that names need their namespace, as with kubectl's --all-namespaces.
	namespaced bool
}

func (t *writer) newStepText(i int) *stepText {
	s := &stepText{Step: &t.report.Steps[i], keys: t.report.Steps[i].TopologyKeys}
	if len(s.keys) == 0 {
		for _, level := range t.report.Cluster.Levels {
			if level.TopologyKey != doc.Hostname || level.Domains <= doc.MaxDomains {
				s.keys = append(s.keys, level.TopologyKey)
			}
		}
	}
	for _, key := range s.keys {
		shown := len(s.TopologyKeys) > 0 || slices.ContainsFunc(s.Pods, func(pod Pod) bool { return pod.Topology[key] != "" })
		if key != doc.Hostname && shown { // the NODE column has the host name
			s.columns = append(s.columns, key)
		}
	}
	s.namespaced = slices.ContainsFunc(s.Pods, func(pod Pod) bool { return pod.Namespace != v1.NamespaceDefault }) ||
		slices.ContainsFunc(s.Workloads, func(w Workload) bool { return w.Namespace != v1.NamespaceDefault }) ||
		slices.ContainsFunc(s.Bindings, func(b Binding) bool { return b.Namespace != "" && b.Namespace != v1.NamespaceDefault })
	return s
}

// qualify puts the namespace before a name if names need their namespace.
func (s *stepText) qualify(namespace, name string) string {
	if s.namespaced {
		return namespace + "/" + name
	}
	return name
}

// pods writes the table of "kubectl get pods -o wide", without the columns that a simulation does not know.
func (t *writer) pods(s *stepText) {
	var c doc.TableBuilder[Pod]
	if s.namespaced {
		c.AddTextColumn("NAMESPACE", func(p Pod) string { return doc.OrNone(p.Namespace) })
	}
	c.AddTextColumn("NAME", func(p Pod) string { return p.Name })
	c.AddTextColumn("READY", func(p Pod) string { return doc.OrNone(p.Ready) })
	c.AddColumn("STATUS", func(p Pod) doc.Cell { return statusStyle(p.Status).Cell(doc.OrNone(p.Status)) })
	c.AddTextColumn("NODE", func(p Pod) string { return doc.OrNone(p.Node) })
	for i, title := range doc.ColumnTitles(s.columns) {
		c.AddTextColumn(title, func(p Pod) string { return doc.OrNone(p.Topology[s.columns[i]]) })
	}
	if slices.ContainsFunc(s.Pods, func(pod Pod) bool { return len(pod.Claims) > 0 }) {
		c.AddTextColumn("DEVICES", func(p Pod) string { return doc.OrNone(report.FormatDevices(p.Node, p.Claims)) })
	}
	if t.wide {
		c.AddTextColumn("NOMINATED NODE", func(p Pod) string { return doc.OrNone(p.Nominated) })
		for i, title := range []string{"TIES", "MARGIN", "DECIDED BY"} {
			c.AddTextColumn(title, func(p Pod) string { return ruleCredit(p.Decision)[i] })
		}
	}
	t.Table("", c.Rows(s.Pods)...)
}

func statusStyle(status string) doc.Style {
	switch status {
	case "Running":
		return doc.Green
	case "Pending", statusGated:
		return doc.Yellow
	case "NotReady", statusTerminating:
		return doc.Red
	}
	return doc.Plain
}

// ruleCredit returns the cells of the columns TIES, MARGIN and DECIDED BY.
func ruleCredit(d *placement.Decision) []string {
	switch {
	case d == nil:
		return []string{doc.None, doc.None, doc.None}
	case d.Scored == 0:
		return []string{doc.None, doc.None, "only feasible node"}
	}
	separator := ","
	if d.Together {
		separator = "+"
	}
	return []string{strconv.Itoa(d.Ties), strconv.FormatInt(d.Margin, 10), doc.OrNone(strings.Join(d.Deciders, separator))}
}

// decisions writes the scores of the chosen nodes, plugin by plugin, with their lead over the runner-up in brackets.
func (t *writer) decisions(s *stepText) {
	table := [][]doc.Cell{doc.Bold.Row("NAME", "NODE", "FEASIBLE", "SCORED", "RUNNER-UP", "SCORES")}
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
		table = append(table, doc.Plain.Row(s.qualify(pod.Namespace, pod.Name), doc.OrNone(pod.Node), strconv.Itoa(d.Feasible),
			strconv.Itoa(d.Scored), doc.OrNone(d.RunnerUp), doc.OrNone(strings.Join(scores, ", "))))
	}
	if len(table) > 1 {
		t.Space()
		t.Table("", table...)
	}
}
