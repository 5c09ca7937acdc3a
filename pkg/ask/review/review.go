// Package review sums up a cluster for somebody who looks after it once a week: the room in each group of nodes and its cost, what the loss
// of each domain leaves behind, and which rules do not do what they say, with fixes. Each figure equals the answer of the command for its
// question.
package review

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// Options select what the review examines.
type Options struct {
	// Levels are the topology keys whose domains fail one after the other. The default is the widest level with several domains.
	Levels []string
	// Progress, if set, is called with the current work, how much of it is done, and its total.
	Progress func(what string, done, total int)
}

// Review has the figures of a cluster. Its comments are descriptions in the schema of the report.
type Review struct {
	// Running is the number of pods with a node. Pending is the number of pods without one.
	Running int `json:"running"`
	Pending int `json:"pending"`
	// NotRunning are the workloads of which no pod runs although pods wait for a node. No failure takes anything of them.
	NotRunning []string `json:"notRunning,omitempty"`
	// Cost is what the nodes with a known price cost an hour; missing if no price is known. Unpriced is the number of the other nodes.
	Cost     *float64 `json:"cost,omitempty"`
	Unpriced int      `json:"unpriced,omitempty"`
	// Groups are the groups of equal nodes.
	Groups []Group `json:"groups"`
	// Levels are the levels whose domains fail one after the other.
	Levels []Level `json:"levels"`
	// Risks are the findings of lint, the most severe first.
	Risks []Risk `json:"risks"`
	// Unchecked means that the review was interrupted before lint ended.
	Unchecked bool `json:"unchecked,omitempty"`
	// Workloads are all workloads except DaemonSets and bare pods, sorted by name.
	Workloads []Workload `json:"workloads"`
}

// Group is a set of equal nodes, with the room that is left on them.
type Group struct {
	capacity.Idle
	// Cost is what the nodes of the group cost an hour; missing if the price of any of them is not known.
	Cost *float64 `json:"cost,omitempty"`
}

// Level is a topology key with the losses by the failure of each of its domains.
type Level struct {
	TopologyKey string `json:"topologyKey"`
	Losses      []Loss `json:"losses"`
}

// Loss has what the failure of a domain leaves behind.
type Loss struct {
	Domain string `json:"domain"`
	Nodes  int    `json:"nodes"`
	// Lost is the number of pods that the failure takes, without pods of DaemonSets, static pods and lost work. NotBack is the number of these
	// pods that nothing brings back.
	Lost    int `json:"lost"`
	NotBack int `json:"notBack"`
	// Down is the number of workloads of which the failure leaves no pod. BrokenBudgets is the number of PodDisruptionBudgets that are not met
	// after it.
	Down          int `json:"down"`
	BrokenBudgets int `json:"brokenBudgets"`
}

// Risk is a finding of lint.
type Risk struct {
	Check    string        `json:"check"`
	Severity lint.Severity `json:"severity" jsonschema:"enum=error,enum=warning,enum=note"`
	// Object is the object that has the rule, as namespace/kind/name.
	Object string `json:"object"`
	// Message says what was found, and Fix what to do.
	Message string `json:"message"`
	Fix     string `json:"fix"`
}

// Workload has the numbers of a workload's pods with and without a node.
type Workload struct {
	Workload string `json:"workload"`
	Running  int    `json:"running"`
	Pending  int    `json:"pending"`
}

// At reviews the cluster at the end of the run. If the context ends, the review has the losses that were examined by then, and is nil if
// there are none; the result then says that it is partial.
func At(ctx context.Context, result *simulation.Result, opts Options) (*Review, error) {
	last := result.Last()
	r := &Review{Levels: []Level{}, Risks: []Risk{}, Workloads: []Workload{}}
	r.countPods(last.State)
	if err := r.addGroups(result.Scenario, last.State); err != nil {
		return nil, err
	}
	done, total, err := r.addLosses(ctx, result, last, opts)
	if err == nil {
		if err = r.addRisks(ctx, result, opts); err == nil {
			return r, nil
		}
	}
	if ctx.Err() == nil || done == 0 {
		return nil, err
	}
	r.Unchecked, result.Partial = true, fmt.Sprintf("interrupted after %d of %s, before lint had found all", done, words.Pick(total, "1 loss", fmt.Sprintf("%d losses", total)))
	return r, err
}

// countPods counts all pods, and the pods of each workload.
func (r *Review) countPods(state *cluster.State) {
	for owner, count := range state.PodCounts() {
		r.Running, r.Pending = r.Running+count.Running, r.Pending+count.Pending
		if owner.Kind != "DaemonSet" && owner.Kind != "Pod" {
			r.Workloads = append(r.Workloads, Workload{owner.Qualified(), count.Running, count.Pending})
		}
	}
	slices.SortFunc(r.Workloads, func(a, b Workload) int { return strings.Compare(a.Workload, b.Workload) })
}

// addGroups adds the groups of nodes, with the room on them and their cost.
func (r *Review) addGroups(s *scenario.Scenario, state *cluster.State) error {
	idle, err := capacity.FindStranded(state, s.LevelKeys)
	if err != nil {
		return err
	}
	for _, of := range idle.Groups {
		cost, unpriced, err := metric.Cost(of.Members, s.Autoscaler)
		if err != nil {
			return err
		}
		if unpriced > 0 {
			cost = nil
		}
		r.Groups = append(r.Groups, Group{of, cost})
	}
	r.Cost, r.Unpriced, err = metric.Cost(state.Nodes, s.Autoscaler)
	return err
}

// addLosses fails each domain of the levels. It returns the number of losses that were examined, and their total.
func (r *Review) addLosses(ctx context.Context, result *simulation.Result, last *simulation.Step, opts Options) (done, total int, err error) {
	s := result.Scenario
	o := blast.Options{LevelKeys: s.LevelKeys, Simultaneous: 1, Mode: node.Unreachable, Quorum: s.Failures.Quorum, From: last.Mark()}
	for _, level := range opts.Levels {
		o.Levels = append(o.Levels, topology.ResolveKey(last.State.Nodes, level))
	}
	if several := topology.MultiDomainLevels(last.State.Nodes, s.LevelKeys...); len(o.Levels) == 0 && len(several) > 0 {
		o.Levels = several[:1]
	} else if len(o.Levels) == 0 {
		o.Levels = []string{v1.LabelHostname}
	}
	if s.Failures.Mode != "" {
		o.Mode = node.FailureMode(s.Failures.Mode)
	}
	analysis, err := blast.Lost(last.State, o)
	if err != nil {
		return 0, 0, err
	}
	r.NotRunning = analysis.NotRunning
	var progress func(domains string, done, total int)
	if opts.Progress != nil {
		progress = func(domains string, done, total int) { opts.Progress("loss of "+domains, done, total) }
	}
	err = blast.Recover(ctx, last.State, s, analysis, o, progress)
	for i := range analysis.Levels {
		level := newLevel(&analysis.Levels[i], err != nil)
		done, total = done+len(level.Losses), total+len(analysis.Levels[i].Failures)
		if len(level.Losses) > 0 || err == nil {
			r.Levels = append(r.Levels, level)
		}
	}
	return done, total, err
}

// newLevel sums up the failures of a level. An interrupted review has only the failures whose recovery is known.
func newLevel(level *blast.Level, interrupted bool) Level {
	all := Level{TopologyKey: level.TopologyKey, Losses: []Loss{}}
	for i := range level.Failures {
		failure := &level.Failures[i]
		if interrupted && level.Recovery(failure) == nil {
			continue
		}
		loss := Loss{Domain: failure.Domains[0], Nodes: len(failure.Nodes), BrokenBudgets: len(failure.BrokenBudgets)}
		for j := range failure.Workloads {
			if failure.Workloads[j].Gone {
				loss.Down++
			}
		}
		if recovery := level.Recovery(failure); recovery != nil {
			loss.Lost, loss.NotBack = recovery.CountLost(), recovery.CountNotBack()
		}
		all.Losses = append(all.Losses, loss)
	}
	return all
}

// addRisks adds the findings of lint, the most severe first.
func (r *Review) addRisks(ctx context.Context, result *simulation.Result, opts Options) error {
	found, err := lint.Run(ctx, result, lint.Options{Progress: opts.Progress})
	if err != nil {
		return err
	}
	for _, severity := range lint.Severities {
		for i := range found.Findings {
			if f := &found.Findings[i]; f.Severity == severity {
				r.Risks = append(r.Risks, Risk{f.Check, f.Severity, f.Ref().Qualified(), f.Message, f.Fix})
			}
		}
	}
	return nil
}
