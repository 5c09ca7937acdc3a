package capacity

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// Claims returns what the answer says about the clusters that it found, in a form that a run can check. On each, every pod that is not set
// aside has a node, and has one again after the loss of each domain to survive. On each cluster with one node fewer, some pods have none.
// The claims hold for the returned scenario, in which nothing adds nodes. The error says why they could not be made.
func (s *Sizing) Claims() (*scenario.Scenario, []claim.Claim, error) {
	return s.scenario, s.claims, s.claimErr
}

// addClaims collects the claims of the answer.
func (z *sizer) addClaims(found []int) {
	z.sizing.claimErr = z.claimSufficient(z.sizing.Nodes, z.counts(found))
	if z.sizing.claimErr == nil && z.sizing.Uneven != nil {
		z.sizing.claimErr = z.claimSufficient(z.sizing.Uneven.Nodes, z.unevenCounts)
	}
	for i := range z.fewer {
		if z.sizing.claimErr == nil {
			z.sizing.claimErr = z.claimFewer(&z.fewer[i])
		}
	}
}

// claimNodes returns the nodes of a cluster, by group and zone; none for a cluster without nodes, about which a scenario can claim
// nothing.
func (z *sizer) claimNodes(counts [][]int) []scenario.NodesLike {
	return list.Where(z.nodesOf(counts), func(n scenario.NodesLike) bool { return n.Count > 0 })
}

// claimSufficient claims that every pod that is not set aside has a node on the cluster, and has one again after each loss.
func (z *sizer) claimSufficient(nodes int, counts [][]int) error {
	of := z.claimNodes(counts)
	if len(of) == 0 {
		return nil
	}
	says := words.Count(nodes, "node") + " will do"
	z.sizing.claims = append(z.sizing.claims, claim.Claim{Says: says, Nodes: of, Steps: []scenario.Step{{Name: "sized", Expect: z.expectPlaced(failure{})}}})
	for _, level := range z.opts.Survive {
		lost, err := z.lossesOn(of, level)
		if err != nil {
			return err
		}
		for _, f := range lost {
			where := fmt.Sprintf("the loss of %s %s", topology.ShortKey(level), f.Domains[0])
			z.sizing.claims = append(z.sizing.claims, claim.Claim{Says: says + ", also after " + where, Nodes: of,
				Steps: []scenario.Step{z.failStep(&f, z.expectPlaced(failure{level, f.Domains[0]}))}})
		}
	}
	return nil
}

// expectPlaced returns the expectation that no pod is Pending except the pods that are set aside, without a failure or after one.
func (z *sizer) expectPlaced(after failure) *scenario.Expect {
	aside := maps.Clone(z.aside[failure{}])
	if (after != failure{}) {
		for owner, n := range z.aside[after] {
			if aside == nil {
				aside = map[cluster.Ref]int{}
			}
			aside[owner] += n
		}
	}
	if len(aside) == 0 {
		return &scenario.Expect{Pending: ptr.To(0)}
	}
	expect := &scenario.Expect{PendingAtMost: ptr.To(0)}
	for _, n := range aside {
		*expect.PendingAtMost += n
	}
	for _, owner := range slices.SortedFunc(maps.Keys(z.state.PodCounts()), cluster.Ref.Compare) {
		if _, is := aside[owner]; !is {
			expect.Workloads = append(expect.Workloads, scenario.WorkloadPods{Workload: claim.WorkloadName(owner), Pending: ptr.To(0)})
		}
	}
	return expect
}

// fewerTried is a cluster with one node fewer than was found, and what has no node there after the worst failure.
type fewerTried struct {
	Fewer
	counts [][]int
	lacks  []lack
}

// claimFewer claims that on the cluster with one node fewer these pods have no node.
func (z *sizer) claimFewer(f *fewerTried) error {
	of := z.claimNodes(f.counts)
	if len(of) == 0 {
		return nil
	}
	c := claim.Claim{Says: fmt.Sprintf("one %s fewer will not do", f.Group), Nodes: of, Steps: []scenario.Step{{Name: "sized", Expect: z.expectLacking(f)}}}
	if f.Zone != "" {
		c.Says = fmt.Sprintf("one %s fewer in zone %s will not do", f.Group, f.Zone)
	}
	if f.Level != "" {
		lost, err := z.lossesOn(of, f.Level)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(lost, func(of blast.Failure) bool { return of.Domains[0] == f.Domain })
		c.Steps = []scenario.Step{z.failStep(&lost[at], z.expectLacking(f))}
		c.Says += fmt.Sprintf(" after the loss of %s %s", topology.ShortKey(f.Level), f.Domain)
	}
	z.sizing.claims = append(z.sizing.claims, c)
	return nil
}

// expectLacking returns the expectation that as many pods of each workload are Pending as lack a node. If pods were set aside, some of these may
// have been Pending before the failure; then it expects only that a pod is newly Pending.
func (z *sizer) expectLacking(f *fewerTried) *scenario.Expect {
	expect := &scenario.Expect{}
	for _, l := range f.lacks {
		if l.level == f.Level && l.domain == f.Domain && (f.Level == "" || z.aside[failure{}][l.owner] == 0) {
			expect.Workloads = append(expect.Workloads, scenario.WorkloadPods{Workload: claim.WorkloadName(l.owner), Pending: ptr.To(l.pods)})
		}
	}
	if len(expect.Workloads) == 0 {
		expect.NewlyPending = &scenario.NewlyPending{AtLeast: ptr.To(1)}
	}
	return expect
}

// lossesOn returns the failure of each domain of the level among the nodes.
func (z *sizer) lossesOn(nodes []scenario.NodesLike, level string) ([]blast.Failure, error) {
	state := &cluster.State{}
	for _, of := range nodes {
		state = state.With(list.Where(z.nodeMaker.Make(of), func(obj cluster.Object) bool { _, is := obj.(*v1.Node); return is })...)
	}
	if domains, _ := topology.Domains(state.Nodes, level); len(domains) == 0 {
		return nil, nil // these groups are not in the level
	}
	analysis, err := blast.Lost(state, blast.Options{Levels: []string{level}, Simultaneous: 1, Mode: z.opts.Mode})
	if err != nil {
		return nil, err
	}
	return analysis.Levels[0].Failures, nil
}

// failStep returns the step in which the nodes of the domain fail.
func (z *sizer) failStep(f *blast.Failure, expect *scenario.Expect) scenario.Step {
	return scenario.Step{Name: "loss of " + f.Domains[0], Fail: &scenario.Fail{Nodes: scenario.Nodes{Names: f.Nodes}, Mode: string(z.opts.Mode)}, Expect: expect}
}
