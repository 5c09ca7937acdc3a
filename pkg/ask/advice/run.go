package advice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/stats"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/variant"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// confidence is the level of the Wilson intervals of trials.
const confidence = 0.95

// evaluator evaluates the candidates of one workload by running the scenario with each.
type evaluator struct {
	scenario      *scenario.Scenario
	worlds        *simulation.Worlds
	owner         cluster.Ref
	opts          *Options
	workload      cluster.Object // after the last step
	result        *simulation.Result
	large         bool       // the runs would place more pods than largeWork, so some are left out
	trialCount    int        // trials per candidate; 0: not chosen yet
	whyOneReplica string     // why there can be no second replica
	makerLock     sync.Mutex // guards maker
	maker         *variant.Maker
}

func (r *evaluator) runUnchanged(ctx context.Context) error {
	w, err := r.worlds.First()
	if err != nil {
		return err
	}
	r.result, err = simulation.Run(ctx, r.scenario, simulation.Options{World: w})
	return err
}

// evaluate runs the workload as it is and every candidate that differs from it, unless no rule can reach the workload's pods. It returns
// the candidates in order, and descriptions of the candidates that were not run. If the context ends, it returns the candidates that are
// done; nil unless they include the workload as it is and at least one other.
func (r *evaluator) evaluate(ctx context.Context) ([]Candidate, []string, error) {
	deployment, _ := r.workload.(*appsv1.Deployment)
	asItIs := &candidateRun{Candidate: Candidate{Name: AsItIs, complexity: 0, scenario: r.scenario}}
	rules, err := rulesAfter(r.workload, r.owner, nil)
	if err != nil {
		return nil, nil, err
	}
	asItIs.setRules(rules)
	tried := []*candidateRun{asItIs}
	template, _ := cluster.Template(r.workload)
	all := slices.Concat(refinements(&template.Spec, r.scenario.Nodes(), deployment != nil), listProposals(r.scenario.Nodes(), r.scenario.LevelKeys, deployment != nil))
	second, why := r.secondReplicaProposals()
	all, r.whyOneReplica = append(all, second...), why
	r.large = len(all)*r.countPods() > largeWork
	if err := r.runCandidates(ctx, tried); err != nil {
		return nil, nil, err
	}
	if tried[0].heldReason != "" {
		return []Candidate{tried[0].Candidate}, nil, nil
	}
	var later []proposal
	var leftOut []string
	for _, p := range all {
		switch {
		case r.large && slices.ContainsFunc(p.rules, func(by rule.Apart) bool { return by.MaxSkew > 1 }):
			leftOut = append(leftOut, p.name+": not run, since the cluster is large")
			continue
		case r.large && p.plainName != "":
			later = append(later, p)
			continue
		}
		t, err := r.buildCandidate(&p, nil)
		switch {
		case err != nil:
			leftOut = append(leftOut, describeRefusal(p.name, err))
		case t != nil:
			tried = append(tried, t)
		}
	}
	total := len(tried) + len(later)
	if err = r.runCandidates(ctx, tried[1:]); err == nil {
		var further []*candidateRun
		var skipped []string
		further, skipped, err = r.runFurtherCandidates(ctx, tried, later)
		tried, leftOut = append(tried, further...), append(leftOut, skipped...)
		total = len(tried)
	}
	var candidates []Candidate
	for _, t := range tried {
		switch {
		case t.refusal != nil:
			leftOut = append(leftOut, describeRefusal(t.Name, t.refusal))
			total--
		case t.done:
			candidates = append(candidates, t.Candidate)
		}
	}
	switch {
	case err == nil:
	case ctx.Err() == nil || len(candidates) < 2 || candidates[0].Changed():
		return nil, nil, err
	default:
		r.result.Partial = fmt.Sprintf("interrupted after %d of %s; the ranking covers these alone", len(candidates), words.Count(total, "candidate"))
	}
	return candidates, leftOut, err
}

// describeRefusal returns the candidate's name and why the workload cannot have it, on one line.
func describeRefusal(name string, err error) string {
	return name + ": " + strings.Join(strings.Fields(err.Error()), " ")
}

// largeWork is the number of placements, of all candidates together, above which some runs are left out: 50 candidates of a cluster with
// 300 pods are 15,000 placements, which is above it.
const largeWork = 10_000

// countPods returns the number of pods of the cluster after the last step.
func (r *evaluator) countPods() int { return len(r.result.State().Pods) }

func (r *evaluator) runCandidates(ctx context.Context, tried []*candidateRun) error {
	names := make([]string, len(tried))
	for i, t := range tried {
		names[i] = t.Name
	}
	name := func(i int) string { return names[i] }
	return r.runParallel(ctx, name, len(tried), func(ctx context.Context, w world.World, i int) error {
		t, err := r.runUntilRolloutEnds(ctx, w, tried[i])
		switch {
		case err == nil:
			t.done = true
			tried[i] = t
		case errors.As(err, new(*simulation.StepError)) && tried[i].Changed(): // the API server refuses the patch
			tried[i].refusal, err = err, nil
		}
		return err
	})
}

// runFurtherCandidates runs the candidates that the first runs give a reason to try: the present rule with another strategy, since the strategy alone
// may be wrong, and a rule per revision if a rollout of the plain rule went wrong. Before a rollout there is only one revision, and both
// rules are the same. It also returns descriptions of the candidates that it skips.
func (r *evaluator) runFurtherCandidates(ctx context.Context, tried []*candidateRun, later []proposal) ([]*candidateRun, []string, error) {
	var further []*candidateRun
	var skipped []string
	for _, p := range later {
		i := slices.IndexFunc(tried, func(t *candidateRun) bool { return t.proposal != nil && t.proposal.name == p.plainName })
		if i >= 0 && tried[i].Strategy == "" && tried[i].rolloutHarmless() {
			skipped = append(skipped, p.name+": not run, since a rolling update ends and leaves the pods as well spread without it")
			continue
		}
		t, err := r.buildCandidate(&p, nil)
		switch {
		case err != nil:
			skipped = append(skipped, describeRefusal(p.name, err))
		case t != nil:
			further = append(further, t)
		}
	}
	if err := r.runCandidates(ctx, further); err != nil {
		return further, skipped, err
	}
	var kept *candidateRun
	name := func(int) string { return AsItIs + " with another strategy" }
	err := r.runParallel(ctx, name, 1, func(ctx context.Context, w world.World, _ int) (err error) {
		kept, err = r.tryStrategies(ctx, w, &proposal{name: AsItIs, keepsRules: true}, &tried[0].Candidate)
		return err
	})
	if kept != nil {
		kept.done = true
		further = append(further, kept)
	}
	return further, skipped, err
}

// rolloutHarmless reports whether the rollout finishes and leaves the pods no worse: no more of them Pending, no larger blast radius and no larger
// skew.
func (c *Candidate) rolloutHarmless() bool {
	if !c.Rollout.Ends || c.Rollout.Pending > c.Pending {
		return false
	}
	for i, after := range c.Rollout.Levels {
		if before := c.Levels[i]; after.Radius > before.Radius || after.Skew > before.Skew {
			return false
		}
	}
	return true
}

// AsItIs is the name of the candidate that changes nothing.
const AsItIs = "as it is"

// candidateRun is a candidate, the proposal that it was made from, and whether it was run.
type candidateRun struct {
	Candidate
	proposal *proposal
	done     bool
	refusal  error // why the workload cannot have it
}

// buildCandidate returns the candidate for the proposal, or nil if the proposal does not change the workload. The error says why the workload cannot
// have the candidate.
func (r *evaluator) buildCandidate(p *proposal, s *strategy) (*candidateRun, error) {
	patch, err := makePatch(r.workload, p, s)
	if err != nil || patch == nil {
		return nil, err
	}
	t := &candidateRun{proposal: p, Candidate: Candidate{Name: nameWithStrategy(p.name, s), Patch: patch, complexity: 1 + p.complexity}}
	if s != nil {
		t.Strategy = s.words
		t.complexity += 3
	}
	if p.replicas > 0 {
		r.setReplicaCost(&t.Candidate, p.replicas)
	}
	rules, err := rulesAfter(r.workload, r.owner, patch)
	if err != nil {
		return nil, err
	}
	t.setRules(rules)
	t.scenario, err = r.patchScenario(&t.Candidate)
	return t, err
}

// patchScenario returns the scenario with the candidate's patch applied.
func (r *evaluator) patchScenario(c *Candidate) (*scenario.Scenario, error) {
	if !c.Changed() {
		return r.scenario, nil
	}
	r.makerLock.Lock()
	defer r.makerLock.Unlock()
	varied, err := r.maker.VaryUnchecked(patchVariant(r.owner, c.Name, c.Patch), c.Name)
	if err != nil {
		return nil, err
	}
	return varied.Scenario, nil
}

// runUntilRolloutEnds runs the candidate. If its rollout does not finish, it returns the same candidate with another strategy whose rollout does, if
// there is one.
func (r *evaluator) runUntilRolloutEnds(ctx context.Context, w world.World, t *candidateRun) (*candidateRun, error) {
	if err := r.runCandidate(ctx, w, t); err != nil || t.proposal == nil {
		return t, err
	}
	other, err := r.tryStrategies(ctx, w, t.proposal, &t.Candidate)
	if err != nil || other == nil {
		return t, err
	}
	return other, nil
}

// tryStrategies returns the proposal with the first strategy whose rollout finishes. It returns nil if the rollout already finishes or no
// strategy helps. It tries none if a pod that is Pending without a rollout would block every rollout, or if the controller only scales,
// which every strategy leaves as it is.
func (r *evaluator) tryStrategies(ctx context.Context, w world.World, p *proposal, stuck *Candidate) (*candidateRun, error) {
	deployment, ok := r.workload.(*appsv1.Deployment)
	if !ok || stuck.Rollout.Ends || stuck.heldReason != "" || stuck.OwnPending > 0 && len(stuck.StuckRollouts) == 0 || deployment.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return nil, nil
	}
	for i := range strategies {
		other, err := r.buildCandidate(p, &strategies[i])
		if err != nil || other == nil {
			return nil, err
		}
		if err := r.runCandidate(ctx, w, other); err != nil {
			return nil, err
		}
		if other.Rollout.Ends {
			other.Stuck = stuck.Rollout.Waiting
			return other, nil
		}
	}
	return nil, nil
}

// runCandidate computes the candidate's results: the placement, failures, and a restart.
func (r *evaluator) runCandidate(ctx context.Context, w world.World, t *candidateRun) error {
	result, err := simulation.Run(ctx, t.scenario, simulation.Options{World: w, Prefix: r.result})
	if err != nil {
		return err
	}
	last := result.Last()
	t.lastStep = last
	looked := metric.Options{Workloads: []cluster.Ref{r.owner}, Levels: r.levels(), From: last.Mark()}
	if !r.large {
		r.addFailureLevels(&looked, last.State)
	}
	metrics, err := metric.Measure(ctx, w, t.scenario, last.State, looked)
	if err != nil {
		return err
	}
	if r.large {
		t.minStranded = r.boundStranded(metrics, last.State)
	}
	if d, ok := findWorkload(last.State, r.owner).(*appsv1.Deployment); ok && d.Spec.Strategy.RollingUpdate != nil {
		t.Surge = int(deploymentutil.MaxSurge(*d))
	}
	before := r.result.State()
	newly := cluster.NewlyPending(before.PodsByWorkload(), last.State)
	t.Found = whatif.Found{Metrics: *metrics, NewlyPending: len(newly), Moved: metric.CountMoves(before, last.State), StuckRollouts: whatif.StuckRollouts(t.scenario, last)}
	t.OwnMoved = metric.CountMovesOf(before, last.State, func(owner cluster.Ref) bool { return owner == r.owner })
	owner := last.State.Owners()
	t.OwnPending, t.Why = 0, ""
	for _, pending := range last.Pending {
		if owner(pending.Pod) != r.owner {
			continue
		}
		if t.OwnPending++; t.Why == "" {
			t.Why = pending.Why()
		}
	}
	if r.owner.Kind == "ReplicaSet" || r.owner.Kind == "ReplicationController" {
		return nil
	}
	looked.Recover = nil
	restarted, err := simulation.Run(ctx, t.scenario.AppendStep(Restart(r.owner)), simulation.Options{World: w, Prefix: result})
	if err != nil {
		return err
	}
	end := restarted.Last()
	t.Rollout = &CandidateRollout{}
	t.rollsAlone = !slices.ContainsFunc(end.Rollouts, func(other controller.Rollout) bool { return other.Ref != r.owner && !other.Complete })
	if metrics, err = metric.Measure(ctx, w, t.scenario, end.State, looked); err != nil {
		return err
	}
	t.Rollout.Metrics = *metrics
	for _, rollout := range end.Rollouts {
		if rollout.Ref == r.owner {
			t.Rollout.Ends, t.Rollout.Waiting = rollout.Complete, rollout.Waiting
			if rollout.OnlyScales && variant.IsRolledOut(r.scenario, r.owner) {
				t.heldReason = rollout.Waiting
			}
		}
	}
	return nil
}

// Restart returns the step that restarts the workload.
func Restart(owner cluster.Ref) scenario.Step {
	return scenario.Step{Name: "restart", Rollout: &scenario.Rollout{
		Target: scenario.Target{Target: owner.String(), Namespace: owner.Namespace}, Restart: true,
	}}
}

// runTrials runs the candidates on the front, and the workload as it is, with random ties. It skips candidates that already have trials.
func (r *evaluator) runTrials(ctx context.Context, candidates []Candidate) error {
	if r.opts.Trials < 1 {
		return nil
	}
	var tried []*Candidate
	now := findUnchanged(candidates)
	for i := range candidates {
		c := &candidates[i]
		hopeless := r.large && c.SameAs != "" && c.Pending > now.Pending // [evaluator.simulateFailures] skips it, too
		if c.Trials == nil && (c.Front && !hopeless || !c.Changed()) {
			tried = append(tried, c)
		}
	}
	if len(tried) == 0 {
		return nil
	}
	if r.trialCount == 0 { // later calls use the same number of trials
		r.trialCount = r.opts.Trials
		if r.opts.Fewer {
			r.trialCount = min(r.trialCount, max(3, largeWork/(len(tried)*max(1, r.countPods()))))
		}
	}
	n := r.trialCount
	found := make([]*metric.Metrics, len(tried)*n)
	looked := metric.Options{Workloads: []cluster.Ref{r.owner}, Levels: r.levels()}
	// The runs of all candidates with one seed follow each other. With another seed, the scheduler has to place the running pods anew,
	// since their start times are drawn from the seed.
	name := func(i int) string { return tried[i%len(tried)].Name + " with random ties" }
	err := r.runParallel(ctx, name, len(found), func(ctx context.Context, w world.World, i int) error {
		of, trial := i%len(tried), i/len(tried)
		s := *tried[of].scenario
		s.Ties.Random, s.Ties.Seed = true, r.opts.Seed+uint64(trial)
		result, err := simulation.Run(ctx, &s, simulation.Options{World: w})
		if err != nil {
			return err
		}
		looked, last := looked, result.Last()
		looked.From = last.Mark()
		found[of*n+trial], err = metric.Measure(ctx, w, &s, last.State, looked)
		return err
	})
	if err != nil {
		return err
	}
	for i, c := range tried {
		c.Trials = summarizeTrials(found[i*n:(i+1)*n], r.opts.Seed)
	}
	return nil
}

// summarizeTrials returns the median and the worst of the trials. The median of an even number is the larger of the middle two.
func summarizeTrials(found []*metric.Metrics, seed uint64) *CandidateTrials {
	t := &CandidateTrials{N: len(found), Seed: seed, WorstSeed: seed}
	var pending []int
	worst := found[0]
	for i, m := range found {
		pending = append(pending, m.Pending)
		if m.Pending > 0 {
			t.SomePending++
		}
		if m.Pending > worst.Pending || m.Pending == worst.Pending && hasLargerRadius(m, worst) {
			worst, t.WorstSeed = m, seed+uint64(i)
		}
	}
	slices.Sort(pending)
	t.MedianPending, t.WorstPending = pending[len(pending)/2], pending[len(pending)-1]
	t.Low, t.High = stats.Proportion{Successes: t.SomePending, N: t.N}.Wilson(confidence)
	for i := range found[0].Levels {
		var radius []float64
		for _, m := range found {
			radius = append(radius, m.Levels[i].Radius)
		}
		slices.Sort(radius)
		t.Radius = append(t.Radius, TrialRadius{found[0].Levels[i].TopologyKey, radius[len(radius)/2], radius[len(radius)-1]})
	}
	return t
}

// hasLargerRadius reports whether a has the larger blast radius at the widest level at which both differ.
func hasLargerRadius(a, b *metric.Metrics) bool {
	for i := range a.Levels {
		if x, y := a.Levels[i].Radius, b.Levels[i].Radius; x != y {
			return x > y
		}
	}
	return false
}

// runParallel calls f for 0 to n-1 on all cores; each call has a world of its own while it runs.
func (r *evaluator) runParallel(ctx context.Context, name func(i int) string, n int, f func(ctx context.Context, w world.World, i int) error) error {
	opts := parallel.Options{Workers: r.opts.Workers}
	if r.opts.Progress != nil {
		opts.Progress = func(last, done int) { r.opts.Progress(name(last), done, n) }
	}
	return r.worlds.Each(ctx, n, opts, f)
}
