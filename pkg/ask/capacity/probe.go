package capacity

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// prober tries how many units of a mix fit.
type prober struct {
	world *simulation.World
	base  *simulation.Result
	opts  Options
	mix   []Share
	name  string
	now   []int32 // present replicas of each workload of the mix

	scenario *scenario.Scenario // the base, without the autoscalers of the mix
	state    *cluster.State
	pending  map[types.UID]bool // pods without a node at the start
	tried    int
	enough   int // units that are looked for at most; 0 is as many as there are
	budget   int // pods that are placed to check whether fewer always fit

	// full is the run of the largest count known to fit, of fits units. Larger ones continue from it, as if the workloads were scaled
	// twice, so that no pod is placed again.
	full *simulation.Result
	fits int
}

func newProber(world *simulation.World, base *simulation.Result, mix []Share, opts Options) *prober {
	p := &prober{world: world, base: base, opts: opts, mix: mix, name: Name(mix), state: lastState(base), pending: map[types.UID]bool{}}
	for _, share := range mix {
		p.now = append(p.now, replicas(p.state, share.Workload))
	}
	for _, pod := range p.state.Unscheduled() {
		p.pending[pod.UID] = true
	}
	s := *base.Scenario
	s.Steps = s.Steps[:len(s.Steps)-1] // the last step does nothing
	p.scenario = &s
	for _, share := range mix {
		for _, hpa := range p.state.HorizontalPodAutoscalers {
			if ref := hpa.Spec.ScaleTargetRef; share.Workload == (cluster.Ref{Kind: ref.Kind, Namespace: hpa.Namespace, Name: ref.Name}) {
				p.scenario = p.scenario.Then(scenario.Step{Name: "without-autoscaler",
					Delete: &scenario.Delete{Targets: []string{"hpa/" + hpa.Name}, Namespace: hpa.Namespace}})
			}
		}
	}
	return p
}

// replicas returns the number of replicas of the workload.
func replicas(state *cluster.State, owner cluster.Ref) int32 {
	for _, obj := range state.Objects() {
		if cluster.RefTo(obj) == owner {
			n, _ := cluster.Replicas(obj)
			return n
		}
	}
	return 0
}

// scale returns the step that gives a workload of the mix the replicas of that many further units.
func (p *prober) scale(i, units int) scenario.Step {
	share := p.mix[i]
	return scenario.Step{Name: fmt.Sprintf("%d-more-%s", units, share.Workload.Name), Scale: &scenario.Scale{
		Target:   scenario.Target{Target: share.Workload.String(), Namespace: share.Workload.Namespace},
		Replicas: p.now[i] + int32(units*share.Proportion),
	}}
}

// scaled returns the scenario with that many further units at its end.
func (p *prober) scaled(s *scenario.Scenario, units int) *scenario.Scenario {
	for i := range p.mix {
		s = s.Then(p.scale(i, units))
	}
	return s
}

func (p *prober) run(ctx context.Context, s *scenario.Scenario, prefix *simulation.Result, record func(string, cluster.Ref, *v1.Pod) *placement.Depth) (*simulation.Result, error) {
	defer func() { p.world.Record = nil }()
	return p.world.Run(ctx, s, simulation.Options{Prefix: prefix, Record: record})
}

// verdict says whether that many units fit and, if not, by how many they are too many and what went wrong.
type verdict struct {
	units, excess int
	fits          bool
	domain        string
	stranded      int
	lost          int // nodes, with the domain
	refused       *placement.Pending
	words         string
	unreplaced    int
}

// grow is like alone, but continues from the largest count that fits.
func (p *prober) grow(ctx context.Context, units int, level string) (*verdict, error) {
	s, known := p.scenario, p.base
	if p.full != nil && p.fits < units {
		s, known = p.full.Scenario, p.full
	}
	v, result, err := p.try(ctx, p.scaled(s, units), known, units, level)
	if err == nil && v.fits && (p.full == nil || units > p.fits) {
		p.full, p.fits = result, units
	}
	return v, err
}

// alone reports whether that many further units fit, and come back whichever domain of the level fails; "" means that none fails.
func (p *prober) alone(ctx context.Context, units int, level string) (*verdict, error) {
	v, _, err := p.try(ctx, p.scaled(p.scenario, units), p.base, units, level)
	return v, err
}

func (p *prober) try(ctx context.Context, s *scenario.Scenario, known *simulation.Result, units int, level string) (*verdict, *simulation.Result, error) {
	p.tried++
	if p.opts.Progress != nil {
		p.opts.Progress(p.name, p.tried, -1)
	}
	result, err := p.run(ctx, s, known, nil)
	if err != nil {
		return nil, nil, err
	}
	v := p.judge(result, units)
	if !v.fits || level == "" {
		return v, result, nil
	}
	failed, err := survives(ctx, p.world, lastState(result), level, p.opts)
	if err != nil {
		return nil, nil, err
	}
	failed.units, failed.excess = units, p.units(failed.stranded)
	return failed, result, nil
}

// size returns the number of pods in a unit.
func (p *prober) size() int {
	size := 0
	for _, share := range p.mix {
		size += share.Proportion
	}
	return size
}

// units returns how many units that many pods make, rounded up.
func (p *prober) units(pods int) int { return (pods + p.size() - 1) / p.size() }

// judge checks whether every pod that the workloads ask for has a node, and none lost its own without getting another.
func (p *prober) judge(result *simulation.Result, units int) *verdict {
	last := &result.Steps[len(result.Steps)-1]
	v := &verdict{units: units}
	for i := range last.Pending {
		if pending := &last.Pending[i]; !p.pending[pending.Pod.UID] {
			v.stranded++
			if v.refused == nil {
				v.refused = pending
			}
		}
	}
	bound := map[cluster.Ref]int{}
	owner := last.State.Owners()
	for _, pod := range last.State.Pods {
		if pod.Spec.NodeName != "" && cluster.Active(pod) {
			bound[owner(pod)]++
		}
	}
	missing := 0
	for i, share := range p.mix {
		missing += max(0, int(p.now[i])+units*share.Proportion-bound[share.Workload])
	}
	if missing > 0 && v.refused == nil {
		// They were waiting before, or their controller holds them back until another has a node.
		for i := range last.Pending {
			for _, share := range p.mix {
				if v.refused == nil && owner(last.Pending[i].Pod) == share.Workload {
					v.refused = &last.Pending[i]
				}
			}
		}
		if v.refused == nil {
			v.words = fmt.Sprintf("%d of the pods asked for are not made", missing)
		}
	}
	gone := 0
	for _, step := range result.Steps[min(len(p.base.Steps)-1, len(result.Steps)):] {
		for _, preempted := range step.Preempted {
			if metav1.GetControllerOfNoCopy(preempted.Victim) == nil {
				gone++
				v.words = fmt.Sprintf("pod %s, which nobody replaces, makes room by preemption", preempted.Victim.Name)
			}
		}
	}
	v.stranded = max(v.stranded, missing)
	v.excess = p.units(v.stranded + gone)
	v.fits = v.excess == 0
	return v
}

// survives checks whether every pod that a failure takes comes back, whichever domain of the level fails. A pod that nothing replaces is
// counted but needs no room: it comes back with its node. Pods of DaemonSets live and die with theirs.
func survives(ctx context.Context, world *simulation.World, state *cluster.State, level string, opts Options) (*verdict, error) {
	failures, err := recoveries(ctx, world, state, level, opts)
	if err != nil {
		return nil, err
	}
	v := &verdict{fits: true, unreplaced: unreplaced(failures)}
	for _, failure := range failures {
		if stranded := failure.Recovery.Stranded; len(stranded) > v.stranded {
			v.fits, v.stranded, v.domain, v.lost, v.refused = false, len(stranded), failure.Domains[0], len(failure.Nodes), &stranded[0]
		}
	}
	return v, nil
}

// unreplaced returns the largest number of pods that nothing replaces in one failure, without those that live and die with their node.
func unreplaced(failures []blast.Failure) int {
	most := 0
	for _, failure := range failures {
		n := 0
		for _, pod := range failure.Recovery.NotReplaced {
			if !slices.ContainsFunc(pod.OwnerReferences, followsNodes) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// recoveries are the failures of each domain of the level, and what comes back.
func recoveries(ctx context.Context, world *simulation.World, state *cluster.State, level string, opts Options) ([]blast.Failure, error) {
	looked := blast.Options{Levels: []string{level}, Simultaneous: 1, Mode: opts.Mode}
	analysis, err := blast.Lost(state, looked)
	if err != nil {
		return nil, err
	}
	if err := blast.RecoverIn(ctx, world, state, analysis, looked); err != nil {
		return nil, err
	}
	return analysis.Levels[0].Failures, nil
}
