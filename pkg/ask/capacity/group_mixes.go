package capacity

import (
	"context"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/world"
)

// maxGroupSize is the largest number of workloads that are tried together.
const maxGroupSize = 10

// groupMixes returns the indexes of the mixes in groups that are tried together. If all workloads of a group can grow to their limits without
// a failure at the same time and survive the failures, each of them can alone. That spares most tries, each of which loses every domain once.
// A group has single workloads that all reach the bound of the search without a failure, or all do not, as where quotas allow no more, as
// long as there seems to be room for all of them at once; every other mix is a group of its own.
func (f *finder) groupMixes() [][]int {
	var groups [][]int
	// Workloads with a hard rule between pods reach their limit earlier, and would make the try of the whole group fail.
	type kind struct {
		enough int
		ruled  bool
	}
	open := map[kind]int{} // by kind: the group that further workloads may join
	for i, p := range f.probers {
		fit := &f.answers[i].Fit
		of := kind{p.unitLimit, p.hasPodRule()}
		if !fit.Capped {
			of.enough = 0
		}
		at, found := open[of]
		switch {
		case fit.More == 0 || !p.mayJoinGroup():
			groups = append(groups, []int{i})
		case found && len(groups[at]) < maxGroupSize && f.hasRoom(append(slices.Clone(groups[at]), i)):
			groups[at] = append(groups[at], i)
		default:
			open[of] = len(groups)
			groups = append(groups, []int{i})
		}
	}
	return groups
}

// mayJoinGroup reports whether the mix is a single workload that may be tried with others. Pods that keep their names, as a StatefulSet's do, are
// not always replaced, and the verdict would count them for the others.
func (p *prober) mayJoinGroup() bool {
	return p.podsPerUnit() == 1 && p.presentVerdicts != nil && p.mix[0].Kind != "StatefulSet" && !slices.ContainsFunc(p.state.UnknownOwners, func(o *cluster.UnknownOwner) bool {
		return len(o.Spec.Named) > 0 && cluster.RefTo(o) == p.mix[0].Ref
	})
}

// hasPodRule reports whether the first workload of the mix has a hard rule about the pods near it.
func (p *prober) hasPodRule() bool {
	for _, obj := range p.state.Objects() {
		if cluster.RefTo(obj) == p.mix[0].Ref {
			return slices.ContainsFunc(rule.List(&p.state.PodOf(obj).Spec), func(r rule.Rule) bool {
				return r.Hard && slices.Contains([]rule.Kind{rule.AntiAffinity, rule.Affinity, rule.Spread}, r.Kind)
			})
		}
	}
	return false
}

// hasRoom reports whether there seem to be enough resources for all mixes of the group at their limits at once.
func (f *finder) hasRoom(group []int) bool {
	all, units := f.groupProber(group)
	for _, level := range f.opts.Survive {
		if all.estimateSurviving(all.ceiling(), level) < units {
			return false
		}
	}
	return true
}

// groupProber returns a prober for the workloads of a group at once, and the number of units with which each has as many more replicas as fit
// without a failure.
func (f *finder) groupProber(group []int) (all *prober, units int) {
	var mix []Share
	capped := f.answers[group[0]].Fit.Capped
	for _, i := range group {
		share := f.probers[i].mix[0]
		if !capped {
			share.Proportion = f.answers[i].Fit.More
		}
		mix = append(mix, share)
	}
	if units = 1; capped {
		units = f.probers[group[0]].unitLimit
	}
	all = newProber(f.base, mix, f.opts)
	all.reportTry, all.presentVerdicts = f.reportProgress, f.probers[group[0]].presentVerdicts
	return all, units
}

// surviveGroup finds how many units of each mix of a group survive the failures of each level. It first tries all mixes at once; if they do not
// fit, it tries each half of the group.
func (f *finder) surviveGroup(ctx context.Context, w world.World, group []int) error {
	if len(group) == 1 {
		return f.surviveAlone(ctx, w, group[0])
	}
	all, units := f.groupProber(group)
	all.world = w
	verdicts := map[string]*verdict{}
	for _, level := range f.opts.Survive {
		if all.maxUnits() < units {
			break
		}
		v, err := all.tryAlone(ctx, units, level)
		if err != nil {
			return all.wrapError(err)
		}
		if !v.fits || v.unreplaced != all.presentVerdicts[level].unreplaced {
			break
		}
		verdicts[level] = v
	}
	if len(verdicts) < len(f.opts.Survive) {
		half := len(group) / 2
		if err := f.surviveGroup(ctx, w, group[:half]); err != nil {
			return err
		}
		return f.surviveGroup(ctx, w, group[half:])
	}
	if !f.answers[group[0]].Fit.Capped { // each has its own limit, and a reason why no more fit
		for _, i := range group {
			f.probers[i].fitVerdicts, f.probers[i].fitUnits = verdicts, f.answers[i].Fit.More
			if err := f.surviveAlone(ctx, w, i); err != nil {
				return err
			}
		}
		return nil
	}
	var limits []Limit
	for _, level := range f.opts.Survive {
		limits = append(limits, Limit{Level: level, More: units, Capped: true, Unreplaced: verdicts[level].unreplaced, Probes: 1})
	}
	for _, i := range group {
		f.answers[i].Survive = limits
	}
	f.countAnswered(len(group))
	return nil
}

// surviveAlone finds how many units of the i-th mix survive the failures of each level.
func (f *finder) surviveAlone(ctx context.Context, w world.World, i int) error {
	p := f.probers[i]
	p.world = w
	defer p.releaseWorld()
	limits, err := p.findSurviveLimits(ctx, &f.answers[i].Fit, f.opts.Survive)
	if err != nil {
		return p.wrapError(err)
	}
	f.answers[i].Survive = limits
	f.countAnswered(1)
	return nil
}
