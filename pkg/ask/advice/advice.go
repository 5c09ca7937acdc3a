// Package advice tries the rules by which the pods of a workload can keep apart, and ranks them by what each comes to. Nothing in it
// is a rule of thumb: each candidate is a patch, and what is told of it was found by running the scenario with that patch.
//
//	workload, nodes ─ candidates ─▶ []Candidate, each with its patch    (candidate.go, patch.go)
//	scenario + patch ─ evaluate ──▶ placement, failures, a rolling update, trials with random ties   (run.go)
//	figures ─ rank ───────────────▶ the Pareto front, the rest and what beats it   (rank.go)
package advice

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/scenario/variant"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

// Options say how thoroughly candidates are tried.
type Options struct {
	// Trials is how often those that no other beats are run with random ties; 0 for never.
	Trials int
	// Fewer lets there be fewer trials, at least 3, where the cluster is so large that they would take minutes.
	Fewer bool
	// Seed is that of the first trial; each further one has the next.
	Seed uint64
	// Workers is how many candidates are run at once; below 1: one a core. It changes no result.
	Workers int
	// Progress, if set, is told how many runs are done, and of how many. It is never called twice at a time.
	Progress func(what string, done, total int)
}

// Advice is what was found for one workload.
type Advice struct {
	Workload cluster.Ref
	// Replicas is the number of pods that the workload asks for in the end.
	Replicas int32
	// Result is the scenario as it is, carried out.
	Result *simulation.Result
	// Candidates are the best first. The workload as it is is one of them.
	Candidates []Candidate
	// LeftOut are the candidates that were not run, and why.
	LeftOut []string
}

// Candidate is a rule by which the pods of the workload could keep apart, and what it comes to. Its comments are descriptions in the
// schema of the report that holds it.
type Candidate struct {
	// Name is the rule in short, such as "hard zone + soft hostname", with the strategy if it needs another one; "as it is" is no change.
	Name string `json:"name"`
	// Rules are the rules by which the pods keep apart then, in words.
	Rules []string `json:"rules"`
	// Patch is a JSON merge patch for the workload; missing where nothing changes.
	Patch json.RawMessage `json:"patch,omitempty" jsonschema:"type=object"`
	// Strategy is the rolling update's that the patch sets, since with the present one the rollout does not end; empty if it sets none.
	Strategy string `json:"strategy,omitempty"`
	// Stuck says what the present strategy comes to where the patch sets another.
	Stuck string `json:"stuck,omitempty"`
	whatif.Found
	// OwnPending is the number of Pending pods of the workload itself, Why the scheduler's message about the first.
	OwnPending int    `json:"ownPending"`
	Why        string `json:"why,omitempty"`
	// Surge is how many pods more than replicas a rolling update may make, for which there has to be room.
	Surge int `json:"surge"`
	// Rollout is what comes of a further step, a restart of the workload; missing for a ReplicaSet, which has no rollout.
	Rollout *CandidateRollout `json:"rollout,omitempty"`
	// Trials are runs with random ties; missing where a candidate is beaten without them.
	Trials *CandidateTrials `json:"trials,omitempty"`
	// Front tells that no other candidate is better in one of the figures and worse in none.
	Front bool `json:"front"`
	// SameAs names the candidate before it with the same figures.
	SameAs string `json:"sameAs,omitempty"`
	// BeatenBy names the best candidate that is better in one figure and worse in none, BeatenIn says in which.
	BeatenBy string `json:"beatenBy,omitempty"`
	BeatenIn string `json:"beatenIn,omitempty"`

	complexity int
	goals      []goal
}

// CandidateRollout is what comes of restarting the workload.
type CandidateRollout struct {
	// Ends tells whether it comes to its end; Waiting says what it waits for if not.
	Ends    bool   `json:"ends"`
	Waiting string `json:"waiting,omitempty"`
	metric.Metrics
}

// CandidateTrials are runs with random ties, with the seeds from Seed on.
type CandidateTrials struct {
	N    int    `json:"n"`
	Seed uint64 `json:"seed"`
	// Pending is about the number of Pending pods.
	MedianPending int `json:"medianPending"`
	WorstPending  int `json:"worstPending"`
	// SomePending is in how many runs a pod is Pending; Low and High are the bounds of the 95% Wilson interval of its probability.
	SomePending int     `json:"somePending"`
	Low         float64 `json:"low"`
	High        float64 `json:"high"`
	// WorstSeed is the first seed of the most Pending pods, and among these of the largest blast radius at the widest level.
	WorstSeed uint64 `json:"worstSeed"`
	// Radius is the blast radius of each level.
	Radius []TrialRadius `json:"radius"`
}

// TrialRadius is the blast radius of one level in the trials, between 0 and 1.
type TrialRadius struct {
	TopologyKey string  `json:"topologyKey"`
	Median      float64 `json:"median"`
	Worst       float64 `json:"worst"`
}

// Changed tells whether the candidate is another than the workload as it is.
func (c *Candidate) Changed() bool { return c.Patch != nil }

// Kinds are the kinds of workloads for which there is advice. The pods of a Job and of a DaemonSet have a template that cannot change,
// or a node each.
var Kinds = []string{"Deployment", "StatefulSet", "ReplicaSet"}

// Of tries every candidate for the workload.
func Of(ctx context.Context, s *scenario.Scenario, owner cluster.Ref, opts Options) (*Advice, error) {
	if !slices.Contains(Kinds, owner.Kind) {
		return nil, fmt.Errorf("%s: there is advice for a Deployment, a StatefulSet or a ReplicaSet", metric.Name(owner))
	}
	r := &runs{scenario: s, maker: variant.NewMaker(s), owner: owner, opts: &opts}
	if err := r.base(ctx); err != nil {
		return nil, err
	}
	last := r.result.Steps[len(r.result.Steps)-1]
	r.workload = find(last.State, owner)
	if r.workload == nil {
		return nil, fmt.Errorf("%s is gone after step %q, the last; leave that step out", metric.Name(owner), last.Name)
	}
	replicas, _ := cluster.Replicas(r.workload)
	a := &Advice{Workload: owner, Replicas: replicas, Result: r.result}
	tried, leftOut, err := r.evaluate(ctx)
	if err != nil {
		return nil, err
	}
	a.Candidates, a.LeftOut = tried, leftOut
	rank(a.Candidates)
	if err := r.trials(ctx, a.Candidates); err != nil {
		return nil, err
	}
	rank(a.Candidates)
	return a, nil
}

// Levels are the topology keys of the levels of which there are figures, widest first.
func (r *runs) levels() []string {
	if len(r.scenario.Failures.Levels) == 0 {
		return topology.Levels(r.scenario.Nodes(), r.scenario.LevelKeys...)
	}
	var keys []string
	for _, level := range r.scenario.Failures.Levels {
		keys = append(keys, topology.Key(level))
	}
	return keys
}

// find returns the workload as the state has it; nil if it has none such.
func find(state *cluster.State, owner cluster.Ref) cluster.Object {
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
	}
	return nil
}
