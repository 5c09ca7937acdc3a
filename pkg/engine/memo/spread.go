package memo

import (
	"context"
	"math"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
)

// spreadPlugin is PodTopologySpread, except that it keeps the results of its walks over all pods from one pod to the next. It updates the counts
// of PreFilter by upstream's own AddPod and RemovePod, and the counts of PreScore by the selectors of the constraints. Upstream's states
// have unexported types with exported fields, which are read by reflection.
type spreadPlugin struct {
	*podtopologyspread.PodTopologySpread
	memo     *Memo
	snapshot *narrowedSnapshot
	// The states of the current pod; nil if upstream's PreFilter or PreScore made a state of its own for it.
	preFiltered, preScored *spreadState
}

// spreadState is the states of the plugin for the pods of a template, as of a position of the log.
type spreadState struct {
	pod          *v1.Pod
	position     int
	era          int
	taintVersion int
	ownerVersion int
	selector     string // of the constraints that the profile sets by default; "" if the pod has constraints of its own

	filter spreadFilter
	score  spreadScore
}

// constraintSet are the constraints in the state of PreFilter or PreScore.
type constraintSet struct {
	keys        []string
	selectors   []labels.Selector
	affinity    []bool   // by constraint: whether it counts only nodes that the pod's node affinity allows
	taints      []bool   // by constraint: whether it counts only nodes whose taints the pod tolerates
	bitsByClass []uint64 // by the class's id; see [constraintSet.matchBits]
}

// spreadFilter is the result of PreFilter, and what Filter said about nodes in the current cycle.
type spreadFilter struct {
	known bool
	constraintSet
	version int64                 // of data
	state   *framework.CycleState // nil if the plugin is skipped
	data    fwk.StateData
	pods    []map[string]int // of data: by constraint and domain
	least   []*leastTwo      // of data: by constraint

	// Nodes in the same domains get the same verdict. groups has the verdicts of this cycle; it is nil if there are more than [maxGroups]
	// combinations of domains.
	domains []*domains // by constraint
	groups  []groupStatus
	cycle   int
}

// groupStatus is the verdict on the nodes in one combination of domains.
type groupStatus struct {
	cycle  int // the cycle in which upstream's Filter was asked
	status *fwk.Status
}

// leastTwo are the two domains with the fewest pods; the first has the fewest.
type leastTwo = [2]struct {
	TopologyValue string
	MatchNum      int
}

// PreFilter calls upstream's PreFilter for the first pod, with empty nodes, and adds their pods. For further pods it updates that result.
func (p *spreadPlugin) PreFilter(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	p.preFiltered = nil
	s := p.stateOf(pod)
	if s == nil {
		return p.PodTopologySpread.PreFilter(ctx, cycle, pod, nodes)
	}
	s.applyLog(ctx, p)
	if s.filter.known {
		if s.filter.data == nil {
			return nil, fwk.NewStatus(fwk.Skip)
		}
		p.preFiltered = s
		s.filter.cycle++
		cycle.Write(spreadFilterKey, s.filter.data)
		return nil, nil
	}
	result, status := p.PodTopologySpread.PreFilter(ctx, cycle, pod, p.memo.emptyNodes)
	switch {
	case status.IsSkip():
		s.filter = spreadFilter{known: true}
	case status.IsSuccess() && result == nil:
		data, err := cycle.Read(spreadFilterKey)
		if err != nil {
			return nil, fwk.AsStatus(err)
		}
		s.filter = p.memo.newSpreadFilter(data)
		if !s.filter.known {
			return p.PodTopologySpread.PreFilter(ctx, cycle, pod, nodes)
		}
		s.filter.addPlacedPods(ctx, p, pod)
	}
	return result, status
}

// stateOf returns the state for the current pod, or nil if nothing is kept for it. It makes a new state if the old one cannot be updated.
func (p *spreadPlugin) stateOf(pod *v1.Pod) *spreadState {
	m := p.memo
	if pod != m.current || m.template == nil {
		return nil
	}
	s := m.template.spreads[p]
	if s != nil && s.canApplyLog(m, pod) {
		return s
	}
	s = &spreadState{pod: pod, position: m.pods.endPosition(), era: m.pods.era, taintVersion: m.taintVersion, ownerVersion: m.ownerVersion, selector: m.defaultSelector(pod)}
	m.template.spreads[p] = s
	return s
}

// canApplyLog reports whether the log can bring the state up to date.
func (s *spreadState) canApplyLog(m *Memo, pod *v1.Pod) bool {
	if s.ownerVersion != m.ownerVersion {
		s.ownerVersion = m.ownerVersion
		if s.selector != m.defaultSelector(pod) {
			return false
		}
	}
	if s.taintVersion != m.taintVersion {
		s.taintVersion = m.taintVersion
		if slices.Contains(s.filter.taints, true) || slices.Contains(s.score.taints, true) {
			return false
		}
	}
	_, known := m.pods.changesSince(s.position)
	return known && s.era == m.pods.era
}

// defaultSelector returns the selector of the constraints that the profile sets by default, or "" if the pod has constraints of its own.
func (m *Memo) defaultSelector(pod *v1.Pod) string {
	if len(pod.Spec.TopologySpreadConstraints) > 0 {
		return ""
	}
	core, apps := m.informers.Core().V1(), m.informers.Apps().V1()
	selector := helper.DefaultSelector(pod, core.Services().Lister(), core.ReplicationControllers().Lister(), apps.ReplicaSets().Lister(), apps.StatefulSets().Lister())
	return selector.String()
}

// readConstraints reads the constraints of a state of upstream's plugin. It reports false if the classes of pods do not yet differ in a label
// that the constraints read.
func (m *Memo) readConstraints(data reflect.Value) (constraintSet, bool) {
	var c constraintSet
	all := data.FieldByName("Constraints")
	for i := range all.Len() {
		field := all.Index(i).FieldByName
		c.keys = append(c.keys, field("TopologyKey").String())
		c.selectors = append(c.selectors, field("Selector").Interface().(labels.Selector))
		c.affinity = append(c.affinity, v1.NodeInclusionPolicy(field("NodeAffinityPolicy").String()) == v1.NodeInclusionPolicyHonor)
		c.taints = append(c.taints, v1.NodeInclusionPolicy(field("NodeTaintsPolicy").String()) == v1.NodeInclusionPolicyHonor)
	}
	for _, selector := range c.selectors {
		m.pods.trackSelector(selector)
	}
	return c, !m.pods.stale
}

// matchBits returns the constraints that count the pods of the class, one bit per constraint. It does what countPodsMatchSelector does in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/podtopologyspread/common.go
func (c *constraintSet) matchBits(other *class, namespace string) uint64 {
	if other.traits.ending || other.traits.namespace != namespace {
		return 0
	}
	for len(c.bitsByClass) <= other.id {
		c.bitsByClass = append(c.bitsByClass, 0)
	}
	bits := c.bitsByClass[other.id]
	if bits == 0 {
		bits = matchesComputed
		for i, selector := range c.selectors {
			if !selector.Empty() && selector.Matches(labels.Set(other.info.GetPod().Labels)) {
				bits |= 1 << i
			}
		}
		c.bitsByClass[other.id] = bits
	}
	return bits &^ matchesComputed
}

// maxConstraints is the number of constraints that fit into the 64 bits of [constraintSet.matchBits]. The last bit, [matchesComputed], means that the
// bits of a class have been computed, so that 0 means unknown.
const (
	maxConstraints  = 63
	matchesComputed = 1 << maxConstraints
)

// maxGroups bounds the combinations of domains for which verdicts are kept: for example 3 zones × 5,000 hostnames, which is 6 × 10,000
// places, is too many.
const maxGroups = 1 << 14

// newSpreadFilter returns the filter state for the data that upstream's PreFilter wrote. The state is not known if it cannot be kept up to
// date.
func (m *Memo) newSpreadFilter(data fwk.StateData) spreadFilter {
	value := reflect.ValueOf(data).Elem()
	constraints, ready := m.readConstraints(value)
	// AddPod counts for an empty selector, which upstream's walk does not.
	if !ready || len(constraints.keys) > maxConstraints || slices.ContainsFunc(constraints.selectors, labels.Selector.Empty) {
		return spreadFilter{}
	}
	f := spreadFilter{known: true, constraintSet: constraints, version: m.nextCountVersion(), state: framework.NewCycleState(), data: data}
	f.state.Write(spreadFilterKey, data)
	f.pods = value.FieldByName("TpValueToMatchNum").Interface().([]map[string]int)
	least := value.FieldByName("CriticalPaths")
	combinations := 1
	for i, key := range f.keys {
		f.least = append(f.least, least.Index(i).Convert(reflect.TypeFor[*leastTwo]()).Interface().(*leastTwo))
		f.domains = append(f.domains, m.domainsOf(key))
		combinations = min(combinations*f.domains[i].placeCount(), maxGroups+1)
	}
	if combinations <= maxGroups {
		f.groups = make([]groupStatus, combinations)
	}
	return f
}

// Filter asks upstream's Filter once for all nodes that are in the same domains. Preemption asks about copies of nodes, without some pods;
// upstream's Filter answers each of these calls.
func (p *spreadPlugin) Filter(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	slot := p.memo.askedSlot
	if p.preFiltered == nil || p.preFiltered.filter.groups == nil || p.memo.infos[slot] != node {
		return p.PodTopologySpread.Filter(ctx, cycle, pod, node)
	}
	f := &p.preFiltered.filter
	number := 0
	for _, domains := range f.domains {
		number = number*domains.placeCount() + domains.placeOf(slot)
	}
	group := &f.groups[number]
	if group.cycle != f.cycle {
		group.cycle, group.status = f.cycle, p.PodTopologySpread.Filter(ctx, cycle, pod, node)
	}
	return group.status
}

// applyLog brings the state up to date with the log of pods.
func (s *spreadState) applyLog(ctx context.Context, p *spreadPlugin) {
	changes, _ := p.memo.pods.changesSince(s.position)
	s.position = p.memo.pods.endPosition()
	if (!s.filter.known || s.filter.data == nil) && (!s.score.known || s.score.data == nil) {
		return
	}
	var spoiled uint64 // bits of the constraints of the filter whose two domains with the fewest pods must be found again
	for _, change := range changes {
		var filters, scores uint64
		if s.filter.known && s.filter.data != nil {
			filters = s.filter.matchBits(change.class, s.pod.Namespace)
		}
		if s.score.known && s.score.data != nil {
			scores = s.score.matchBits(change.class, s.pod.Namespace)
		}
		if filters == 0 && scores == 0 {
			continue
		}
		slot, found := p.memo.slots[change.node]
		if !found {
			continue // no walk meets pods on a node that is gone
		}
		info := p.memo.infos[slot]
		if filters != 0 {
			spoiled |= s.filter.applyChange(ctx, p, s.pod, change, info)
		}
		s.score.addPods(scores, change.delta, slot)
	}
	for i := range s.filter.least {
		if spoiled&(1<<i) != 0 {
			s.filter.findLeast(i)
		}
	}
}

// addPlacedPods adds the placed pods to a state without any.
func (f *spreadFilter) addPlacedPods(ctx context.Context, p *spreadPlugin, pod *v1.Pod) {
	for _, class := range p.memo.pods.classList {
		if f.matchBits(class, pod.Namespace) == 0 {
			continue
		}
		for node, pods := range class.nodes {
			slot, found := p.memo.slots[node]
			for ; found && pods > 0; pods-- {
				f.applyChange(ctx, p, pod, podChange{class: class, delta: 1}, p.memo.infos[slot])
			}
		}
	}
	for i := range f.least {
		f.findLeast(i)
	}
}

// applyChange counts a pod that came or went. It returns the constraints, as bits, whose two domains with the fewest pods must be found again:
// upstream's AddPod is made for preemption, and may not know the two any more if a pod is added to one of them. For example, the domains A,
// B and C have 2 pods each, and the two are A and B. After AddPod in A, the two are B with 2 pods and A with 3, although C has 2.
func (f *spreadFilter) applyChange(ctx context.Context, p *spreadPlugin, pod *v1.Pod, c podChange, info fwk.NodeInfo) (spoiled uint64) {
	f.version = p.memo.nextCountVersion()
	update := p.PodTopologySpread.RemovePod
	if c.delta > 0 {
		update = p.PodTopologySpread.AddPod
		for i, least := range f.least {
			if domain := info.Node().Labels[f.keys[i]]; domain == least[0].TopologyValue || domain == least[1].TopologyValue {
				spoiled |= 1 << i
			}
		}
	}
	if status := update(ctx, f.state, pod, c.class.info, info); !status.IsSuccess() {
		f.known = false
	}
	return spoiled
}

// findLeast finds the two domains in which the i-th constraint counts the fewest pods.
func (f *spreadFilter) findLeast(i int) {
	least := leastTwo{{MatchNum: math.MaxInt32}, {MatchNum: math.MaxInt32}}
	for domain, pods := range f.pods[i] {
		switch {
		case pods < least[0].MatchNum:
			least[1] = least[0]
			least[0].TopologyValue, least[0].MatchNum = domain, pods
		case pods < least[1].MatchNum:
			least[1].TopologyValue, least[1].MatchNum = domain, pods
		}
	}
	*f.least[i] = least
}
