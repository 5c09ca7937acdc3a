package scale

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// Claims are the claims about the cluster after the last step of the result: how many nodes each group has, if a label selects its nodes,
// and how many pods of which workloads stay Pending.
func (r *Report) Claims(result *simulation.Result) []claim.Claim {
	expect := &scenario.Expect{Pending: new(int)}
	state := result.State()
	joined := 0
	for i, group := range r.Groups {
		of := &result.Scenario.Autoscaler.NodeGroups[i]
		// No selector counts the nodes of a group if nodes outside of the group have its label, too.
		labelled := scenario.Nodes{Selector: of.From}.Select(state.Nodes)
		if joined += group.After - group.Before; of.From != "" && !slices.ContainsFunc(labelled, func(node *v1.Node) bool { return !of.Has(node) }) {
			if expect.NodeCounts == nil {
				expect.NodeCounts = map[string]int{}
			}
			expect.NodeCounts[of.From] = group.After
		}
	}
	waiting := map[cluster.WorkloadRef]int{}
	for _, w := range r.Waiting {
		for _, pod := range w.Pods {
			*expect.Pending++
			if pod.Workload != "" {
				waiting[cluster.WorkloadRef{Namespace: pod.Namespace, Workload: pod.Workload}]++
			}
		}
	}
	for of, n := range waiting {
		expect.Workloads = append(expect.Workloads, scenario.WorkloadPods{Workload: of.Namespace + "/" + of.Workload, Pending: ptr.To(n)})
	}
	slices.SortFunc(expect.Workloads, func(a, b scenario.WorkloadPods) int {
		if a.Workload < b.Workload {
			return -1
		}
		return 1
	})
	says := fmt.Sprintf("%s %s, and %s Pending", words.Count(joined, "node"), words.Pick(joined, "joins", "join"), words.Is(*expect.Pending, "pod"))
	return []claim.Claim{{Says: says, Steps: []scenario.Step{{Name: "scaled", Expect: expect}}}}
}
