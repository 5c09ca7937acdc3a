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
	"runtime"
	"slices"
	"sync"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Options say what of the versions is looked at.
type Options struct {
	// Step is the step after which; empty: each version's last one.
	Step string
	// Metric says which numbers.
	Metric metric.Options
	// Workers is how many versions are carried out at once; below 1: one a core. It changes no result.
	Workers int
	// Progress, if set, is told after each version how many are done, and of how many. It is never called twice at a time.
	Progress func(done, total int)
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
	if err := sched.SetFeatureGates(s.FeatureGates); err != nil {
		return nil, err
	}
	w := &worker{opts: &opts}
	defer w.close()
	return w.base(ctx, s)
}

// Run carries out the versions, and returns what was found in their order. All have the feature gates of the base.
func Run(ctx context.Context, base *Base, versions []*scenario.Scenario, opts Options) ([]Found, error) {
	workers := opts.Workers
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	r := &runs{base: base, versions: versions, opts: &opts, found: make([]Found, len(versions))}
	// Neighbours have the most in common, so each worker takes several at a time; many enough that none waits long for the others.
	r.block = max(1, len(versions)/(workers*8))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for range min(workers, len(versions)) {
		running.Go(func() {
			if err := r.work(ctx); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return r.found, nil
}

// runs are versions under way.
type runs struct {
	base     *Base
	versions []*scenario.Scenario
	opts     *Options
	block    int

	mu    sync.Mutex
	taken int
	done  int
	found []Found
}

// take returns the next versions to be carried out, none at the end.
func (r *runs) take() (from, to int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from = r.taken
	r.taken = min(from+r.block, len(r.versions))
	return from, r.taken
}

func (r *runs) work(ctx context.Context) error {
	w := &worker{opts: r.opts, known: []*simulation.Result{r.base.Result}}
	defer w.close()
	for {
		from, to := r.take()
		if from == to {
			return nil
		}
		for i := from; i < to; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			found, err := w.version(ctx, r.base, r.versions[i])
			if err != nil {
				return &VersionError{Index: i, Err: err}
			}
			if err := r.tell(i, found); err != nil {
				return err
			}
		}
	}
}

func (r *runs) tell(i int, found *Found) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found[i] = *found
	r.done++
	if r.opts.Progress != nil {
		r.opts.Progress(r.done, len(r.versions))
	}
	if r.opts.Done == nil {
		return nil
	}
	return r.opts.Done(i, found)
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
	worlds map[*sched.Config]*simulation.World
	// known are runs from which others can go on: the base, and the last one.
	known []*simulation.Result
}

func (w *worker) close() {
	for _, world := range w.worlds {
		world.Close()
	}
}

func (w *worker) world(s *scenario.Scenario) (*simulation.World, error) {
	if world := w.worlds[s.Config]; world != nil {
		return world, nil
	}
	world, err := simulation.NewWorld(s.Config, s.Ties)
	if err != nil {
		return nil, err
	}
	if w.worlds == nil {
		w.worlds = map[*sched.Config]*simulation.World{}
	}
	w.worlds[s.Config] = world
	return world, nil
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
	world, err := w.world(s)
	if err != nil {
		return nil, nil, nil, err
	}
	result, err := world.Run(ctx, s, simulation.Options{Prefix: w.prefix(s)})
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
	metrics, err := metric.Of(ctx, world, s, state, w.opts.Metric)
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
