package capacity

import (
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// Claims are what the answers say about a cluster of which no node fails: that so many units more fit, so that every pod that is asked for
// has a node and none has lost its own, and that the next unit does not. The result is that of Base.
func Claims(base *simulation.Result, answers []Mix) []claim.Claim {
	var claims []claim.Claim
	for i := range answers {
		m := &answers[i]
		p := newProber(base, m.Workloads, Options{})
		before := p.scenario.Steps[len(base.Scenario.Steps)-1:] // the autoscalers go
		units := func(n int) string {
			if len(m.Workloads) > 1 || m.Workloads[0].Proportion > 1 {
				return fmt.Sprintf("%s more of %s", words.Count(n, "unit"), m.Name)
			}
			return fmt.Sprintf("%d more of %s", n, m.Workloads[0].Qualified())
		}
		steps := func(n int, expect func(share Share, last bool) *scenario.Expect) []scenario.Step {
			var all []scenario.Step
			for _, step := range before {
				all = append(all, step.Step)
			}
			for i, share := range p.mix {
				step := p.scale(i, n)
				step.Expect = expect(share, i == len(p.mix)-1)
				all = append(all, step)
			}
			return all
		}
		fits := func(n int) func(Share, bool) *scenario.Expect {
			return func(share Share, _ bool) *scenario.Expect {
				return &scenario.Expect{NewlyPending: &scenario.NewlyPending{}, Workloads: []scenario.WorkloadPods{
					{Workload: claim.Name(share.Ref), AtLeast: ptr.To(share.Now + n*share.Proportion)},
				}}
			}
		}
		if !m.Fit.Short {
			claims = append(claims, claim.Claim{Says: units(m.Fit.More) + " fit", Steps: steps(m.Fit.More, fits(m.Fit.More))})
		}
		if next := m.refused(p); next != nil && !m.Fit.Capped {
			says, n := units(m.Fit.More+1)+" do not fit", m.Fit.More+1
			if m.Fit.Short {
				says, n = fmt.Sprintf("not all pods of %s have a node", m.Name), 0
			}
			claims = append(claims, claim.Claim{Says: says, Steps: steps(n, func(share Share, last bool) *scenario.Expect {
				if !last {
					return nil
				}
				return next
			})})
		}
	}
	return claims
}

// refused expects what keeps the next unit from its nodes: pods of the mix that are missing, or others that lose theirs. It returns nil where
// the answer does not say which, since a pod goes that nothing replaces.
func (m *Mix) refused(p *prober) *scenario.Expect {
	n := m.Fit.More + 1
	if m.Fit.Short {
		n = 0
	}
	if m.Fit.Missing != nil {
		expect := &scenario.Expect{}
		for i, share := range p.mix {
			if missing := m.Fit.Missing[i]; missing > 0 {
				expect.Workloads = append(expect.Workloads, scenario.WorkloadPods{Workload: claim.Name(share.Ref), AtMost: ptr.To(share.Now + n*share.Proportion - 1)})
			}
		}
		if len(expect.Workloads) > 0 {
			return expect
		}
	}
	if m.Fit.Newly {
		return &scenario.Expect{NewlyPending: &scenario.NewlyPending{AtLeast: ptr.To(1)}}
	}
	return nil
}
