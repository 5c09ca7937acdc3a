package capacity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Share is a workload and how many of its replicas one unit of a mix contains, at least 1.
type Share struct {
	Workload   cluster.Ref
	Proportion int
}

// Options say which failures must be survived, and report progress.
type Options struct {
	// Survive are the topology keys of the levels of which any one domain may fail, one level at a time.
	Survive []string
	// Mode is how the nodes fail.
	Mode node.FailureMode
	// UpTo is how many more units are looked for at most, and NoLimit as many as there are. If 0, the search ends at some where it would
	// take minutes.
	UpTo int
	// Progress, if set, is called with what is being tried, the number of workloads that are answered, or of what is tried where it is not
	// known of how many, and their total or -1.
	Progress func(what string, done, total int)
}

// Answer is how much more of a workload, or of a mix, fits.
type Answer struct {
	// Of is the mix, or the one workload with proportion 1; Now are their present replicas.
	Of  []Share
	Now []int
	// Fit is how many more units fit while no node fails; Survive is the same for each level of which a domain may fail.
	Fit     Limit
	Survive []Limit
	// Headroom says where the free resources are: cpu, memory and pods first, then others by name.
	Headroom []Headroom
}

// Name returns the name of a mix in the syntax of Mixes, or of its one workload.
func Name(mix []Share) string {
	var names []string
	for _, share := range mix {
		name := share.Workload.Qualified()
		if len(mix) > 1 || share.Proportion > 1 {
			name = fmt.Sprintf("%s=%d", name, share.Proportion)
		}
		names = append(names, name)
	}
	return strings.Join(names, ",")
}

// Limit is the largest number of further units that fit, and what prevents the next.
type Limit struct {
	// Level is the topology key of which any one domain may fail; empty if none fails.
	Level string
	// More is the number of units. It is 0 with Short if not even the present replicas fit, or survive.
	More  int
	Short bool
	// Capped means that the search ended, not the room.
	Capped bool
	// Domain is the domain whose failure is the limit: the one that strands the most pods; empty if none fails.
	Domain string
	// Stranded is the number of pods without a node with one more unit.
	Stranded int
	// Refused is the first of them; nil if something else went wrong, which Words describes. Bindings are its reasons, by descending number
	// of nodes.
	Refused  *placement.Pending
	Words    string
	Bindings []Binding
	// Unreplaced is the largest number of pods, in one failure with More units, that nothing replaces, because their nodes are only
	// unreachable or they have no owner. They need no room.
	Unreplaced int
	// Uneven are counts that contradict the rule that fewer fit if more do.
	Uneven []Uneven
	// Probes is the number of counts tried.
	Probes int
}

// Uneven is a count of units that fits although a smaller one does not.
type Uneven struct{ Fits, DoesNot int }

// Base returns the scenario whose run Find continues: the given one up to the named step, or to its end if that is empty, followed by a
// step that does nothing.
func Base(s *scenario.Scenario, step string) *scenario.Scenario {
	if step != "" {
		s = s.Until(step)
	}
	return s.Then(scenario.Step{Name: "capacity"})
}

// NoLimit is how many units are looked for where all are.
const NoLimit = math.MaxInt32

const (
	// enough is how many more units are looked for at most where all would take long, or twice the present ones.
	enough = 50
	// longWay is the number of pods in the full cluster above which the search for what survives failures takes long: each try moves them.
	longWay = 2_000
)

// Find returns, for each of the mixes, how much more of it fits after the last step of the result, which must be of a Base. It ignores the
// HorizontalPodAutoscalers of the workloads. Of many workloads in a large cluster, or of one of which very many more fit before a failure, it
// looks for no more than some, unless the options say how many: answers are then Capped, and several workloads are tried at once, as together
// says. If the context ends, the answers are those known by then, and nil if there is
// none; the result then says that it is partial.
func Find(ctx context.Context, base *simulation.Result, mixes [][]Share, opts Options) ([]Answer, error) {
	f := newFinder(base, mixes, opts)
	err := f.find(ctx)
	if err == nil {
		return f.answers, nil
	}
	if ctx.Err() == nil || f.answered == 0 {
		return nil, err
	}
	base.Partial = fmt.Sprintf("interrupted after %d of %s", f.answered, words.Count(len(mixes), "workload"))
	return slices.DeleteFunc(f.answers, func(a Answer) bool { return a.Of == nil }), err
}

// finder answers for several mixes at once.
type finder struct {
	base    *simulation.Result
	opts    Options
	large   bool // many workloads in a large cluster
	probers []*prober

	mu       sync.Mutex // for what follows, and Progress
	answers  []Answer
	answered int
}

func newFinder(base *simulation.Result, mixes [][]Share, opts Options) *finder {
	f := &finder{base: base, opts: opts, large: len(mixes)*len(lastState(base).Pods) > largeWork, answers: make([]Answer, len(mixes))}
	for _, mix := range mixes {
		f.probers = append(f.probers, newProber(base, mix, opts))
	}
	return f
}

func (f *finder) find(ctx context.Context) error {
	zero := map[string]*verdict{}
	if len(f.probers) > 1 {
		for _, level := range f.opts.Survive {
			var err error
			if zero[level], err = (losses{level: level, mode: f.opts.Mode, recoverer: onAllCores(f.base), whole: true}).survives(ctx, lastState(f.base)); err != nil {
				return err
			}
		}
	}
	for _, p := range f.probers {
		p.tell, p.budget, p.zero = f.tell, checked, zero
		if len(f.probers) == 1 {
			p.onAllCores = true
		}
		if p.autoscaled {
			p.zero = nil // without the autoscaler, other pods may come back
		}
		switch {
		case f.opts.UpTo > 0:
			p.enough, p.budget = f.opts.UpTo, checked/len(f.probers)
		case f.large || len(f.opts.Survive) > 0 && len(p.state.Pods)+p.ceiling()*p.size() > longWay:
			p.enough, p.hurried, p.budget = max(enough, 2*int(slices.Max(p.now))), true, 0
		}
	}
	if !f.large || len(f.opts.Survive) == 0 {
		return f.each(ctx, len(f.probers), func(ctx context.Context, w world.World, i int) error {
			return f.answer(ctx, w, i, f.opts.Survive)
		})
	}
	if err := f.each(ctx, len(f.probers), func(ctx context.Context, w world.World, i int) error {
		return f.answer(ctx, w, i, nil)
	}); err != nil {
		return err
	}
	f.answered = 0
	groups := f.together()
	return f.each(ctx, len(groups), func(ctx context.Context, w world.World, i int) error {
		return f.survive(ctx, w, groups[i])
	})
}

func (f *finder) each(ctx context.Context, n int, one func(ctx context.Context, w world.World, i int) error) error {
	return simulation.Each(ctx, f.base.Scenario, n, parallel.Options{}, one)
}

// tell says what is tried.
func (f *finder) tell(what string, tried int) {
	if f.opts.Progress == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opts.Progress(fmt.Sprintf("%s, try %d", what, tried), f.answered, len(f.probers))
}

func (f *finder) done(answered int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered += answered
}

// answer finds how many units of the i-th mix fit, and where its free resources are, and then how many survive the failures of the levels.
func (f *finder) answer(ctx context.Context, w world.World, i int, levels []string) error {
	p := f.probers[i]
	p.world = w
	defer p.leave()
	a := Answer{Of: p.mix}
	for _, now := range p.now {
		a.Now = append(a.Now, int(now))
	}
	fit, err := p.limit(ctx, "", 0)
	if err != nil {
		return p.wrapped(err)
	}
	a.Fit = *fit
	full, err := p.next(ctx, &a.Fit)
	if err != nil {
		return p.wrapped(err)
	}
	a.Headroom = headroom(p.state, full, a.Fit.Refused)
	if a.Survive, err = p.survive(ctx, &a.Fit, levels); err != nil {
		return p.wrapped(err)
	}
	f.answers[i] = a
	f.done(1)
	return nil
}

func (p *prober) wrapped(err error) error { return fmt.Errorf("capacity for %s: %w", p.name, err) }

// survive finds how many units fit if any domain of each level may fail, of those that fit if none does.
func (p *prober) survive(ctx context.Context, fit *Limit, levels []string) ([]Limit, error) {
	var all []Limit
	for _, level := range levels {
		end := 0
		if !fit.Capped {
			end = fit.More + 1
		}
		survive, err := p.limit(ctx, level, end)
		if err != nil {
			return nil, err
		}
		all = append(all, *survive)
	}
	return all, nil
}

// next tries one more unit on the full cluster and keeps every node's verdict on it. It returns the full cluster.
func (p *prober) next(ctx context.Context, limit *Limit) (*cluster.State, error) {
	if limit.Short {
		return p.state, nil
	}
	if p.full == nil || p.fits != limit.More {
		full, err := p.run(ctx, p.scaled(p.scenario, limit.More), p.base, nil)
		if err != nil {
			return nil, err
		}
		p.full, p.fits = full, limit.More
	}
	if limit.Capped {
		return lastState(p.full), nil
	}
	all := func(string, cluster.Ref, *v1.Pod) *placement.Depth { return &placement.Depth{} }
	one, err := p.run(ctx, p.scaled(p.full.Scenario, limit.More+1), p.full, all)
	if err != nil {
		return nil, err
	}
	if v := p.judge(one, limit.More+1); v.refused != nil && v.refused.Cycle != nil {
		limit.refuse(v)
	}
	return lastState(p.full), nil
}

func lastState(result *simulation.Result) *cluster.State {
	if result == nil {
		return nil
	}
	return result.Steps[len(result.Steps)-1].State
}
