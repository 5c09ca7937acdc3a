// Package whatif carries out many versions of a scenario, the variants of a comparison or the points of a sweep, and sums each up in
// the same numbers.
//
//	Scenario ─ with its changes ─▶ []*scenario.Scenario
//	         ─ Run ──────────────▶ []Found, on all cores; versions share the steps that they begin with
//	         ─ Key ──────────────▶ where a Store keeps what was found of a version
package whatif

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// Options say what of the versions is looked at.
type Options struct {
	// Step is the step after which; empty: each version's last one.
	Step string
	// Metric says which numbers.
	Metric metric.Options
	// Workers is how many versions are carried out at once; below 1: one a core. It changes no result.
	Workers int
	// Progress, if set, is called before and after each version, with the one that was begun last, the number done and the total. It is never
	// called twice at a time.
	Progress func(last, done, total int)
	// Done, if set, is given what was found of the i-th version as soon as it is known. It is never called twice at a time; its error
	// ends the run.
	Done func(i int, found *Found) error
}

// Found is what one version comes to. Its comments are descriptions in the schemas of the reports that hold it.
type Found struct {
	metric.Metrics
	// Moved is the number of pods that would have to move to get there from the scenario as it is: of each workload the pods on nodes
	// that hold more of it, as far as both run as many.
	Moved int `json:"moved"`
}

// Base is the scenario as it is, carried out: what its versions are compared with.
type Base struct {
	Found
	Result *simulation.Result
	state  *cluster.State
}

// RunBase carries out the scenario as it is.
func RunBase(ctx context.Context, s *scenario.Scenario, opts Options) (*Base, error) {
	w := &worker{opts: &opts}
	defer w.close()
	return w.base(ctx, s)
}

// Run carries out the versions, and returns what was found in their order. All have the feature gates of the base. If the context ends,
// the versions that are not finished are nil; if none is, so is all.
func Run(ctx context.Context, base *Base, versions []*scenario.Scenario, opts Options) ([]*Found, error) {
	o := parallel.Options{Workers: opts.Workers}
	// Neighbours have the most in common, so each worker takes several at a time; many enough that none waits long for the others.
	o.Block = len(versions) / (max(1, o.Count(len(versions))) * 8)
	if opts.Progress != nil {
		o.Progress = func(last, done int) { opts.Progress(last, done, len(versions)) }
	}
	found := make([]*Found, len(versions))
	workers := make([]worker, o.Count(len(versions)))
	for i := range workers {
		workers[i] = worker{opts: &opts, known: []*simulation.Result{base.Result}}
		defer workers[i].close()
	}
	var mu sync.Mutex // for Done
	err := parallel.Each(ctx, len(versions), o, func(ctx context.Context, worker, i int) error {
		version, err := workers[worker].version(ctx, base, versions[i])
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
	return finished(ctx, found, err)
}

// finished returns what is worth to be reported of an error: something was found, and it is only that the context has ended.
func finished(ctx context.Context, found []*Found, err error) ([]*Found, error) {
	if err != nil && (ctx.Err() == nil || !slices.ContainsFunc(found, func(f *Found) bool { return f != nil })) {
		return nil, err
	}
	return found, err
}

// VersionError is a version that could not be carried out.
type VersionError struct {
	// Index is its place among the versions.
	Index int
	Err   error
}

// Error is the reason; who knows the version's name says it.
func (e *VersionError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *VersionError) Unwrap() error { return e.Err }

// worker carries out versions one after the other.
type worker struct {
	opts *Options
	// worlds are one for each scheduler configuration: building one costs more than a small run.
	worlds map[*sched.Config]world.World
	// known are runs from which others can go on: the base, and the last one.
	known []*simulation.Result
}

func (w *worker) close() {
	for _, in := range w.worlds {
		in.Close()
	}
}

func (w *worker) world(s *scenario.Scenario) (world.World, error) {
	if in := w.worlds[s.Config]; in != nil {
		return in, nil
	}
	in, err := simulation.NewWorld(s)
	if err != nil {
		return nil, err
	}
	if w.worlds == nil {
		w.worlds = map[*sched.Config]world.World{}
	}
	w.worlds[s.Config] = in
	return in, nil
}

func (w *worker) base(ctx context.Context, s *scenario.Scenario) (*Base, error) {
	result, state, metrics, err := w.run(ctx, s)
	if err != nil {
		return nil, err
	}
	return &Base{Found: Found{Metrics: *metrics}, Result: result, state: state}, nil
}

func (w *worker) version(ctx context.Context, base *Base, s *scenario.Scenario) (*Found, error) {
	result, state, metrics, err := w.run(ctx, s)
	if err != nil {
		return nil, err
	}
	w.known = append(w.known[:1], result)
	return &Found{Metrics: *metrics, Moved: metric.Moved(base.state, state)}, nil
}

func (w *worker) run(ctx context.Context, s *scenario.Scenario) (*simulation.Result, *cluster.State, *metric.Metrics, error) {
	in, err := w.world(s)
	if err != nil {
		return nil, nil, nil, err
	}
	result, err := simulation.Run(ctx, s, simulation.Options{World: in, Prefix: w.prefix(s)})
	if err != nil {
		return nil, nil, nil, err
	}
	at := len(result.Steps) - 1
	if w.opts.Step != "" {
		at = slices.IndexFunc(result.Steps, func(step simulation.Step) bool { return step.Name == w.opts.Step })
		if at < 0 {
			return nil, nil, nil, fmt.Errorf("there is no step %q", w.opts.Step)
		}
	}
	state := result.Steps[at].State
	metrics, err := metric.Of(ctx, in, s, state, w.opts.Metric)
	return result, state, metrics, err
}

// prefix returns the run that begins with the most steps of the scenario's; nil if none does.
func (w *worker) prefix(s *scenario.Scenario) *simulation.Result {
	var best *simulation.Result
	most := -1
	for _, known := range w.known {
		if n, ok := scenario.CommonSteps(s, known.Scenario); ok && n > most {
			best, most = known, n
		}
	}
	return best
}
