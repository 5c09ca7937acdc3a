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

// ranking is the scheduler's verdict on every node for one pod.
type ranking struct {
	// best are the nodes with the top score, sorted by name. points are the scores of all nodes that were not rejected; nil if all were
	// rejected.
	best    []string
	points  *placement.Points
	cycle   *placement.Cycle
	failure string // why the scheduler gave no answer
}

// isBest reports whether the node is among the best.
func (l *ranking) isBest(node string) bool { return slices.Contains(l.best, node) }

// countFeasible returns the number of nodes that were not rejected.
func (l *ranking) countFeasible() int {
	if l.points == nil {
		return 0
	}
	return len(l.points.Nodes)
}

// rankNodes schedules the pod on the state, examining every node.
func (r *replay) rankNodes(state *cluster.State, pod *v1.Pod) (*ranking, error) {
	engine, err := r.engine("all", examineAllNodes)
	if err != nil {
		return nil, err
	}
	return r.rankNodesWith(engine, state, pod)
}

// rankNodesWith schedules the pod on the state, as the pod was before it was bound. The pod must not preempt: the pods that made room for it are
// gone already.
func (r *replay) rankNodesWith(engine *sched.Engine, state *cluster.State, pod *v1.Pod) (*ranking, error) {
	waiting := *pod
	waiting.DeletionTimestamp = nil
	waiting.Spec.NodeName = ""
	waiting.Spec.PreemptionPolicy = new(v1.PreemptNever)
	waiting.Spec.SchedulingGates = nil
	waiting.Spec.SchedulingGroup = nil // the other pods of its pod group may come later
	waiting.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: pod.Status.QOSClass, ResourceClaimStatuses: pod.Status.ResourceClaimStatuses}
	with := *state
	with.ResourceClaims = controller.ClaimsInUse(state)
	with.Pods = r.listsOf(engine).append(state.Pods, &waiting)
	seen := &ranking{}
	engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{Points: true} }
	defer func() { engine.Record = nil }()
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
		if pending.Failed { // for example, an object that a plugin needs is missing; a real scheduler retries such a pod later
			seen.failure = pending.Message
		}
		return seen, nil
	}
	seen.cycle = result.Placed[0].Cycle
	seen.points = seen.cycle.Points
	top := slices.Max(seen.points.Totals)
	for i, node := range seen.points.Nodes {
		if seen.points.Totals[i] == top {
			seen.best = append(seen.best, node)
		}
	}
	slices.Sort(seen.best)
	return seen, nil
}

// listsOf returns the lists of pods of the engine.
func (e *workerCache) listsOf(engine *sched.Engine) *podLists {
	if e.lists[engine] == nil {
		e.lists[engine] = &podLists{}
	}
	return e.lists[engine]
}

// podLists are the lists of pods of an engine's last two states. An engine compares the pods of its next state with the last state's, so a
// list is free again after two. Without them, each of 100,000 looks at a cluster of 17,000 pods copies all pointers into new memory, which
// takes a third of the time.
type podLists struct {
	lists [2]podList
	next  int
}

type podList struct{ of, pods []*v1.Pod }

// append returns a list of the pods and one more. The list stays as it is until the second call after this one. Nobody may change the pods
// that were passed; a longer slice of the same memory may follow.
func (l *podLists) append(pods []*v1.Pod, pod *v1.Pod) []*v1.Pod {
	list := &l.lists[l.next]
	l.next = 1 - l.next
	same := 0
	if len(pods) > 0 && len(list.of) > 0 && &pods[0] == &list.of[0] {
		same = min(len(pods), len(list.of))
	}
	list.of, list.pods = pods, append(append(list.pods[:same], pods[same:]...), pod)
	return list.pods
}

// feasibleIndex returns the node's index among the feasible nodes, or -1.
func (l *ranking) feasibleIndex(node string) int {
	if l.points == nil {
		return -1
	}
	return slices.Index(l.points.Nodes, node)
}

// countBetter returns the number of nodes with more points.
func (l *ranking) countBetter(than int64) int {
	n := 0
	for _, total := range l.points.Totals {
		if total > than {
			n++
		}
	}
	return n
}

// isBestWithout reports whether the node would be among the best without the plugin's score.
func (l *ranking) isBestWithout(plugin, node string) bool {
	mine := l.feasibleIndex(node)
	if mine < 0 {
		return false // a rejected node stays rejected without a score
	}
	rest := l.totalsWithout(plugin)
	return rest[mine] == slices.Max(rest)
}

// totalsWithout returns the total points of the feasible nodes without the scores of these plugins.
func (l *ranking) totalsWithout(plugins ...string) []int64 {
	rest := slices.Clone(l.points.Totals)
	for p, plugin := range l.points.Plugins {
		if !slices.Contains(plugins, plugin) {
			continue
		}
		for i := range rest {
			rest[i] -= l.points.OfNode(i)[p]
		}
	}
	return rest
}

// newPlacement returns the pod's placement, with the number of ties if the pod's node is among the best.
func (l *ranking) newPlacement(of *podLife) Placement {
	p := Placement{Pod: of.pod, At: of.at}
	if l.isBest(of.node) {
		p.Ties, p.Only = len(l.best), l.countFeasible() == 1
	}
	return p
}

// newDivergence describes the rank of the pod's node, which is not among the best.
func (l *ranking) newDivergence(p *Placement, owner cluster.Ref) *Divergence {
	d := &Divergence{PodRef: cluster.NewPodRef(p.Pod, owner), Node: p.Pod.Spec.NodeName}
	if p.At.Unix() > 0 {
		d.At = p.At.UTC().Format(time.RFC3339)
	}
	if len(l.best) > 0 {
		d.Best = l.best[0]
	}
	node := l.feasibleIndex(d.Node)
	if node < 0 {
		d.refusal = l.refusal(d.Node)
		d.Refused = d.refusal.Status
		if d.refusal.Plugin != "" {
			d.Refused = d.refusal.Plugin + ": " + d.refusal.Status
		}
		return d
	}
	best, points := l.feasibleIndex(d.Best), l.points
	d.Rank, d.Behind = 1+l.countBetter(points.Totals[node]), points.Totals[best]-points.Totals[node]
	for i, plugin := range points.Plugins {
		if points := points.OfNode(best)[i] - points.OfNode(node)[i]; points != 0 {
			d.Ahead = append(d.Ahead, Points{Plugin: plugin, Points: points})
		}
	}
	slices.SortStableFunc(d.Ahead, func(a, b Points) int { return int(b.Points - a.Points) })
	return d
}

// refusal returns why the node was rejected.
func (l *ranking) refusal(node string) *placement.Verdict {
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
