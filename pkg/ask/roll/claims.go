package roll

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Claims returns what the answer claims: which drains end, that the replaced nodes are gone, and which pods that had a node are Pending at
// the end.
func (a *Answer) Claims() []claim.Claim {
	newly := map[cluster.Ref]int{}
	for _, pod := range a.Pending {
		kind, name, _ := strings.Cut(pod.Workload, "/")
		if pod.Workload == "" {
			kind, name = "pod", pod.Name
		}
		newly[cluster.Ref{Kind: kind, Namespace: pod.Namespace, Name: name}]++
	}
	end := claim.NewlyPendingSinceBefore(newly)
	c := claim.Claim{Says: fmt.Sprintf("%s of %s %s replaced, with %s", words.Count(a.Replaced, "node"), a.Pool, words.Pick(a.Replaced, "is", "are"), claim.DescribeNewlyPending(end))}
	if len(a.Steps) == 0 {
		return nil
	}
	c.Steps = []scenario.Step{claim.BeforeStep()}
	for _, step := range a.Steps {
		if step.Drain != nil {
			ends := !slices.ContainsFunc(a.Blocked, func(b Blocked) bool { return slices.Contains(step.Drain.Names, b.Node) })
			step.Expect = &scenario.Expect{Drained: ptr.To(ends)}
		}
		if step.RemoveNodes != nil {
			step.Expect = &scenario.Expect{NodesGone: step.RemoveNodes.Names}
		}
		c.Steps = append(c.Steps, step)
	}
	last := c.Last()
	if last.Expect == nil {
		last.Expect = &scenario.Expect{}
	}
	last.Expect.NewlyPending = end
	return []claim.Claim{c}
}
