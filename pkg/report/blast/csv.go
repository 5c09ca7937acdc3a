package blast

import (
	"slices"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/ask/blast"
)

// lossesCSV returns a row for each workload of which a failure takes pods, by step, level and failure. A failure that takes none has one
// row without a workload. The columns are: step, topologyKey, domains (joined by +), nodes, pods: the failure, with the numbers of its
// nodes and running pods namespace, workload (kind/name), replicas, lost, share (lost of replicas, between 0 and 1), gone, quorum,
// quorumLost, brokenBudgets (namespace/name, joined by ;): what it takes of the workload recovered, stranded, notReplaced: the pods of all
// workloads after the failure even: what an even spread of the workload would lose to its worst failure ofDaemonSets: how many of
// notReplaced are pods of DaemonSets lostWork: the pods that run once, for controllers that are not part of the input All rows of a failure
// repeat its columns and the counts after it: do not add these up over workloads. A cell is empty if its value is unknown.
func lossesCSV(r *Report) [][]string {
	table := [][]string{{
		"step", "topologyKey", "domains", "nodes", "pods", "namespace", "workload", "replicas", "lost", "share", "gone", "quorum", "quorumLost",
		"brokenBudgets", "recovered", "stranded", "notReplaced", "even", "ofDaemonSets", "lostWork",
	}}
	for _, step := range r.Steps {
		for i := range step.Levels {
			level := &step.Levels[i]
			for j := range level.Failures {
				f := &level.Failures[j]
				failure := []string{step.Name, level.TopologyKey, strings.Join(f.Domains, "+"), strconv.Itoa(len(f.Nodes)), strconv.Itoa(f.Pods)}
				recovery, apart := []string{"", "", ""}, []string{"", ""}
				if r := level.Recovery(f); r != nil {
					recovery = []string{strconv.Itoa(len(r.Recovered)), strconv.Itoa(len(r.Stranded)), strconv.Itoa(len(r.NotReplaced))}
					apart = []string{strconv.Itoa(r.OfDaemonSets), strconv.Itoa(len(r.LostWork))}
				}
				if len(f.Workloads) == 0 {
					table = append(table, slices.Concat(failure, []string{"", "", "", "0", "0", "", "", "", ""}, recovery, []string{""}, apart))
				}
				for _, loss := range f.Workloads {
					table = append(table, slices.Concat(failure, lossCells(&loss), recovery, []string{strconv.Itoa(loss.Even)}, apart))
				}
			}
		}
	}
	return table
}

func lossCells(l *blast.Loss) []string {
	quorum, lost := "", ""
	if l.Quorum > 0 {
		quorum, lost = strconv.Itoa(l.Quorum), strconv.FormatBool(l.QuorumLost)
	}
	return []string{
		l.Namespace, l.Ref.String(), strconv.Itoa(l.Replicas), strconv.Itoa(l.Lost), strconv.FormatFloat(l.Share(), 'g', -1, 64),
		strconv.FormatBool(l.Gone), quorum, lost, strings.Join(l.BrokenBudgets, ";"),
	}
}
