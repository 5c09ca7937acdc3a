package consolidate

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Claims returns what the answer says, in a form that a run can check. About the nodes that go: every drain ends, and after no step a pod
// is newly Pending since before the first. About each node that stays because of a pod, a budget, a volume, room or rules: after the
// removals its drain does not end, or leaves exactly the named pods newly Pending. It claims nothing about nodes that stay for other
// reasons: nodes that were not tried, and nodes that stay because of the API server, an autoscaler or a loss.
func (a *Answer) Claims() []claim.Claim {
	removal := a.removalClaim()
	claims := a.stayClaims(removal)
	if len(a.Removed) > 0 {
		claims = slices.Insert(claims, 0, removal)
	}
	return claims
}

// stayClaims claims, after the removal of the others, why nodes stay.
func (a *Answer) stayClaims(removal claim.Claim) []claim.Claim {
	var claims []claim.Claim
	if slices.ContainsFunc(a.Stays, func(s Stay) bool { return s.Why == ByFailure }) {
		return nil // they were tried when more nodes had gone
	}
	for i := range a.Stays {
		s := &a.Stays[i]
		if len(s.steps) == 0 || a.End.Node(s.Node) == nil {
			continue
		}
		c := claim.Claim{Steps: slices.Concat(removal.Steps, s.steps)}
		last := c.Last()
		switch s.Why {
		case ByPod, ByBudget:
			c.Says = s.Node + " stays, since its drain does not end"
			last.Expect = &scenario.Expect{Drained: ptr.To(false)}
		case ByVolume, ByRoom, ByRules:
			newly := map[cluster.Ref]int{}
			for _, pod := range s.Pods {
				newly[pod.Owner()]++
			}
			last.Expect = &scenario.Expect{NewlyPending: claim.NewlyPendingSinceBefore(newly)}
			c.Says = fmt.Sprintf("%s stays, since without it there is %s", s.Node, claim.DescribeNewlyPending(last.Expect.NewlyPending))
		default:
			continue
		}
		claims = append(claims, c)
	}
	return claims
}

// removalClaim claims that the nodes in Removed can go.
func (a *Answer) removalClaim() claim.Claim {
	var names []string
	for _, r := range a.Removed {
		names = append(names, r.Node)
	}
	can := "can go"
	if a.Free {
		can = "can be free"
	}
	c := claim.Claim{Says: fmt.Sprintf("%s %s, with no pod newly Pending", words.Few(names), can), Steps: []scenario.Step{claim.BeforeStep()}}
	for _, step := range a.Steps {
		step.Expect = &scenario.Expect{NewlyPending: claim.NewlyPendingSinceBefore(nil)}
		if step.Drain != nil {
			step.Expect.Drained = ptr.To(true)
		}
		if step.RemoveNodes != nil {
			step.Expect.NodesGone = step.RemoveNodes.Names
		}
		c.Steps = append(c.Steps, step)
	}
	return c
}
