package capacity

import (
	"context"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/world"
)

// atOnce is how many workloads are tried together.
const atOnce = 10

// together returns the mixes, by their places, in groups that are tried together: where enough more of all of them survive at the same time,
// enough more of each do. That spares most of the tries, each of which lets all domains fail. In a group are single workloads of which
// enough more fit, as long as there seems to be room for all; each of the others is alone.
func (f *finder) together() [][]int {
	var groups [][]int
	// Workloads with a hard rule among pods reach their limits earlier, and would fail the others.
	type kind struct {
		enough int
		ruled  bool
	}
	open := map[kind]int{} // the last of groups, if more may join it
	for i, p := range f.probers {
		of := kind{p.enough, p.ruled()}
		at, found := open[of]
		switch {
		case !f.answers[i].Fit.Capped || !p.joins():
			groups = append(groups, []int{i})
		case found && len(groups[at]) < atOnce && f.room(append(slices.Clone(groups[at]), i)):
			groups[at] = append(groups[at], i)
		default:
			open[of] = len(groups)
			groups = append(groups, []int{i})
		}
	}
	return groups
}

// joins reports whether the mix is a workload that may be tried with others. Where pods keep their names, what is lost is not always replaced,
// and would be counted for the others.
func (p *prober) joins() bool {
	return p.size() == 1 && p.zero != nil && p.mix[0].Kind != "StatefulSet" && !slices.ContainsFunc(p.state.UnknownOwners, func(o *cluster.UnknownOwner) bool {
		return len(o.Spec.Named) > 0 && cluster.RefTo(o) == p.mix[0].Ref
	})
}

// ruled reports whether the first workload has a hard rule on which pods are near it.
func (p *prober) ruled() bool {
	for _, obj := range p.state.Objects() {
		if cluster.RefTo(obj) == p.mix[0].Ref {
			return slices.ContainsFunc(rule.Of(&p.state.PodOf(obj).Spec), func(r rule.Rule) bool {
				return r.Hard && slices.Contains([]rule.Kind{rule.AntiAffinity, rule.Affinity, rule.Spread}, r.Kind)
			})
		}
	}
	return false
}

// room reports whether the resources seem to do for enough more of all the mixes at once.
func (f *finder) room(group []int) bool {
	all := f.all(group)
	for _, level := range f.opts.Survive {
		if all.surviving(all.ceiling(), level) < f.probers[group[0]].enough {
			return false
		}
	}
	return true
}

// all tries the workloads of a group at once.
func (f *finder) all(group []int) *prober {
	var mix []Share
	for _, i := range group {
		mix = append(mix, f.probers[i].mix[0])
	}
	all := newProber(f.base, mix, f.opts)
	all.tell, all.zero = f.tell, f.probers[group[0]].zero
	return all
}

// survive finds how many units of each mix of a group survive the failures of each level: of all of them at once if enough do, and else of
// the halves of the group.
func (f *finder) survive(ctx context.Context, w world.World, group []int) error {
	first := f.probers[group[0]]
	if len(group) == 1 {
		first.world = w
		defer first.leave()
		limits, err := first.survive(ctx, &f.answers[group[0]].Fit, f.opts.Survive)
		if err != nil {
			return first.wrapped(err)
		}
		f.answers[group[0]].Survive = limits
		f.done(1)
		return nil
	}
	all := f.all(group)
	all.world = w
	var limits []Limit
	for _, level := range f.opts.Survive {
		if all.most() < first.enough {
			break
		}
		v, err := all.alone(ctx, first.enough, level)
		if err != nil {
			return all.wrapped(err)
		}
		if !v.fits || v.unreplaced != all.zero[level].unreplaced {
			break
		}
		limits = append(limits, Limit{Level: level, More: first.enough, Capped: true, Unreplaced: v.unreplaced, Probes: 1})
	}
	if len(limits) < len(f.opts.Survive) {
		half := len(group) / 2
		if err := f.survive(ctx, w, group[:half]); err != nil {
			return err
		}
		return f.survive(ctx, w, group[half:])
	}
	for _, i := range group {
		f.answers[i].Survive = limits
	}
	f.done(len(group))
	return nil
}
