package verify

import (
	"slices"
)

// findAssumptions finds out whether an explained placement rests on assumptions, or on nodes that were not usable. bound are the pods that came
// before it.
func (r *replay) findAssumptions(taken orderedPod, bound []*podLife) error {
	p, l := taken.placement, taken.life
	if p == nil || p.Divergence != nil {
		return nil
	}
	look := func(nodes nodeKnowledge, bound []*podLife) (*ranking, error) {
		state, err := r.clusterAt(clusterMoment{taken.moment.withNodes(nodes), taken.endCount}, bound, l.pod)
		if err != nil {
			return nil, err
		}
		return r.rankNodes(state, l.pod)
	}
	now, _ := r.nodesAt(taken.moment)
	known := bound
	if len(r.unknownByLife) > 0 {
		known = slices.DeleteFunc(slices.Clone(bound), func(other *podLife) bool {
			return r.unknownByLife[other] != nil && other.endsUntilGone >= taken.endCount
		})
	}
	if proved, _ := r.nodesAt(taken.moment.withNodes(nodesProven)); proved != now || len(known) < len(bound) {
		seen, err := look(nodesProven, known)
		if err != nil {
			return err
		}
		p.Assumes, p.Only = !seen.isBest(l.node), p.Only && seen.countFeasible() == 1
	}
	if dumped, _ := r.nodesAt(taken.moment.withNodes(nodesAsDumped)); dumped != now && !p.Assumes && !p.Only {
		seen, err := look(nodesAsDumped, bound)
		if err != nil {
			return err
		}
		p.NotUsable = !seen.isBest(l.node)
	}
	p.Assumes = p.Assumes || r.assumesVolumes(l.pod)
	return nil
}
