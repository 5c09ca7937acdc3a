package peak

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/world"
)

// finder runs the peak, and counts what has no node.
type finder struct {
	opts    Options
	base    *simulation.Result
	worlds  *simulation.Worlds
	before  *snapshot
	targets []world.PeakTarget
	// peaks has the peaks that were run, by the replicas of the targets: two shares of the way may ask for the same replicas.
	peaks map[string]*outcome
	// tried and total count the tries for the progress.
	tried, total int
}

func newFinder(base *simulation.Result, opts Options) *finder {
	return &finder{opts: opts, base: base, worlds: simulation.NewWorlds(base.Scenario), before: newSnapshot(base.Last()), peaks: map[string]*outcome{}}
}

func (f *finder) close() { f.worlds.Close() }

// expect adds to the number of tries that are to come.
func (f *finder) expect(tries int) { f.total += tries }

// progress returns the options of a parallel run whose pieces count as tries.
func (f *finder) progress(name func(i int) string) parallel.Options {
	if f.opts.Progress == nil {
		return parallel.Options{}
	}
	before := f.tried
	return parallel.Options{Progress: func(last, done int) {
		f.tried = before + done
		f.opts.Progress(name(last), f.tried, max(f.tried, f.total))
	}}
}

// peakStep returns the step that goes this share of the way.
func (f *finder) peakStep(share float64) scenario.Step {
	peak := f.opts.Peak
	peak.Share = ptr.To(share)
	return scenario.Step{Name: peakStepName, Peak: &peak}
}

// peakStepName is the name of the step in runs and claims.
const peakStepName = "peak"

// targetsAt returns the workloads that grow, with their replicas at this share of the way.
func (f *finder) targetsAt(share float64) []world.PeakTarget {
	targets, _, _ := world.FindPeak(f.before.state, f.peakStep(share).Peak) // Find has reported the error
	return targets
}

// key returns a text that is equal for shares of the way with the same replicas.
func (f *finder) key(share float64) string {
	return fmt.Sprint(list.Map(f.targetsAt(share), func(t world.PeakTarget) int32 { return t.Replicas }))
}

// runPeak returns the cluster at this share of the way, with no loss.
func (f *finder) runPeak(ctx context.Context, share float64) (*outcome, error) {
	if err := f.runPeaks(ctx, []float64{share}); err != nil {
		return nil, err
	}
	return f.peaks[f.key(share)], nil
}

// runPeaks runs the peaks of these shares that were not run before.
func (f *finder) runPeaks(ctx context.Context, shares []float64) error {
	var new []float64
	var keys []string
	for _, share := range shares {
		if key := f.key(share); f.peaks[key] == nil && !slices.Contains(keys, key) {
			new, keys = append(new, share), append(keys, key)
		}
	}
	outcomes := make([]*outcome, len(new))
	err := f.worlds.Each(ctx, len(new), f.progress(func(i int) string { return fmt.Sprintf("%.0f %% of the way", 100*new[i]) }), func(ctx context.Context, w world.World, i int) error {
		course, err := simulation.Continue(w, f.base, simulation.Options{})
		if err != nil {
			return err
		}
		if _, err := course.Do(ctx, f.peakStep(new[i])); err != nil {
			return err
		}
		outcomes[i] = f.before.newOutcome(&course.Result)
		return nil
	})
	for i, o := range outcomes {
		if o != nil {
			f.peaks[keys[i]] = o
		}
	}
	return err
}

// domain is a domain of a level, with its nodes at the peak.
type domain struct {
	level, name string
	nodes       scenario.Nodes
}

// lost is the cluster after the loss of a domain.
type lost struct {
	domain
	outcome
	unreplaced int
}

// domains returns the domains of the levels to survive, as the nodes of the last step make them.
func (f *finder) domains(result *simulation.Result) []domain {
	var all []domain
	nodes := result.State().Nodes
	for _, level := range f.opts.Survive {
		key, only, one := topology.SplitValue(level)
		if !one {
			key = level
		}
		found, _ := topology.Domains(nodes, key)
		for _, d := range found {
			if one && d.Value != only {
				continue
			}
			selected := scenario.Nodes{Selector: key + "=" + d.Value}
			if names := list.Map(d.Nodes, func(n *v1.Node) string { return n.Name }); d.Value == "" || len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(d.Value)) > 0 {
				selected = scenario.Nodes{Names: names}
			}
			all = append(all, domain{level, d.Value, selected})
		}
	}
	return all
}

// failStep returns the step that loses the domain.
func (f *finder) failStep(d *domain) scenario.Step {
	return scenario.Step{Name: "loss of " + d.name, Fail: &scenario.Fail{Nodes: d.nodes, Mode: string(f.opts.Mode)}}
}

// loseEach loses each of the domains, one at a time, in the cluster of the outcome.
func (f *finder) loseEach(ctx context.Context, worlds *simulation.Worlds, from *outcome, domains []domain) ([]lost, error) {
	f.expect(len(domains))
	return f.lose(ctx, worlds, slices.Repeat([]*outcome{from}, len(domains)), domains)
}

// lose loses each domain in the cluster of the outcome with the same index.
func (f *finder) lose(ctx context.Context, worlds *simulation.Worlds, from []*outcome, domains []domain) ([]lost, error) {
	all := make([]lost, len(domains))
	err := worlds.Each(ctx, len(domains), f.progress(func(i int) string { return "loss of " + domains[i].name }), func(ctx context.Context, w world.World, i int) error {
		course, err := simulation.Continue(w, from[i].result, simulation.Options{})
		if err != nil {
			return err
		}
		if _, err := course.Do(ctx, f.failStep(&domains[i])); err != nil {
			return err
		}
		all[i] = lost{domain: domains[i], outcome: *f.before.newOutcome(&course.Result)}
		all[i].unreplaced = countUnreplaced(from[i], &all[i].outcome)
		return nil
	})
	return all, err
}

// crewOf returns the owner of the workload's pods: for a ReplicaSet or a ReplicationController that a controller of an unknown kind made,
// that controller.
func (f *finder) crewOf(of cluster.Ref) cluster.Ref {
	obj := f.before.state.Find(of)
	if obj == nil {
		return of
	}
	if by := metav1.GetControllerOfNoCopy(obj); by != nil {
		return cluster.Ref{Kind: by.Kind, Namespace: of.Namespace, Name: by.Name}
	}
	return of
}

// sortedOwners returns the workloads with a shortage, those with the most pods first.
func (o *outcome) sortedOwners() []cluster.Ref {
	return slices.SortedFunc(maps.Keys(o.shortages), func(a, b cluster.Ref) int {
		return cmp.Or(o.shortages[b].count()-o.shortages[a].count(), a.Compare(b))
	})
}
