package drain

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Claims are the claims of the report: whether the drain ends, which pods it leaves on the nodes, and which pods are newly Pending; and
// that every drain ends in another order, if there is one. The report must be about all namespaces.
func (r *Report) Claims(options world.DrainOptions) []claim.Claim {
	claims := []claim.Claim{newClaim(r.Nodes, options)}
	if len(r.Order) > 0 {
		claims = append(claims, newClaim(r.Order, options))
	}
	return claims
}

// newClaim returns the claim about a drain of the nodes in that order.
func newClaim(nodes []world.DrainedNode, options world.DrainOptions) claim.Claim {
	names := list.Map(nodes, func(n world.DrainedNode) string { return n.Node })
	drain := &scenario.Drain{Nodes: scenario.Nodes{Names: names}, Force: options.Force, DeleteEmptyDirData: options.DeleteEmptyDirData}
	expect := &scenario.Expect{Drained: ptr.To(true)}
	for i := range nodes {
		for _, pod := range nodes[i].BlockingPods() {
			expect.DrainLeaves = append(expect.DrainLeaves, cluster.Qualify(pod.Namespace, pod.Name))
		}
	}
	newly := map[cluster.Ref]int{}
	after, _ := splitPending(&nodes[len(nodes)-1])
	for _, pod := range after {
		if pod.Node == "" { // otherwise the pod waits for its volume
			kind, name, _ := strings.Cut(pod.Workload, "/")
			if pod.Workload == "" {
				kind, name = "pod", pod.Name
			}
			newly[cluster.Ref{Kind: kind, Namespace: pod.Namespace, Name: name}]++
		}
	}
	expect.NewlyPending = claim.NewlyPending(newly)
	says := fmt.Sprintf("the drain of %s ends, with %s", words.Few(names), claim.DescribeNewlyPending(expect.NewlyPending))
	if slices.ContainsFunc(nodes, func(n world.DrainedNode) bool { return !n.Ends }) {
		expect.Drained = ptr.To(false)
		says = fmt.Sprintf("the drain of %s does not end, because of %s, with %s", words.Few(names), words.Few(expect.DrainLeaves), claim.DescribeNewlyPending(expect.NewlyPending))
	}
	return claim.Claim{Says: says, Steps: []scenario.Step{{Name: words.Shorten("drain "+strings.Join(names, ","), 60), Drain: drain, Expect: expect}}}
}
