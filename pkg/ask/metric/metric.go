// Package metric reduces a cluster to a few figures, with which reports compare variants, trials and points of a sweep.
package metric

import (
	"cmp"
	"context"
	"slices"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/world"
)

// The comments of the types below are the descriptions in the schemas of the reports that contain them.

// Metrics are the figures of a cluster after a step.
type Metrics struct {
	// Pods is the number of pods that have a node or want one. Pending is the number of pods without a node.
	Pods    int `json:"pods"`
	Pending int `json:"pending"`
	// Levels are the failure domains of the nodes' labels, widest first.
	Levels []LevelMetrics `json:"levels"`
	// Cost is the price per hour of the nodes that have a price, in the annotation faultline.dev/price-per-hour or from their node group;
	// missing if no node has one.
	Cost *float64 `json:"cost,omitempty"`
	// Unpriced is the number of nodes without a price if others have one.
	Unpriced int `json:"unpriced,omitempty"`
}

// LevelMetrics are the figures of the failure domains of one level.
type LevelMetrics struct {
	// TopologyKey is the node label whose values form the domains. Domains is their number.
	TopologyKey string `json:"topologyKey"`
	Domains     int    `json:"domains"`
	// Skew is the number of pods by which a workload's fullest domain exceeds its emptiest, for the workload with the worst spread, SkewOf.
	Skew   int    `json:"skew"`
	SkewOf string `json:"skewOf,omitempty"`
	// Radius is the blast radius, between 0 and 1: the largest share of any workload, RadiusOf, that the loss of one domain, RadiusIn, takes.
	// Workloads of one replica count only if they were asked about, because any failure of their domain takes them whole.
	Radius   float64 `json:"radius"`
	RadiusOf string  `json:"radiusOf,omitempty"`
	RadiusIn string  `json:"radiusIn,omitempty"`
	// Failures say what comes back after the failure of each domain; missing if that was not examined. They are fewer than the domains if only
	// the domains with the worst failures were examined.
	Failures []FailureMetrics `json:"failures,omitempty"`
	// Holding is the number of domains that hold a pod of the workloads asked about; missing unless only their failures were examined.
	Holding int `json:"holding,omitempty"`
}

// FailureMetrics say what comes back after the failure of one domain.
type FailureMetrics struct {
	Domain string `json:"domain"`
	// Lost is the number of pods that the failure takes, without pods of DaemonSets, static pods and lost work. Stranded is the number of pods
	// that are additionally Pending after everything that can has come back. Unreplaced is the number of lost pods for which no controller
	// creates another.
	Lost       int `json:"lost"`
	Stranded   int `json:"stranded"`
	Unreplaced int `json:"unreplaced"`
	// OwnLost is the number of lost pods of the workloads asked about. OwnStranded is the number of their pods that are stranded or not
	// replaced. Both are missing if they are 0, or if no workload was asked about.
	OwnLost     int `json:"ownLost,omitempty"`
	OwnStranded int `json:"ownStranded,omitempty"`
}

// IsPartlyExamined reports whether recovery was examined only for some of the domains.
func (l *LevelMetrics) IsPartlyExamined() bool {
	return len(l.Failures) > 0 && len(l.Failures) < l.examinable()
}

// examinable returns the number of domains whose recovery the options asked for.
func (l *LevelMetrics) examinable() int {
	if l.Holding > 0 {
		return l.Holding
	}
	return l.Domains
}

// NotBack returns the largest number of pods that do not come back after a failure of the level: stranded pods, and pods that nothing
// replaces. It returns false if recovery was not examined. If only some domains were examined, the failure of another may leave more.
func (l *LevelMetrics) NotBack() (int, bool) {
	most := 0
	for _, f := range l.Failures {
		most = max(most, f.Stranded+f.Unreplaced)
	}
	return most, len(l.Failures) > 0
}

// OwnNotBack returns what NotBack returns, for the pods of Options.Workloads only.
func (l *LevelMetrics) OwnNotBack() (int, bool) {
	most := 0
	for _, f := range l.Failures {
		most = max(most, f.OwnStranded)
	}
	return most, len(l.Failures) > 0
}

// Level returns the level with the topology key, or nil.
func (m *Metrics) Level(key string) *LevelMetrics {
	i := slices.IndexFunc(m.Levels, func(l LevelMetrics) bool { return l.TopologyKey == key })
	if i < 0 {
		return nil
	}
	return &m.Levels[i]
}

// Options selects what to examine.
type Options struct {
	// Workloads are the workloads for skew and blast radius; if empty, all workloads except DaemonSets and bare pods.
	Workloads []cluster.Ref
	// Levels are the topology keys of the levels; if empty, every level of the nodes.
	Levels []string
	// Recover lists the levels for which recovery from a failure is examined.
	Recover []string
	// Worst is the number of domains of such a level that are examined, the worst failures first; 0 means all.
	Worst int
	// Holding leaves out the domains that hold no pod of Workloads, because their failure takes none.
	Holding bool
	// From, if set, is the position of the world after the step, from which failures continue; see blast.Options.
	From *world.Mark
	// Among, if set, has the worlds in which the cluster recovers from several failures at the same time, for a caller that examines one
	// cluster. It changes no figure.
	Among *simulation.Worlds
}

// DefaultWorst is the default number of domains of a level whose recovery is examined. In a cluster of some thousand pods, a recovery takes
// hundredths of a second.
const DefaultWorst = 100

// includes reports whether the workload counts for skew and blast radius. By default DaemonSets do not count, which have a pod on every node,
// nor do bare pods, which are lost with their node in any case.
func (o *Options) includes(owner cluster.Ref) bool {
	if len(o.Workloads) > 0 {
		return slices.Contains(o.Workloads, owner)
	}
	return owner.Kind != "DaemonSet" && owner.Kind != "Pod"
}

// Measure computes the figures of the cluster after a step of the scenario. It uses the world, built for the scenario's configuration, to let
// the lost pods come back; nothing else may use the world meanwhile. Errors are invalid prices of nodes, and errors of the failures and of
// the context.
func Measure(ctx context.Context, w world.World, s *scenario.Scenario, state *cluster.State, opts Options) (*Metrics, error) {
	m := &Metrics{}
	for _, pod := range state.Pods {
		switch {
		case !cluster.IsActive(pod):
			continue
		case pod.Spec.NodeName == "":
			m.Pending++
		}
		m.Pods++
	}
	var err error
	if m.Cost, m.Unpriced, err = Cost(state.Nodes, s.Autoscaler); err != nil {
		return nil, err
	}
	levels := topology.Levels(state.Nodes, s.LevelKeys...)
	if len(opts.Levels) > 0 {
		levels = slices.DeleteFunc(topology.Levels(state.Nodes, opts.Levels...), func(key string) bool { return !slices.Contains(opts.Levels, key) })
	}
	if len(levels) == 0 {
		return m, nil
	}
	looked := blast.Options{Levels: levels, Simultaneous: 1, Mode: node.Unreachable, Worst: opts.Worst, From: opts.From}
	if s.Failures.Mode != "" {
		looked.Mode = node.FailureMode(s.Failures.Mode)
	}
	losses := looked
	if len(opts.Workloads) > 0 {
		losses.Only = list.KeySet(opts.Workloads, func(owner cluster.Ref) cluster.Ref { return owner }) // the losses of other workloads are not asked for
	}
	analysis, err := blast.Lost(state, losses)
	if err != nil {
		return nil, err
	}
	spreads := workloadSpreads(state, opts.includes)
	for i := range analysis.Levels {
		found := &analysis.Levels[i]
		level := LevelMetrics{TopologyKey: found.TopologyKey, Domains: found.Domains}
		domains, _ := topology.Domains(state.Nodes, found.TopologyKey)
		for _, s := range spreads {
			if skew := s.skew(domains); skew > level.Skew {
				level.Skew, level.SkewOf = skew, s.owner.Qualified()
			}
		}
		level.setRadius(found, opts.countsLoss)
		if slices.Contains(opts.Recover, found.TopologyKey) {
			of := &blast.Analysis{Levels: []blast.Level{*found}}
			failures := found.Failures
			if opts.Holding {
				failures = list.Without(failures, func(f blast.Failure) bool { return opts.largestShare(f) == 0 })
				level.Holding = len(failures)
			}
			if len(opts.Workloads) > 0 {
				failures = opts.worstFailures(failures)
			}
			of.Levels[0].Failures = failures
			if opts.Among != nil {
				looked.Until = func(*blast.Failure, *blast.Recovery) bool { return false } // computes no more than the recovery itself
				err = blast.RecoverInWorlds(ctx, opts.Among, state, of, looked, nil)
			} else {
				err = blast.RecoverIn(ctx, w, state, of, looked)
			}
			if err != nil {
				return nil, err
			}
			level.appendFailures(&of.Levels[0], m.Pending, state, &opts)
		}
		m.Levels = append(m.Levels, level)
	}
	return m, nil
}

// countsLoss reports whether the loss counts for the blast radius.
func (o *Options) countsLoss(loss *blast.Loss) bool {
	return o.includes(loss.Ref) && (len(o.Workloads) > 0 || loss.Replicas > 1)
}

// worstFailures returns the o.Worst worst failures, in their order. A failure is worse if it takes a larger share of a workload that counts, or
// then more pods.
func (o *Options) worstFailures(failures []blast.Failure) []blast.Failure {
	if o.Worst == 0 || len(failures) <= o.Worst {
		return failures
	}
	sorted := slices.Clone(failures)
	slices.SortStableFunc(sorted, func(a, b blast.Failure) int {
		return cmp.Or(cmp.Compare(o.largestShare(b), o.largestShare(a)), cmp.Compare(b.Pods, a.Pods))
	})
	return list.Where(failures, func(f blast.Failure) bool {
		return slices.ContainsFunc(sorted[:o.Worst], func(w blast.Failure) bool { return w.Domains[0] == f.Domains[0] })
	})
}

// largestShare returns the largest share that the failure takes of any workload that counts.
func (o *Options) largestShare(f blast.Failure) float64 {
	most := 0.0
	for i := range f.Workloads {
		if loss := &f.Workloads[i]; o.countsLoss(loss) {
			most = max(most, loss.Share())
		}
	}
	return most
}

// setRadius sets the largest share that one failure takes of a workload. In a tie, the larger number of lost pods wins, then the first
// workload.
func (l *LevelMetrics) setRadius(found *blast.Level, exposed func(*blast.Loss) bool) {
	lost := 0
	for _, failure := range found.Failures {
		for i := range failure.Workloads {
			loss := &failure.Workloads[i]
			if !exposed(loss) {
				continue
			}
			if share := loss.Share(); share > l.Radius || share == l.Radius && loss.Lost > lost {
				l.Radius, l.RadiusOf, l.RadiusIn = share, loss.Qualified(), failure.Domains[0]
				lost = loss.Lost
			}
		}
	}
}

// appendFailures appends the figures of each failure. Only numbers of pods count, because pods that were Pending before may take freed room
// while other pods wait in their place.
func (l *LevelMetrics) appendFailures(found *blast.Level, pending int, before *cluster.State, opts *Options) {
	ownPending := opts.countOwnUnscheduled(before)
	for _, failure := range found.Failures {
		if failure.Recovery == nil {
			continue
		}
		settled := failure.Recovery.State
		f := FailureMetrics{
			Domain: failure.Domains[0], Lost: failure.Recovery.CountLost(), Unreplaced: failure.Recovery.CountNotReplaced(),
			Stranded: max(0, len(settled.Unscheduled())-pending), OwnStranded: max(0, opts.countOwnUnscheduled(settled)-ownPending),
		}
		for _, pod := range failure.Recovery.NotReplaced {
			if !pod.BelongsToNode() && slices.ContainsFunc(opts.Workloads, pod.OfWorkload) {
				f.OwnStranded++
			}
		}
		for _, loss := range failure.Workloads {
			if opts.isOwn(loss.Ref) {
				f.OwnLost += loss.Lost
			}
		}
		l.Failures = append(l.Failures, f)
	}
}

// countOwnUnscheduled returns the number of pods of o.Workloads without a node.
func (o *Options) countOwnUnscheduled(state *cluster.State) int {
	owner := state.Owners()
	own := 0
	for _, pod := range state.Unscheduled() {
		if o.isOwn(owner(pod)) {
			own++
		}
	}
	return own
}

// isOwn reports whether the workload is one of o.Workloads.
func (o *Options) isOwn(owner cluster.Ref) bool { return slices.Contains(o.Workloads, owner) }
