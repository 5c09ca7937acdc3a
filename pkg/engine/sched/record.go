package sched

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// recorder records the plugins' decisions about one pod, to the requested depth.
type recorder struct {
	depth    placement.Depth
	cycle    *placement.Cycle
	state    fwk.CycleState
	feasible []fwk.NodeInfo // nodes that passed every filter; the next recorder reuses the memory
	// nominated is the node that preemption reserved for the pod. The scheduler examines it first and, if it is rejected, again with the
	// other nodes. [recorder.nominatedSeen] is true after the first time.
	nominated     string
	nominatedSeen bool
	// The last rejection, and its index in the cycle's Refusals: plugins often return the same status for many nodes.
	lastStatus  *fwk.Status
	lastRefusal int
}

// startRecorder drops the last recorder, and starts a new one if the caller wants this pod's cycle.
func (e *Engine) startRecorder(p *profile, pod *v1.Pod, result *placement.Result) {
	var feasible []fwk.NodeInfo
	if p.recorder != nil {
		feasible = p.recorder.feasible[:0]
	}
	p.recorder = nil
	if e.Record == nil {
		return
	}
	depth := e.Record(pod)
	if depth == nil {
		return
	}
	cycle := &placement.Cycle{Start: int(e.nextStartNodeIndex().Int())}
	if depth.Before {
		cycle.Before = e.stateBefore(result)
	}
	p.recorder = &recorder{depth: *depth, cycle: cycle, feasible: feasible, nominated: pod.Status.NominatedNodeName}
}

// stateBefore returns the cluster at this point of Place: with the pods that it has placed, the volumes and claims that it has bound, and the
// victims Terminating or removed.
func (e *Engine) stateBefore(result *placement.Result) *cluster.State {
	var ending, gone []cluster.Object
	for _, victim := range e.victims {
		if victim.Ending != nil {
			ending = append(ending, victim.Ending)
		} else {
			gone = append(gone, victim.Victim)
		}
	}
	now := *result
	e.takeClaims(&now)
	return e.state.With(now.Changed()...).With(ending...).Without(gone...).Without(now.Deleted()...)
}

// preFilter records the verdicts of the PreFilter plugins. The framework reports only which plugins it skipped, and the first rejection.
func (r *recorder) preFilter(plugins *schedulerapi.Plugins, state fwk.CycleState, result *fwk.PreFilterResult, status *fwk.Status, by sets.Set[string]) {
	r.state = state
	skipped := state.GetSkipFilterPlugins()
	r.cycle.PreFilter = verdicts(plugins.PreFilter, skipped)
	if status.IsRejected() {
		if i := slices.IndexFunc(r.cycle.PreFilter, func(v placement.Verdict) bool { return v.Plugin == status.Plugin() }); i >= 0 {
			r.cycle.PreFilter = r.cycle.PreFilter[:i+1]
			r.cycle.PreFilter[i].Status = status.Message()
		}
		return
	}
	if !result.AllNodes() {
		r.cycle.Named, r.cycle.NamedBy = sets.List(result.NodeNames), sets.List(by)
	}
	for _, plugin := range plugins.Filter.Enabled {
		if !skipped.Has(plugin.Name) {
			r.cycle.Filters = append(r.cycle.Filters, plugin.Name)
		}
	}
}

// verdicts returns a verdict of success, or of skip, for each plugin.
func verdicts(plugins schedulerapi.PluginSet, skipped sets.Set[string]) []placement.Verdict {
	all := make([]placement.Verdict, 0, len(plugins.Enabled))
	for _, plugin := range plugins.Enabled {
		status := "success"
		if skipped.Has(plugin.Name) {
			status = "skip"
		}
		all = append(all, placement.Verdict{Plugin: plugin.Name, Status: status})
	}
	return all
}

// filter records the filters' verdict on a node. It does not read the names of nodes that pass, since each read is a cache miss.
func (r *recorder) filter(node fwk.NodeInfo, status *fwk.Status) {
	if r.nominated != "" && node.Node().Name == r.nominated {
		if r.nominatedSeen {
			return
		}
		r.nominatedSeen = true
	}
	r.cycle.Searched++
	if status.IsSuccess() {
		r.feasible = append(r.feasible, node)
		return
	}
	if status != r.lastStatus {
		r.lastStatus, r.lastRefusal = status, r.refusalOf(status.Plugin(), status.Message())
	}
	refusal := &r.cycle.Refusals[r.lastRefusal]
	if len(r.depth.Named) == 0 && r.isFull(refusal) {
		refusal.Count++
		return
	}
	r.countRejection(refusal, node.Node().Name)
}

// addRejection records a rejection of a node.
func (r *recorder) addRejection(node string, reason placement.Verdict) {
	r.countRejection(&r.cycle.Refusals[r.refusalOf(reason.Plugin, reason.Status)], node)
}

// countRejection adds the node to the refusal.
func (r *recorder) countRejection(refusal *placement.Refusal, node string) {
	refusal.Count++
	if !r.isFull(refusal) || slices.Contains(r.depth.Named, node) {
		refusal.Nodes = append(refusal.Nodes, node)
	}
}

// isFull reports whether the refusal already names as many nodes as the depth allows.
func (r *recorder) isFull(refusal *placement.Refusal) bool {
	return r.depth.Nodes > 0 && len(refusal.Nodes) >= r.depth.Nodes
}

// refusalOf returns the index of the refusal with that plugin and message, and adds one if there is none. A search is faster than a map
// here, since a cycle has few refusals.
func (r *recorder) refusalOf(plugin, message string) int {
	all := &r.cycle.Refusals
	at := slices.IndexFunc(*all, func(refusal placement.Refusal) bool { return refusal.Plugin == plugin && refusal.Message == message })
	if at < 0 {
		at = len(*all)
		*all = append(*all, placement.Refusal{Plugin: plugin, Message: message})
	}
	return at
}

// finishCycle completes and returns the recorded cycle, or nil if nothing is recorded. chosen is the pod's node, or "" if the pod got none.
func (p *profile) finishCycle(pod fwk.PodInfo, chosen string) *placement.Cycle {
	r := p.recorder
	if r == nil {
		return nil
	}
	c := r.cycle
	slices.SortFunc(c.Refusals, func(a, b placement.Refusal) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Message, b.Message))
	})
	if chosen == "" {
		return c
	}
	if r.depth.Points {
		c.Points = pointsOf(p.scores, chosen)
		return c
	}
	if len(p.scores) == 0 {
		for _, node := range r.feasible {
			c.Candidates = append(c.Candidates, placement.Candidate{Node: node.Node().Name})
		}
		return c
	}
	c.PreScore = verdicts(p.plugins.PreScore, r.state.GetSkipScorePlugins())
	c.Scored = len(p.scores)
	kept := r.best(p.scores, chosen)
	parts := p.scoreParts(r.state, pod, kept, r.depth.Nodes)
	c.Candidates = make([]placement.Candidate, 0, len(kept))
	width := len(kept[0].Scores)
	scores, weights := make([]placement.PluginScore, len(kept)*width), make([]int64, width)
	for s, score := range kept[0].Scores { // all nodes have the plugins in one order
		weights[s] = p.weight[score.Name]
	}
	for i, node := range kept {
		candidate := placement.Candidate{Node: node.Name, Rank: 1, Total: node.TotalScore, Scores: scores[i*width : (i+1)*width : (i+1)*width]}
		switch {
		case i > 0 && kept[i-1].TotalScore == node.TotalScore: // fast for thousands of equal nodes
			candidate.Rank = c.Candidates[i-1].Rank
		case len(kept) == len(p.scores):
			candidate.Rank = i + 1
		default:
			for n := range p.scores {
				if p.scores[n].TotalScore > node.TotalScore {
					candidate.Rank++
				}
			}
		}
		for s, score := range node.Scores {
			candidate.Scores[s] = placement.PluginScore{
				Plugin: score.Name, Raw: node.RawScores[s].Score, Normalised: score.Score / weights[s], Weight: weights[s], Weighted: score.Score,
			}
			if parts := parts[score.Name]; parts != nil {
				candidate.Scores[s].Parts = parts[i]
			}
		}
		c.Candidates = append(c.Candidates, candidate)
	}
	return c
}

// pointsOf returns the points of the feasible nodes. If no node was scored, it returns only the chosen one.
func pointsOf(scores []fwk.NodePluginScores, chosen string) *placement.Points {
	if len(scores) == 0 {
		return &placement.Points{Nodes: []string{chosen}, Totals: []int64{0}}
	}
	points := &placement.Points{Nodes: make([]string, len(scores)), Totals: make([]int64, len(scores))}
	for _, score := range scores[0].Scores { // all nodes have the plugins in one order
		points.Plugins = append(points.Plugins, score.Name)
	}
	points.Weighted = make([]int64, 0, len(scores)*len(points.Plugins))
	for i := range scores {
		points.Nodes[i], points.Totals[i] = scores[i].Name, scores[i].TotalScore
		for _, score := range scores[i].Scores {
			points.Weighted = append(points.Weighted, score.Score)
		}
	}
	return points
}

// best returns the nodes to record, in the order of their totals: the best nodes, the chosen node, and the nodes that the depth names.
func (r *recorder) best(scores []fwk.NodePluginScores, chosen string) []*fwk.NodePluginScores {
	order := func(a, b *fwk.NodePluginScores) int {
		return cmp.Or(cmp.Compare(b.TotalScore, a.TotalScore), cmp.Compare(a.Name, b.Name))
	}
	var kept, others []*fwk.NodePluginScores
	for i := range scores {
		node := &scores[i]
		switch {
		case r.depth.Nodes == 0:
			kept = append(kept, node)
		case node.Name == chosen || slices.Contains(r.depth.Named, node.Name):
			others = append(others, node)
		case len(kept) < r.depth.Nodes || order(node, kept[len(kept)-1]) < 0:
			// A short sorted list is cheaper than sorting thousands.
			at, _ := slices.BinarySearchFunc(kept, node, order)
			kept = slices.Insert(kept, at, node)
			kept = kept[:min(len(kept), r.depth.Nodes)]
		}
	}
	kept = append(kept, others...)
	slices.SortFunc(kept, order)
	return kept
}
