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

	scenario    *scenario.Scenario // the base, and steps that delete the autoscalers of the mix
	state       *cluster.State
	pending     map[types.UID]bool // the pods without a node in the base
	tries       int
	unitLimit   int  // the largest number of units that the search looks for; 0 means no bound
	skipsChecks bool // the bound keeps the search short, and nothing is checked
	// startRun is the run that tries continue: see [prober.baseInParallel].
	startRun *simulation.Result
	budget   int // pods that checks of smaller counts may place

	// fullRun is the run of the largest count known to fit, and [prober.fullUnits] is that count. Tries of larger counts continue from it, as if
	// somebody scaled the workloads twice, so that no pod is placed again.
	fullRun   *simulation.Result
	fullUnits int
	// presentVerdicts has, by level, the verdict on the cluster without further units, if it is known. [prober.weakDomain] is the domain whose failure was
	// the last to strand pods; the next try loses it first.
	presentVerdicts map[string]*verdict
	weakDomain      string
	// fitVerdicts has, by level, the verdict on fitUnits further units, if it is known from a try together with other mixes.
	fitVerdicts map[string]*verdict
	fitUnits    int
	// recoveryWorlds, if set, are the worlds in which the cluster recovers from several failures at the same time.
	recoveryWorlds *simulation.Worlds
	autoscaled     bool // the mix has a HorizontalPodAutoscaler
	reportTry      func(what string, tried int)
}

// releaseWorld releases the world and the run in it.
func (p *prober) releaseWorld() { p.world, p.fullRun = nil, nil }

func newProber(base *simulation.Result, mix []Share, opts Options) *prober {
	p := &prober{base: base, startRun: base, opts: opts, mix: slices.Clone(mix), name: mixName(mix), state: base.State(), pending: map[types.UID]bool{}}
	for i := range p.mix {
		p.mix[i].Now = countReplicas(p.state, p.mix[i].Ref)
	}
	for _, pod := range p.state.Unscheduled() {
		p.pending[pod.UID] = true
	}
	s := *base.Scenario
	s.Steps = s.Steps[:len(s.Steps)-1] // the last step does nothing
	p.scenario = &s
	for i, share := range mix {
		for _, hpa := range p.state.HorizontalPodAutoscalers {
			if share.Ref == cluster.ScaleTarget(hpa) {
				p.autoscaled, p.mix[i].Most = true, int(hpa.Spec.MaxReplicas)
				p.scenario = p.scenario.AppendStep(scenario.Step{Name: "without-autoscaler",
					Delete: &scenario.Delete{Targets: []string{"hpa/" + hpa.Name}, Namespace: hpa.Namespace}})
			}
		}
	}
	return p
}

// countReplicas returns the number of replicas that the workload asks for.
func countReplicas(state *cluster.State, owner cluster.Ref) int {
	obj := cluster.Find(state.Objects(), owner)
	if obj == nil {
		return 0
	}
	n, _ := cluster.Replicas(obj)
	return int(n)
}

// scaleStep returns the step that sets the replicas of the i-th workload of the mix to its present ones and those of that many further units.
func (p *prober) scaleStep(i, units int) scenario.Step {
	share := p.mix[i]
	return scenario.Step{Name: fmt.Sprintf("%d-more-%s", units, share.Name), Scale: &scenario.Scale{
		Target:   scenario.Target{Target: share.String(), Namespace: share.Namespace},
		Replicas: int32(share.Now + units*share.Proportion),
	}}
}

// withUnits returns the scenario with steps at its end that add that many units.
func (p *prober) withUnits(s *scenario.Scenario, units int) *scenario.Scenario {
	for i := range p.mix {
		s = s.AppendStep(p.scaleStep(i, units))
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
	failedNodes   int // the number of nodes that fail with the domain
	firstPending  *placement.Pending
	why           string
	unreplaced    int
	partial       bool // only some failures were examined; others might strand more pods
	missing       []int
	newlyPending  bool // a pod is Pending, and no pod of its workload and ordinal was before
}

// tryGrowing is like [prober.tryAlone], but continues from the largest count that is known to fit. If last is true, it finds the failure that
// strands the most pods, not just one that strands some.
func (p *prober) tryGrowing(ctx context.Context, units int, level string, last bool) (*verdict, error) {
	s, known := p.scenario, p.startRun
	if p.fullRun != nil && p.fullUnits < units {
		s, known = p.fullRun.Scenario, p.fullRun
	}
	v, result, err := p.tryUnits(ctx, p.withUnits(s, units), known, units, level, last)
	if err == nil && v.fits && (p.fullRun == nil || units > p.fullUnits) {
		p.fullRun, p.fullUnits = result, units
	}
	return v, err
}

// tryAlone tries that many further units from the base: whether they fit and, unless level is "", come back whichever domain of the level
// fails.
func (p *prober) tryAlone(ctx context.Context, units int, level string) (*verdict, error) {
	v, _, err := p.tryUnits(ctx, p.withUnits(p.scenario, units), p.startRun, units, level, false)
	return v, err
}

func (p *prober) tryUnits(ctx context.Context, s *scenario.Scenario, known *simulation.Result, units int, level string, whole bool) (*verdict, *simulation.Result, error) {
	p.tries++
	p.reportTry(p.name, p.tries)
	result, err := p.run(ctx, s, known, nil)
	if err != nil {
		return nil, nil, err
	}
	v := p.judge(result, units)
	if !v.fits || level == "" {
		return v, result, nil
	}
	failed := p.knownLosses(level, units)
	if failed == nil {
		if failed, err = p.losses(level, whole).judge(ctx, result.Last()); err != nil {
			return nil, nil, err
		}
	}
	if !failed.fits {
		p.weakDomain = failed.domain
	}
	at := *failed
	at.units, at.excess = units, p.countUnits(failed.stranded)
	at.newlyPending = at.newlyPending && len(p.pending) == 0 // otherwise the pod may have taken the place of one that was Pending before
	return &at, result, nil
}

// knownLosses returns the verdict on the failures of the level with that many further units, if it is known; otherwise nil.
func (p *prober) knownLosses(level string, units int) *verdict {
	switch units {
	case 0:
		return p.presentVerdicts[level]
	case p.fitUnits:
		return p.fitVerdicts[level]
	}
	return nil
}

// podsPerUnit returns the number of pods in a unit.
func (p *prober) podsPerUnit() int {
	size := 0
	for _, share := range p.mix {
		size += share.Proportion
	}
	return size
}

// hasSlowStatefulSet reports whether the mix has a StatefulSet that takes long to make its pods. Each pod waits for the one before, and for each the
// controller looks at all n pods, so the work grows with n².
func (p *prober) hasSlowStatefulSet() bool {
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

// hasLargeAutoscaler reports whether an autoscaler, or a decider, may add so many nodes that filling them takes long.
func (p *prober) hasLargeAutoscaler() bool {
	if len(p.scenario.Deciders) > 0 {
		return true
	}
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

// countUnits returns the number of units that contain that many pods, rounded up.
func (p *prober) countUnits(pods int) int { return (pods + p.podsPerUnit() - 1) / p.podsPerUnit() }

// waitedBefore returns a function that reports whether a Pending pod was Pending in the base. If pods were, pods are compared by workload
// and ordinal, not by UID: if a pod of a Deployment is preempted, and one that was Pending gets its node, the Deployment has lost none.
func (p *prober) waitedBefore(last *simulation.Step) func(*v1.Pod) bool {
	byUID := func(pod *v1.Pod) bool { return p.pending[pod.UID] }
	if len(p.pending) == 0 || !slices.ContainsFunc(last.Pending, func(of placement.Pending) bool { return !byUID(of.Pod) }) {
		return byUID
	}
	newly := cluster.NewlyPending(p.state.PodsByWorkload(), last.State)
	return func(pod *v1.Pod) bool { return !newly[pod.UID] }
}

// judge returns the verdict: the count fits if every pod that the workloads ask for has a node, and no other pod lost its node without
// getting another.
func (p *prober) judge(result *simulation.Result, units int) *verdict {
	last := result.Last()
	v := &verdict{units: units}
	old := p.waitedBefore(last)
	for i := range last.Pending {
		if pending := &last.Pending[i]; !old(pending.Pod) {
			v.stranded++
			if v.firstPending == nil {
				v.firstPending = pending
			}
		}
	}
	bound := map[cluster.Ref]int{}
	owner := scaledFor(last.State)
	for _, pod := range last.State.Pods {
		if pod.Spec.NodeName != "" && cluster.IsActive(pod) {
			bound[owner(pod)]++
		}
	}
	missing := 0
	v.newlyPending = v.stranded > 0
	for _, share := range p.mix {
		v.missing = append(v.missing, max(0, share.Now+units*share.Proportion-bound[share.Ref]))
		missing += v.missing[len(v.missing)-1]
	}
	if missing > 0 && v.firstPending == nil {
		// These pods were Pending before, or their controller holds them back until another has a node.
		for i := range last.Pending {
			for _, share := range p.mix {
				if v.firstPending == nil && owner(last.Pending[i].Pod) == share.Ref {
					v.firstPending = &last.Pending[i]
				}
			}
		}
		if v.firstPending == nil {
			v.why = fmt.Sprintf("%d of the pods asked for are not made", missing)
		}
	}
	gone := 0
	for _, step := range result.Steps[min(len(p.base.Steps)-1, len(result.Steps)):] {
		for _, preempted := range step.Preempted {
			if metav1.GetControllerOfNoCopy(preempted.Victim) == nil {
				gone++
				v.why = fmt.Sprintf("pod %s, which nobody replaces, makes room by preemption", preempted.Victim.Name)
			}
		}
	}
	v.stranded = max(v.stranded, missing)
	v.excess = p.countUnits(v.stranded + gone)
	v.fits = v.excess == 0
	return v
}
