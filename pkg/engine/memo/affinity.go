package memo

import (
	"context"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
)

// affinity is InterPodAffinity with the results of its walks carried on: the counts of PreFilter by upstream's own AddPod and RemovePod,
// the sums of PreScore, for which upstream has nothing of the kind, by the terms of the pods that came and went.
type affinity struct {
	*interpodaffinity.InterPodAffinity
	memo   *Memo
	args   *schedulerapi.InterPodAffinityArgs
	lens   *lens
	states map[looks]*affinityState
	era    int
	layout int
	scored *affinityState // of the current pod; nil if upstream's PreScore has made its own
}

// affinityState is what the plugin knows of pods that look alike to rules between pods, at a position of the log.
type affinityState struct {
	pod      fwk.PodInfo // one of them, with the namespaces that its terms select
	labels   labels.Set  // of its namespace
	position int
	effects  []*effect // of one pod of each class, by the class's id; nil if not known yet

	filter filterState
	score  scoreState
}

// filterState is the result of PreFilter.
type filterState struct {
	known bool
	state *framework.CycleState // nil if the plugin is skipped
}

// scoreState is the result of PreScore, and the scores that nodes have by it.
type scoreState struct {
	known bool
	data  fwk.StateData               // nil if the plugin is skipped
	sums  map[string]map[string]int64 // of data: by topology key and value
	terms int                         // number of pods' terms that are in sums. Without any, the plugin is skipped.

	clock  int       // counts the changes of sums, from 1
	keys   []keySums // of sums
	scores []int64   // by slot
	asked  []int     // by slot: when the score was asked for; 0: never
}

// keySums says when the sums of a topology key have changed last.
type keySums struct {
	*domains
	key     string
	changed []int // by domain
}

// effect is what a pod of some class changes for the pods of a state.
type effect struct {
	refuses bool // it has a required anti-affinity to them
	counts  bool // one of their required terms matches it
	weights []weight
}

type weight struct {
	topologyKey string
	weight      int64
}

// PreFilter is upstream's the first time, and brings its result up to date from then on.
func (a *affinity) PreFilter(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	s := a.stateOf(pod)
	if s == nil {
		return a.InterPodAffinity.PreFilter(ctx, cycle, pod, nodes)
	}
	s.update(ctx, a)
	if !s.filter.known {
		var result *fwk.PreFilterResult
		var status *fwk.Status
		matter := a.memo.nodesOf(func(c *class) bool { e := s.effectOf(a, c); return e.refuses || e.counts })
		a.lens.through(matter, func() { result, status = a.InterPodAffinity.PreFilter(ctx, cycle, pod, matter) })
		switch {
		case status.IsSkip():
			s.filter = filterState{known: true}
		case status.IsSuccess() && result == nil:
			data, err := cycle.Read(affinityFilterKey)
			if err != nil {
				return nil, fwk.AsStatus(err)
			}
			s.filter = filterState{known: true, state: framework.NewCycleState()}
			s.filter.state.Write(affinityFilterKey, data)
		}
		return result, status
	}
	if s.filter.state == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	data, err := s.filter.state.Read(affinityFilterKey)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if !s.required() && reflect.ValueOf(data).Elem().FieldByName("existingClusterWideAntiAffinityCounts").Len() == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	cycle.Write(affinityFilterKey, data)
	return nil, nil
}

// PreScore is upstream's the first time, and brings its result up to date from then on.
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
			s.score = scoreState{known: true, data: data, sums: sumsOf(data), terms: s.count(a), clock: 1}
			s.score.scores, s.score.asked = make([]int64, len(a.memo.infos)), make([]int, len(a.memo.infos))
			for key := range s.score.sums {
				s.score.reads(a.memo, key)
			}
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

// stateOf returns the state for the pod of this cycle, or nil if it is not the pod that the memo has been told of.
func (a *affinity) stateOf(pod *v1.Pod) *affinityState {
	m := a.memo
	if pod != m.current {
		return nil
	}
	if a.era != m.pods.era || a.layout != m.layout || a.states == nil || len(a.states)*len(m.infos) > mostAnswers {
		a.states, a.era, a.layout = map[looks]*affinityState{}, m.pods.era, m.layout
	}
	s := a.states[m.looks]
	if s != nil {
		if _, known := m.pods.since(s.position); known {
			return s
		}
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil // upstream says so
	}
	namespaces := m.informers.Core().V1().Namespaces().Lister()
	merge := func(term *fwk.AffinityTerm) {
		// As mergeAffinityTermNamespacesIfNotEmpty in
		// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/interpodaffinity/plugin.go
		if term.NamespaceSelector.Empty() {
			return
		}
		selected, listErr := namespaces.List(term.NamespaceSelector)
		if listErr != nil {
			err = listErr
			return
		}
		for _, namespace := range selected {
			term.Namespaces.Insert(namespace.Name)
		}
		term.NamespaceSelector = labels.Nothing()
	}
	for _, terms := range [][]fwk.AffinityTerm{info.GetRequiredAffinityTerms(), info.GetRequiredAntiAffinityTerms()} {
		for i := range terms {
			merge(&terms[i])
		}
	}
	for _, terms := range [][]fwk.WeightedAffinityTerm{info.GetPreferredAffinityTerms(), info.GetPreferredAntiAffinityTerms()} {
		for i := range terms {
			merge(&terms[i].AffinityTerm)
		}
	}
	if err != nil {
		return nil
	}
	s = &affinityState{pod: info, labels: interpodaffinity.GetNamespaceLabelsSnapshot(klog.Background(), pod.Namespace, namespaces), position: m.pods.end()}
	a.states[m.looks] = s
	return s
}

func (s *affinityState) required() bool {
	return len(s.pod.GetRequiredAffinityTerms()) > 0 || len(s.pod.GetRequiredAntiAffinityTerms()) > 0
}

func (s *affinityState) preferred() bool {
	return len(s.pod.GetPreferredAffinityTerms()) > 0 || len(s.pod.GetPreferredAntiAffinityTerms()) > 0
}

// update brings the state up to date with the log.
func (s *affinityState) update(ctx context.Context, a *affinity) {
	changes, _ := a.memo.pods.since(s.position)
	s.position = a.memo.pods.end()
	for _, change := range changes {
		e := s.effectOf(a, change.class)
		if !e.refuses && !e.counts && len(e.weights) == 0 {
			continue
		}
		slot, found := a.memo.slots[change.node]
		if !found {
			continue // a pod on a node that is gone, which no walk meets
		}
		if s.filter.known {
			s.filter.change(ctx, a, s, e, change, a.memo.infos[slot])
		}
		if s.score.known {
			s.score.change(a.memo, e, change, slot)
		}
	}
}

func (f *filterState) change(ctx context.Context, a *affinity, s *affinityState, e *effect, c change, info fwk.NodeInfo) {
	if !e.refuses && !e.counts {
		return
	}
	if f.state == nil { // skipped until now
		f.known = !e.refuses
		return
	}
	move := a.InterPodAffinity.AddPod
	if c.delta < 0 {
		move = a.InterPodAffinity.RemovePod
	}
	if status := move(ctx, f.state, s.pod.GetPod(), c.class.info, info); !status.IsSuccess() {
		f.known = false
	}
}

func (f *scoreState) change(m *Memo, e *effect, c change, slot int) {
	node := m.infos[slot].Node()
	for _, w := range e.weights {
		value, found := node.Labels[w.topologyKey]
		if !found {
			continue
		}
		if f.sums == nil { // skipped until now
			f.known = false
			return
		}
		f.terms += c.delta
		if f.sums[w.topologyKey] == nil {
			f.sums[w.topologyKey] = map[string]int64{}
			f.reads(m, w.topologyKey)
		}
		f.sums[w.topologyKey][value] += w.weight * int64(c.delta)
		f.clock++
		for _, key := range f.keys {
			if key.key == w.topologyKey {
				key.changed[key.number[slot]] = f.clock
			}
		}
	}
}

// reads adds a topology key on which scores depend.
func (f *scoreState) reads(m *Memo, key string) {
	domains := m.domainsOf(key)
	f.keys = append(f.keys, keySums{domains: domains, key: key, changed: make([]int, len(domains.values))})
	clear(f.asked)
}

// Score is upstream's, asked again when a sum that it reads has changed.
func (a *affinity) Score(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	if a.scored == nil {
		return a.InterPodAffinity.Score(ctx, cycle, pod, node)
	}
	f := &a.scored.score
	slot := a.memo.slotOf(node, a.memo.asked)
	fresh := f.asked[slot] > 0
	for _, key := range f.keys {
		fresh = fresh && key.changed[key.number[slot]] <= f.asked[slot]
	}
	if fresh {
		return f.scores[slot], nil
	}
	score, status := a.InterPodAffinity.Score(ctx, cycle, pod, node)
	if status.IsSuccess() {
		f.scores[slot], f.asked[slot] = score, f.clock
	}
	return score, status
}

// count returns the number of pods' terms that are in the sums.
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

// effectOf matches the terms as processExistingPod and updateWithPod do, in
// https://github.com/kubernetes/kubernetes/tree/v1.37.1/pkg/scheduler/framework/plugins/interpodaffinity. It does so once per class.
func (s *affinityState) effectOf(a *affinity, c *class) *effect {
	for len(s.effects) <= c.id {
		s.effects = append(s.effects, nil)
	}
	if s.effects[c.id] != nil {
		return s.effects[c.id]
	}
	e := &effect{}
	s.effects[c.id] = e
	pod, other := s.pod.GetPod(), c.info.GetPod()
	for _, term := range c.info.GetRequiredAntiAffinityTerms() {
		e.refuses = e.refuses || term.Matches(pod, s.labels)
	}
	for _, terms := range [][]fwk.AffinityTerm{s.pod.GetRequiredAffinityTerms(), s.pod.GetRequiredAntiAffinityTerms()} {
		for _, term := range terms {
			e.counts = e.counts || term.Matches(other, nil)
		}
	}
	weigh := func(term *fwk.AffinityTerm, by int32, pod *v1.Pod, namespace labels.Set) {
		if by != 0 && term.Matches(pod, namespace) {
			e.weights = append(e.weights, weight{term.TopologyKey, int64(by)})
		}
	}
	for _, term := range s.pod.GetPreferredAffinityTerms() {
		weigh(&term.AffinityTerm, term.Weight, other, nil)
	}
	for _, term := range s.pod.GetPreferredAntiAffinityTerms() {
		weigh(&term.AffinityTerm, -term.Weight, other, nil)
	}
	for _, term := range c.info.GetRequiredAffinityTerms() {
		weigh(&term, a.args.HardPodAffinityWeight, pod, s.labels)
	}
	for _, term := range c.info.GetPreferredAffinityTerms() {
		weigh(&term.AffinityTerm, term.Weight, pod, s.labels)
	}
	for _, term := range c.info.GetPreferredAntiAffinityTerms() {
		weigh(&term.AffinityTerm, -term.Weight, pod, s.labels)
	}
	return e
}

// sumsOf returns the map in which the plugin keeps its sums. Upstream exports neither it nor another way to change it.
func sumsOf(data fwk.StateData) map[string]map[string]int64 {
	sums := reflect.ValueOf(data).Elem().FieldByName("topologyScore")
	return *(*map[string]map[string]int64)(sums.Addr().UnsafePointer())
}
