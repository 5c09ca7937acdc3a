package memo

import (
	"context"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
)

// affinityPlugin is InterPodAffinity, except that it keeps the results of its walks over all pods from one pod to the next. It updates the counts
// of PreFilter by upstream's own AddPod and RemovePod, and the sums of PreScore, for which upstream has no such functions, by the terms of
// the pods that came and went.
type affinityPlugin struct {
	*interpodaffinity.InterPodAffinity
	memo             *Memo
	args             *schedulerapi.InterPodAffinityArgs
	snapshot         *narrowedSnapshot
	states           map[podTraits]*affinityState
	era              int
	namespaceVersion int
	layoutVersion    int
	// The states of the current pod; nil if upstream's PreFilter or PreScore made a state of its own for it.
	preFiltered, preScored *affinityState
}

// affinityState is the states of the plugin for pods with the same [podTraits], as of a position of the log.
type affinityState struct {
	pod      fwk.PodInfo // one of the pods, with the namespaces that its terms select
	noRules  bool        // whether the pods have no rules about other pods
	labels   labels.Set  // of the pods' namespace
	position int
	effects  []*effect // by the class's id: the effect of one pod of the class; nil if not yet computed

	filter affinityFilter
	score  affinityScore
}

// affinityFilter is the result of PreFilter, and the answers of Filter that follow from it.
type affinityFilter struct {
	known   bool
	version int64                 // of the counts
	state   *framework.CycleState // nil if the plugin is skipped
	domainCounts
	sumClock
	statuses []*fwk.Status // by group
}

// domainCounts are the maps of upstream's state that count pods by domain. They have no entry for a domain without pods.
type domainCounts struct{ existing, affinity, antiAffinity reflect.Value }

func domainCountsOf(data fwk.StateData) domainCounts {
	field := reflect.ValueOf(data).Elem().FieldByName
	return domainCounts{
		existing: field("existingClusterWideAntiAffinityCounts"), affinity: field("clusterWideAffinityCounts"), antiAffinity: field("clusterWideAntiAffinityCounts"),
	}
}

// countDomains returns the number of domains with pods, added up over the three maps.
func (c *domainCounts) countDomains() int {
	return c.existing.Len() + c.affinity.Len() + c.antiAffinity.Len()
}

// effect is what one pod of a class changes in the states of the pods of an [affinityState].
type effect struct {
	refuses bool     // whether the pod has a required anti-affinity to them
	matches bool     // whether one of their required terms matches the pod
	keys    []string // the topology keys of the terms behind the two fields above
	weights []weight
}

// noEffect is the effect of the pods that no term concerns, which are most pods.
var noEffect effect

// PreFilter calls upstream's PreFilter for the first pod, and updates that result for further pods.
func (a *affinityPlugin) PreFilter(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	a.preFiltered = nil
	s := a.stateOf(pod)
	if s == nil {
		return a.InterPodAffinity.PreFilter(ctx, cycle, pod, nodes)
	}
	s.applyLog(ctx, a)
	if !s.filter.known {
		var result *fwk.PreFilterResult
		var status *fwk.Status
		matter := a.memo.nodesWithClasses(func(c *class) bool { e := s.effectOf(a, c); return e.refuses || e.matches })
		a.snapshot.narrow(matter, func() { result, status = a.InterPodAffinity.PreFilter(ctx, cycle, pod, matter) })
		switch {
		case status.IsSkip():
			s.filter = affinityFilter{known: true}
		case status.IsSuccess() && result == nil:
			data, err := cycle.Read(affinityFilterKey)
			if err != nil {
				return nil, fwk.AsStatus(err)
			}
			s.filter = affinityFilter{known: true, version: a.memo.nextCountVersion(), state: framework.NewCycleState(), domainCounts: domainCountsOf(data)}
			s.filter.state.Write(affinityFilterKey, data)
			s.filter.sumClock = newSumClock(a.memo, s.filterKeys(a))
			s.filter.statuses = make([]*fwk.Status, len(a.memo.infos))
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
	if !s.hasRequiredTerms() && s.filter.existing.Len() == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	a.preFiltered = s
	cycle.Write(affinityFilterKey, data)
	return nil, nil
}

// stateOf returns the state for the current pod, or nil if upstream must make its own, because the cycle is about another pod or the pod's
// terms do not parse.
func (a *affinityPlugin) stateOf(pod *v1.Pod) *affinityState {
	m := a.memo
	if pod != m.current {
		return nil
	}
	if a.era != m.pods.era || a.namespaceVersion != m.namespaceVersion || a.states == nil || len(a.states)*len(m.infos) > maxAnswers {
		a.states, a.era, a.namespaceVersion = map[podTraits]*affinityState{}, m.pods.era, m.namespaceVersion
	}
	if a.layoutVersion != m.layoutVersion {
		a.layoutVersion = m.layoutVersion
		for _, s := range a.states {
			s.forgetPlaces(m)
		}
	}
	s := a.states[m.traits]
	if s != nil {
		if _, known := m.pods.changesSince(s.position); !known {
			s.forgetPlaces(m)
		}
		return s
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil // upstream reports the error
	}
	namespaces := namespacesOf(a.InterPodAffinity)
	merge := func(term *fwk.AffinityTerm) {
		// As mergeAffinityTermNamespacesIfNotEmpty does in
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
	s = &affinityState{pod: info, noRules: m.traits.affinity == "", labels: interpodaffinity.GetNamespaceLabelsSnapshot(klog.Background(), pod.Namespace, namespaces), position: m.pods.endPosition()}
	a.states[m.traits] = s
	return s
}

// namespacesOf returns the lister of the plugin, which is an unexported field: in an engine with an earlier release, that lister lists
// other namespaces.
func namespacesOf(plugin *interpodaffinity.InterPodAffinity) listersv1.NamespaceLister {
	field := reflect.ValueOf(plugin).Elem().FieldByName("nsLister")
	return reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Interface().(listersv1.NamespaceLister)
}

// forgetPlaces forgets the pods' places, but not the effects of classes.
func (s *affinityState) forgetPlaces(m *Memo) {
	s.position, s.filter, s.score = m.pods.endPosition(), affinityFilter{}, affinityScore{}
}

func (s *affinityState) hasRequiredTerms() bool {
	return len(s.pod.GetRequiredAffinityTerms()) > 0 || len(s.pod.GetRequiredAntiAffinityTerms()) > 0
}

func (s *affinityState) hasPreferredTerms() bool {
	return len(s.pod.GetPreferredAffinityTerms()) > 0 || len(s.pod.GetPreferredAntiAffinityTerms()) > 0
}

// applyLog brings the state up to date with the log of pods.
func (s *affinityState) applyLog(ctx context.Context, a *affinityPlugin) {
	changes, _ := a.memo.pods.changesSince(s.position)
	s.position = a.memo.pods.endPosition()
	for _, change := range changes {
		e := s.effectOf(a, change.class)
		if !e.refuses && !e.matches && len(e.weights) == 0 {
			continue
		}
		slot, found := a.memo.slots[change.node]
		if !found {
			continue // no walk meets pods on a node that is gone
		}
		if s.filter.known {
			s.filter.applyChange(ctx, a, s, e, change, slot)
		}
		if s.score.known {
			s.score.applyChange(a.memo, e, change, slot)
		}
	}
}

func (f *affinityFilter) applyChange(ctx context.Context, a *affinityPlugin, s *affinityState, e *effect, c podChange, slot int) {
	if !e.refuses && !e.matches {
		return
	}
	if f.state == nil { // skipped until now
		f.known = !e.refuses
		return
	}
	f.version = a.memo.nextCountVersion()
	update := a.InterPodAffinity.AddPod
	if c.delta < 0 {
		update = a.InterPodAffinity.RemovePod
	}
	domains, any := f.countDomains(), f.affinity.Len() > 0
	if status := update(ctx, f.state, s.pod.GetPod(), c.class.info, a.memo.infos[slot]); !status.IsSuccess() {
		f.known = false
	}
	if f.countDomains() == domains {
		return // no domain got its first pod or lost its last one, and Filter reads nothing else of the counts
	}
	for _, key := range e.keys {
		f.sumClock.recordChange(a.memo, key, slot)
	}
	if (f.affinity.Len() > 0) != any {
		clear(f.askedAt) // while nothing matches, a pod that matches its own terms may go to any node
	}
}

// filterKeys returns the topology keys of the counts that Filter reads.
func (s *affinityState) filterKeys(a *affinityPlugin) []string {
	var keys []string
	for _, terms := range [][]fwk.AffinityTerm{s.pod.GetRequiredAffinityTerms(), s.pod.GetRequiredAntiAffinityTerms()} {
		for _, term := range terms {
			keys = append(keys, term.TopologyKey)
		}
	}
	for _, class := range a.memo.pods.classList {
		if len(class.nodes) > 0 {
			keys = append(keys, s.effectOf(a, class).keys...)
		}
	}
	return keys
}

// Filter asks upstream's Filter again only if a domain of the node got its first pod or lost its last one. Preemption asks about copies of
// nodes, without some pods; upstream's Filter answers each of these calls.
func (a *affinityPlugin) Filter(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	slot := a.memo.askedSlot
	if a.preFiltered == nil || a.memo.infos[slot] != node {
		return a.InterPodAffinity.Filter(ctx, cycle, pod, node)
	}
	f := &a.preFiltered.filter
	group, fresh := f.lookUpGroup(slot)
	if !fresh {
		f.statuses[group], f.askedAt[group] = a.InterPodAffinity.Filter(ctx, cycle, pod, node), f.clock
	}
	return f.statuses[group]
}

// effectOf matches the terms as processExistingPod and updateWithPod do, in
// https://github.com/kubernetes/kubernetes/tree/v1.37.1/pkg/scheduler/framework/plugins/interpodaffinity. It does so once per class.
func (s *affinityState) effectOf(a *affinityPlugin, c *class) *effect {
	if c.noRules && s.noRules {
		return &noEffect
	}
	for len(s.effects) <= c.id {
		s.effects = append(s.effects, nil)
	}
	if s.effects[c.id] != nil {
		return s.effects[c.id]
	}
	e := &effect{}
	pod, other := s.pod.GetPod(), c.info.GetPod()
	for _, term := range c.info.GetRequiredAntiAffinityTerms() {
		if term.Matches(pod, s.labels) {
			e.refuses, e.keys = true, append(e.keys, term.TopologyKey)
		}
	}
	for _, terms := range [][]fwk.AffinityTerm{s.pod.GetRequiredAffinityTerms(), s.pod.GetRequiredAntiAffinityTerms()} {
		for _, term := range terms {
			if term.Matches(other, nil) {
				e.matches, e.keys = true, append(e.keys, term.TopologyKey)
			}
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
	if !e.refuses && !e.matches && len(e.weights) == 0 {
		e = &noEffect
	}
	s.effects[c.id] = e
	return e
}
