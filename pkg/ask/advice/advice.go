// Package advice tries the rules that can keep the pods of a workload apart, and ranks them by their results. It uses no rules of thumb:
// each candidate is a patch, and its figures come from running the scenario with that patch.
//
//	workload, nodes ─ listProposals ────▶ the rules to try, each with its patch   (candidate.go, patch.go)
//	scenario + patch ─ evaluate ────────▶ placement, failures, a rolling update, trials with random ties   (run.go)
//	figures ─ rank ─────────────────────▶ the Pareto front, the rest and what beats it   (rank.go)
//	large cluster ─ simulateFailures ───▶ failures, only for the candidates that could still be on the front   (failures.go)
//
// For all workloads at once, the package tries only the changes that can gain something by arithmetic, each as a step (all_workloads.go).
package advice

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/variant"
)

// Options say how thoroughly candidates are tried.
type Options struct {
	// Trials is the number of runs with random ties of each candidate that no other candidate beats; 0 means none.
	Trials int
	// Fewer allows fewer trials, at least 3, if the cluster is so large that all trials would take minutes.
	Fewer bool
	// Seed is the seed of the first trial; each later trial uses the next seed.
	Seed uint64
	// Workers is how many candidates run at once; below 1 means one per core. It does not change the result.
	Workers int
	// Progress, if set, is called after each run with the name of the candidate, the number of runs done and their total, never
	// concurrently.
	Progress func(candidate string, done, total int)
}

// Advice is the advice for one workload.
type Advice struct {
	Workload cluster.Ref
	// Replicas is the number of replicas of the workload after the last step.
	Replicas int32
	// Result is the run of the scenario as it is.
	Result *simulation.Result
	// Candidates are sorted, best first. They include the workload as it is.
	Candidates []Candidate
	// LeftOut lists the candidates that were not run, each with the reason.
	LeftOut []string
	// One says why a workload with one replica cannot have a second; "" if it can, or has more replicas.
	One string
	// Held says why a new rule would not reach the workload's pods now; then no other candidate is run. "" if a new rule reaches them.
	Held string
	// Unplaced says why no pod of the workload has a node, as it is and with every candidate; "" if one has.
	Unplaced string
}

// Candidate is a rule that could keep the pods of the workload apart, and its results. Its comments are descriptions in the schema of the
// report that holds it.
type Candidate struct {
	// Name is the short name of the rule, such as "hard zone + soft hostname", and of the rollout strategy if the candidate sets another;
	// "as it is" changes nothing.
	Name string `json:"name"`
	// Rules are the rules that keep the pods apart with the patch, in words.
	Rules []string `json:"rules"`
	// Patch is a JSON merge patch for the workload; missing if nothing changes.
	Patch json.RawMessage `json:"patch,omitempty" jsonschema:"type=object"`
	// Replicas is the number of replicas that the patch sets, for a workload that has one; missing if it sets none.
	Replicas int32 `json:"replicas,omitempty"`
	// Asks are the resources that the further replica requests, Storage the volume claims that it gets, and ScaledBy the
	// HorizontalPodAutoscaler that has to allow it, too. Alone is true if the workload's strategy is Recreate, with which pods of two
	// revisions never run at once.
	Asks     map[string]string `json:"asks,omitempty"`
	Storage  []string          `json:"storage,omitempty"`
	ScaledBy string            `json:"scaledBy,omitempty"`
	Alone    bool              `json:"alone,omitempty"`
	// Strategy is the rolling update strategy that the patch sets because the rollout does not finish with the present one; empty if the
	// patch sets none.
	Strategy string `json:"strategy,omitempty"`
	// Stuck says what a rollout waits for with the present strategy, if the patch sets another strategy.
	Stuck string `json:"stuck,omitempty"`
	whatif.Found
	// OwnMoved is the number of moved pods of the workload itself.
	OwnMoved int `json:"ownMoved"`
	// OwnPending is the number of Pending pods of the workload itself, and Why the scheduler's message about the first of them.
	OwnPending int    `json:"ownPending"`
	Why        string `json:"why,omitempty"`
	// Surge is how many pods above its replicas a rolling update may create, for which there must be room.
	Surge int `json:"surge"`
	// Rollout is the result of restarting the workload in a further step; missing for a ReplicaSet or ReplicationController, which has no rollout.
	Rollout *CandidateRollout `json:"rollout,omitempty"`
	// Trials are runs with random ties; missing if another candidate is already better without them.
	Trials *CandidateTrials `json:"trials,omitempty"`
	// Front is true if no other candidate is better in one figure and worse in none.
	Front bool `json:"front"`
	// SameAs names the candidate before it with the same figures.
	SameAs string `json:"sameAs,omitempty"`
	// BeatenBy names the best candidate that is better in one figure and worse in none, and BeatenIn that figure.
	BeatenBy string `json:"beatenBy,omitempty"`
	BeatenIn string `json:"beatenIn,omitempty"`
	// AtBest names a candidate that this one cannot beat. Failures of this candidate were not simulated: they would strand at least as many
	// of the workload's pods as failures of the named candidate do, and in every other figure this one is no better.
	AtBest string `json:"atBest,omitempty"`

	heldReason string // why no change reaches the workload's pods; "" if one does
	complexity int
	apartRules []rule.Rule // as Rules describes them
	// Whether the candidate drops all rules, and whether that counts as a figure: it does if another candidate keeps the workload's rules and
	// leaves nothing Pending.
	weighsRules, dropsRules bool
	goals                   []goal
	scenario                *scenario.Scenario // with the patch
	lastStep                *simulation.Step   // the failures follow this step
	rollsAlone              bool               // all rollouts of other workloads are complete after Rollout
	// minStranded is a lower bound, by topology key: how many of the workload's pods the failures of that level strand at least. It is nil once
	// these failures are simulated.
	minStranded map[string]float64
}

// CandidateRollout is the result of restarting the workload.
type CandidateRollout struct {
	// Ends is true if the rollout finishes; otherwise Waiting says what it waits for.
	Ends    bool   `json:"ends"`
	Waiting string `json:"waiting,omitempty"`
	metric.Metrics
}

// CandidateTrials sums up N runs of a candidate with random ties, with the seeds Seed, Seed+1 and so on.
type CandidateTrials struct {
	N    int    `json:"n"`
	Seed uint64 `json:"seed"`
	// MedianPending and WorstPending are numbers of Pending pods.
	MedianPending int `json:"medianPending"`
	WorstPending  int `json:"worstPending"`
	// SomePending is the number of runs with a Pending pod; Low and High are the bounds of the 95% Wilson interval of its probability.
	SomePending int     `json:"somePending"`
	Low         float64 `json:"low"`
	High        float64 `json:"high"`
	// WorstSeed is the first seed with the most Pending pods and, among these, the largest blast radius at the widest level.
	WorstSeed uint64 `json:"worstSeed"`
	// Radius is the blast radius of each level.
	Radius []TrialRadius `json:"radius"`
}

// TrialRadius is the median and the worst blast radius of one level in the trials, each between 0 and 1.
type TrialRadius struct {
	TopologyKey string  `json:"topologyKey"`
	Median      float64 `json:"median"`
	Worst       float64 `json:"worst"`
}

// Changed reports whether the candidate differs from the workload as it is.
func (c *Candidate) Changed() bool { return c.Patch != nil }

// HowChanged says how the change reaches the pods that already run; nil if the scenario of the candidate is not known.
func (c *Candidate) HowChanged() []string {
	if c.scenario == nil {
		return nil
	}
	return c.scenario.DescribeChanges()
}

// Kinds are the kinds of workloads that advice is available for. A Job's template cannot change, and a DaemonSet has one pod per node.
var Kinds = []string{"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"}

// ForWorkload tries every candidate for the workload. If the context ends early, it returns the error of the context and the advice on the
// candidates that are done; Result.Partial then says so. Without a finished candidate to compare with the workload as it is, the advice is
// nil.
func ForWorkload(ctx context.Context, s *scenario.Scenario, owner cluster.Ref, opts Options) (*Advice, error) {
	for _, obj := range s.Objects() {
		if cluster.RefTo(obj) != owner {
			continue
		}
		if err := cluster.CheckChangeable(obj); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(Kinds, owner.Kind) {
		return nil, fmt.Errorf("%s: unsupported kind: use a Deployment, a StatefulSet, a ReplicaSet or a ReplicationController", owner.Qualified())
	}
	r := &evaluator{scenario: s, worlds: simulation.NewWorlds(s), maker: variant.NewMaker(s), owner: owner, opts: &opts}
	defer r.worlds.Close()
	if err := r.runUnchanged(ctx); err != nil {
		return nil, err
	}
	last := r.result.Last()
	r.workload = findWorkload(last.State, owner)
	if r.workload == nil {
		return nil, fmt.Errorf("%s no longer exists after the last step, %q; leave that step out", owner.Qualified(), last.Name)
	}
	replicas, _ := cluster.Replicas(r.workload)
	a := &Advice{Workload: owner, Replicas: replicas, Result: r.result}
	tried, leftOut, err := r.evaluate(ctx)
	if tried == nil {
		return nil, err
	}
	a.Candidates, a.LeftOut, a.One = tried, leftOut, r.whyOneReplica
	if a.Held = findUnchanged(tried).heldReason; a.One == "" {
		a.One = explainNoSecondReplica(tried)
	}
	rank(a.Candidates)
	if err == nil {
		if err = r.runTrials(ctx, a.Candidates); err != nil && ctx.Err() == nil {
			return nil, err
		} else if err != nil {
			r.result.Partial = "interrupted in the runs with random ties, which the ranking leaves out"
		}
	}
	rank(a.Candidates)
	if err == nil {
		a.Unplaced, err = r.explainUnplaced(ctx, a)
	}
	if r.large {
		if err == nil {
			err = r.simulateFailures(ctx, a.Candidates)
		}
		if err != nil && (ctx.Err() == nil || !r.keepSimulated(a)) {
			return nil, err
		}
	}
	return a, err
}

// explainUnplaced says why no pod of the workload has a node, as it is and with every candidate; "" if one has.
func (r *evaluator) explainUnplaced(ctx context.Context, a *Advice) (string, error) {
	if a.Replicas == 0 || slices.ContainsFunc(a.Candidates, func(c Candidate) bool { return c.OwnPending < int(a.Replicas) }) {
		return "", nil
	}
	finder, err := cause.NewFinder(r.scenario.Config)
	if err != nil {
		return "", err
	}
	defer finder.Close()
	last := r.result.Last()
	owner := last.State.Owners()
	i := slices.IndexFunc(last.Pending, func(p placement.Pending) bool { return owner(p.Pod) == r.owner })
	if i < 0 {
		return "", nil
	}
	causes, err := finder.Causes(ctx, last.State, last.Pending[i].Pod)
	if err != nil || len(causes) == 0 {
		return last.Pending[i].Why(), err
	}
	return causes[0].Sentence, nil
}

// levels returns the topology keys to compute figures for, widest level first.
func (r *evaluator) levels() []string {
	if len(r.scenario.Failures.Levels) == 0 {
		return topology.Levels(r.scenario.Nodes(), r.scenario.LevelKeys...)
	}
	var keys []string
	for _, level := range r.scenario.Failures.Levels {
		keys = append(keys, topology.Key(level))
	}
	return keys
}

// findWorkload returns the workload in the state, or nil.
func findWorkload(state *cluster.State, owner cluster.Ref) cluster.Object {
	is := func(obj cluster.Object) bool {
		return obj.GetNamespace() == owner.Namespace && obj.GetName() == owner.Name
	}
	switch owner.Kind {
	case "Deployment":
		for _, d := range state.Deployments {
			if is(d) {
				return d
			}
		}
	case "StatefulSet":
		for _, s := range state.StatefulSets {
			if is(s) {
				return s
			}
		}
	case "ReplicaSet":
		for _, s := range state.ReplicaSets {
			if is(s) {
				return s
			}
		}
	case "ReplicationController":
		for _, c := range state.ReplicationControllers {
			if is(c) {
				return c
			}
		}
	}
	return nil
}
