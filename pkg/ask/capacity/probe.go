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

// prober tries how many units of a mix fit.
type prober struct {
	world world.World
	base  *simulation.Result
	opts  Options
	mix   []Share
	name  string

	scenario *scenario.Scenario // the base, without the autoscalers of the mix
	state    *cluster.State
	pending  map[types.UID]bool // pods without a node at the start
	tried    int
	enough   int  // units that are looked for at most; 0 is as many as there are
	hurried  bool // enough is such that the search does not take long, and nothing is checked
	// from is the base from which counts are tried: see baseInParallel.
	from   *simulation.Result
	budget int // pods that are placed to check whether fewer always fit

	// full is the run of the largest count known to fit, of fits units. Larger ones continue from it, as if the workloads were scaled
	// twice, so that no pod is placed again.
	full *simulation.Result
	fits int
	// zero is what each level leaves without a node as the cluster is, where it is known. weak is the domain whose failure was the last to
	// leave some, which is the first to be tried.
	zero map[string]*verdict
	weak string
	// among, if set, are the worlds in which the cluster recovers from several failures at once.
	among      *simulation.Worlds
	autoscaled bool // the mix has a HorizontalPodAutoscaler
	tell       func(what string, tried int)
}

// leave lets go of the world and of the runs in it.
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

// replicas returns the number of replicas of the workload.
func replicas(state *cluster.State, owner cluster.Ref) int {
	obj := cluster.Find(state.Objects(), owner)
	if obj == nil {
		return 0
	}
	n, _ := cluster.Replicas(obj)
	return int(n)
}

// scale returns the step that gives a workload of the mix the replicas of that many further units.
func (p *prober) scale(i, units int) scenario.Step {
	share := p.mix[i]
	return scenario.Step{Name: fmt.Sprintf("%d-more-%s", units, share.Name), Scale: &scenario.Scale{
		Target:   scenario.Target{Target: share.String(), Namespace: share.Namespace},
		Replicas: int32(share.Now + units*share.Proportion),
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
	return simulation.Run(ctx, s, simulation.Options{World: p.world, Prefix: prefix, Record: record})
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
	part          bool // of a failure; others might leave more pods without a node
	missing       []int
	newly         bool // a pod is Pending, and none was in its place
}

// grow is like alone, but continues from the largest count that fits. If it is the last, it finds the failure that leaves the most pods
// without a node, not just one.
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

// alone reports whether that many further units fit, and come back whichever domain of the level fails; "" means that none fails.
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
	at.newly = at.newly && len(p.pending) == 0 // else it may wait in the place of one that waited
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

// oneByOne reports whether the mix has a StatefulSet of which so many pods fit that it takes long to make them: each waits for the one before
// it, and for each the controller looks at all of them.
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

// growing reports whether an autoscaler may add so many nodes that it takes long until they are full.
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

// units returns how many units that many pods make, rounded up.
func (p *prober) units(pods int) int { return (pods + p.size() - 1) / p.size() }

// waitedBefore returns a function that reports whether a Pending pod waits as one did at the start. Where others waited, pods are compared by
// workload and place: if a pod of a Deployment is preempted, and one that waited gets its place, the Deployment has lost none.
func (p *prober) waitedBefore(last *simulation.Step) func(*v1.Pod) bool {
	byUID := func(pod *v1.Pod) bool { return p.pending[pod.UID] }
	if len(p.pending) == 0 || !slices.ContainsFunc(last.Pending, func(of placement.Pending) bool { return !byUID(of.Pod) }) {
		return byUID
	}
	newly := cluster.NewlyPending(p.state.Crews(), last.State)
	return func(pod *v1.Pod) bool { return !newly[pod.UID] }
}

// judge checks whether every pod that the workloads ask for has a node, and none lost its own without getting another.
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
		// They were waiting before, or their controller holds them back until another has a node.
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
