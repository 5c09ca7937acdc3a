package blast

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Claims returns what the analysis says about each failure whose recovery was examined, in a form that a run can check: how many pods of
// each workload run afterwards, and how many are Pending. It covers the workloads that lose pods or have stranded pods. The analysis must
// cover all workloads.
func (a *Analysis) Claims(mode node.FailureMode) []claim.Claim {
	var claims []claim.Claim
	for i := range a.Levels {
		level := &a.Levels[i]
		for j := range level.Failures {
			f := &level.Failures[j]
			if f.Recovery == nil || f.Recovery.State == nil {
				continue
			}
			key, _, _ := strings.Cut(level.TopologyKey, "=") // --level zone=a is the loss of that zone alone
			what := fmt.Sprintf("%s=%s", key, strings.Join(f.Domains, ","))
			r := f.Recovery
			c := claim.Claim{Says: fmt.Sprintf("the failure of %s takes %s, of which %d are stranded and %d not replaced", what, words.Count(r.Lost, "pod"), len(r.Stranded), len(r.NotReplaced))}
			step := scenario.Step{Name: "fail " + what, Fail: &scenario.Fail{Nodes: scenario.Nodes{Names: f.Nodes}, Mode: string(mode)}}
			if workloads := f.podsAfter(); len(workloads) > 0 {
				step.Expect = &scenario.Expect{Workloads: workloads}
				c.Steps = []scenario.Step{step}
				claims = append(claims, c)
			}
		}
	}
	return claims
}

// podsAfter returns how many pods of each of these workloads run after the recovery, and how many are Pending.
func (f *Failure) podsAfter() []scenario.WorkloadPods {
	concerned := map[cluster.Ref]bool{}
	for i := range f.Workloads {
		concerned[f.Workloads[i].Ref] = true
	}
	owner := f.Recovery.State.Owners()
	for i := range f.Recovery.Pending {
		concerned[owner(f.Recovery.Pending[i].Pod)] = true
	}
	return claim.WorkloadPods(f.Recovery.State, concerned)
}
