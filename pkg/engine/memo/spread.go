package memo

import (
	"context"
	"math"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corehelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
)

// spread is PodTopologySpread with the results of its walks carried on: the counts of PreFilter by upstream's own AddPod and RemovePod,
// those of PreScore by the selectors of its constraints. Upstream's states have unexported types with exported fields.
type spread struct {
	*podtopologyspread.PodTopologySpread
	memo *Memo
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
	affinity  []bool // whether only nodes count that the pod's node affinity allows
	taints    []bool // whether only nodes count whose taints the pod tolerates
	matches   map[*class]uint64
}

type spreadFilter struct {
	known bool
	constraints
	state *framework.CycleState // nil if the plugin is skipped
	data  fwk.StateData
	pods  []map[string]int // of data: by constraint and domain
	least []*leastTwo      // of data: by constraint
}

// leastTwo are the two domains with the fewest pods, the fewest first.
type leastTwo = [2]struct {
	TopologyValue string
	MatchNum      int
}

type spreadScore struct {
	known bool
	constraints
	data    fwk.StateData       // nil if the plugin is skipped
	pods    []map[string]*int64 // of data: by constraint and domain
	weights []float64           // of data: by constraint
	ignored []bool              // by slot: nodes that miss a topology key
	counts  [][]*int64          // by constraint and slot: the count of the node's domain, nil if pods on the node do not count
	domains [][]int             // by constraint and slot: the number of the node's domain
	seen    [][]int             // by constraint and domain: the last cycle in which one of its nodes was feasible
	cycle   int
}

// PreFilter is upstream's the first time, and brings its result up to date from then on.
func (p *spread) PreFilter(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	s := p.stateOf(pod)
	if s == nil {
		return p.PodTopologySpread.PreFilter(ctx, cycle, pod, nodes)
	}
	s.update(ctx, p)
	if s.filter.known {
		if s.filter.data == nil {
			return nil, fwk.NewStatus(fwk.Skip)
		}
		cycle.Write(spreadFilterKey, s.filter.data)
		return nil, nil
	}
	result, status := p.PodTopologySpread.PreFilter(ctx, cycle, pod, nodes)
	switch {
	case status.IsSkip():
		s.filter = spreadFilter{known: true}
	case status.IsSuccess() && result == nil:
		data, err := cycle.Read(spreadFilterKey)
		if err != nil {
			return nil, fwk.AsStatus(err)
		}
		s.filter = newSpreadFilter(data)
		p.memo.reads(s.filter.constraints)
	}
	return result, status
}

// PreScore is upstream's the first time, for all nodes at once, and brings its result up to date from then on. What depends on the nodes
// that are feasible this time is the weight of each constraint.
func (p *spread) PreScore(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	s := p.stateOf(pod)
	if s == nil {
		return p.PodTopologySpread.PreScore(ctx, cycle, pod, nodes)
	}
	s.update(ctx, p)
	if !s.score.known {
		scratch := framework.NewCycleState()
		status := p.PodTopologySpread.PreScore(ctx, scratch, pod, p.memo.infos)
		switch {
		case status.IsSkip():
			s.score = spreadScore{known: true}
		case status.IsSuccess():
			data, err := scratch.Read(spreadScoreKey)
			if err != nil {
				return fwk.AsStatus(err)
			}
			s.score = p.memo.newSpreadScore(data, pod)
			p.memo.reads(s.score.constraints)
		default:
			return status
		}
	}
	if s.score.data == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	s.score.weigh(p.memo.slotsOf(nodes))
	cycle.Write(spreadScoreKey, s.score.data)
	return nil
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

// reads sees to it that the classes differ in the labels that the constraints read.
func (m *Memo) reads(c constraints) {
	for _, selector := range c.selectors {
		m.pods.reads(selector)
	}
}

// newConstraints reads the constraints of a state.
func newConstraints(data reflect.Value) constraints {
	c := constraints{matches: map[*class]uint64{}}
	all := data.FieldByName("Constraints")
	for i := range all.Len() {
		field := all.Index(i).FieldByName
		c.keys = append(c.keys, field("TopologyKey").String())
		c.selectors = append(c.selectors, field("Selector").Interface().(labels.Selector))
		c.affinity = append(c.affinity, v1.NodeInclusionPolicy(field("NodeAffinityPolicy").String()) == v1.NodeInclusionPolicyHonor)
		c.taints = append(c.taints, v1.NodeInclusionPolicy(field("NodeTaintsPolicy").String()) == v1.NodeInclusionPolicyHonor)
	}
	return c
}

// matching returns the constraints that count the pods of the class, as a set of bits: see countPodsMatchSelector in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/podtopologyspread/common.go
func (c *constraints) matching(other *class, namespace string) uint64 {
	if other.looks.ending || other.looks.namespace != namespace {
		return 0
	}
	bits, found := c.matches[other]
	if !found {
		for i, selector := range c.selectors {
			if !selector.Empty() && selector.Matches(labels.Set(other.info.GetPod().Labels)) {
				bits |= 1 << i
			}
		}
		c.matches[other] = bits
	}
	return bits
}

func newSpreadFilter(data fwk.StateData) spreadFilter {
	value := reflect.ValueOf(data).Elem()
	f := spreadFilter{known: true, constraints: newConstraints(value), state: framework.NewCycleState(), data: data}
	// AddPod counts for an empty selector, which upstream's walk does not.
	if len(f.selectors) > 64 || slices.ContainsFunc(f.selectors, labels.Selector.Empty) {
		return spreadFilter{}
	}
	f.state.Write(spreadFilterKey, data)
	f.pods = value.FieldByName("TpValueToMatchNum").Interface().([]map[string]int)
	least := value.FieldByName("CriticalPaths")
	for i := range least.Len() {
		f.least = append(f.least, least.Index(i).Convert(reflect.TypeFor[*leastTwo]()).Interface().(*leastTwo))
	}
	return f
}

func (m *Memo) newSpreadScore(data fwk.StateData, pod *v1.Pod) spreadScore {
	value := reflect.ValueOf(data).Elem()
	s := spreadScore{
		known: true, constraints: newConstraints(value), data: data,
		pods:    value.FieldByName("TopologyValueToPodCounts").Interface().([]map[string]*int64),
		weights: value.FieldByName("TopologyNormalizingWeight").Interface().([]float64),
	}
	ignored := value.FieldByName("IgnoredNodes").Interface().(sets.Set[string])
	s.ignored = make([]bool, len(m.infos))
	for slot, info := range m.infos {
		s.ignored[slot] = ignored.Has(info.Node().Name)
	}
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	comparing := utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)
	for i, key := range s.keys {
		counts, domains, numbers := make([]*int64, len(m.infos)), make([]int, len(m.infos)), map[string]int{}
		for slot, info := range m.infos {
			node := info.Node()
			domain := node.Labels[key]
			if _, found := numbers[domain]; !found {
				numbers[domain] = len(numbers)
			}
			domains[slot] = numbers[domain]
			if !s.ignored[slot] && s.includes(i, pod, node, required, comparing) {
				counts[slot] = s.pods[i][domain]
			}
		}
		s.counts, s.domains, s.seen = append(s.counts, counts), append(s.domains, domains), append(s.seen, make([]int, len(numbers)))
	}
	return s
}

// includes reports whether the i-th constraint counts pods on the node: matchNodeInclusionPolicies in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/podtopologyspread/common.go
func (c *constraints) includes(i int, pod *v1.Pod, node *v1.Node, required nodeaffinity.RequiredNodeAffinity, comparing bool) bool {
	if c.affinity[i] {
		if match, _ := required.Match(node); !match {
			return false
		}
	}
	if c.taints[i] {
		if _, untolerated := corehelpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, helper.DoNotScheduleTaintsFilterFunc(), comparing); untolerated {
			return false
		}
	}
	return true
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
		for i := range s.score.counts {
			if count := s.score.counts[i][slot]; scores&(1<<i) != 0 && count != nil {
				*count += int64(change.delta)
			}
		}
	}
	for i := range s.filter.least {
		if spoiled&(1<<i) != 0 {
			s.filter.findLeast(i)
		}
	}
}

// change moves a pod. It returns the constraints for which upstream's AddPod, which is made for preemption, may no longer know the two
// domains with the fewest pods: those in which one of the two got another pod.
func (f *spreadFilter) change(ctx context.Context, p *spread, pod *v1.Pod, c change, info fwk.NodeInfo) (spoiled uint64) {
	move := p.PodTopologySpread.RemovePod
	if c.delta > 0 {
		move = p.PodTopologySpread.AddPod
		for i, least := range f.least {
			if domain := info.Node().Labels[f.keys[i]]; domain == least[0].TopologyValue || domain == least[1].TopologyValue {
				spoiled |= 1 << i
			}
		}
	}
	if status := move(ctx, f.state, pod, c.class.info, info); !status.IsSuccess() {
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

// weigh sets the weights as initPreScoreState does for the feasible nodes, in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/podtopologyspread/scoring.go
func (s *spreadScore) weigh(feasible []int) {
	s.cycle++
	nodes := 0
	for _, slot := range feasible {
		if !s.ignored[slot] {
			nodes++
		}
	}
	for i, key := range s.keys {
		size := nodes
		if key != v1.LabelHostname {
			size = 0
			for _, slot := range feasible {
				if domain := s.domains[i][slot]; !s.ignored[slot] && s.seen[i][domain] != s.cycle {
					s.seen[i][domain] = s.cycle
					size++
				}
			}
		}
		s.weights[i] = math.Log(float64(size + 2))
	}
}
