package peak

import (
	"cmp"
	"context"
	"slices"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Remedy is a change of the input after which fewer pods have no node, as its run shows.
type Remedy struct {
	// Kind is raise (the maxima of node groups), nodes (more nodes), larger (larger nodes in place of others), buffer (a CapacityBuffer, for
	// which an autoscaler keeps nodes free), balloon (pods of a low priority, which hold nodes until others preempt them), rule (a softer rule), lower (the maxima of HorizontalPodAutoscalers), or priority (of workloads
	// that lose pods to those that grow).
	Kind string `json:"kind" jsonschema:"enum=raise,enum=nodes,enum=larger,enum=buffer,enum=balloon,enum=rule,enum=lower,enum=priority"`
	// What says what to change.
	What string `json:"what"`
	// Raise are the node groups with the maxima that suffice, and Add the nodes to add.
	Raise []Raise    `json:"raise,omitempty"`
	Add   []Addition `json:"add,omitempty"`
	// Replace are the nodes that larger ones replace.
	Replace []Replacement `json:"replace,omitempty"`
	// Buffers are the CapacityBuffers or the balloon Deployments that make an autoscaler add the nodes of Add in advance.
	Buffers []Buffer `json:"buffers,omitempty"`
	// Nodes is the number of further nodes that the maxima allow, or of those to add. Price is what they cost per hour; missing if it is not
	// known.
	Nodes int      `json:"nodes,omitempty"`
	Price *float64 `json:"price,omitempty"`
	// Commands make the change with kubectl.
	Commands []string `json:"commands,omitempty"`
	// Short is the number of pods without a node at the peak with this change, and AfterLoss the number after the loss of Domain, the worst
	// of the Losses that were tried.
	Short     int    `json:"short"`
	AfterLoss int    `json:"afterLoss,omitempty"`
	Level     string `json:"level,omitempty"`
	Domain    string `json:"domain,omitempty"`
	Losses    int    `json:"losses,omitempty"`
	// Saves are the workloads that then have a node for each of their pods, for a priority.
	Saves []cluster.WorkloadRef `json:"saves,omitempty"`
	// GivesUp is the number of replicas at the peak that lower maxima give up.
	GivesUp int `json:"givesUp,omitempty"`
	// Beaten says that another change leaves no more pods without a node, for no higher price, and is better in one of both. Replicas that a
	// change gives up count as pods without a node; if not every price is known, the CPU of the nodes stands for it.
	Beaten bool `json:"beaten,omitempty"`

	// cores is the CPU that the change adds.
	cores float64
}

// Raise is a node group whose maximum is raised.
type Raise struct {
	Group string `json:"group"`
	From  int    `json:"from"`
	To    int    `json:"to"`
}

// Most returns the number of pods without a node with the change, after the worst loss that was tried if that is more.
func (r *Remedy) Most() int { return max(r.Short, r.AfterLoss) }

// findRemedies runs each change that may help, and keeps those that do: first those that no other beats, of these the ones that leave the fewest
// pods without a node. losses are those at the peak, the worst first.
func (f *finder) findRemedies(ctx context.Context, answer *Answer, losses []lost) error {
	domains := list.Map(losses[:min(triedLosses, len(losses))], func(l lost) domain { return l.domain })
	for _, find := range []func(context.Context, *Answer, []domain) (*Remedy, error){f.raiseMaxima, f.addNodes, f.enlargeNodes, f.keepBuffer, f.keepBalloon, f.softenRules, f.lowerMaxima, f.setPriority} {
		found, err := find(ctx, answer, domains)
		if err != nil {
			return err
		}
		if found != nil {
			answer.Remedies = append(answer.Remedies, *found)
		}
	}
	markBeaten(answer.Remedies)
	rank := func(r *Remedy) int {
		if r.Beaten {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(answer.Remedies, func(a, b Remedy) int {
		return cmp.Or(rank(&a)-rank(&b), cmp.Compare(a.Most()+a.GivesUp, b.Most()+b.GivesUp), cmp.Compare(a.cores, b.cores))
	})
	return nil
}

// judge sets the result of the change: the peak with it, and each of the domains lost then. It reports whether the change helps, and returns the
// results of the losses.
func (f *finder) judge(ctx context.Context, r *Remedy, answer *Answer, top *outcome, domains []domain) (helps bool, losses []lost, err error) {
	var there []domain
	for _, d := range domains {
		there = append(there, f.present(top, d)...)
	}
	losses, err = f.loseEach(ctx, f.worlds, top, there)
	if err != nil {
		return false, nil, err
	}
	r.Short, r.Losses = top.short, len(losses)
	if worst := worstOf(losses); worst != nil {
		r.AfterLoss, r.Level, r.Domain = worst.short, worst.level, worst.name
	}
	return r.Most() < answer.Most() || r.Most() == answer.Most() && r.Short < answer.Short, losses, nil
}

// worstOf returns the first loss that leaves the most pods without a node, or nil if none leaves any.
func worstOf(losses []lost) (worst *lost) {
	for i := range losses {
		if l := &losses[i]; l.short > 0 && (worst == nil || l.short > worst.short) {
			worst = l
		}
	}
	return worst
}

// claimRemedy returns the claims about the result of a change, which the steps make.
func (f *finder) claimRemedy(r *Remedy, steps []scenario.Step, share float64, top *outcome, worst *lost) []claim.Claim {
	var claims []claim.Claim
	make := func(o *outcome, d *domain) {
		c := f.claimOutcome(share, o, d)
		c.Says = "with " + r.What + ", " + c.Says
		c.Steps = slices.Concat(c.Steps[:1], steps, c.Steps[1:])
		claims = append(claims, c)
	}
	make(top, nil)
	if worst != nil {
		make(&worst.outcome, &worst.domain)
	}
	return claims
}

// trySteps does the steps and the peak after them, and judges the result. It returns nil if they do not help.
func (f *finder) trySteps(ctx context.Context, r *Remedy, answer *Answer, steps []scenario.LoadedStep, domains []domain) (*Remedy, error) {
	top, err := f.runSteps(ctx, steps)
	if err != nil {
		return nil, err
	}
	helps, losses, err := f.judge(ctx, r, answer, top, domains)
	worst := worstOf(losses)
	if saved := r.keepSaved(top, worst); err != nil || !helps && !saved {
		return nil, err
	}
	if !slices.ContainsFunc(steps, func(s scenario.LoadedStep) bool { return s.Apply != nil }) { // a claim has no files
		plain := list.Map(steps, func(s scenario.LoadedStep) scenario.Step { return s.Step })
		answer.claims = append(answer.claims, f.claimRemedy(r, plain, answer.Share, top, worst)...)
	}
	return r, nil
}

// runSteps returns the peak after the steps.
func (f *finder) runSteps(ctx context.Context, steps []scenario.LoadedStep) (*outcome, error) {
	w, err := f.worlds.First()
	if err != nil {
		return nil, err
	}
	course, err := simulation.Continue(w, f.base, simulation.Options{})
	if err != nil {
		return nil, err
	}
	for _, step := range append(steps, scenario.LoadedStep{Step: f.peakStep(f.opts.Peak.Way())}) {
		if _, err := course.DoLoaded(ctx, step); err != nil {
			return nil, err
		}
	}
	return f.before.newOutcome(&course.Result), nil
}

// limitTries returns how many sizes or patches of one change are tried: most, or a third if many pods have no node, since each try then takes
// seconds.
func (a *Answer) limitTries(most int) int {
	if a.Most() > fewPods {
		return most / 3
	}
	return most
}

// keepBetter returns the change that leaves fewer pods without a node, of the best so far and the one that was found after it. Either may be nil. Of the claims from the index before on, those of the other are dropped; those of found begin at the index
// claims.
func (a *Answer) keepBetter(best, found *Remedy, before, claims int) *Remedy {
	if found == nil || best != nil && found.Most() >= best.Most() {
		a.claims = a.claims[:claims]
		return best
	}
	a.claims = slices.Delete(a.claims, before, claims)
	return found
}
