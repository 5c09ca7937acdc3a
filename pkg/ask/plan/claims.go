package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Claims returns what the answer says about losses, in a form that a run can check. For each loss that strands pods now: with the plan, as
// many pods of the affected workloads run after it, and as many are Pending, as the plan found. If no loss strands pods: the same for each
// loss and the workloads that it takes pods of. If the answer says that no fewer nodes suffice: with one node fewer of a group in a zone,
// some loss strands pods.
func (a *Answer) Claims() []claim.Claim {
	var claims []claim.Claim
	for _, t := range a.triedLosses {
		c := claim.Claim{Says: fmt.Sprintf("after the plan the loss of %s strands %s", t.domain, words.Count(t.stranded, "pod")), Steps: slices.Clone(a.Steps)}
		if len(a.Losses) == 0 {
			c.Says = fmt.Sprintf("the loss of %s strands nobody", t.domain)
		}
		c.Steps = append(c.Steps, t.step(a.Mode))
		claims = append(claims, c)
	}
	for _, f := range a.fewerNodes {
		c := claim.Claim{Says: fmt.Sprintf("with one %s fewer the loss of %s strands %s", strings.TrimSpace(f.Group+" "+f.Zone), f.domain, words.Count(f.stranded, "pod")), Steps: slices.Clone(f.steps)}
		c.Steps = append(c.Steps, f.tried.step(a.Mode))
		claims = append(claims, c)
	}
	return claims
}

// tried is the result of a loss: its nodes, the number of stranded pods, and how many pods of each workload run or are Pending afterwards.
type tried struct {
	domain    string
	nodes     []string
	stranded  int
	workloads []scenario.WorkloadPods
}

// step returns the step that fails the nodes, and expects this result.
func (t *tried) step(mode node.FailureMode) scenario.Step {
	return scenario.Step{Name: "loss of " + t.domain, Fail: &scenario.Fail{Nodes: scenario.Nodes{Names: t.nodes}, Mode: string(mode)},
		Expect: &scenario.Expect{Workloads: t.workloads}}
}

// fewerNodesPlan is the plan without one node of an addition, and a loss that then strands pods.
type fewerNodesPlan struct {
	Addition
	steps []scenario.Step
	tried
}

// tryFewer tries the plan with one node fewer in each group and zone, and returns, for each of these plans, the first loss that strands
// pods.
func (p *planner) tryFewer(ctx context.Context, answer *Answer) ([]fewerNodesPlan, error) {
	var all []fewerNodesPlan
	for i, a := range answer.Add {
		one := fewerNodesPlan{Addition: a, steps: slices.Clone(answer.Steps)}
		if a.Nodes--; a.Nodes > 0 {
			one.steps[i] = a.Step()
		} else {
			one.steps = slices.Delete(one.steps, i, i+1)
		}
		course, err := p.startCourse()
		if err != nil {
			return nil, err
		}
		for _, step := range one.steps {
			if _, err := course.Do(ctx, step); err != nil {
				return nil, err
			}
		}
		losses, err := p.loseEach(ctx, &course.Result, func(string) bool { return true })
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(losses, func(l loss) bool { return len(l.stranded) > 0 }); at >= 0 {
			l := &losses[at]
			owners := list.KeySet(l.stranded, func(pod strandedPod) cluster.Ref { return pod.owner })
			one.tried = tried{l.domain, slices.Sorted(maps.Keys(l.nodes)), len(l.stranded), claim.WorkloadPods(l.state, owners)}
			all = append(all, one)
		}
	}
	return all, nil
}

// harmlessResults returns the result of each loss, given that none strands a pod. It leaves out losses that take no pods.
func (p *planner) harmlessResults(losses []loss) []tried {
	var all []tried
	owner := p.state.Owners()
	for i := range losses {
		l := &losses[i]
		owners := map[cluster.Ref]bool{}
		for _, pod := range p.state.Pods {
			if of := owner(pod); l.nodes[pod.Spec.NodeName] && cluster.IsActive(pod) && of.Kind != "DaemonSet" {
				owners[of] = true
			}
		}
		if len(owners) > 0 {
			all = append(all, tried{domain: l.domain, nodes: slices.Sorted(maps.Keys(l.nodes)), workloads: claim.WorkloadPods(l.state, owners)})
		}
	}
	return all
}

// resultsOf returns the result of each loss that stranded pods without the plan.
func (a *Answer) resultsOf(losses []loss) []tried {
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
