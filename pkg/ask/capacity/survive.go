package capacity

import (
	"cmp"
	"context"
	"slices"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// recoverer runs a world in which controllers and the scheduler replace the pods that each failure of the analysis takes.
type recoverer func(ctx context.Context, state *cluster.State, analysis *blast.Analysis, opts blast.Options) error

// in returns a recoverer that examines one failure after another in the world.
func in(w world.World) recoverer {
	return func(ctx context.Context, state *cluster.State, analysis *blast.Analysis, opts blast.Options) error {
		return blast.RecoverIn(ctx, w, state, analysis, opts)
	}
}

// among returns a recoverer that examines several failures at the same time.
func among(worlds *simulation.Worlds) recoverer {
	return func(ctx context.Context, state *cluster.State, analysis *blast.Analysis, opts blast.Options) error {
		return blast.RecoverAmong(ctx, worlds, state, analysis, opts, nil)
	}
}

// losses are the failures of the domains of a level, one at a time.
type losses struct {
	level string
	mode  node.FailureMode
	recoverer
	// first is the domain that fails first, if set. Unless [losses.whole] is set, the first failure that is too much ends the examination:
	// a failure that strands pods which [losses.excused], if set, does not excuse.
	first   string
	whole   bool
	excused func(domain string, r *blast.Recovery) bool
}

// survives checks whether every pod that a failure after the step takes comes back, whichever domain of the level fails. A pod that nothing
// replaces needs no room: it is counted in unreplaced. A pod of a DaemonSet belongs to its node.
func (l losses) survives(ctx context.Context, after *simulation.Step) (*verdict, error) {
	failures, err := l.of(ctx, after)
	if err != nil {
		return nil, err
	}
	v := &verdict{fits: true, unreplaced: unreplaced(failures), part: !l.whole}
	for _, failure := range failures {
		if stranded := failure.Recovery.Pending; len(stranded) > v.stranded {
			v.fits, v.stranded, v.domain, v.lost, v.refused = false, len(stranded), failure.Domains[0], len(failure.Nodes), &stranded[0]
		}
	}
	v.newly = v.refused != nil && v.refused.Pod.Spec.NodeName == "" // otherwise the pod waits for its volume
	v.part = v.part && !v.fits
	return v, nil
}

// of returns the failures that were examined, each with its recovery.
func (l losses) of(ctx context.Context, after *simulation.Step) ([]blast.Failure, error) {
	looked := blast.Options{Levels: []string{l.level}, Simultaneous: 1, Mode: l.mode, From: after.Mark()}
	analysis, err := blast.Lost(after.State, looked)
	if err != nil {
		return nil, err
	}
	failures := analysis.Levels[0].Failures
	slices.SortStableFunc(failures, func(a, b blast.Failure) int { return cmp.Compare(l.rank(a), l.rank(b)) })
	looked.Until = func(f *blast.Failure, r *blast.Recovery) bool {
		return !l.whole && len(r.Pending) > 0 && (l.excused == nil || !l.excused(f.Domains[0], r))
	}
	if err := l.recoverer(ctx, after.State, analysis, looked); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(failures, func(f blast.Failure) bool { return f.Recovery == nil }), nil
}

func (l losses) rank(f blast.Failure) int {
	if f.Domains[0] == l.first {
		return 0
	}
	return 1
}

// losses returns the failures that a count has to survive. With whole, all are examined, to find the worst.
func (p *prober) losses(level string, whole bool) losses {
	l := losses{level: level, mode: p.opts.Mode, recoverer: in(p.world), whole: whole}
	if p.among != nil {
		l.recoverer = among(p.among)
	}
	if !whole {
		l.first = p.weak
	}
	return l
}

// unreplaced returns the largest number of pods that nothing replaces in one failure. Pods that belong to their node, such as a
// DaemonSet's, do not count.
func unreplaced(failures []blast.Failure) int {
	most := 0
	for _, failure := range failures {
		most = max(most, failure.Recovery.Unreplaced())
	}
	return most
}
