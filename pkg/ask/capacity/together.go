package capacity

import (
	"context"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/world"
)

// atOnce is the largest number of workloads that are tried together.
const atOnce = 10

// together returns the indexes of the mixes in groups that are tried together. If all workloads of a group can grow to the bound of the
// search at the same time and survive the failures, each of them can alone. That spares most tries, each of which loses every domain once.
// A group has single workloads that reach the bound without a failure, as long as there seems to be room for all of them at the bound;
// every other mix is a group of its own.
func (f *finder) together() [][]int {
	var groups [][]int
	// Workloads with a hard rule between pods reach their limit earlier, and would make the try of the whole group fail.
	type kind struct {
		enough int
		ruled  bool
	}
	open := map[kind]int{} // by kind: the group that further workloads may join
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

// joins reports whether the mix is a single workload that may be tried with others. Pods that keep their names, as a StatefulSet's do, are
// not always replaced, and the verdict would count them for the others.
func (p *prober) joins() bool {
	return p.size() == 1 && p.zero != nil && p.mix[0].Kind != "StatefulSet" && !slices.ContainsFunc(p.state.UnknownOwners, func(o *cluster.UnknownOwner) bool {
		return len(o.Spec.Named) > 0 && cluster.RefTo(o) == p.mix[0].Ref
	})
}

// ruled reports whether the first workload of the mix has a hard rule about the pods near it.
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

// room reports whether there seem to be enough resources for all mixes of the group at the bound of the search at once.
func (f *finder) room(group []int) bool {
	all := f.all(group)
	for _, level := range f.opts.Survive {
		if all.surviving(all.ceiling(), level) < f.probers[group[0]].enough {
			return false
		}
	}
	return true
}

// all returns a prober for the workloads of a group at once.
func (f *finder) all(group []int) *prober {
	var mix []Share
	for _, i := range group {
		mix = append(mix, f.probers[i].mix[0])
	}
	all := newProber(f.base, mix, f.opts)
	all.tell, all.zero = f.tell, f.probers[group[0]].zero
	return all
}

// survive finds how many units of each mix of a group survive the failures of each level. It first tries all mixes at once; if they do not
// fit, it tries each half of the group.
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
