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

// runs evaluates the candidates of one workload by running the scenario with each.
type runs struct {
	scenario *scenario.Scenario
	worlds   *simulation.Worlds
	owner    cluster.Ref
	opts     *Options
	workload cluster.Object // after the last step
	result   *simulation.Result
	large    bool       // the runs would place more pods than largeWork, so some are left out
	n        int        // trials per candidate; 0: not chosen yet
	one      string     // why there can be no second replica
	vary     sync.Mutex // guards maker
	maker    *variant.Maker
}

func (r *runs) base(ctx context.Context) error {
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
func (r *runs) evaluate(ctx context.Context) ([]Candidate, []string, error) {
	deployment, _ := r.workload.(*appsv1.Deployment)
	asItIs := &trial{Candidate: Candidate{Name: AsItIs, complexity: 0, scenario: r.scenario}}
	rules, err := rulesAfter(r.workload, r.owner, nil)
	if err != nil {
		return nil, nil, err
	}
	asItIs.keep(rules)
	tried := []*trial{asItIs}
	template, _ := cluster.Template(r.workload)
	all := slices.Concat(refinements(&template.Spec, r.scenario.Nodes(), deployment != nil), proposals(r.scenario.Nodes(), r.scenario.LevelKeys, deployment != nil))
	second, why := r.secondReplica()
	all, r.one = append(all, second...), why
	r.large = len(all)*r.pods() > largeWork
	if err := r.all(ctx, tried); err != nil {
		return nil, nil, err
	}
	if tried[0].held != "" {
		return []Candidate{tried[0].Candidate}, nil, nil
	}
	var later []proposal
	var leftOut []string
	for _, p := range all {
		switch {
		case r.large && slices.ContainsFunc(p.by, func(by rule.Apart) bool { return by.MaxSkew > 1 }):
			leftOut = append(leftOut, p.name+": not run, since the cluster is large")
			continue
		case r.large && p.plain != "":
			later = append(later, p)
			continue
		}
		t, err := r.try(&p, nil)
		switch {
		case err != nil:
			leftOut = append(leftOut, notHad(p.name, err))
		case t != nil:
			tried = append(tried, t)
		}
	}
	total := len(tried) + len(later)
	if err = r.all(ctx, tried[1:]); err == nil {
		var further []*trial
		var skipped []string
		further, skipped, err = r.further(ctx, tried, later)
		tried, leftOut = append(tried, further...), append(leftOut, skipped...)
		total = len(tried)
	}
	var candidates []Candidate
	for _, t := range tried {
		switch {
		case t.refused != nil:
			leftOut = append(leftOut, notHad(t.Name, t.refused))
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

// notHad returns the candidate's name and why the workload cannot have it, on one line.
func notHad(name string, err error) string {
	return name + ": " + strings.Join(strings.Fields(err.Error()), " ")
}

// largeWork is the number of placements, of all candidates together, above which some runs are left out: 50 candidates of a cluster with
// 300 pods are 15,000 placements, which is above it.
const largeWork = 10_000

// pods returns the number of pods of the cluster after the last step.
func (r *runs) pods() int { return len(r.result.Steps[len(r.result.Steps)-1].State.Pods) }

func (r *runs) all(ctx context.Context, tried []*trial) error {
	names := make([]string, len(tried))
	for i, t := range tried {
		names[i] = t.Name
	}
	name := func(i int) string { return names[i] }
	return r.each(ctx, name, len(tried), func(ctx context.Context, w world.World, i int) error {
		t, err := r.placed(ctx, w, tried[i])
		switch {
		case err == nil:
			t.done = true
			tried[i] = t
		case errors.As(err, new(*simulation.StepError)) && tried[i].Changed(): // the API server refuses the patch
			tried[i].refused, err = err, nil
		}
		return err
	})
}

// further runs the candidates that the first runs give a reason to try: the present rule with another strategy, since the strategy alone
// may be wrong, and a rule per revision if a rollout of the plain rule went wrong. Before a rollout there is only one revision, and both
// rules are the same. It also returns descriptions of the candidates that it skips.
func (r *runs) further(ctx context.Context, tried []*trial, later []proposal) ([]*trial, []string, error) {
	var further []*trial
	var skipped []string
	for _, p := range later {
		i := slices.IndexFunc(tried, func(t *trial) bool { return t.proposal != nil && t.proposal.name == p.plain })
		if i >= 0 && tried[i].Strategy == "" && tried[i].unharmed() {
			skipped = append(skipped, p.name+": not run, since a rolling update ends and leaves the pods as well spread without it")
			continue
		}
		t, err := r.try(&p, nil)
		switch {
		case err != nil:
			skipped = append(skipped, notHad(p.name, err))
		case t != nil:
			further = append(further, t)
		}
	}
	if err := r.all(ctx, further); err != nil {
		return further, skipped, err
	}
	var kept *trial
	name := func(int) string { return AsItIs + " with another strategy" }
	err := r.each(ctx, name, 1, func(ctx context.Context, w world.World, _ int) (err error) {
		kept, err = r.otherwise(ctx, w, &proposal{name: AsItIs, asItIs: true}, &tried[0].Candidate)
		return err
	})
	if kept != nil {
		kept.done = true
		further = append(further, kept)
	}
	return further, skipped, err
}

// unharmed reports whether the rollout finishes and leaves the pods no worse: no more of them Pending, no larger blast radius and no larger
// skew.
func (c *Candidate) unharmed() bool {
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

// trial is a candidate, the proposal that it was made from, and whether it was run.
type trial struct {
	Candidate
	proposal *proposal
	done     bool
	refused  error // why the workload cannot have it
}

// try returns the candidate for the proposal, or nil if the proposal does not change the workload. The error says why the workload cannot
// have the candidate.
func (r *runs) try(p *proposal, s *strategy) (*trial, error) {
	patch, err := patchOf(r.workload, p, s)
	if err != nil || patch == nil {
		return nil, err
	}
	t := &trial{proposal: p, Candidate: Candidate{Name: named(p.name, s), Patch: patch, complexity: 1 + p.complexity}}
	if s != nil {
		t.Strategy = s.words
		t.complexity += 3
	}
	if p.replicas > 0 {
		r.costOfSecond(&t.Candidate, p.replicas)
	}
	rules, err := rulesAfter(r.workload, r.owner, patch)
	if err != nil {
		return nil, err
	}
	t.keep(rules)
	t.scenario, err = r.varied(&t.Candidate)
	return t, err
}

// varied returns the scenario with the candidate's patch applied.
func (r *runs) varied(c *Candidate) (*scenario.Scenario, error) {
	if !c.Changed() {
		return r.scenario, nil
	}
	r.vary.Lock()
	defer r.vary.Unlock()
	varied, err := r.maker.VaryUnchecked(patchVariant(r.owner, c.Name, c.Patch), c.Name)
	if err != nil {
		return nil, err
	}
	return varied.Scenario, nil
}

// placed runs the candidate. If its rollout does not finish, it returns the same candidate with another strategy whose rollout does, if
// there is one.
func (r *runs) placed(ctx context.Context, w world.World, t *trial) (*trial, error) {
	if err := r.run(ctx, w, t); err != nil || t.proposal == nil {
		return t, err
	}
	other, err := r.otherwise(ctx, w, t.proposal, &t.Candidate)
	if err != nil || other == nil {
		return t, err
	}
	return other, nil
}

// otherwise returns the proposal with the first strategy whose rollout finishes. It returns nil if the rollout already finishes or no
// strategy helps. It tries none if a pod that is Pending without a rollout would block every rollout, or if the controller only scales,
// which every strategy leaves as it is.
func (r *runs) otherwise(ctx context.Context, w world.World, p *proposal, stuck *Candidate) (*trial, error) {
	deployment, ok := r.workload.(*appsv1.Deployment)
	if !ok || stuck.Rollout.Ends || stuck.held != "" || stuck.OwnPending > 0 && len(stuck.StuckRollouts) == 0 || deployment.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return nil, nil
	}
	for i := range strategies {
		other, err := r.try(p, &strategies[i])
		if err != nil || other == nil {
			return nil, err
		}
		if err := r.run(ctx, w, other); err != nil {
			return nil, err
		}
		if other.Rollout.Ends {
			other.Stuck = stuck.Rollout.Waiting
			return other, nil
		}
	}
	return nil, nil
}

// run computes the candidate's results: the placement, failures, and a restart.
func (r *runs) run(ctx context.Context, w world.World, t *trial) error {
	result, err := simulation.Run(ctx, t.scenario, simulation.Options{World: w, Prefix: r.result})
	if err != nil {
		return err
	}
	last := &result.Steps[len(result.Steps)-1]
	t.last = last
	looked := metric.Options{Workloads: []cluster.Ref{r.owner}, Levels: r.levels(), From: last.Mark()}
	if !r.large {
		r.recovers(&looked, last.State)
	}
	metrics, err := metric.Of(ctx, w, t.scenario, last.State, looked)
	if err != nil {
		return err
	}
	if r.large {
		t.atLeast = r.atLeast(metrics, last.State)
	}
	if d, ok := find(last.State, r.owner).(*appsv1.Deployment); ok && d.Spec.Strategy.RollingUpdate != nil {
		t.Surge = int(deploymentutil.MaxSurge(*d))
	}
	before := r.result.Steps[len(r.result.Steps)-1].State
	newly := cluster.NewlyPending(before.Crews(), last.State)
	t.Found = whatif.Found{Metrics: *metrics, NewlyPending: len(newly), Moved: metric.Moved(before, last.State), StuckRollouts: whatif.StuckOf(t.scenario, last)}
	t.OwnMoved = metric.MovedOf(before, last.State, func(owner cluster.Ref) bool { return owner == r.owner })
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
	restarted, err := simulation.Run(ctx, t.scenario.Then(Restart(r.owner)), simulation.Options{World: w, Prefix: result})
	if err != nil {
		return err
	}
	end := &restarted.Steps[len(restarted.Steps)-1]
	t.Rollout = &CandidateRollout{}
	t.rollsAlone = !slices.ContainsFunc(end.Rollouts, func(other controller.Rollout) bool { return other.Ref != r.owner && !other.Complete })
	if metrics, err = metric.Of(ctx, w, t.scenario, end.State, looked); err != nil {
		return err
	}
	t.Rollout.Metrics = *metrics
	for _, rollout := range end.Rollouts {
		if rollout.Ref == r.owner {
			t.Rollout.Ends, t.Rollout.Waiting = rollout.Complete, rollout.Waiting
			if rollout.OnlyScales && variant.Rolled(r.scenario, r.owner) {
				t.held = rollout.Waiting
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

// trials runs the candidates on the front, and the workload as it is, with random ties. It skips candidates that already have trials.
func (r *runs) trials(ctx context.Context, candidates []Candidate) error {
	if r.opts.Trials < 1 {
		return nil
	}
	var tried []*Candidate
	now := asItIs(candidates)
	for i := range candidates {
		c := &candidates[i]
		hopeless := r.large && c.SameAs != "" && c.Pending > now.Pending // [runs.fail] skips it, too
		if c.Trials == nil && (c.Front && !hopeless || !c.Changed()) {
			tried = append(tried, c)
		}
	}
	if len(tried) == 0 {
		return nil
	}
	if r.n == 0 { // later calls use the same number of trials
		r.n = r.opts.Trials
		if r.opts.Fewer {
			r.n = min(r.n, max(3, largeWork/(len(tried)*max(1, r.pods()))))
		}
	}
	n := r.n
	found := make([]*metric.Metrics, len(tried)*n)
	looked := metric.Options{Workloads: []cluster.Ref{r.owner}, Levels: r.levels()}
	// The runs of all candidates with one seed follow each other. With another seed, the scheduler has to place the running pods anew,
	// since their start times are drawn from the seed.
	name := func(i int) string { return tried[i%len(tried)].Name + " with random ties" }
	err := r.each(ctx, name, len(found), func(ctx context.Context, w world.World, i int) error {
		of, trial := i%len(tried), i/len(tried)
		s := *tried[of].scenario
		s.Ties.Random, s.Ties.Seed = true, r.opts.Seed+uint64(trial)
		result, err := simulation.Run(ctx, &s, simulation.Options{World: w})
		if err != nil {
			return err
		}
		looked, last := looked, &result.Steps[len(result.Steps)-1]
		looked.From = last.Mark()
		found[of*n+trial], err = metric.Of(ctx, w, &s, last.State, looked)
		return err
	})
	if err != nil {
		return err
	}
	for i, c := range tried {
		c.Trials = sumUp(found[i*n:(i+1)*n], r.opts.Seed)
	}
	return nil
}

// sumUp returns the median and the worst of the trials. The median of an even number is the larger of the middle two.
func sumUp(found []*metric.Metrics, seed uint64) *CandidateTrials {
	t := &CandidateTrials{N: len(found), Seed: seed, WorstSeed: seed}
	var pending []int
	worst := found[0]
	for i, m := range found {
		pending = append(pending, m.Pending)
		if m.Pending > 0 {
			t.SomePending++
		}
		if m.Pending > worst.Pending || m.Pending == worst.Pending && wider(m, worst) {
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

// wider reports whether a has the larger blast radius at the widest level at which both differ.
func wider(a, b *metric.Metrics) bool {
	for i := range a.Levels {
		if x, y := a.Levels[i].Radius, b.Levels[i].Radius; x != y {
			return x > y
		}
	}
	return false
}

// each calls f for 0 to n-1 on all cores; each call has a world of its own while it runs.
func (r *runs) each(ctx context.Context, name func(i int) string, n int, f func(ctx context.Context, w world.World, i int) error) error {
	opts := parallel.Options{Workers: r.opts.Workers}
	if r.opts.Progress != nil {
		opts.Progress = func(last, done int) { r.opts.Progress(name(last), done, n) }
	}
	return r.worlds.Each(ctx, n, opts, f)
}
