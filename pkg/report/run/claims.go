package run

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// resultStepName is the name of the step of a claim that does nothing after the last step, and expects what is there.
const resultStepName = "result"

// Claims returns what the report on a run says, and the scenario after which it holds. Of the steps of a question, such as those of --scale, it is
// which pods are newly Pending. Of any other run it is how many pods are Pending at the end, and how many pods run of each workload that has a
// Pending pod or that the last step is about. A federation has no claims.
func Claims(result *simulation.Result) (*scenario.Scenario, []claim.Claim) {
	s := *result.Scenario
	if s.Federated() || len(result.Steps) == 0 {
		return &s, nil
	}
	last := result.Last()
	if first := len(result.Steps) - s.Asked; s.Asked > 0 && first > 0 {
		newly := map[cluster.Ref]int{}
		for _, short := range cluster.Shortfalls(result.Steps[first-1].State.PodsByWorkload(), last.State) {
			newly[short.Ref] = len(short.Pending)
		}
		expected := claim.NewlyPendingSinceBefore(newly)
		c := claim.Claim{Steps: []scenario.Step{claim.BeforeStep()}}
		for _, step := range s.Steps[len(s.Steps)-s.Asked:] {
			c.Steps = append(c.Steps, step.Step)
		}
		end := c.Last()
		end.Expect = &scenario.Expect{NewlyPending: expected}
		c.Says = fmt.Sprintf("%s: %s", end.Name, claim.DescribeNewlyPending(expected))
		s.Steps, s.Asked = slices.Clip(s.Steps[:len(s.Steps)-s.Asked]), 0
		return &s, []claim.Claim{c}
	}
	about, counts, pending := map[cluster.Ref]bool{}, last.State.PodCounts(), 0
	if i := s.StepIndex(last.Name); i >= 0 {
		about = askedWorkloads(&s.Steps[i], len(result.Steps) == 1 && len(result.Initial.Pods) == 0)
	}
	for ref := range about {
		if _, has := counts[ref]; !has { // an object without pods
			delete(about, ref)
		}
	}
	for ref, count := range counts {
		pending += count.Pending
		if count.Pending > 0 {
			about[ref] = true
		}
	}
	return &s, []claim.Claim{{
		Says: words.Is(pending, "pod") + " Pending in the end",
		Steps: []scenario.Step{{
			Name: resultStepName, Expect: &scenario.Expect{Pending: ptr.To(pending), Workloads: claim.WorkloadPods(last.State, about)},
		}},
	}}
}
