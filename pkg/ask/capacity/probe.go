package capacity

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// prober finds how many units of one mix fit.
type prober struct {
	world world.World
	base  *simulation.Result
	opts  Options
	mix   []Share
	name  string

	scenario *scenario.Scenario // the base, and steps that delete the autoscalers of the mix
	state    *cluster.State
	pending  map[types.UID]bool // the pods without a node in the base
	tried    int
	enough   int  // the largest number of units that the search looks for; 0 means no bound
	hurried  bool // the bound keeps the search short, and nothing is checked
	// from is the run that tries continue: see [prober.baseInParallel].
	from   *simulation.Result
	budget int // pods that checks of smaller counts may place

	// full is the run of the largest count known to fit, and [prober.fits] is that count. Tries of larger counts continue from it, as if
	// somebody scaled the workloads twice, so that no pod is placed again.
	full *simulation.Result
	fits int
	// zero has, by level, the verdict on the cluster without further units, if it is known. [prober.weak] is the domain whose failure was
	// the last to strand pods; the next try loses it first.
	zero map[string]*verdict
	weak string
	// among, if set, are the worlds in which the cluster recovers from several failures at the same time.
	among      *simulation.Worlds
	autoscaled bool // the mix has a HorizontalPodAutoscaler
	tell       func(what string, tried int)
}

// leave releases the world and the run in it.
func (p *prober) leave() { p.world, p.full = nil, nil }

func newProber(base *simulation.Result, mix []Share, opts Options) *prober {
	p := &prober{base: base, from: base, opts: opts, mix: slices.Clone(mix), name: nameOf(mix), state: lastState(base), pending: map[types.UID]bool{}}
	for i := range p.mix {
		p.mix[i].Now = replicas(p.state, p.mix[i].Ref)
	}
	for _, pod := range p.state.Unscheduled() {
		p.pending[pod.UID] = true
	}
	s := *base.Scenario
	s.Steps = s.Steps[:len(s.Steps)-1] // the last step does nothing
	p.scenario = &s
	for i, share := range mix {
		for _, hpa := range p.state.HorizontalPodAutoscalers {
			if ref := hpa.Spec.ScaleTargetRef; share.Ref == (cluster.Ref{Kind: ref.Kind, Namespace: hpa.Namespace, Name: ref.Name}) {
				p.autoscaled, p.mix[i].Most = true, int(hpa.Spec.MaxReplicas)
				p.scenario = p.scenario.Then(scenario.Step{Name: "without-autoscaler",
					Delete: &scenario.Delete{Targets: []string{"hpa/" + hpa.Name}, Namespace: hpa.Namespace}})
			}
		}
	}
	return p
}

// replicas returns the number of replicas that the workload asks for.
func replicas(state *cluster.State, owner cluster.Ref) int {
	obj := cluster.Find(state.Objects(), owner)
	if obj == nil {
		return 0
	}
	n, _ := cluster.Replicas(obj)
	return int(n)
}

// scale returns the step that sets the replicas of the i-th workload of the mix to its present ones and those of that many further units.
func (p *prober) scale(i, units int) scenario.Step {
	share := p.mix[i]
	return scenario.Step{Name: fmt.Sprintf("%d-more-%s", units, share.Name), Scale: &scenario.Scale{
		Target:   scenario.Target{Target: share.String(), Namespace: share.Namespace},
		Replicas: int32(share.Now + units*share.Proportion),
	}}
}

// scaled returns the scenario with steps at its end that add that many units.
func (p *prober) scaled(s *scenario.Scenario, units int) *scenario.Scenario {
	for i := range p.mix {
		s = s.Then(p.scale(i, units))
	}
	return s
}

func (p *prober) run(ctx context.Context, s *scenario.Scenario, prefix *simulation.Result, record func(string, cluster.Ref, *v1.Pod) *placement.Depth) (*simulation.Result, error) {
	return simulation.Run(ctx, s, simulation.Options{World: p.world, Prefix: prefix, Record: record})
}

// verdict says whether a number of units fits and, if not, by how many units it is too large and what went wrong.
type verdict struct {
	units, excess int
	fits          bool
	domain        string
	stranded      int
	lost          int // the number of nodes that fail with the domain
	refused       *placement.Pending
	words         string
	unreplaced    int
	part          bool // only some failures were examined; others might strand more pods
	missing       []int
	newly         bool // a pod is Pending, and no pod of its workload and ordinal was before
}

// grow is like [prober.alone], but continues from the largest count that is known to fit. If last is true, it finds the failure that
// strands the most pods, not just one that strands some.
func (p *prober) grow(ctx context.Context, units int, level string, last bool) (*verdict, error) {
	s, known := p.scenario, p.from
	if p.full != nil && p.fits < units {
		s, known = p.full.Scenario, p.full
	}
	v, result, err := p.try(ctx, p.scaled(s, units), known, units, level, last)
	if err == nil && v.fits && (p.full == nil || units > p.fits) {
		p.full, p.fits = result, units
	}
	return v, err
}

// alone tries that many further units from the base: whether they fit and, unless level is "", come back whichever domain of the level
// fails.
func (p *prober) alone(ctx context.Context, units int, level string) (*verdict, error) {
	v, _, err := p.try(ctx, p.scaled(p.scenario, units), p.from, units, level, false)
	return v, err
}

func (p *prober) try(ctx context.Context, s *scenario.Scenario, known *simulation.Result, units int, level string, whole bool) (*verdict, *simulation.Result, error) {
	p.tried++
	p.tell(p.name, p.tried)
	result, err := p.run(ctx, s, known, nil)
	if err != nil {
		return nil, nil, err
	}
	v := p.judge(result, units)
	if !v.fits || level == "" {
		return v, result, nil
	}
	failed := p.zero[level]
	if failed == nil || units > 0 {
		if failed, err = p.losses(level, whole).survives(ctx, &result.Steps[len(result.Steps)-1]); err != nil {
			return nil, nil, err
		}
	}
	if !failed.fits {
		p.weak = failed.domain
	}
	at := *failed
	at.units, at.excess = units, p.units(failed.stranded)
	at.newly = at.newly && len(p.pending) == 0 // otherwise the pod may have taken the place of one that was Pending before
	return &at, result, nil
}

// size returns the number of pods in a unit.
func (p *prober) size() int {
	size := 0
	for _, share := range p.mix {
		size += share.Proportion
	}
	return size
}

// oneByOne reports whether the mix has a StatefulSet that takes long to make its pods. Each pod waits for the one before, and for each the
// controller looks at all n pods, so the work grows with n².
func (p *prober) oneByOne() bool {
	ceiling := p.ceiling()
	return slices.ContainsFunc(p.state.StatefulSets, func(set *appsv1.StatefulSet) bool {
		i := slices.IndexFunc(p.mix, func(of Share) bool { return of.Ref == cluster.RefTo(set) })
		if i < 0 || set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement {
			return false
		}
		pods := p.mix[i].Now + ceiling*p.mix[i].Proportion
		return pods*pods > largeWork
	})
}

// growing reports whether an autoscaler may add so many nodes that filling them takes long.
func (p *prober) growing() bool {
	const many = 50
	nodes := 0
	if by := p.scenario.Autoscaler; by != nil {
		for i := range by.NodeGroups {
			nodes += by.NodeGroups[i].Max
			for _, node := range p.state.Nodes {
				if by.NodeGroups[i].Has(node) {
					nodes--
				}
			}
		}
	}
	return nodes > many
}

// units returns the number of units that contain that many pods, rounded up.
func (p *prober) units(pods int) int { return (pods + p.size() - 1) / p.size() }

// waitedBefore returns a function that reports whether a Pending pod was Pending in the base. If pods were, pods are compared by workload
// and ordinal, not by UID: if a pod of a Deployment is preempted, and one that was Pending gets its node, the Deployment has lost none.
func (p *prober) waitedBefore(last *simulation.Step) func(*v1.Pod) bool {
	byUID := func(pod *v1.Pod) bool { return p.pending[pod.UID] }
	if len(p.pending) == 0 || !slices.ContainsFunc(last.Pending, func(of placement.Pending) bool { return !byUID(of.Pod) }) {
		return byUID
	}
	newly := cluster.NewlyPending(p.state.Crews(), last.State)
	return func(pod *v1.Pod) bool { return !newly[pod.UID] }
}

// judge returns the verdict: the count fits if every pod that the workloads ask for has a node, and no other pod lost its node without
// getting another.
func (p *prober) judge(result *simulation.Result, units int) *verdict {
	last := &result.Steps[len(result.Steps)-1]
	v := &verdict{units: units}
	old := p.waitedBefore(last)
	for i := range last.Pending {
		if pending := &last.Pending[i]; !old(pending.Pod) {
			v.stranded++
			if v.refused == nil {
				v.refused = pending
			}
		}
	}
	bound := map[cluster.Ref]int{}
	owner := scaledFor(last.State)
	for _, pod := range last.State.Pods {
		if pod.Spec.NodeName != "" && cluster.Active(pod) {
			bound[owner(pod)]++
		}
	}
	missing := 0
	v.newly = v.stranded > 0
	for _, share := range p.mix {
		v.missing = append(v.missing, max(0, share.Now+units*share.Proportion-bound[share.Ref]))
		missing += v.missing[len(v.missing)-1]
	}
	if missing > 0 && v.refused == nil {
		// These pods were Pending before, or their controller holds them back until another has a node.
		for i := range last.Pending {
			for _, share := range p.mix {
				if v.refused == nil && owner(last.Pending[i].Pod) == share.Ref {
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
