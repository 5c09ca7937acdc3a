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
	// Proportion is the number of its replicas in one unit of the mix, at least 1.
	Proportion int `json:"proportion"`
	// Now is the number of replicas that the workload asks for now.
	Now int `json:"now"`
	// Most is the maxReplicas of its HorizontalPodAutoscaler; missing if it has none. The search ignores the autoscaler.
	Most int `json:"most,omitempty"`
}

// Options say which failures must be survived, and report progress.
type Options struct {
	// Survive are the topology keys of the levels to survive: any one domain of a level may fail, one level at a time.
	Survive []string
	// Mode says how the nodes fail.
	Mode node.FailureMode
	// UpTo is the largest number of further units that the search looks for; NoLimit means no bound. If 0, the search chooses a bound where
	// it would take minutes otherwise.
	UpTo int
	// Progress, if set, is called before each try with a description, the number of answered workloads, or levels, and their total. Size,
	// which does not know the total, passes the number of tries and -1.
	Progress func(what string, done, total int)
}

// Mix is the answer for a mix of workloads, or for one workload: how many more units fit.
type Mix struct {
	// Name is the workload, as kind/name in lower case, or the mix, as deployment/web=2,deployment/api=1.
	Name string `json:"name"`
	// Workloads are the mix, or the one workload with proportion 1.
	Workloads []Share `json:"workloads"`
	// Fit is how many more units fit while no node fails.
	Fit Limit `json:"fit"`
	// IfUsed is how many more units fit if containers request what they use; missing if nobody asked for it.
	IfUsed *Limit `json:"ifUsed,omitempty"`
	// Survive is, for each level, how many more units fit so that every lost pod comes back, whichever domain of the level fails.
	Survive []Limit `json:"survive,omitempty"`
	// Headroom says where the free resources are: cpu, memory and pods first, then others by name.
	Headroom []Headroom `json:"headroom,omitempty"`
}

// mixName returns the name of the mix in the syntax that Mixes parses; of a mix of one workload, the name of the workload.
func mixName(mix []Share) string {
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

// Limit is the largest number of further units that fit, and what prevents the next one.
type Limit struct {
	// Level is the topology key of the level whose domains may fail, one at a time; missing if no node fails.
	Level string `json:"level,omitempty"`
	// More is the number of units. If not even the present replicas fit, or come back, More is 0 and Short is true.
	More  int  `json:"more"`
	Short bool `json:"short,omitempty"`
	// Capped means that the search ended at More, and more might fit.
	Capped bool `json:"capped,omitempty"`
	// Open means that the search was interrupted: More units fit, and DoesNotFit is the smallest number known not to fit; missing if none
	// is known.
	Open       bool `json:"open,omitempty"`
	DoesNotFit int  `json:"doesNotFit,omitempty"`
	// Domain is the domain whose failure sets the limit: with one more unit, its failure strands the most pods. Stranded is the number of
	// these pods.
	Domain   string `json:"domain,omitempty"`
	Stranded int    `json:"stranded,omitempty"`
	// Pod is the first stranded pod, as namespace/name, and Message kube-scheduler's FailedScheduling text for it.
	Pod     string `json:"pod,omitempty"`
	Message string `json:"message,omitempty"`
	// Why says what went wrong if something else went wrong than pods without a node.
	Why string `json:"why,omitempty"`
	// Binds lists what keeps that pod off the nodes, by descending number of nodes.
	Binds []Binding `json:"binds,omitempty"`
	// Unreplaced is the largest number of pods that nothing replaces in one failure with More units, because their nodes are only
	// unreachable or because they have no owner. They need no room.
	Unreplaced int `json:"unreplaced,omitempty"`
	// Uneven are counts that fit although a smaller count does not. More is below the smallest count that is known not to fit.
	Uneven []Uneven `json:"uneven,omitempty"`
	// Probes is how many counts were tried on the scheduler.
	Probes int `json:"probes"`

	// Missing is, for each workload, the number of pods without a node once the next unit is added and no node fails. Newly means that with
	// the next unit a pod is newly Pending, then or after the loss of Domain. Only claims use both.
	Missing []int `json:"-"`
	Newly   bool  `json:"-"`
}

// Uneven is a number of units that fits although a smaller number, DoesNot, does not.
type Uneven struct {
	Fits    int `json:"fits"`
	DoesNot int `json:"doesNot"`
}

// Base returns the scenario whose run Find continues: s up to the named step, or up to its end if the name is empty, followed by a step
// that does nothing.
func Base(s *scenario.Scenario, step string) *scenario.Scenario {
	if step != "" {
		s = s.CutAfter(step)
	}
	return s.AppendStep(scenario.Step{Name: "capacity"})
}

// NoLimit is the value of Options.UpTo that sets no bound.
const NoLimit = math.MaxInt32

const (
	// defaultUnitLimit is the bound of the search, in further units, where a search without a bound would take long. For a workload with more than 25
	// replicas, the bound is twice its replicas.
	defaultUnitLimit = 50
	// longRecoveryPods is the number of pods in the full cluster above which the search for Survive takes long, since each try lets failures move
	// pods.
	longRecoveryPods = 2_000
	// longSearchPods is the number of further pods of all workloads together above which placing them takes longer than a minute.
	longSearchPods = 25_000
)

// Find returns, for each mix, how many more units fit after the last step of the result, which must be a run of [Base]. Find ignores the
// HorizontalPodAutoscalers of the workloads.
//
// If the search would take long, because of many workloads in a large cluster or because very many pods fit, Find looks only for so many
// units as a default bound says, unless the options set one. Answers at the bound are Capped, and Find tries several workloads at once (see
// [finder.groupMixes]).
//
// If the context ends, Find returns its error and the answers known by then, nil if there are none; the result's Partial then says so.
func Find(ctx context.Context, base *simulation.Result, mixes [][]Share, opts Options) ([]Mix, error) {
	f := newFinder(base, mixes, opts)
	defer f.worlds.Close()
	err := f.findAll(ctx)
	if err == nil {
		return f.answers, nil
	}
	if ctx.Err() != nil && len(mixes) == 1 && f.unfinished != nil {
		base.Partial = "interrupted after " + f.unfinished.describeBound()
		return []Mix{*f.unfinished}, err
	}
	if ctx.Err() == nil || f.answered == 0 && !f.fitsKnown {
		return nil, err
	}
	if f.fitsKnown {
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
	large   bool // there are many workloads in a large cluster, or very many pods fit
	probers []*prober

	mu         sync.Mutex // guards the fields below, and calls of Progress
	answers    []Mix
	answered   int
	fitsKnown  bool // for every mix, the limit without a failure is known
	unfinished *Mix // the unfinished answer for the only mix
}

func newFinder(base *simulation.Result, mixes [][]Share, opts Options) *finder {
	f := &finder{base: base, worlds: simulation.NewWorlds(base.Scenario), opts: opts, large: len(mixes)*len(base.State().Pods) > largeWork, answers: make([]Mix, len(mixes))}
	for _, mix := range mixes {
		f.probers = append(f.probers, newProber(base, mix, opts))
	}
	fit := 0
	for i := 0; i < len(f.probers) && len(f.probers) > 1 && !f.large; i++ {
		fit += f.probers[i].ceiling() * f.probers[i].podsPerUnit()
		f.large = fit > longSearchPods
	}
	return f
}

func (f *finder) findAll(ctx context.Context) error {
	zero := map[string]*verdict{}
	if len(f.probers) > 1 {
		for _, level := range f.opts.Survive {
			var err error
			if zero[level], err = (losses{level: level, mode: f.opts.Mode, recoverer: recoverAmong(f.worlds), exhaustive: true}).judge(ctx, f.base.Last()); err != nil {
				return err
			}
		}
	}
	for _, p := range f.probers {
		p.reportTry, p.budget, p.presentVerdicts = f.reportProgress, maxCheckedPods, zero
		if len(f.probers) == 1 {
			p.recoveryWorlds = f.worlds
		}
		if p.autoscaled {
			p.presentVerdicts = nil // probes delete the autoscaler, and without it other pods may come back
		}
		switch {
		case f.opts.UpTo > 0:
			p.unitLimit, p.budget = f.opts.UpTo, maxCheckedPods/len(f.probers)
		case f.large || p.hasSlowStatefulSet() || p.hasLargeAutoscaler() || len(f.opts.Survive) > 0 && len(p.state.Pods)+p.ceiling()*p.podsPerUnit() > longRecoveryPods:
			largest := slices.MaxFunc(p.mix, func(a, b Share) int { return a.Now - b.Now }).Now
			p.unitLimit, p.skipsChecks, p.budget = max(defaultUnitLimit, 2*largest), true, 0
		}
	}
	if !f.large || len(f.opts.Survive) == 0 {
		return f.runParallel(ctx, len(f.probers), func(ctx context.Context, w world.World, i int) error {
			return f.answerMix(ctx, w, i, f.opts.Survive)
		})
	}
	if err := f.runParallel(ctx, len(f.probers), func(ctx context.Context, w world.World, i int) error {
		return f.answerMix(ctx, w, i, nil)
	}); err != nil {
		return err
	}
	f.answered, f.fitsKnown = 0, true
	groups := f.groupMixes()
	return f.runParallel(ctx, len(groups), func(ctx context.Context, w world.World, i int) error {
		return f.surviveGroup(ctx, w, groups[i])
	})
}

func (f *finder) runParallel(ctx context.Context, n int, one func(ctx context.Context, w world.World, i int) error) error {
	return f.worlds.Each(ctx, n, parallel.Options{}, one)
}

// reportProgress reports progress: the workload and the number of the try.
func (f *finder) reportProgress(what string, tried int) {
	if f.opts.Progress == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opts.Progress(fmt.Sprintf("%s, try %d", what, tried), f.answered, len(f.probers))
}

func (f *finder) countAnswered(answered int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered += answered
}

// answerMix finds how many units of the i-th mix fit, where the free resources are, and how many units survive the failures of the levels.
func (f *finder) answerMix(ctx context.Context, w world.World, i int, levels []string) error {
	p := f.probers[i]
	p.world = w
	defer p.releaseWorld()
	fit, err := p.findLimit(ctx, "", 0)
	if err != nil {
		f.keepUnfinished(p, fit, nil)
		return p.wrapError(err)
	}
	full, cycle, err := p.tryNextUnit(ctx, fit)
	if err != nil {
		f.keepUnfinished(p, fit, nil)
		return p.wrapError(err)
	}
	survive, err := p.findSurviveLimits(ctx, fit, levels)
	if err != nil {
		f.keepUnfinished(p, fit, survive)
		return p.wrapError(err)
	}
	f.answers[i] = Mix{Name: p.name, Workloads: p.mix, Fit: *fit, Survive: survive, Headroom: computeHeadroom(p.state, full, cycle)}
	f.countAnswered(1)
	return nil
}

// keepUnfinished keeps the unfinished answer if the only mix is interrupted.
func (f *finder) keepUnfinished(p *prober, fit *Limit, survive []Limit) {
	if len(f.probers) == 1 && fit != nil {
		f.unfinished = &Mix{Name: p.name, Workloads: p.mix, Fit: *fit, Survive: survive}
	}
}

// describeBound describes how many more units fit, as far as the search came: "3 tries: at least 6 more fit while no node fails, and 9 do not".
func (m *Mix) describeBound() string {
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

func (p *prober) wrapError(err error) error { return fmt.Errorf("capacity for %s: %w", p.name, err) }

// findSurviveLimits finds, for each level, how many units fit if any domain of the level may fail. fit is the limit without a failure, above which no
// count needs a try.
func (p *prober) findSurviveLimits(ctx context.Context, fit *Limit, levels []string) ([]Limit, error) {
	var all []Limit
	for _, level := range levels {
		end := 0
		if !fit.Capped {
			end = fit.More + 1
		}
		survive, err := p.findLimit(ctx, level, end)
		if survive != nil {
			all = append(all, *survive)
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// tryNextUnit fills the cluster up to the limit and tries one more unit. It returns the full cluster, and every node's verdict on the first pod
// that has no room; nil if there is none.
func (p *prober) tryNextUnit(ctx context.Context, limit *Limit) (*cluster.State, *placement.Cycle, error) {
	if limit.Short {
		return p.state, nil, nil
	}
	if p.fullRun == nil || p.fullUnits != limit.More {
		full, err := p.run(ctx, p.withUnits(p.scenario, limit.More), p.startRun, nil)
		if err != nil {
			return nil, nil, err
		}
		p.fullRun, p.fullUnits = full, limit.More
	}
	if limit.Capped {
		return p.fullRun.State(), nil, nil
	}
	all := func(string, cluster.Ref, *v1.Pod) *placement.Depth { return &placement.Depth{} }
	one, err := p.run(ctx, p.withUnits(p.fullRun.Scenario, limit.More+1), p.fullRun, all)
	if err != nil {
		return nil, nil, err
	}
	v := p.judge(one, limit.More+1)
	if v.firstPending == nil || v.firstPending.Cycle == nil {
		return p.fullRun.State(), nil, nil
	}
	limit.setRefusal(v)
	return p.fullRun.State(), v.firstPending.Cycle, nil
}
