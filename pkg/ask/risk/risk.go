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
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// Options are the options of an analysis.
type Options struct {
	// Quorum is the number of running pods that each workload needs. Workloads without an entry need none.
	Quorum map[cluster.Ref]int
	// Trials is the number of trials if domains cross; 0 means defaultTrials.
	Trials int
	// Seed is the seed of the trials.
	Seed uint64
	// Workers is the number of trials that run concurrently; 0 means one per core. It does not change the result.
	Workers int
	// Only are the workloads that are reported; nil means all.
	Only map[cluster.Ref]bool
	// TrialsOnly counts trials even if the exact distribution can be computed.
	TrialsOnly bool
}

// defaultTrials is the default number of trials if domains cross.
const defaultTrials = 100_000

// confidence is the confidence of the intervals around probabilities counted in trials.
const confidence = 0.95

// Analysis has the probabilities that workloads have pods down at a random moment, at the given failure rates.
type Analysis struct {
	// Levels are the levels that fail, widest first.
	Levels []Level `json:"levels"`
	// Workloads are the controllers and bare pods, in order of arrival, followed by the workloads of Options.Quorum that have no pods.
	Workloads []Workload `json:"workloads"`
	// Trials is the number of trials and Seed their seed; missing if all probabilities are exact.
	Trials int    `json:"trials,omitempty"`
	Seed   uint64 `json:"seed,omitempty"`
	// Assumptions are sentences about what the figures depend on.
	Assumptions []string `json:"assumptions"`
}

// Level is a level whose domains fail.
type Level struct {
	// TopologyKey is the label key; kubernetes.io/hostname stands for each single node, whatever its labels.
	TopologyKey string `json:"topologyKey"`
	// Domains is the number of domains. Unlabelled is the number of nodes in no domain, which do not fail at this level.
	Domains    int `json:"domains"`
	Unlabelled int `json:"unlabelled,omitempty"`
	// FailuresPerYear and RecoveryHours are the means for each domain: its failures in a year, and the hours that it is down after a failure.
	FailuresPerYear float64 `json:"failuresPerYear"`
	RecoveryHours   float64 `json:"recoveryHours"`
	// Unavailability is the fraction of the time that each domain is down, between 0 and 1.
	Unavailability float64 `json:"unavailability"`
}

// Workload has the probabilities that a workload has pods down.
type Workload struct {
	cluster.Ref
	// Replicas is the number of its pods that have not ended. Down is the number of these pods that are down at the start and stay down:
	// Pending, not ready, or on a missing node.
	Replicas int `json:"replicas"`
	Down     int `json:"down,omitempty"`
	// Method is how AllUp, AllDown and BelowQuorum were computed.
	Method Method `json:"method" jsonschema:"enum=exact,enum=trials"`
	// AllUp is the probability that no replica is down. AllDown is the probability that every replica is down.
	AllUp   Probability `json:"allUp"`
	AllDown Probability `json:"allDown"`
	// Quorum is the number of replicas that the workload needs. BelowQuorum is the probability that fewer are up. Both are missing if it needs
	// none.
	Quorum      int          `json:"quorum,omitempty"`
	BelowQuorum *Probability `json:"belowQuorum,omitempty"`
	// Budgets are the PodDisruptionBudgets that select any of its replicas.
	Budgets []Budget `json:"budgets,omitempty"`
	// ExpectedDown is the expected number of replicas down. It is always exact.
	ExpectedDown float64 `json:"expectedDown"`
}

// usesTrials reports whether any of the workload's probabilities was counted in trials.
func (w *Workload) usesTrials() bool {
	return w.Method == Trials || slices.ContainsFunc(w.Budgets, func(b Budget) bool { return b.Method == Trials })
}

// Budget has the probability that a PodDisruptionBudget is violated. The budget may cover pods of several workloads, or some pods of one.
type Budget struct {
	// Name is the name of the PodDisruptionBudget, in the namespace of the workload.
	Name string `json:"name"`
	// Pods is the number of pods that the budget selects. DesiredHealthy is the number of them that should be up, from the budget's status.
	Pods           int `json:"pods"`
	DesiredHealthy int `json:"desiredHealthy"`
	// Method is how Below was computed.
	Method Method `json:"method" jsonschema:"enum=exact,enum=trials"`
	// Below is the probability that fewer pods are up than desired.
	Below Probability `json:"below"`
}

// Method is how a probability was computed.
type Method string

const (
	// Exact is computed from the rates, up to rounding.
	Exact Method = "exact"
	// Trials are counted in Analysis.Trials trials.
	Trials Method = "trials"
)

// Probability is the probability of something at a random moment.
type Probability struct {
	// Value is between 0 and 1. Low and High bound its 95 % interval if it was counted in trials, and are missing if it is exact.
	Value float64  `json:"value"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	// HoursPerYear is the expected number of hours in a year during which it is true.
	HoursPerYear float64 `json:"hoursPerYear"`
}

// Analyze computes the probabilities that the workloads of the state have pods down at the given rates. The status of the
// PodDisruptionBudgets must be up to date, as it is after the cluster has settled. Errors are invalid rates or options, all at once, a rate
// for a label that no node has, an invalid selector of a budget, and cancellation.
func Analyze(ctx context.Context, state *cluster.State, rates scenario.Rates, opts Options) (*Analysis, error) {
	if err := validateInput(state, rates, opts); err != nil {
		return nil, err
	}
	levels, nodes := buildLevels(state.Nodes, rates)
	analysis := &Analysis{Trials: cmp.Or(opts.Trials, defaultTrials), Seed: opts.Seed}
	analysis.Levels = list.Map(levels, func(level level) Level { return level.Level })
	a := analyzer{Analysis: analysis, levels: levels, nodes: nodes, opts: opts, workloadIndices: map[cluster.Ref]int{}}
	if err := a.analyzeWorkloads(ctx, state); err != nil {
		return nil, err
	}
	if err := a.analyzeBudgets(ctx, state); err != nil {
		return nil, err
	}
	analysis.Assumptions = analysis.listAssumptions(len(state.Nodes))
	if opts.Only != nil {
		analysis.Workloads = slices.DeleteFunc(analysis.Workloads, func(w Workload) bool { return !opts.Only[w.Ref] })
	}
	if !slices.ContainsFunc(analysis.Workloads, func(w Workload) bool { return w.usesTrials() }) {
		analysis.Trials, analysis.Seed = 0, 0
	}
	return analysis, nil
}

// validateInput returns all errors in the options and rates.
func validateInput(state *cluster.State, rates scenario.Rates, opts Options) error {
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
	for _, owner := range sortedOwners(opts.Quorum) {
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

// sortedOwners returns the keys of the map, sorted.
func sortedOwners(quorum map[cluster.Ref]int) []cluster.Ref {
	return slices.SortedFunc(maps.Keys(quorum), cluster.Ref.Compare)
}
