package run

import (
	"strconv"
	"strings"
)

// podsCSV has a row for each pod after each step, and a head:
//
//	step, namespace, pod, workload (kind/name), status, node
//	a column for each level of the cluster, named by its topology key: the node's value
//	feasible, scored, ties, margin, deciders (joined by ;): the decision, for a pod that was placed in the step
//	message: kube-scheduler's, for a Pending pod, or why it is not tried
//
// What is not there is an empty cell.
func podsCSV(r *Report) [][]string {
	head := []string{"step", "namespace", "pod", "workload", "status", "node"}
	for _, level := range r.Cluster.Levels {
		head = append(head, level.TopologyKey)
	}
	table := [][]string{append(head, "feasible", "scored", "ties", "margin", "deciders", "message")}
	nodes := r.Nodes
	for _, step := range r.Steps {
		if step.Nodes != nil {
			nodes = step.Nodes
		}
		topology := make(map[string]map[string]string, len(nodes))
		for _, node := range nodes {
			topology[node.Name] = node.Topology
		}
		for _, pod := range step.Pods {
			cells := []string{step.Name, pod.Namespace, pod.Name, pod.Workload, pod.Status, pod.Node}
			for _, level := range r.Cluster.Levels {
				value, found := topology[pod.Node][level.TopologyKey]
				if !found { // a report need not hold its nodes
					value = pod.Topology[level.TopologyKey]
				}
				cells = append(cells, value)
			}
			if d := pod.Decision; d != nil {
				cells = append(cells, strconv.Itoa(d.Feasible), strconv.Itoa(d.Scored), strconv.Itoa(d.Ties), strconv.FormatInt(d.Margin, 10), strings.Join(d.Deciders, ";"))
			} else {
				cells = append(cells, "", "", "", "", "")
			}
			table = append(table, append(cells, pod.Why()))
		}
	}
	return table
}
