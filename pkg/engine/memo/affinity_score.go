package memo

import (
	"context"
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// scoreState is the result of InterPodAffinity's PreScore, and the scores of nodes that follow from it.
type scoreState struct {
	known bool
	data  fwk.StateData               // nil if the plugin is skipped
	score map[string]map[string]int64 // of data: the sum of weights, by topology key and value
	terms int                         // number of the pods' terms that are in score. Without any, the plugin is skipped.

	sums
	scores []int64 // by group
}

// weight is what one pod adds to the sum of its domain by one term.
type weight struct {
	topologyKey string
	weight      int64
}

// PreScore calls upstream's PreScore for the first pod, and updates that result for further pods.
func (a *affinity) PreScore(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	a.scored = nil
	s := a.stateOf(pod)
	if s == nil || a.args.IgnorePreferredTermsOfExistingPods && !s.preferred() {
		return a.InterPodAffinity.PreScore(ctx, cycle, pod, nodes)
	}
	s.update(ctx, a)
	if !s.score.known {
		var status *fwk.Status
		matter := a.memo.nodesOf(func(c *class) bool { return len(s.effectOf(a, c).weights) > 0 })
		a.lens.through(matter, func() { status = a.InterPodAffinity.PreScore(ctx, cycle, pod, nodes) })
		switch {
		case status.IsSkip():
			s.score = scoreState{known: true}
		case status.IsSuccess():
			data, err := cycle.Read(affinityScoreKey)
			if err != nil {
				return fwk.AsStatus(err)
			}
			s.score = scoreState{known: true, data: data, score: topologyScore(data), terms: s.count(a), scores: make([]int64, len(a.memo.infos))}
			s.score.sums = newSums(a.memo, slices.Collect(maps.Keys(s.score.score)))
		}
		return status
	}
	if s.score.terms == 0 {
		return fwk.NewStatus(fwk.Skip)
	}
	a.scored = s
	cycle.Write(affinityScoreKey, s.score.data)
	return nil
}

// change adds the weights of a pod that came or went to the sums.
func (f *scoreState) change(m *Memo, e *effect, c change, slot int) {
	node := m.infos[slot].Node()
	for _, w := range e.weights {
		value, found := node.Labels[w.topologyKey]
		if !found {
			continue
		}
		if f.score == nil { // skipped until now
			f.known = false
			return
		}
		f.terms += c.delta
		if f.score[w.topologyKey] == nil {
			f.score[w.topologyKey] = map[string]int64{}
		}
		f.score[w.topologyKey][value] += w.weight * int64(c.delta)
		f.sums.change(m, w.topologyKey, slot)
	}
}

// Score asks upstream's Score again only if a sum that it reads has changed.
func (a *affinity) Score(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	if a.scored == nil {
		return a.InterPodAffinity.Score(ctx, cycle, pod, node)
	}
	f := &a.scored.score
	group, fresh := f.fresh(a.memo.slotOf(node, a.memo.asked))
	if fresh {
		return f.scores[group], nil
	}
	score, status := a.InterPodAffinity.Score(ctx, cycle, pod, node)
	if status.IsSuccess() {
		f.scores[group], f.asked[group] = score, f.clock
	}
	return score, status
}

// count returns the number of terms of placed pods that are in the sums.
func (s *affinityState) count(a *affinity) int {
	terms := 0
	for _, class := range a.memo.pods.all {
		e := s.effectOf(a, class)
		if len(e.weights) == 0 {
			continue
		}
		for name, pods := range class.nodes {
			slot, found := a.memo.slots[name]
			if !found {
				continue
			}
			for _, w := range e.weights {
				if _, found := a.memo.infos[slot].Node().Labels[w.topologyKey]; found {
					terms += pods
				}
			}
		}
	}
	return terms
}

// topologyScore returns the map in which the plugin keeps its sums. Upstream exports neither the map nor another way to change it.
func topologyScore(data fwk.StateData) map[string]map[string]int64 {
	sums := reflect.ValueOf(data).Elem().FieldByName("topologyScore")
	return *(*map[string]map[string]int64)(sums.Addr().UnsafePointer())
}
