package run

import (
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/report"
)

// podsCSV returns a row for each pod after each step, below a head:
//
//	step, namespace, pod, workload (kind/name), status, node
//	a column for each level of the cluster, named by its topology key: the node's value
//	feasible, scored, ties, margin, deciders (joined by ;): the decision, for a pod that was placed in the step
//	message: kube-scheduler's message about a Pending pod, or why it was not tried
//
// A missing value is an empty cell.
func podsCSV(r *Report) [][]string {
	head := []string{"step", "namespace", "pod", "workload", "status", "node"}
	for _, level := range r.Cluster.Levels {
		head = append(head, level.TopologyKey)
	}
	table := [][]string{append(head, "feasible", "scored", "ties", "margin", "deciders", "message")}
	topologies := nodeTopologies(r)
	for i, step := range r.Steps {
		for _, pod := range step.Pods {
			cells := []string{step.Name, pod.Namespace, pod.Name, pod.Workload, pod.Status, pod.Node}
			for _, level := range r.Cluster.Levels {
				value, _ := podDomain(pod, level.TopologyKey, topologies[i])
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

// nodeTopologies returns the topology labels of the nodes after each step, by the name of the node.
func nodeTopologies(r *Report) []map[string]map[string]string {
	all := make([]map[string]map[string]string, len(r.Steps))
	of := func(nodes []report.Node) map[string]map[string]string {
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

// podDomain returns the pod's failure domain at the level, "" if its node lacks the label, and whether the domain is known. A report that
// was read back may have no nodes, and its pods have only the labels of the step's topology keys.
func podDomain(pod Pod, key string, topologies map[string]map[string]string) (string, bool) {
	if topology, found := topologies[pod.Node]; found {
		return topology[key], true
	}
	value, found := pod.Topology[key]
	return value, found
}
