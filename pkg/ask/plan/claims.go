package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Claims are what the answer says of each loss that strands pods now: with the nodes and the changes of the plan as many pods of these workloads
// run after it as the plan found, and as many wait. That fewer nodes would not do is no claim.
func (a *Answer) Claims() []claim.Claim {
	var claims []claim.Claim
	for _, t := range a.tried {
		c := claim.Claim{Says: fmt.Sprintf("after the plan the loss of %s strands %s", t.domain, words.Count(t.stranded, "pod")), Steps: slices.Clone(a.Steps)}
		c.Steps = append(c.Steps, scenario.Step{Name: "loss of " + t.domain, Fail: &scenario.Fail{Nodes: scenario.Nodes{Names: t.nodes}, Mode: string(a.Mode)},
			Expect: &scenario.Expect{Workloads: t.workloads}})
		claims = append(claims, c)
	}
	return claims
}

// tried is what the plan leaves after a loss that strands pods without it.
type tried struct {
	domain    string
	nodes     []string
	stranded  int
	workloads []scenario.WorkloadPods
}

// triedOf returns what is left after each loss that stranded pods of these workloads before.
func (a *Answer) triedOf(losses []loss) []tried {
	var all []tried
	for _, l := range losses {
		at := slices.IndexFunc(a.Losses, func(d Loss) bool { return d.Level == l.level && d.Domain == l.domain })
		if at < 0 {
			continue
		}
		t := tried{domain: l.domain, nodes: slices.Sorted(maps.Keys(l.nodes)), stranded: len(l.stranded)}
		t.workloads = claim.WorkloadPods(l.state, a.Losses[at].owners)
		all = append(all, t)
	}
	return all
}
