package capacity

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// Claims returns what the answers say, in a form that a run can check. Without a failure: with so many more units, every pod that the
// workloads ask for has a node and no other pod has lost its own; with one unit more, this does not hold. After the loss of each domain to
// survive: the same. The result must be a run of [Base]. In a scenario with an autoscaler, Claims does not claim anything about losses,
// since nobody knows yet the domains of the nodes that the autoscaler adds.
func Claims(base *simulation.Result, answers []Mix, opts Options) ([]claim.Claim, error) {
	lost := map[string][]blast.Failure{}
	for _, level := range opts.Survive {
		analysis, err := blast.Lost(base.State(), blast.Options{Levels: []string{level}, Simultaneous: 1, Mode: opts.Mode})
		if err != nil {
			return nil, err
		}
		lost[level] = analysis.Levels[0].Failures
	}
	var claims []claim.Claim
	for i := range answers {
		c := &claimant{Mix: &answers[i], prober: newProber(base, answers[i].Workloads, Options{}), opts: opts}
		claims = append(claims, c.fitClaims()...)
		for k := range c.Survive {
			if base.Scenario.Autoscaler == nil && base.Scenario.Deciders == nil {
				claims = append(claims, c.surviveClaims(&c.Survive[k], lost[c.Survive[k].Level])...)
			}
		}
	}
	return claims, nil
}

// claimant makes the claims for the answer on one mix.
type claimant struct {
	*Mix
	prober *prober
	opts   Options
}

// describeUnits describes a number of units: "6 more of shop/deployment/web".
func (c *claimant) describeUnits(n int) string {
	if len(c.Workloads) > 1 || c.Workloads[0].Proportion > 1 {
		return fmt.Sprintf("%s more of %s", words.Count(n, "unit"), c.Name)
	}
	return fmt.Sprintf("%d more of %s", n, c.Workloads[0].Qualified())
}

// steps returns the steps that add that many units. every returns the expectation of each of these steps, and last, if set, replaces the
// one of the last step.
func (c *claimant) steps(n int, every func(share Share) *scenario.Expect, last *scenario.Expect) []scenario.Step {
	var all []scenario.Step
	for _, step := range c.prober.scenario.Steps[len(c.prober.base.Scenario.Steps)-1:] { // steps that delete the autoscalers
		all = append(all, step.Step)
	}
	for i, share := range c.prober.mix {
		step := c.prober.scaleStep(i, n)
		if every != nil {
			step.Expect = every(share)
		}
		all = append(all, step)
	}
	if last != nil {
		all[len(all)-1].Expect = last
	}
	return all
}

// fittingSteps returns the steps that add that many units and expect that all pods have nodes.
func (c *claimant) fittingSteps(n int) []scenario.Step {
	return c.steps(n, func(share Share) *scenario.Expect {
		return &scenario.Expect{NewlyPending: &scenario.NewlyPending{}, Workloads: []scenario.WorkloadPods{
			{Workload: claim.WorkloadName(share.Ref), AtLeast: ptr.To(share.Now + n*share.Proportion)},
		}}
	}, nil)
}

// fitClaims returns the claims about the cluster without a failure.
func (c *claimant) fitClaims() []claim.Claim {
	var claims []claim.Claim
	if !c.Fit.Short {
		claims = append(claims, claim.Claim{Says: c.describeUnits(c.Fit.More) + " fit", Steps: c.fittingSteps(c.Fit.More)})
	}
	n := c.Fit.nextCount()
	if next := c.expectRefusal(n); next != nil && !c.Fit.Capped {
		says := c.describeUnits(n) + " do not fit"
		if c.Fit.Short {
			says = fmt.Sprintf("not all pods of %s have a node", c.Name)
		}
		claims = append(claims, claim.Claim{Says: says, Steps: c.steps(n, nil, next)})
	}
	return claims
}

// nextCount returns the smallest count that does not fit.
func (l *Limit) nextCount() int {
	if l.Short {
		return 0
	}
	return l.More + 1
}

// expectRefusal returns the expectation that the next unit does not fit: pods of the mix have no node, or other pods are newly Pending. It
// returns nil if the answer does not say which: then a pod is preempted that nothing replaces.
func (c *claimant) expectRefusal(n int) *scenario.Expect {
	if c.Fit.Missing != nil {
		expect := &scenario.Expect{}
		for i, share := range c.prober.mix {
			if missing := c.Fit.Missing[i]; missing > 0 {
				expect.Workloads = append(expect.Workloads, scenario.WorkloadPods{Workload: claim.WorkloadName(share.Ref), AtMost: ptr.To(share.Now + n*share.Proportion - 1)})
			}
		}
		if len(expect.Workloads) > 0 {
			return expect
		}
	}
	if c.Fit.Newly {
		return &scenario.Expect{NewlyPending: &scenario.NewlyPending{AtLeast: ptr.To(1)}}
	}
	return nil
}

// surviveClaims returns the claims about the loss of each domain of a level: after it, no pod is newly Pending. With the next unit, a pod is
// newly Pending after the loss of the domain that sets the limit. Without such a domain, the next unit does not fit even without a failure,
// which [claimant.fitClaims] claims.
func (c *claimant) surviveClaims(limit *Limit, lost []blast.Failure) []claim.Claim {
	var claims []claim.Claim
	fail := func(f *blast.Failure, expect *scenario.NewlyPending) scenario.Step {
		return scenario.Step{Name: "loss of " + f.Domains[0], Fail: &scenario.Fail{Nodes: scenario.Nodes{Names: f.Nodes}, Mode: string(c.opts.Mode)},
			Expect: &scenario.Expect{NewlyPending: expect}}
	}
	for i := range lost {
		f := &lost[i]
		where := fmt.Sprintf("the loss of %s %s", topology.ShortKey(limit.Level), f.Domains[0])
		if !limit.Short {
			steps := append(c.fittingSteps(limit.More), fail(f, &scenario.NewlyPending{}))
			claims = append(claims, claim.Claim{Says: fmt.Sprintf("with %s no pod is newly Pending after %s", c.describeUnits(limit.More), where), Steps: steps})
		}
		if !limit.Capped && limit.Newly && slices.Equal(f.Domains, []string{limit.Domain}) {
			steps := append(c.steps(limit.nextCount(), nil, nil), fail(f, &scenario.NewlyPending{AtLeast: ptr.To(1)}))
			claims = append(claims, claim.Claim{Says: fmt.Sprintf("with %s a pod is newly Pending after %s", c.describeUnits(limit.nextCount()), where), Steps: steps})
		}
	}
	return claims
}
