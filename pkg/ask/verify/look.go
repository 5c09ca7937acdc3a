package verify

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
)

// look is the scheduler's verdict on a pod's nodes.
type look struct {
	// best are the nodes with the top score, and feasible is the number of nodes that were not rejected.
	best     []string
	feasible int
	// cycle is what every plugin decided, if asked for.
	cycle   *placement.Cycle
	places  map[string]int // of the candidates, by node; see candidate
	failure string         // why there is no answer
}

// has reports whether the node is among the best.
func (l *look) has(node string) bool { return slices.Contains(l.best, node) }

// look schedules the pod on the state, examining every node.
func (r *replay) look(state *cluster.State, pod *v1.Pod) (*look, error) {
	engine, err := r.engine("all", all)
	if err != nil {
		return nil, err
	}
	return r.lookBy(engine, state, pod, nil)
}

// closely is like look, but keeps what every plugin decided of every node.
func (r *replay) closely(state *cluster.State, pod *v1.Pod) (*look, error) {
	engine, err := r.engine("all", all)
	if err != nil {
		return nil, err
	}
	return r.lookBy(engine, state, pod, &placement.Depth{NoParts: true})
}

// lookBy schedules the pod, as it was before it was bound, on the state. It must not preempt: whatever had to make room for it is already
// gone.
func (r *replay) lookBy(engine *sched.Engine, state *cluster.State, pod *v1.Pod, depth *placement.Depth) (*look, error) {
	waiting := *pod
	waiting.DeletionTimestamp = nil
	waiting.Spec.NodeName = ""
	waiting.Spec.PreemptionPolicy = new(v1.PreemptNever)
	waiting.Spec.SchedulingGates = nil
	waiting.Spec.SchedulingGroup = nil // the others of its pod group may come later
	waiting.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: pod.Status.QOSClass, ResourceClaimStatuses: pod.Status.ResourceClaimStatuses}
	with := *state
	with.ResourceClaims = controller.ClaimsInUse(state)
	with.Pods = append(slices.Clip(state.Pods), &waiting)
	seen := &look{}
	engine.Record = func(*v1.Pod) *placement.Depth { return depth }
	engine.Choose = func(tie *sched.Tie) (int, error) {
		seen.best = tie.Nodes
		return 0, nil
	}
	defer func() { engine.Record, engine.Choose = nil, nil }()
	result, err := engine.Place(r.ctx, &with, []*v1.Pod{&waiting})
	if r.ctx.Err() != nil {
		return nil, r.ctx.Err()
	}
	if err != nil {
		seen.failure = err.Error()
		return seen, nil
	}
	if len(result.Pending) > 0 {
		pending := &result.Pending[0]
		seen.cycle = pending.Cycle
		if pending.Failed { // as where an object that a plugin needs is missing; a real scheduler retries such a pod later
			seen.failure = pending.Message
		}
		return seen, nil
	}
	placed := result.Placed[0]
	seen.cycle, seen.feasible = placed.Cycle, placed.Feasible
	if placed.Ties <= 1 {
		seen.best = []string{placed.Node}
	}
	return seen, nil
}

// candidate returns the node among the feasible ones, or nil.
func (l *look) candidate(node string) *placement.Candidate {
	if l.cycle == nil {
		return nil
	}
	if l.places == nil {
		l.places = make(map[string]int, len(l.cycle.Candidates))
		for i := range l.cycle.Candidates {
			l.places[l.cycle.Candidates[i].Node] = i
		}
	}
	if i, found := l.places[node]; found {
		return &l.cycle.Candidates[i]
	}
	return nil
}

// hasWithout reports whether the node would be among the best without the score of a plugin.
func (l *look) hasWithout(plugin, node string) bool {
	mine := l.candidate(node)
	if mine == nil {
		return false // scores reject no node
	}
	rest := func(c *placement.Candidate) int64 {
		for _, score := range c.Scores {
			if score.Plugin == plugin {
				return c.Total - score.Weighted
			}
		}
		return c.Total
	}
	return !slices.ContainsFunc(l.cycle.Candidates, func(c placement.Candidate) bool { return rest(&c) > rest(mine) })
}

// placement returns where the pod's node ranks, if it is among the best.
func (l *look) placement(of *life) Placement {
	p := Placement{Pod: of.pod, At: of.at}
	if l.has(of.node) {
		p.Ties, p.Only = len(l.best), l.feasible == 1
	}
	return p
}

// divergence says where the pod's node ranks, which is not among the best.
func (l *look) divergence(p *Placement, owner cluster.Ref) *Divergence {
	d := &Divergence{PodRef: cluster.NewPodRef(p.Pod, owner), Node: p.Pod.Spec.NodeName}
	if p.At.Unix() > 0 {
		d.At = p.At.UTC().Format(time.RFC3339)
	}
	if len(l.best) > 0 {
		d.Best = l.cycle.Candidates[0].Node
	}
	node := l.candidate(d.Node)
	if node == nil {
		d.refusal = l.refusal(d.Node)
		d.Refused = d.refusal.Status
		if d.refusal.Plugin != "" {
			d.Refused = d.refusal.Plugin + ": " + d.refusal.Status
		}
		return d
	}
	d.Rank = node.Rank
	best := l.cycle.Candidates[0]
	d.Behind = best.Total - node.Total
	for i, score := range best.Scores {
		if points := score.Weighted - node.Scores[i].Weighted; points != 0 {
			d.Ahead = append(d.Ahead, Points{Plugin: score.Plugin, Points: points})
		}
	}
	slices.SortStableFunc(d.Ahead, func(a, b Points) int { return int(b.Points - a.Points) })
	return d
}

// refusal returns why the node was rejected.
func (l *look) refusal(node string) *placement.Verdict {
	if l.failure != "" {
		return &placement.Verdict{Status: l.failure}
	}
	if l.cycle == nil {
		return &placement.Verdict{Status: "the pod was held back before any node was looked at"}
	}
	for _, refusal := range l.cycle.Refusals {
		if slices.Contains(refusal.Nodes, node) {
			return &placement.Verdict{Plugin: refusal.Plugin, Status: refusal.Message}
		}
	}
	if l.cycle.Named != nil {
		return &placement.Verdict{Plugin: l.cycle.NamedBy[0], Status: "the pod is for certain other nodes alone"}
	}
	for _, verdict := range l.cycle.PreFilter {
		if verdict.Status != "success" && verdict.Status != "skip" {
			return &verdict
		}
	}
	return &placement.Verdict{Status: "the node was not looked at"}
}
