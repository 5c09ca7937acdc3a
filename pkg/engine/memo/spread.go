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

// spread is PodTopologySpread with the results of its walks carried on: the counts of PreFilter by upstream's own AddPod and RemovePod,
// those of PreScore by the selectors of its constraints. Upstream's states have unexported types with exported fields.
type spread struct {
	*podtopologyspread.PodTopologySpread
	memo *Memo
	lens *lens
	// Of the current pod; nil if upstream's PreFilter or PreScore has made its own.
	filtered, scored *spreadState
}

// spreadState is what the plugin knows of the pods of a template, at a position of the log.
type spreadState struct {
	pod      *v1.Pod
	position int
	era      int
	taints   int
	owners   int
	selector string // of the constraints that the profile sets by default; "" if the pod has constraints of its own

	filter spreadFilter
	score  spreadScore
}

// constraints are those of one of the states.
type constraints struct {
	keys      []string
	selectors []labels.Selector
	affinity  []bool   // whether only nodes count that the pod's node affinity allows
	taints    []bool   // whether only nodes count whose taints the pod tolerates
	matches   []uint64 // by the class's id; see matching
}

type spreadFilter struct {
	known bool
	constraints
	version int64                 // of data
	state   *framework.CycleState // nil if the plugin is skipped
	data    fwk.StateData
	pods    []map[string]int // of data: by constraint and domain
	least   []*leastTwo      // of data: by constraint

	// Nodes of the same domains have the same verdict. groups are those of this cycle, if there are not too many combinations.
	where  []*domains // by constraint
	groups []groupStatus
	cycle  int
}

type groupStatus struct {
	cycle  int // in which it was asked for
	status *fwk.Status
}

// leastTwo are the two domains with the fewest pods, the fewest first.
type leastTwo = [2]struct {
	TopologyValue string
	MatchNum      int
}

// PreFilter is upstream's the first time, without pods, which are then added, and brings its result up to date from then on.
func (p *spread) PreFilter(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	p.filtered = nil
	s := p.stateOf(pod)
	if s == nil {
		return p.PodTopologySpread.PreFilter(ctx, cycle, pod, nodes)
	}
	s.update(ctx, p)
	if s.filter.known {
		if s.filter.data == nil {
			return nil, fwk.NewStatus(fwk.Skip)
		}
		p.filtered = s
		s.filter.cycle++
		cycle.Write(spreadFilterKey, s.filter.data)
		return nil, nil
	}
	result, status := p.PodTopologySpread.PreFilter(ctx, cycle, pod, p.memo.empty)
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
		s.filter.fill(ctx, p, pod)
	}
	return result, status
}

// stateOf returns the state for the pod of this cycle, or nil if it shares none.
func (p *spread) stateOf(pod *v1.Pod) *spreadState {
	m := p.memo
	if pod != m.current || m.template == nil {
		return nil
	}
	s := m.template.spreads[p]
	if s != nil && s.holds(m, pod) {
		return s
	}
	s = &spreadState{pod: pod, position: m.pods.end(), era: m.pods.era, taints: m.taints, owners: m.owners, selector: m.defaultSelector(pod)}
	m.template.spreads[p] = s
	return s
}

// holds reports whether the state can be brought up to date.
func (s *spreadState) holds(m *Memo, pod *v1.Pod) bool {
	if s.owners != m.owners {
		s.owners = m.owners
		if s.selector != m.defaultSelector(pod) {
			return false
		}
	}
	if s.taints != m.taints {
		s.taints = m.taints
		if slices.Contains(s.filter.taints, true) || slices.Contains(s.score.taints, true) {
			return false
		}
	}
	_, known := m.pods.since(s.position)
	return known && s.era == m.pods.era
}

// defaultSelector returns the selector of the constraints that the profile sets by default.
func (m *Memo) defaultSelector(pod *v1.Pod) string {
	if len(pod.Spec.TopologySpreadConstraints) > 0 {
		return ""
	}
	core, apps := m.informers.Core().V1(), m.informers.Apps().V1()
	selector := helper.DefaultSelector(pod, core.Services().Lister(), core.ReplicationControllers().Lister(), apps.ReplicaSets().Lister(), apps.StatefulSets().Lister())
	return selector.String()
}

// constraintsOf reads the constraints of a state. It reports false if the classes of pods do not differ yet in a label that these read.
func (m *Memo) constraintsOf(data reflect.Value) (constraints, bool) {
	var c constraints
	all := data.FieldByName("Constraints")
	for i := range all.Len() {
		field := all.Index(i).FieldByName
		c.keys = append(c.keys, field("TopologyKey").String())
		c.selectors = append(c.selectors, field("Selector").Interface().(labels.Selector))
		c.affinity = append(c.affinity, v1.NodeInclusionPolicy(field("NodeAffinityPolicy").String()) == v1.NodeInclusionPolicyHonor)
		c.taints = append(c.taints, v1.NodeInclusionPolicy(field("NodeTaintsPolicy").String()) == v1.NodeInclusionPolicyHonor)
	}
	for _, selector := range c.selectors {
		m.pods.reads(selector)
	}
	return c, !m.pods.stale
}

// matching returns the constraints that count the pods of the class, as a set of bits: see countPodsMatchSelector in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/podtopologyspread/common.go
func (c *constraints) matching(other *class, namespace string) uint64 {
	if other.looks.ending || other.looks.namespace != namespace {
		return 0
	}
	for len(c.matches) <= other.id {
		c.matches = append(c.matches, 0)
	}
	bits := c.matches[other.id]
	if bits == 0 {
		bits = matched
		for i, selector := range c.selectors {
			if !selector.Empty() && selector.Matches(labels.Set(other.info.GetPod().Labels)) {
				bits |= 1 << i
			}
		}
		c.matches[other.id] = bits
	}
	return bits &^ matched
}

// mostConstraints is how many fit into a set of bits, in which matched means that the others are known.
const (
	mostConstraints = 63
	matched         = 1 << mostConstraints
)

// mostGroups bounds the combinations for which verdicts are kept.
const mostGroups = 1 << 14

func (m *Memo) newSpreadFilter(data fwk.StateData) spreadFilter {
	value := reflect.ValueOf(data).Elem()
	constraints, ready := m.constraintsOf(value)
	// AddPod counts for an empty selector, which upstream's walk does not.
	if !ready || len(constraints.keys) > mostConstraints || slices.ContainsFunc(constraints.selectors, labels.Selector.Empty) {
		return spreadFilter{}
	}
	f := spreadFilter{known: true, constraints: constraints, version: m.nextVersion(), state: framework.NewCycleState(), data: data}
	f.state.Write(spreadFilterKey, data)
	f.pods = value.FieldByName("TpValueToMatchNum").Interface().([]map[string]int)
	least := value.FieldByName("CriticalPaths")
	combinations := 1
	for i, key := range f.keys {
		f.least = append(f.least, least.Index(i).Convert(reflect.TypeFor[*leastTwo]()).Interface().(*leastTwo))
		f.where = append(f.where, m.domainsOf(key))
		combinations = min(combinations*f.where[i].places(), mostGroups+1)
	}
	if combinations <= mostGroups {
		f.groups = make([]groupStatus, combinations)
	}
	return f
}

// Filter is upstream's, asked once for all nodes of which it reads the same. Where preemption tries what would be without some pods, it does
// so on copies of nodes.
func (p *spread) Filter(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	slot := p.memo.asked
	if p.filtered == nil || p.filtered.filter.groups == nil || p.memo.infos[slot] != node {
		return p.PodTopologySpread.Filter(ctx, cycle, pod, node)
	}
	f := &p.filtered.filter
	number := 0
	for _, domains := range f.where {
		number = number*domains.places() + domains.placeOf(slot)
	}
	group := &f.groups[number]
	if group.cycle != f.cycle {
		group.cycle, group.status = f.cycle, p.PodTopologySpread.Filter(ctx, cycle, pod, node)
	}
	return group.status
}

// update brings the state up to date with the log.
func (s *spreadState) update(ctx context.Context, p *spread) {
	changes, _ := p.memo.pods.since(s.position)
	s.position = p.memo.pods.end()
	if (!s.filter.known || s.filter.data == nil) && (!s.score.known || s.score.data == nil) {
		return
	}
	var spoiled uint64 // constraints of the filter whose two domains with the fewest pods must be found anew
	for _, change := range changes {
		var filters, scores uint64
		if s.filter.known && s.filter.data != nil {
			filters = s.filter.matching(change.class, s.pod.Namespace)
		}
		if s.score.known && s.score.data != nil {
			scores = s.score.matching(change.class, s.pod.Namespace)
		}
		if filters == 0 && scores == 0 {
			continue
		}
		slot, found := p.memo.slots[change.node]
		if !found {
			continue // a pod on a node that is gone, which no walk meets
		}
		info := p.memo.infos[slot]
		if filters != 0 {
			spoiled |= s.filter.change(ctx, p, s.pod, change, info)
		}
		s.score.change(scores, change.delta, slot)
	}
	for i := range s.filter.least {
		if spoiled&(1<<i) != 0 {
			s.filter.findLeast(i)
		}
	}
}

// fill adds the pods to a state without any.
func (f *spreadFilter) fill(ctx context.Context, p *spread, pod *v1.Pod) {
	for _, class := range p.memo.pods.all {
		if f.matching(class, pod.Namespace) == 0 {
			continue
		}
		for node, pods := range class.nodes {
			slot, found := p.memo.slots[node]
			for ; found && pods > 0; pods-- {
				f.change(ctx, p, pod, change{class: class, delta: 1}, p.memo.infos[slot])
			}
		}
	}
	for i := range f.least {
		f.findLeast(i)
	}
}

// change moves a pod. It returns the constraints for which upstream's AddPod, which is made for preemption, may no longer know the two
// domains with the fewest pods: those in which one of the two got another pod.
func (f *spreadFilter) change(ctx context.Context, p *spread, pod *v1.Pod, c change, info fwk.NodeInfo) (spoiled uint64) {
	f.version = p.memo.nextVersion()
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

// findLeast finds the two domains with the fewest pods.
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
