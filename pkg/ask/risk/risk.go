package risk

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// Options are the options of an analysis.
type Options struct {
	// Quorum is the number of running pods that a workload needs. Workloads not in it need none.
	Quorum map[cluster.Ref]int
	// Trials is the number of trials if domains cross; 0 means DefaultTrials.
	Trials int
	// Seed is the seed of the trials.
	Seed uint64
	// Workers is the number of trials that run concurrently; 0 means one per core. It does not change the result.
	Workers int
	// TrialsOnly counts trials even if the exact distribution can be computed.
	TrialsOnly bool
}

// DefaultTrials is the default number of trials if domains cross.
const DefaultTrials = 100_000

// Confidence of the intervals around probabilities counted in trials.
const Confidence = 0.95

// Analysis is how likely workloads are to lose pods.
type Analysis struct {
	// Levels are the levels that fail, widest first.
	Levels []Level
	// Workloads are in the order in which their first pods arrived, then those of Options.Quorum that have none.
	Workloads []Workload
	// Trials and Seed apply to every result that was counted in trials.
	Trials int
	Seed   uint64
	// Assumptions are sentences about what the figures depend on.
	Assumptions []string
}

// Level is a topology key whose domains fail.
type Level struct {
	// TopologyKey is the label key; kubernetes.io/hostname stands for each single node, whatever its labels.
	TopologyKey string
	// Domains is the number of domains, Unlabelled of the nodes in none, which do not fail at this level.
	Domains, Unlabelled int
	// FailuresPerYear and RecoveryHours are the means per domain.
	FailuresPerYear, RecoveryHours float64
	// Unavailability is the fraction of the time that each domain is down, between 0 and 1.
	Unavailability float64
}

// Workload is how likely a workload is to lose pods, at a random moment.
type Workload struct {
	Workload cluster.Ref
	// Replicas is the number of its pods that have not ended. Down is the number of these that are down at the start and stay down:
	// Pending, not ready, or on a missing node.
	Replicas, Down int
	// Method is how AllUp, AllDown and BelowQuorum were computed.
	Method Method
	// AllUp and AllDown are the probabilities that no replica is down and that every replica is.
	AllUp, AllDown Probability
	// Quorum is the number of replicas that it needs; 0 means none. BelowQuorum is the probability that fewer are up.
	Quorum      int
	BelowQuorum Probability
	// Budgets are the PodDisruptionBudgets that select any of its replicas.
	Budgets []Budget
	// ExpectedDown is the expected number of replicas down. It is always exact.
	ExpectedDown float64
}

// Budget is how likely a PodDisruptionBudget is to be violated. It may cover pods of several workloads, or some of one.
type Budget struct {
	// Name is the name of the PodDisruptionBudget, in the namespace of the workload.
	Name string
	// Pods is the number of pods that it selects, and DesiredHealthy how many of them should be up, from its status.
	Pods, DesiredHealthy int
	// Method is how Below was computed.
	Method Method
	// Below is the probability that fewer of its pods are up than desired.
	Below Probability
}

// Method is how a probability was computed.
type Method string

const (
	// Exact is computed from the rates, up to rounding.
	Exact Method = "exact"
	// Trials are counted in Analysis.Trials trials.
	Trials Method = "trials"
)

type Probability struct {
	// Value is the probability, or the fraction of the trials.
	Value float64
	// Low and High are the bounds of the interval around a fraction of trials; both are Value if it is exact.
	Low, High float64
}

// HoursPerYear returns the probability and its bounds as expected hours per year.
func (p Probability) HoursPerYear() Probability {
	return Probability{p.Value * scenario.HoursPerYear, p.Low * scenario.HoursPerYear, p.High * scenario.HoursPerYear}
}

// Analyze computes how likely the workloads of the state are to lose pods at the given rates. The status of the PodDisruptionBudgets must
// be up to date, as it is once the cluster has settled. Errors are invalid rates or options, all at once, a rate for a label that no node
// has, and cancellation.
func Analyze(ctx context.Context, state *cluster.State, rates scenario.Rates, opts Options) (*Analysis, error) {
	if err := check(state, rates, opts); err != nil {
		return nil, err
	}
	levels, nodes := build(state.Nodes, rates)
	analysis := &Analysis{Trials: cmp.Or(opts.Trials, DefaultTrials), Seed: opts.Seed}
	for _, level := range levels {
		analysis.Levels = append(analysis.Levels, level.Level)
	}
	a := analyzer{Analysis: analysis, levels: levels, nodes: nodes, opts: opts, at: map[cluster.Ref]int{}}
	if err := a.workloads(ctx, state); err != nil {
		return nil, err
	}
	if err := a.budgets(ctx, state); err != nil {
		return nil, err
	}
	analysis.Assumptions = analysis.assumptions(len(state.Nodes))
	return analysis, nil
}

// check returns all errors in the options and rates.
func check(state *cluster.State, rates scenario.Rates, opts Options) error {
	path := field.NewPath("rates")
	errs := rates.Validate(path)
	if len(errs) == 0 {
		for _, key := range rates.Keys() {
			carried := func(node *v1.Node) bool { _, found := topology.Value(node.Labels, key); return found }
			if key != v1.LabelHostname && !slices.ContainsFunc(state.Nodes, carried) {
				errs = append(errs, field.Invalid(path, key, "no node has this label, so nothing can fail at this level; drop it, or give a label of the nodes"))
			}
		}
	}
	if opts.Trials < 0 {
		errs = append(errs, field.Invalid(field.NewPath("trials"), opts.Trials, "must be at least 1, or 0 for the default"))
	}
	for _, owner := range owners(opts.Quorum) {
		if n := opts.Quorum[owner]; n < 0 {
			errs = append(errs, field.Invalid(field.NewPath("quorum").Key(owner.Namespace+"/"+owner.String()), n, "must be at least 1, or 0 for none"))
		}
	}
	var all []error
	for _, err := range errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// owners returns the keys of the map, sorted.
func owners(quorum map[cluster.Ref]int) []cluster.Ref {
	return slices.SortedFunc(maps.Keys(quorum), cluster.Ref.Compare)
}
