// Package whatif runs many versions of a scenario, which are the variants of a comparison or the points of a sweep, and reduces each to the
// same figures.
//
//	Scenario ─ with its changes ─▶ []*scenario.Scenario
//	         ─ Run ──────────────▶ []Found, on all cores; versions share the steps that they begin with
//	         ─ Key ──────────────▶ where a Store keeps what was found of a version
package whatif

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// Options are the options of a comparison of versions.
type Options struct {
	// Step is the name of the step after which the figures are computed, or after which the steps that versions ask for are done. Empty means
	// the last step of each version.
	Step string
	// Metric selects the figures.
	Metric metric.Options
	// Workers is the number of versions that run at the same time; below 1 means one per core. It does not change the results.
	Workers int
	// Progress, if set, is called before and after each version with the index of the version that began last, the number of finished
	// versions, and their total. Calls never overlap.
	Progress func(last, done, total int)
	// Done, if set, is called with the result of version i as soon as it is known. Calls never overlap. An error of Done ends the run.
	Done func(i int, found *Found) error
}

// Found is the result of one version. Its comments are descriptions in the schemas of the reports that hold it.
type Found struct {
	metric.Metrics
	// NewlyPending is the number of pods that are Pending in this version although neither they nor pods in their place are Pending in the
	// unchanged scenario. It can exceed the difference of Pending, which hides a replica that lost its node to a pod that was Pending.
	NewlyPending int `json:"newlyPending"`
	// Moved is the number of pods that would have to move to get here from the unchanged scenario: for each workload, the pods on nodes that
	// have more pods of it here, as far as both run the same number of pods.
	Moved int `json:"moved"`
	// NewNodes is the number of nodes that the Cluster Autoscaler has added so far, less the nodes that it removed; missing without an
	// autoscaler.
	NewNodes *int `json:"newNodes,omitempty"`
	// Cause is what keeps most of the newly Pending pods off the nodes: a resource such as cpu, or kube-scheduler's message.
	Cause string `json:"cause,omitempty"`
	// Held are the workloads whose HorizontalPodAutoscalers allow other numbers of replicas than the version asks for.
	Held []world.Held `json:"held,omitempty"`
	// StuckRollouts are the rollouts that bring the change to running pods and do not end.
	StuckRollouts []controller.Rollout `json:"stuckRollouts,omitempty"`
}

// StuckRollouts returns the rollouts of the scenario's changes that have not ended after the step.
func StuckRollouts(s *scenario.Scenario, step *simulation.Step) []controller.Rollout {
	return list.Where(step.Rollouts, func(r controller.Rollout) bool { return !r.Complete && slices.Contains(s.RolledOut, r.Ref) })
}

// DescribeStuckRollout says that the rollout of a change gets stuck, and why.
func DescribeStuckRollout(r *controller.Rollout) string {
	return fmt.Sprintf("the rollout of %s gets stuck, at %d of %d updated: %s", r.Ref.Qualified(), r.Updated, r.Desired, strings.TrimSuffix(r.Waiting, "."))
}

// Base is the run of the unchanged scenario, with which versions are compared.
type Base struct {
	Found
	Result *simulation.Result
	state  *cluster.State
}

// RunBase runs the unchanged scenario.
func RunBase(ctx context.Context, s *scenario.Scenario, opts Options) (*Base, error) {
	w := &worker{opts: &opts}
	defer w.close()
	return w.runBase(ctx, s)
}

// Run runs the versions, and returns their results in order. All versions have the feature gates of the base. If the context ends,
// unfinished versions are nil; if no version is finished, the slice is nil.
func Run(ctx context.Context, base *Base, versions []*scenario.Scenario, opts Options) ([]*Found, error) {
	o := parallel.Options{Workers: opts.Workers}
	// Neighbours share the most work, so each worker takes blocks of several versions. The blocks are small enough that no worker waits long
	// for the others.
	o.Block = len(versions) / (max(1, o.WorkerCount(len(versions))) * 8)
	if opts.Progress != nil {
		o.Progress = func(last, done int) { opts.Progress(last, done, len(versions)) }
	}
	found := make([]*Found, len(versions))
	workers := make([]worker, o.WorkerCount(len(versions)))
	for i := range workers {
		workers[i] = worker{opts: &opts, knownRuns: []*simulation.Result{base.Result}}
		defer workers[i].close()
	}
	var mu sync.Mutex // for Done
	err := parallel.Each(ctx, len(versions), o, func(ctx context.Context, worker, i int) error {
		version, err := workers[worker].runVersion(ctx, base, versions[i])
		if err != nil {
			return &VersionError{Index: i, Err: err}
		}
		found[i] = version
		if opts.Done == nil {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		return opts.Done(i, version)
	})
	return keepFinished(ctx, found, err)
}

// keepFinished drops the results if there is an error, unless the context has ended and some versions are finished: these can be reported.
func keepFinished(ctx context.Context, found []*Found, err error) ([]*Found, error) {
	if err != nil && (ctx.Err() == nil || !slices.ContainsFunc(found, func(f *Found) bool { return f != nil })) {
		return nil, err
	}
	return found, err
}

// VersionError is the error of a version that could not run.
type VersionError struct {
	// Index is the index of the version.
	Index int
	Err   error
}

// Error returns the text of Err. It lacks the version's name, which the caller knows.
func (e *VersionError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *VersionError) Unwrap() error { return e.Err }

// worker runs versions one after the other.
type worker struct {
	opts *Options
	// worlds has a world for each scheduler configuration and autoscaler, because building one costs more than a small run.
	worlds map[worldKey]world.World
	// knownRuns lists runs that other versions can continue: the base, and the last run.
	knownRuns []*simulation.Result
}

// maxWorlds is the largest number of worlds that a worker keeps: each point of a sweep may have an autoscaler of its own.
const maxWorlds = 8

// worldKey has the parts of a scenario that its world is built from.
type worldKey struct {
	*sched.Config
	*scenario.Autoscaler
	deciders string
}

func (w *worker) close() {
	for _, in := range w.worlds {
		in.Close()
	}
}

func (w *worker) worldFor(s *scenario.Scenario) (world.World, error) {
	by := worldKey{s.Config, s.Autoscaler, fmt.Sprint(s.Deciders)}
	if in := w.worlds[by]; in != nil {
		return in, nil
	}
	in, err := simulation.NewWorld(s)
	if err != nil {
		return nil, err
	}
	if w.worlds == nil || len(w.worlds) == maxWorlds {
		w.close()
		w.worlds = map[worldKey]world.World{}
	}
	w.worlds[by] = in
	return in, nil
}

func (w *worker) runBase(ctx context.Context, s *scenario.Scenario) (*Base, error) {
	result, step, metrics, err := w.runToStep(ctx, s)
	if err != nil {
		return nil, err
	}
	return &Base{Found: Found{Metrics: *metrics, NewNodes: countNewNodes(result, step), Held: heldWorkloads(result, step), StuckRollouts: StuckRollouts(s, step)}, Result: result, state: step.State}, nil
}

func (w *worker) runVersion(ctx context.Context, base *Base, s *scenario.Scenario) (*Found, error) {
	result, step, metrics, err := w.runToStep(ctx, s)
	if err != nil {
		return nil, err
	}
	w.knownRuns = append(w.knownRuns[:1], result)
	newly := cluster.NewlyPending(base.state.PodsByWorkload(), step.State)
	return &Found{Metrics: *metrics, NewlyPending: len(newly), Moved: metric.CountMoves(base.state, step.State), NewNodes: countNewNodes(result, step), Cause: mainCause(newly, step),
		Held: heldWorkloads(result, step), StuckRollouts: StuckRollouts(s, step)}, nil
}

// countNewNodes counts the nodes that the autoscaler and the deciders have added until the step, less the nodes that they removed; nil if there is
// neither.
func countNewNodes(result *simulation.Result, until *simulation.Step) *int {
	var sum *int
	for i := range result.Steps {
		if did := result.Steps[i].Autoscaling; did != nil {
			sum = ptr.To(ptr.Deref(sum, 0) + len(did.Added) - len(did.Removed))
		}
		if step := &result.Steps[i]; len(result.Scenario.Deciders) > 0 {
			sum = ptr.To(ptr.Deref(sum, 0))
			for _, did := range step.Decided(step.State) {
				*sum += len(did.AddedNodes) - len(did.RemovedNodes)
			}
		}
		if &result.Steps[i] == until {
			break
		}
	}
	return sum
}

// heldWorkloads returns the workloads that did not get the replicas for which the steps until then asked.
func heldWorkloads(result *simulation.Result, until *simulation.Step) []world.Held {
	var all []world.Held
	for i := range result.Steps {
		all = append(all, result.Steps[i].Held...)
		if &result.Steps[i] == until {
			break
		}
	}
	return all
}

// mainCause returns the most frequent cause among the newly Pending pods after the step.
func mainCause(newly map[types.UID]bool, step *simulation.Step) string {
	pods := map[string]int{}
	for i := range step.Pending {
		if p := &step.Pending[i]; newly[p.Pod.UID] {
			pods[placement.MainReason(p.Reasons)]++
		}
	}
	most := ""
	for _, text := range slices.Sorted(maps.Keys(pods)) {
		if text != "" && pods[text] > pods[most] || most == "" {
			most = text
		}
	}
	return most
}

func (w *worker) runToStep(ctx context.Context, s *scenario.Scenario) (*simulation.Result, *simulation.Step, *metric.Metrics, error) {
	in, err := w.worldFor(s)
	if err != nil {
		return nil, nil, nil, err
	}
	if w.opts.Step != "" && s.Asked > 0 {
		s = s.QuestionAfter(w.opts.Step)
	}
	result, err := simulation.Run(ctx, s, simulation.Options{World: in, Prefix: w.longestPrefix(s)})
	if err != nil {
		return nil, nil, nil, err
	}
	at := len(result.Steps) - 1
	if w.opts.Step != "" && s.Asked == 0 {
		at = slices.IndexFunc(result.Steps, func(step simulation.Step) bool { return step.Name == w.opts.Step })
		if at < 0 {
			return nil, nil, nil, fmt.Errorf("there is no step %q", w.opts.Step)
		}
	}
	looked := w.opts.Metric
	looked.From = result.Steps[at].Mark()
	metrics, err := metric.Measure(ctx, in, s, result.Steps[at].State, looked)
	return result, &result.Steps[at], metrics, err
}

// longestPrefix returns the known run with the longest common prefix of steps, or nil if no run has one.
func (w *worker) longestPrefix(s *scenario.Scenario) *simulation.Result {
	var best *simulation.Result
	most := -1
	for _, known := range w.knownRuns {
		if n, ok := scenario.CommonSteps(s, known.Scenario); ok && n > most {
			best, most = known, n
		}
	}
	return best
}
