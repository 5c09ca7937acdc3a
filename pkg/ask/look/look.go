// Package look answers at one look the questions of somebody who watches a cluster: which pods wait, which pods a failure would take for
// good, how much room is left, and which rules do not do what they say. Each figure equals the answer of the command for its question.
package look

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/ask/peak"
	"github.com/faultline/faultline/pkg/ask/verify"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/world"
)

// Options bound the work of a look.
type Options struct {
	// Levels are the topology keys of the levels whose domains fail; by default all levels of the nodes.
	Levels []string
	// Worst is the number of failures of a level whose recovery is simulated; 0 means all.
	Worst int
	// UpTo is the largest number of further replicas of each workload that the look tries to place.
	UpTo int
}

// Look has the figures of a cluster.
type Look struct {
	Nodes int
	// Running is the number of pods with a node. Pending has the number of pods without one, by the plugin that refuses most nodes for them.
	Running int
	Pending map[string]int
	Levels  []Level
	// Peaks has the peak of the load with the losses of each level that has several domains; none if no HorizontalPodAutoscaler scales anything. The
	// nodes count as a level only if Options.Levels has them.
	Peaks []Peak
	// Room is the number of further replicas of each workload that fit, at most Options.UpTo.
	Room map[cluster.Ref]int
	// Findings has the number of lint's findings by check, including checks that found nothing. Unread are the kinds that may not be read;
	// checks that need them are not in Findings.
	Findings map[Check]int
	Unread   []string
	// Choices is the number of placements that verify judges. Contradictions is the number of these that nothing explains.
	Choices, Contradictions int
}

// Level has the losses by the failures of one level.
type Level struct {
	// Key is the topology key.
	Key string
	// Whole means that the level has one domain, which has every node, so that its failure is the end of the cluster.
	Whole bool
	// Radius is the largest share of a workload of several replicas that a failure takes, between 0 and 1.
	Radius float64
	// Domain is the domain whose failure leaves the most pods that do not come back, and NotBack is their number. Domain is empty if all pods
	// come back.
	Domain  string
	NotBack int
	// Workloads has, for each workload, the largest number of its pods that do not come back after one failure.
	Workloads map[cluster.WorkloadRef]int
}

// Peak has what is left without a node if every HorizontalPodAutoscaler stands at its maximum, and a domain of the level is lost then.
type Peak struct {
	// Key is the topology key.
	Key string
	// Safe is the share of the way to the peak at which each pod has a node, from 0 to 1; 0 also if not even the present load is safe.
	Safe float64
	// Short is the largest number of pods without a node, at the peak or after one loss.
	Short int
}

// Check identifies a check of lint by its ID and severity.
type Check struct{ ID, Severity string }

// Worst returns the level with the failure that leaves the most pods that do not come back; its Domain is empty if all come back. A Whole
// level counts only if all levels are Whole: the loss of everything with the only region is no news.
func (l *Look) Worst() Level {
	worst, onlyWhole := Level{}, !slices.ContainsFunc(l.Levels, func(level Level) bool { return !level.Whole })
	for _, level := range l.Levels {
		if level.NotBack > worst.NotBack && (onlyWhole || !level.Whole) {
			worst = level
		}
	}
	return worst
}

// At examines the cluster of the scenario. It is an error if any of the questions cannot be answered.
func At(ctx context.Context, s *scenario.Scenario, opts Options) (*Look, error) {
	result, err := simulation.Run(ctx, capacity.Base(s, ""), simulation.Options{})
	if err != nil {
		return nil, err
	}
	last := result.Last()
	l := &Look{Nodes: len(last.State.Nodes), Pending: map[string]int{}, Room: map[cluster.Ref]int{}, Findings: map[Check]int{}, Unread: s.Unread}
	for _, pod := range last.State.Pods {
		if pod.Spec.NodeName != "" && !cluster.IsTerminal(pod) {
			l.Running++
		}
	}
	for i := range last.Pending {
		p := &last.Pending[i]
		plugin := "none"
		most := 0
		for _, reason := range p.Reasons {
			if reason.Nodes > most {
				plugin, most = reason.Plugin, reason.Nodes
			}
		}
		l.Pending[plugin]++
	}
	for _, ask := range []func(context.Context, *simulation.Result, *simulation.Step, Options) error{l.failDomains, l.growToPeak, l.findRoom, l.countFindings} {
		if err := ask(ctx, result, last, opts); err != nil {
			return nil, err
		}
	}
	return l, l.countPlacements(ctx, s)
}

// failDomains fails the domains of each level.
func (l *Look) failDomains(ctx context.Context, result *simulation.Result, last *simulation.Step, opts Options) error {
	s := result.Scenario
	o := blast.Options{LevelKeys: s.LevelKeys, Simultaneous: 1, Mode: node.Unreachable, Worst: opts.Worst, Quorum: s.Failures.Quorum, From: last.Mark()}
	o.Levels = list.Map(opts.Levels, func(level string) string { return topology.ResolveKey(last.State.Nodes, level) })
	analysis, err := blast.Lost(last.State, o)
	if err != nil {
		return err
	}
	if err := blast.Recover(ctx, last.State, s, analysis, o, nil); err != nil {
		return err
	}
	for i := range analysis.Levels {
		level := &analysis.Levels[i]
		found := Level{Key: level.TopologyKey, Whole: level.Domains == 1 && len(level.Unlabelled) == 0, Radius: level.Replicated.Share, Workloads: map[cluster.WorkloadRef]int{}}
		for j := range level.Failures {
			failure := &level.Failures[j]
			recovery := level.Recovery(failure)
			if recovery == nil {
				continue
			}
			if gone := recovery.CountNotBack(); gone > found.NotBack {
				found.NotBack, found.Domain = gone, failure.Domains[0]
			}
			for workload, n := range recovery.NotBackByWorkload() {
				found.Workloads[workload] = max(found.Workloads[workload], n)
			}
		}
		l.Levels = append(l.Levels, found)
	}
	return nil
}

// growToPeak lets the load grow to its peak, and loses the domains of each level then.
func (l *Look) growToPeak(ctx context.Context, result *simulation.Result, last *simulation.Step, opts Options) error {
	targets, _, err := world.FindPeak(last.State, &scenario.Peak{})
	if err != nil || len(targets) == 0 {
		return err
	}
	for _, level := range l.Levels {
		if level.Whole || level.Key == v1.LabelHostname && len(opts.Levels) == 0 {
			continue
		}
		found, err := peak.Find(ctx, result, peak.Options{Survive: []string{level.Key}, Mode: node.Unreachable, Depth: peak.UpToSafe})
		if err != nil {
			return err
		}
		at := Peak{Key: level.Key, Short: found.Most()}
		if found.Safe != nil {
			at.Safe = found.Safe.Share
		}
		l.Peaks = append(l.Peaks, at)
	}
	return nil
}

// findRoom finds how many more replicas of each workload fit.
func (l *Look) findRoom(ctx context.Context, result *simulation.Result, last *simulation.Step, opts Options) error {
	var all [][]capacity.Share
	for _, ref := range capacity.Workloads(last.State) {
		all = append(all, []capacity.Share{{Ref: ref, Proportion: 1}})
	}
	found, err := capacity.Find(ctx, result, all, capacity.Options{UpTo: opts.UpTo, Mode: node.Unreachable})
	if err != nil {
		return err
	}
	for i := range found {
		l.Room[found[i].Workloads[0].Ref] = found[i].Fit.More
	}
	return nil
}

func (l *Look) countFindings(ctx context.Context, result *simulation.Result, _ *simulation.Step, _ Options) error {
	found, err := lint.Run(ctx, result, lint.Options{})
	if err != nil {
		return err
	}
	severity := map[string]Check{}
	for _, check := range found.Checks {
		severity[check.ID] = Check{check.ID, string(check.Severity)}
		l.Findings[severity[check.ID]] = 0
	}
	for i := range found.Findings {
		l.Findings[severity[found.Findings[i].Check]]++
	}
	return nil
}

// countPlacements replays the pods of a dump. It leaves the figures 0 if no scheduler has placed the pods.
func (l *Look) countPlacements(ctx context.Context, s *scenario.Scenario) error {
	dump := *s
	for i := range s.Steps {
		dump.Cluster = append(slices.Clip(dump.Cluster), s.Steps[i].Objects...)
	}
	dump.Steps = nil
	result, err := verify.Run(ctx, &dump, verify.Options{})
	if errors.Is(err, verify.ErrNothing) {
		return nil
	}
	if err != nil {
		return err
	}
	count := result.Count()
	l.Choices, l.Contradictions = count.Choices, count.Contradictions
	return nil
}
