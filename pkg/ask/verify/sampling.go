package verify

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
)

// minSampled is the number of nodes below which a search always examines all nodes; minFeasibleNodesToFind in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/schedule_one.go.
const minSampled = 100

// checkSampling starts the search for feasible nodes at a node from which the search stops before it reaches the better nodes.
func (c *causeSearch) checkSampling() (string, error) {
	state := c.stateBefore()
	mine := c.ranking.feasibleIndex(c.node)
	if mine < 0 || len(state.Nodes) < minSampled {
		return "", nil
	}
	engine, err := c.engine("sampling", func(config *sched.Config) *sched.Config { return config })
	if err != nil {
		return "", err
	}
	passed, err := c.countUnreached(engine, state)
	if err != nil || passed <= 0 {
		return "", err
	}
	starts, err := c.searchStarts(state, c.ranking.points.Totals[mine], passed)
	if err != nil {
		return "", err
	}
	for _, start := range starts {
		engine.StartAt(start)
		seen, err := c.rankNodesWith(engine, state, c.pod)
		if err != nil {
			return "", err
		}
		if seen.isBest(c.node) {
			return fmt.Sprintf("among the %d feasible nodes with which a search ends it can be the best: the better ones need not have been among them", seen.countFeasible()), nil
		}
	}
	return "", nil
}

// sampleKey is what determines the number of feasible nodes at which a search stops.
type sampleKey struct {
	scheduler string
	nodes     int
}

// countUnreached returns the number of feasible nodes that a search does not reach.
func (c *causeSearch) countUnreached(engine *sched.Engine, state *cluster.State) (int, error) {
	of := sampleKey{c.pod.Spec.SchedulerName, len(state.Nodes)}
	usual := c.ranking.cycle.Named == nil && !c.Scenario.Config.Foreign()
	if enough, known := c.sampleSizes[of]; known && usual {
		return c.ranking.countFeasible() - enough, nil
	}
	engine.StartAt(0)
	seen, err := c.rankNodesWith(engine, state, c.pod)
	if err != nil {
		return 0, err
	}
	if usual && 0 < seen.countFeasible() && seen.countFeasible() < c.ranking.countFeasible() {
		c.sampleSizes[of] = seen.countFeasible()
	}
	return c.ranking.countFeasible() - seen.countFeasible(), nil
}

// searchStarts returns the first and the last index at which a search can start such that it skips all nodes with more points and reaches the
// pod's node. A search skips the last feasible nodes, and wraps around from the last node to the first. With 10 feasible nodes, of which a
// search reaches 7, a search that starts at the feasible node 3 skips the nodes 0, 1 and 2.
func (c *causeSearch) searchStarts(state *cluster.State, points int64, passed int) ([]int, error) {
	better := c.ranking.countBetter(points)
	if better > passed {
		return nil, nil
	}
	place, err := c.nodeOrder(state)
	if err != nil {
		return nil, err
	}
	feasible := make([]int, len(place)) // by place in the order: 1 + the index of the feasible node, or 0
	for i, node := range c.ranking.points.Nodes {
		feasible[place[node]] = 1 + i
	}
	var round, at []int
	for place, i := range feasible {
		if i > 0 {
			round, at = append(round, i-1), append(at, place)
		}
	}
	// window is the number of nodes with more points among the passed nodes that a search skips. It is too large to match if the search skips
	// the pod's own node.
	window := 0
	weigh := func(i, sign int) {
		switch {
		case c.ranking.points.Nodes[i] == c.node:
			window += sign * len(place)
		case c.ranking.points.Totals[i] > points:
			window += sign
		}
	}
	for i := range min(passed, len(round)) {
		weigh(round[i], 1)
	}
	var starts []int
	for i := range round {
		end := (i + passed) % len(round)
		if window == better {
			starts = append(starts, at[end])
		}
		weigh(round[i], -1)
		weigh(round[end], 1)
	}
	if len(starts) > 2 {
		starts = []int{starts[0], starts[len(starts)-1]}
	}
	return starts, nil
}

// nodeOrder returns the positions of the nodes in the scheduler's order, which is the order in which it rejects a pod that fits no node.
func (r *replay) nodeOrder(state *cluster.State) (map[string]int, error) {
	if len(r.nodePlaces) > 0 && slices.Equal(r.nodePlacesOf, state.Nodes) {
		return r.nodePlaces, nil
	}
	engine, err := r.engine("all", examineAllNodes)
	if err != nil {
		return nil, err
	}
	engine.StartAt(0)
	none := &v1.Pod{Spec: v1.PodSpec{SchedulerName: r.Scenario.Config.SchedulerNames()[0], NodeSelector: map[string]string{"none": "none"}}}
	seen, err := r.rankNodes(state, none)
	if err != nil {
		return nil, err
	}
	r.nodePlacesOf, r.nodePlaces = state.Nodes, make(map[string]int, len(state.Nodes))
	for _, refusal := range seen.cycle.Refusals {
		for _, node := range refusal.Nodes {
			r.nodePlaces[node] = len(r.nodePlaces)
		}
	}
	return r.nodePlaces, nil
}
