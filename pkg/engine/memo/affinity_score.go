package memo

import (
	"context"
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// affinityScore is the result of InterPodAffinity's PreScore, and the scores of nodes that follow from it.
type affinityScore struct {
	known bool
	data  fwk.StateData               // nil if the plugin is skipped
	score map[string]map[string]int64 // of data: the sum of weights, by topology key and value
	terms int                         // number of the pods' terms that are in score. Without any, the plugin is skipped.

	sumClock
	scores []int64 // by group
}

// weight is what one pod adds to the sum of its domain by one term.
type weight struct {
	topologyKey string
	weight      int64
}

// PreScore calls upstream's PreScore for the first pod, and updates that result for further pods.
func (a *affinityPlugin) PreScore(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	a.preScored = nil
	s := a.stateOf(pod)
	if s == nil || a.args.IgnorePreferredTermsOfExistingPods && !s.hasPreferredTerms() {
		return a.InterPodAffinity.PreScore(ctx, cycle, pod, nodes)
	}
	s.applyLog(ctx, a)
	if !s.score.known {
		var status *fwk.Status
		matter := a.memo.nodesWithClasses(func(c *class) bool { return len(s.effectOf(a, c).weights) > 0 })
		a.snapshot.narrow(matter, func() { status = a.InterPodAffinity.PreScore(ctx, cycle, pod, nodes) })
		switch {
		case status.IsSkip():
			s.score = affinityScore{known: true}
		case status.IsSuccess():
			data, err := cycle.Read(affinityScoreKey)
			if err != nil {
				return fwk.AsStatus(err)
			}
			s.score = affinityScore{known: true, data: data, score: topologyScore(data), terms: s.countTerms(a), scores: make([]int64, len(a.memo.infos))}
			s.score.sumClock = newSumClock(a.memo, slices.Collect(maps.Keys(s.score.score)))
		}
		return status
	}
	if s.score.terms == 0 {
		return fwk.NewStatus(fwk.Skip)
	}
	a.preScored = s
	cycle.Write(affinityScoreKey, s.score.data)
	return nil
}

// applyChange adds the weights of a pod that came or went to the sums.
func (f *affinityScore) applyChange(m *Memo, e *effect, c podChange, slot int) {
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
		f.sumClock.recordChange(m, w.topologyKey, slot)
	}
}

// Score asks upstream's Score again only if a sum that it reads has changed.
func (a *affinityPlugin) Score(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	if a.preScored == nil {
		return a.InterPodAffinity.Score(ctx, cycle, pod, node)
	}
	f := &a.preScored.score
	group, fresh := f.lookUpGroup(a.memo.slotOf(node, a.memo.askedSlot))
	if fresh {
		return f.scores[group], nil
	}
	score, status := a.InterPodAffinity.Score(ctx, cycle, pod, node)
	if status.IsSuccess() {
		f.scores[group], f.askedAt[group] = score, f.clock
	}
	return score, status
}

// countTerms returns the number of terms of placed pods that are in the sums.
func (s *affinityState) countTerms(a *affinityPlugin) int {
	terms := 0
	for _, class := range a.memo.pods.classList {
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
