package advice

import (
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// Claims returns what the advice says about the best candidate. With its patch, so many pods of the workload are Pending; the loss of a
// domain of each level takes at most this share of its pods and strands at most so many; and a rollout ends, or does not. Claims does not
// claim that no other candidate is better.
func (a *Advice) Claims() []claim.Claim {
	best := &a.Candidates[0]
	c := claim.Claim{Says: fmt.Sprintf("%s, %s: %s Pending", a.Workload.Qualified(), best.Name, words.Count(best.OwnPending, "pod"))}
	if best.Changed() {
		c.Patches = patchVariant(a.Workload, "", best.Patch).Patches
	}
	expect := &scenario.Expect{Workloads: []scenario.WorkloadPods{{Workload: claim.WorkloadName(a.Workload), Pending: ptr.To(best.OwnPending)}}}
	for _, level := range best.Levels {
		bounds := scenario.FailureBounds{Level: level.TopologyKey, Workload: claim.WorkloadName(a.Workload), Radius: ptr.To(level.Radius)}
		if most, examined := level.OwnNotBack(); examined && !level.IsPartlyExamined() {
			bounds.Stranded = ptr.To(most)
		}
		expect.Failures = append(expect.Failures, bounds)
		c.Says += fmt.Sprintf(", the loss of a %s takes at most %.4g%%", topology.ShortKey(level.TopologyKey), 100*level.Radius)
	}
	c.Steps = []scenario.Step{{Name: "advised", Expect: expect}}
	claims := []claim.Claim{c}
	if best.rollsAlone { // Rollouts expects something of all rollouts, and this rollout may evict pods of other workloads
		ends, restart := "ends", Restart(a.Workload)
		if !best.Rollout.Ends {
			ends = "does not end"
		}
		restart.Expect = &scenario.Expect{Rollouts: ptr.To(best.Rollout.Ends)}
		says := fmt.Sprintf("%s, %s: a rollout %s", a.Workload.Qualified(), best.Name, ends)
		claims = append(claims, claim.Claim{Says: says, Patches: c.Patches, Steps: []scenario.Step{restart}})
	}
	return claims
}
