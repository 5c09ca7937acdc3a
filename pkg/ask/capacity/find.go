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

// Share is a workload of a mix.
type Share struct {
	cluster.Ref
	// Proportion is how many of its replicas a unit of the mix contains, at least 1.
	Proportion int `json:"proportion"`
	// Now is how many replicas it asks for.
	Now int `json:"now"`
	// Most is how many its HorizontalPodAutoscaler allows at most, without which the search goes on; missing if it has none.
	Most int `json:"most,omitempty"`
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

// Mix is how much more of a mix of workloads fits, mostly of a single one.
type Mix struct {
	// Name is the workload, as kind/name in lower case, or the mix.
	Name string `json:"name"`
	// Workloads are the mix, or the one workload with proportion 1.
	Workloads []Share `json:"workloads"`
	// Fit is how many more units fit while no node fails.
	Fit Limit `json:"fit"`
	// IfUsed is how many more units fit if containers request what they use; missing if that is not asked. See AsUsed.
	IfUsed *Limit `json:"ifUsed,omitempty"`
	// Survive is how many more units fit so that every lost pod comes back, whichever domain of a level fails.
	Survive []Limit `json:"survive,omitempty"`
	// Headroom says where the free resources are: cpu, memory and pods first, then others by name.
	Headroom []Headroom `json:"headroom,omitempty"`
}

// nameOf returns the name of a mix in the syntax of Mixes, or of its one workload.
func nameOf(mix []Share) string {
	var names []string
	for _, share := range mix {
		name := share.Qualified()
		if len(mix) > 1 || share.Proportion > 1 {
			name = fmt.Sprintf("%s=%d", name, share.Proportion)
		}
		names = append(names, name)
	}
	return strings.Join(names, ",")
}

// Limit is the largest number of further units that fit, and what prevents the next.
type Limit struct {
	// Level is the topology key of which any one domain may fail; missing if none fails.
	Level string `json:"level,omitempty"`
	// More is the number of units. It is 0 with Short if not even the present replicas fit, or come back.
	More  int  `json:"more"`
	Short bool `json:"short,omitempty"`
	// Capped means that the search ended at More, and more might fit.
	Capped bool `json:"capped,omitempty"`
	// Open means that the search was interrupted: More fit, and DoesNotFit is the smallest larger number known not to fit; missing if none is.
	Open       bool `json:"open,omitempty"`
	DoesNotFit int  `json:"doesNotFit,omitempty"`
	// Domain is the domain whose failure is the limit: the one that strands the most pods with one more unit. Stranded is how many pods
	// then have no node.
	Domain   string `json:"domain,omitempty"`
	Stranded int    `json:"stranded,omitempty"`
	// Pod is the first of them, as namespace/name, and Message kube-scheduler's FailedScheduling text for it.
	Pod     string `json:"pod,omitempty"`
	Message string `json:"message,omitempty"`
	// Why says what went wrong if it was not, or not only, that pods have no node.
	Why string `json:"why,omitempty"`
	// Binds is what keeps that pod off the nodes, by descending number of nodes.
	Binds []Binding `json:"binds,omitempty"`
	// Unreplaced is the largest number of pods, in one failure with More units, that nothing replaces, because their nodes are only
	// unreachable or they have no owner. They need no room.
	Unreplaced int `json:"unreplaced,omitempty"`
	// Uneven are counts that fit although a smaller one does not. More is below the smallest that is known not to fit.
	Uneven []Uneven `json:"uneven,omitempty"`
	// Probes is how many counts were tried on the scheduler.
	Probes int `json:"probes"`

	// Missing are the pods of each workload that have no node with the next unit, if no node fails; Newly means that a pod is Pending then, or after
	// the loss of Domain, that was not before. Both are for claims, and a report has neither.
	Missing []int `json:"-"`
	Newly   bool  `json:"-"`
}

// Uneven is a count of units that fits although a smaller one does not.
type Uneven struct {
	Fits    int `json:"fits"`
	DoesNot int `json:"doesNot"`
}

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
	// longSearch is the number of pods that fit, of all workloads together, above which placing them takes longer than a minute.
	longSearch = 25_000
)

// Find returns, for each of the mixes, how much more of it fits after the last step of the result, which must be of a Base. It ignores the
// HorizontalPodAutoscalers of the workloads. Of many workloads in a large cluster, or of one of which very many more fit and take long, it
// looks for no more than some, unless the options say how many: answers are then Capped, and several workloads are tried at once, as together
// says. If the context ends, the answers are those known by then, and nil if there is
// none; the result then says that it is partial.
func Find(ctx context.Context, base *simulation.Result, mixes [][]Share, opts Options) ([]Mix, error) {
	f := newFinder(base, mixes, opts)
	defer f.worlds.Close()
	err := f.find(ctx)
	if err == nil {
		return f.answers, nil
	}
	if ctx.Err() != nil && len(mixes) == 1 && f.begun != nil {
		base.Partial = "interrupted after " + f.begun.bound()
		return []Mix{*f.begun}, err
	}
	if ctx.Err() == nil || f.answered == 0 && !f.fitted {
		return nil, err
	}
	if f.fitted {
		base.Partial = fmt.Sprintf("interrupted after the losses for %d of %s; of all it is known how many more fit while no node fails", f.answered, words.Count(len(mixes), "workload"))
		return f.answers, err
	}
	base.Partial = fmt.Sprintf("interrupted after %d of %s", f.answered, words.Count(len(mixes), "workload"))
	return slices.DeleteFunc(f.answers, func(m Mix) bool { return m.Workloads == nil }), err
}

// finder answers for several mixes at once.
type finder struct {
	base    *simulation.Result
	worlds  *simulation.Worlds
	opts    Options
	large   bool // many workloads in a large cluster, or very many pods fit
	probers []*prober

	mu       sync.Mutex // for what follows, and Progress
	answers  []Mix
	answered int
	fitted   bool // of all it is known how many fit while no node fails
	begun    *Mix // what is known of the only mix, if it was interrupted
}

func newFinder(base *simulation.Result, mixes [][]Share, opts Options) *finder {
	f := &finder{base: base, worlds: simulation.NewWorlds(base.Scenario), opts: opts, large: len(mixes)*len(lastState(base).Pods) > largeWork, answers: make([]Mix, len(mixes))}
	for _, mix := range mixes {
		f.probers = append(f.probers, newProber(base, mix, opts))
	}
	fit := 0
	for i := 0; i < len(f.probers) && len(f.probers) > 1 && !f.large; i++ {
		fit += f.probers[i].ceiling() * f.probers[i].size()
		f.large = fit > longSearch
	}
	return f
}

func (f *finder) find(ctx context.Context) error {
	zero := map[string]*verdict{}
	if len(f.probers) > 1 {
		for _, level := range f.opts.Survive {
			var err error
			if zero[level], err = (losses{level: level, mode: f.opts.Mode, recoverer: among(f.worlds), whole: true}).survives(ctx, &f.base.Steps[len(f.base.Steps)-1]); err != nil {
				return err
			}
		}
	}
	for _, p := range f.probers {
		p.tell, p.budget, p.zero = f.tell, checked, zero
		if len(f.probers) == 1 {
			p.among = f.worlds
		}
		if p.autoscaled {
			p.zero = nil // without the autoscaler, other pods may come back
		}
		switch {
		case f.opts.UpTo > 0:
			p.enough, p.budget = f.opts.UpTo, checked/len(f.probers)
		case f.large || p.oneByOne() || p.growing() || len(f.opts.Survive) > 0 && len(p.state.Pods)+p.ceiling()*p.size() > longWay:
			largest := slices.MaxFunc(p.mix, func(a, b Share) int { return a.Now - b.Now }).Now
			p.enough, p.hurried, p.budget = max(enough, 2*largest), true, 0
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
	f.answered, f.fitted = 0, true
	groups := f.together()
	return f.each(ctx, len(groups), func(ctx context.Context, w world.World, i int) error {
		return f.survive(ctx, w, groups[i])
	})
}

func (f *finder) each(ctx context.Context, n int, one func(ctx context.Context, w world.World, i int) error) error {
	return f.worlds.Each(ctx, n, parallel.Options{}, one)
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
	fit, err := p.limit(ctx, "", 0)
	if err != nil {
		f.begin(p, fit, nil)
		return p.wrapped(err)
	}
	full, cycle, err := p.next(ctx, fit)
	if err != nil {
		f.begin(p, fit, nil)
		return p.wrapped(err)
	}
	survive, err := p.survive(ctx, fit, levels)
	if err != nil {
		f.begin(p, fit, survive)
		return p.wrapped(err)
	}
	f.answers[i] = Mix{Name: p.name, Workloads: p.mix, Fit: *fit, Survive: survive, Headroom: headroom(p.state, full, cycle)}
	f.done(1)
	return nil
}

// begin keeps what is known of the only mix when it is interrupted.
func (f *finder) begin(p *prober, fit *Limit, survive []Limit) {
	if len(f.probers) == 1 && fit != nil {
		f.begun = &Mix{Name: p.name, Workloads: p.mix, Fit: *fit, Survive: survive}
	}
}

// bound is how many more of a mix fit, as far as that is known, in words.
func (m *Mix) bound() string {
	last := &m.Fit
	if n := len(m.Survive); n > 0 {
		last = &m.Survive[n-1]
	}
	while := " while no node fails"
	if last.Level != "" {
		while = fmt.Sprintf(", also after the loss of any domain of %s", last.Level)
	}
	tried := words.Pick(last.Probes, "1 try", fmt.Sprintf("%d tries", last.Probes))
	switch {
	case !last.Open:
		least := ""
		if last.Capped {
			least = "at least "
		}
		return fmt.Sprintf("%s: %s%d more fit%s, and what was asked besides is not known yet", tried, least, last.More, while)
	case last.DoesNotFit > 0:
		return fmt.Sprintf("%s: at least %d more fit%s, and %d do not", tried, last.More, while, last.DoesNotFit)
	}
	return fmt.Sprintf("%s: at least %d more fit%s", tried, last.More, while)
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
		if survive != nil {
			all = append(all, *survive)
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// next tries one more unit on the full cluster. It returns the full cluster, and every node's verdict on the first pod that has no room; nil
// if there is none.
func (p *prober) next(ctx context.Context, limit *Limit) (*cluster.State, *placement.Cycle, error) {
	if limit.Short {
		return p.state, nil, nil
	}
	if p.full == nil || p.fits != limit.More {
		full, err := p.run(ctx, p.scaled(p.scenario, limit.More), p.from, nil)
		if err != nil {
			return nil, nil, err
		}
		p.full, p.fits = full, limit.More
	}
	if limit.Capped {
		return lastState(p.full), nil, nil
	}
	all := func(string, cluster.Ref, *v1.Pod) *placement.Depth { return &placement.Depth{} }
	one, err := p.run(ctx, p.scaled(p.full.Scenario, limit.More+1), p.full, all)
	if err != nil {
		return nil, nil, err
	}
	v := p.judge(one, limit.More+1)
	if v.refused == nil || v.refused.Cycle == nil {
		return lastState(p.full), nil, nil
	}
	limit.refuse(v)
	return lastState(p.full), v.refused.Cycle, nil
}

func lastState(result *simulation.Result) *cluster.State {
	if result == nil {
		return nil
	}
	return result.Steps[len(result.Steps)-1].State
}
