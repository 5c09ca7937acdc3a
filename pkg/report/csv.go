package report

import (
	"slices"
	"strconv"
	"strings"
)

// podsCSV has a row for each pod after each step, and a head:
//
//	step, namespace, pod, workload (kind/name), status, node
//	a column for each level of the cluster, named by its topology key: the node's value
//	feasible, scored, ties, margin, deciders (joined by ;): the decision, for a pod that was placed in the step
//	message: kube-scheduler's, for a Pending pod
//
// What is not there is an empty cell.
func podsCSV(r *Report) ([]byte, error) {
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
			table = append(table, append(cells, pod.Message))
		}
	}
	return toCSV(table)
}

// lossesCSV has a row for each workload that a failure takes pods of, by step, level and failure, and one without a workload for a
// failure that takes none. Its head:
//
//	step, topologyKey, domains (joined by +), nodes, pods: the failure, with the numbers of its nodes and running pods
//	namespace, workload (kind/name), replicas, lost, share (lost of replicas, between 0 and 1), gone, quorum, quorumLost,
//	brokenBudgets (namespace/name, joined by ;): what it takes of the workload
//	recovered, stranded, notReplaced: the pods of all workloads after the failure
//
// The columns of the failure, the last three among them, are the same in each of its rows: do not add them up over workloads.
// What was not looked at is an empty cell.
func lossesCSV(r *BlastReport) ([]byte, error) {
	table := [][]string{{
		"step", "topologyKey", "domains", "nodes", "pods", "namespace", "workload", "replicas", "lost", "share", "gone", "quorum", "quorumLost",
		"brokenBudgets", "recovered", "stranded", "notReplaced",
	}}
	for _, step := range r.Steps {
		for i := range step.Levels {
			level := &step.Levels[i]
			for j := range level.Failures {
				f := &level.Failures[j]
				failure := []string{step.Name, level.TopologyKey, strings.Join(f.Domains, "+"), strconv.Itoa(len(f.Nodes)), strconv.Itoa(f.Pods)}
				recovery := []string{"", "", ""}
				if r := level.recovery(f); r != nil {
					recovery = []string{strconv.Itoa(len(r.Recovered)), strconv.Itoa(len(r.Stranded)), strconv.Itoa(len(r.NotReplaced))}
				}
				if len(f.Workloads) == 0 {
					table = append(table, slices.Concat(failure, []string{"", "", "", "0", "0", "", "", "", ""}, recovery))
				}
				for _, loss := range f.Workloads {
					table = append(table, slices.Concat(failure, loss.cells(), recovery))
				}
			}
		}
	}
	return toCSV(table)
}

func (l Loss) cells() []string {
	quorum, lost := "", ""
	if l.Quorum > 0 {
		quorum, lost = strconv.Itoa(l.Quorum), strconv.FormatBool(l.QuorumLost)
	}
	return []string{
		l.Namespace, strings.ToLower(l.Kind) + "/" + l.Name, strconv.Itoa(l.Replicas), strconv.Itoa(l.Lost), strconv.FormatFloat(l.share(), 'g', -1, 64),
		strconv.FormatBool(l.Gone), quorum, lost, strings.Join(l.BrokenBudgets, ";"),
	}
}
