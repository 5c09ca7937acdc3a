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

// recoverIn returns a recoverer that examines one failure after another in the world.
func recoverIn(w world.World) recoverer {
	return func(ctx context.Context, state *cluster.State, analysis *blast.Analysis, opts blast.Options) error {
		return blast.RecoverIn(ctx, w, state, analysis, opts)
	}
}

// recoverAmong returns a recoverer that examines several failures at the same time.
func recoverAmong(worlds *simulation.Worlds) recoverer {
	return func(ctx context.Context, state *cluster.State, analysis *blast.Analysis, opts blast.Options) error {
		return blast.RecoverInWorlds(ctx, worlds, state, analysis, opts, nil)
	}
}

// losses are the failures of the domains of a level, one at a time.
type losses struct {
	level string
	mode  node.FailureMode
	recoverer
	// firstDomain is the domain that fails first, if set. Unless [losses.exhaustive] is set, the first failure that is too much ends the examination:
	// a failure that strands pods which [losses.excused], if set, does not excuse.
	firstDomain string
	exhaustive  bool
	excused     func(domain string, r *blast.Recovery) bool
}

// judge checks whether every pod that a failure after the step takes comes back, whichever domain of the level fails. A pod that nothing
// replaces needs no room: it is counted in unreplaced. A pod of a DaemonSet belongs to its node.
func (l losses) judge(ctx context.Context, after *simulation.Step) (*verdict, error) {
	failures, err := l.examine(ctx, after)
	if err != nil {
		return nil, err
	}
	v := &verdict{fits: true, unreplaced: maxUnreplaced(failures), partial: !l.exhaustive}
	for _, failure := range failures {
		if stranded := failure.Recovery.Pending; len(stranded) > v.stranded {
			v.fits, v.stranded, v.domain, v.failedNodes, v.firstPending = false, len(stranded), failure.Domains[0], len(failure.Nodes), &stranded[0]
		}
	}
	v.newlyPending = v.firstPending != nil && v.firstPending.Pod.Spec.NodeName == "" // otherwise the pod waits for its volume
	v.partial = v.partial && !v.fits
	return v, nil
}

// examine returns the failures that were examined, each with its recovery.
func (l losses) examine(ctx context.Context, after *simulation.Step) ([]blast.Failure, error) {
	looked := blast.Options{Levels: []string{l.level}, Simultaneous: 1, Mode: l.mode, From: after.Mark()}
	analysis, err := blast.Lost(after.State, looked)
	if err != nil {
		return nil, err
	}
	failures := analysis.Levels[0].Failures
	slices.SortStableFunc(failures, func(a, b blast.Failure) int { return cmp.Compare(l.rank(a), l.rank(b)) })
	looked.Until = func(f *blast.Failure, r *blast.Recovery) bool {
		return !l.exhaustive && len(r.Pending) > 0 && (l.excused == nil || !l.excused(f.Domains[0], r))
	}
	if err := l.recoverer(ctx, after.State, analysis, looked); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(failures, func(f blast.Failure) bool { return f.Recovery == nil }), nil
}

func (l losses) rank(f blast.Failure) int {
	if f.Domains[0] == l.firstDomain {
		return 0
	}
	return 1
}

// losses returns the failures that a count has to survive. With whole, all are examined, to find the worst.
func (p *prober) losses(level string, whole bool) losses {
	l := losses{level: level, mode: p.opts.Mode, recoverer: recoverIn(p.world), exhaustive: whole}
	if p.recoveryWorlds != nil {
		l.recoverer = recoverAmong(p.recoveryWorlds)
	}
	if !whole {
		l.firstDomain = p.weakDomain
	}
	return l
}

// maxUnreplaced returns the largest number of pods that nothing replaces in one failure. Pods that belong to their node, such as a
// DaemonSet's, do not count.
func maxUnreplaced(failures []blast.Failure) int {
	most := 0
	for _, failure := range failures {
		most = max(most, failure.Recovery.CountNotReplaced())
	}
	return most
}
