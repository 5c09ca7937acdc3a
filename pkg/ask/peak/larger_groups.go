package peak

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// enlargeGroups replaces the nodes of the autoscaler's groups that would grow beyond their maxima by half as many of twice the size, as a new
// type of the group does. The autoscaler then adds nodes of that size. A group with a pod that nothing replaces stays.
func (f *finder) enlargeGroups(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	r := &Remedy{Kind: "larger"}
	bare := f.nodesOfBarePods()
	groups := f.base.Scenario.Autoscaler.NodeGroups
	var steps []scenario.LoadedStep
	var names []string
	var enlarged []int
	for i := range groups {
		g, has := &groups[i], &answer.Groups[i]
		nodes := list.Where(f.before.state.Nodes, func(n *v1.Node) bool { return g.Has(n) && cluster.KubeletResponds(n) })
		if has.Needed <= max(has.Peak, has.AfterLoss) || len(nodes) == 0 || slices.ContainsFunc(nodes, func(n *v1.Node) bool { return bare[n.Name] }) {
			continue
		}
		larger := newReplacement(g.Name, "", nodes)
		r.Replace, steps = append(r.Replace, larger), append(steps, larger.step(g.Name, 0))
		names, enlarged = append(names, g.Name), append(enlarged, i)
	}
	if len(steps) == 0 {
		return nil, nil
	}
	r.What = "nodes of twice the size in " + words.And(names)
	top, err := f.runSteps(ctx, steps)
	if err != nil {
		return nil, err
	}
	helps, losses, err := f.judge(ctx, r, answer, top, domains)
	if err != nil || !helps {
		return nil, err
	}
	price := newSum()
	for _, i := range enlarged {
		size := countSize(top.state, &groups[i])
		for j := range losses {
			size = max(size, countSize(losses[j].state, &groups[i]))
		}
		like := f.nodeOf(&groups[i])
		price.add(f.priceOf(like), size-max(answer.Groups[i].Peak, answer.Groups[i].AfterLoss), like)
	}
	r.Price, r.cores = price.prices, price.cores
	plain := list.Map(steps, func(s scenario.LoadedStep) scenario.Step { return s.Step })
	answer.claims = append(answer.claims, f.claimRemedy(r, plain, answer.Share, top, worstOf(losses))...)
	return r, nil
}

// countSize returns the number of nodes of the group, of which the larger ones count twice.
func countSize(state *cluster.State, group *scenario.AutoscaledGroup) int {
	size := 0
	for _, n := range state.Nodes {
		if group.Has(n) {
			size++
			if n.Labels[v1.LabelInstanceTypeStable] == largerType {
				size++
			}
		}
	}
	return size
}
