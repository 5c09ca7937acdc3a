package capacity

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Share is a workload and how many of its replicas one unit of a mix holds, at least 1.
type Share struct {
	Workload   cluster.Ref
	Proportion int
}

// Options say which failures are to be survived, and how it is told how far the search is.
type Options struct {
	// Survive are the topology keys of the levels of which any one domain may fail, each level by itself.
	Survive []string
	// Mode is how their nodes fail.
	Mode controller.FailureMode
	// Progress, if set, is told what is tried and how many counts have been.
	Progress func(what string, done int)
}

// Answer is how much more of a workload, or of a mix, fits.
type Answer struct {
	// Of is the mix, or the one workload with proportion 1; Now are the replicas that they ask for.
	Of  []Share
	Now []int
	// Fit is how many more units fit while no node fails; Survive how many do for each level of which a domain may fail.
	Fit     Limit
	Survive []Limit
	// Headroom is what becomes of the free resources, cpu and memory and pods first, then others by name.
	Headroom []Headroom
}

// Name names a mix as Mixes reads it, or its one workload.
func Name(mix []Share) string {
	var names []string
	for _, share := range mix {
		name := metric.Name(share.Workload)
		if len(mix) > 1 || share.Proportion > 1 {
			name = fmt.Sprintf("%s=%d", name, share.Proportion)
		}
		names = append(names, name)
	}
	return strings.Join(names, ",")
}

// Limit is the largest number of further units that fit, and what keeps the next from it.
type Limit struct {
	// Level is the topology key of which any one domain may fail; empty: none fails.
	Level string
	// More is the number of units. It is 0 with Short where not even the replicas that are asked for now fit, or survive.
	More  int
	Short bool
	// Capped tells that More is the end of the search rather than of the room.
	Capped bool
	// Domain is the domain whose failure binds first: that which strands the most pods; empty where none fails.
	Domain string
	// Stranded is the number of pods without a node with one unit more.
	Stranded int
	// Refused is the first of them; nil where something else went wrong, which Words tell. Bindings are its reasons, the most nodes
	// first.
	Refused  *placement.Pending
	Words    string
	Bindings []Binding
	// Unreplaced are the pods for which nobody makes others after some failure with More units, as their nodes only are unreachable,
	// or nobody owns them: the largest number in one failure. Room for them is not asked for.
	Unreplaced int
	// Uneven are counts that break the rule that fewer fit where more do.
	Uneven []Uneven
	// Probes is how many counts were tried.
	Probes int
}

// Uneven is a count of units that fits although a smaller one does not.
type Uneven struct{ Fits, DoesNot int }

// Base is the scenario whose run Find goes on from: the given one up to the named step, or to its end if that is empty, and a step in
// which nothing is done.
func Base(s *scenario.Scenario, step string) *scenario.Scenario {
	if step != "" {
		s = s.Until(step)
	}
	return s.Then(scenario.Step{Name: "capacity"})
}

// Find tells for each of the mixes how much more of it fits after the last step of the result, which is of a Base. The
// HorizontalPodAutoscalers of its workloads are not asked.
func Find(ctx context.Context, base *simulation.Result, mixes [][]Share, opts Options) ([]Answer, error) {
	world, err := simulation.NewWorld(base.Scenario.Config, base.Scenario.Ties)
	if err != nil {
		return nil, err
	}
	defer world.Close()
	var answers []Answer
	for _, mix := range mixes {
		p := newProber(world, base, mix, opts)
		answer, err := p.answer(ctx)
		if err != nil {
			return nil, fmt.Errorf("capacity for %s: %w", p.name, err)
		}
		answers = append(answers, *answer)
	}
	return answers, nil
}

func (p *prober) answer(ctx context.Context) (*Answer, error) {
	a := &Answer{Of: p.mix}
	for _, now := range p.now {
		a.Now = append(a.Now, int(now))
	}
	fit, err := p.limit(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	a.Fit = *fit
	full, err := p.next(ctx, &a.Fit)
	if err != nil {
		return nil, err
	}
	a.Headroom = headroom(p.state, full, a.Fit.Refused)
	for _, level := range p.opts.Survive {
		end := 0
		if !a.Fit.Capped {
			end = a.Fit.More + 1
		}
		survive, err := p.limit(ctx, level, end)
		if err != nil {
			return nil, err
		}
		a.Survive = append(a.Survive, *survive)
	}
	return a, nil
}

// next tries one unit more on the cluster that is full, so that what every node says of it is kept. It returns the full cluster.
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
