package verify

import (
	"slices"
)

// weigh finds out whether an explained placement rests on assumptions, or on nodes that were not usable. bound are the pods that came
// before it.
func (r *replay) weigh(taken taken, bound []*life) error {
	p, l := taken.placement, taken.life
	if p == nil || p.Divergence != nil {
		return nil
	}
	look := func(nodes nodesBy, bound []*life) (*look, error) {
		state, err := r.cluster(when{taken.moment.by(nodes), taken.ends}, bound, l.pod)
		if err != nil {
			return nil, err
		}
		return r.look(state, l.pod)
	}
	now, _ := r.nodesAt(taken.moment)
	known := bound
	if len(r.unknown) > 0 {
		known = slices.DeleteFunc(slices.Clone(bound), func(other *life) bool { return r.unknown[other] != nil && other.ends >= taken.ends })
	}
	if proved, _ := r.nodesAt(taken.moment.by(proven)); proved != now || len(known) < len(bound) {
		seen, err := look(proven, known)
		if err != nil {
			return err
		}
		p.Assumes, p.Only = !seen.has(l.node), p.Only && seen.feasible() == 1
	}
	if dumped, _ := r.nodesAt(taken.moment.by(undisturbed)); dumped != now && !p.Assumes && !p.Only {
		seen, err := look(undisturbed, bound)
		if err != nil {
			return err
		}
		p.NotUsable = !seen.has(l.node)
	}
	p.Assumes = p.Assumes || r.assumesVolumes(l.pod)
	return nil
}
