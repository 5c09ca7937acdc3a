package memo

import (
	"context"
	"math"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corehelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
)

// spreadScore is the result of PreScore.
type spreadScore struct {
	known bool
	constraintSet
	data    fwk.StateData       // nil if the plugin is skipped
	pods    []map[string]*int64 // of data: by constraint and domain
	weights []float64           // of data: by constraint
	skews   []int32             // of data: by constraint
	ignored []bool              // by slot: whether the node misses a topology key; nil: no node does
	counts  []constraintCounts  // by constraint
	cycle   int
}

// constraintCounts is what one constraint counts, by domain or, for the key hostname, by node.
type constraintCounts struct {
	*domains
	counts      []*int64 // by domain, of data; nil for the key hostname, since upstream counts those pods when it scores a node
	included    []bool   // by slot: whether pods on the node count for its domain; nil: all do
	onNode      []int64  // by slot: number of matching pods on the node; nil unless the key is hostname
	seenInCycle []int    // by domain: the last cycle in which one of its nodes was feasible
}

// PreScore calls upstream's PreScore for the first pod, with all nodes at once and without pods, and adds the pods. For further pods it
// updates that result. Only the weight of each constraint depends on which nodes are feasible, so the weights are computed for each pod.
func (p *spreadPlugin) PreScore(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	p.preScored = nil
	s := p.stateOf(pod)
	if s == nil {
		return p.PodTopologySpread.PreScore(ctx, cycle, pod, nodes)
	}
	s.applyLog(ctx, p)
	if !s.score.known {
		data, status := p.preScoreWithoutPods(ctx, pod)
		switch {
		case status.IsSkip():
			s.score = spreadScore{known: true}
		case status.IsSuccess():
			s.score = p.memo.newSpreadScore(data, pod)
		}
		if !s.score.known {
			return p.PodTopologySpread.PreScore(ctx, cycle, pod, nodes)
		}
	}
	if s.score.data == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	p.preScored = s
	s.score.weigh(p.memo.slotsOf(nodes))
	cycle.Write(spreadScoreKey, s.score.data)
	return nil
}

// preScoreWithoutPods runs upstream's PreScore for all nodes, without pods. The result has the domains, and the nodes that miss a topology key. If no node
// misses one, PreScore gets only one node of each domain: 3 nodes instead of 5,000 for 3 zones.
func (p *spreadPlugin) preScoreWithoutPods(ctx context.Context, pod *v1.Pod) (fwk.StateData, *fwk.Status) {
	over := func(nodes []fwk.NodeInfo) (data fwk.StateData, status *fwk.Status) {
		cycle := framework.NewCycleState()
		p.snapshot.narrow(p.memo.emptyNodes[:1], func() { status = p.PodTopologySpread.PreScore(ctx, cycle, pod, nodes) })
		if !status.IsSuccess() {
			return nil, status
		}
		data, err := cycle.Read(spreadScoreKey)
		if err != nil {
			return nil, fwk.AsStatus(err)
		}
		return data, nil
	}
	data, status := over(p.memo.infos[:1])
	if !status.IsSuccess() {
		return nil, status
	}
	var some []fwk.NodeInfo
	constraints := reflect.ValueOf(data).Elem().FieldByName("Constraints")
	for i := range constraints.Len() {
		key := constraints.Index(i).FieldByName("TopologyKey").String()
		domains := p.memo.domainsOf(key)
		if slices.Contains(domains.absent, true) {
			return over(p.memo.infos)
		}
		if key == v1.LabelHostname {
			continue // the state has no counts by hostname: see [constraintCounts]; [spreadScore.weigh] counts the feasible nodes
		}
		for _, slot := range domains.firstSlots {
			some = append(some, p.memo.infos[slot])
		}
	}
	return over(some)
}

// newSpreadScore returns the score state for the data of [spreadPlugin.preScoreWithoutPods], with the placed pods added. The state is not known if it cannot be
// kept up to date.
func (m *Memo) newSpreadScore(data fwk.StateData, pod *v1.Pod) spreadScore {
	value := reflect.ValueOf(data).Elem()
	constraints, ready := m.readConstraints(value)
	if !ready || len(constraints.keys) > maxConstraints {
		return spreadScore{}
	}
	s := spreadScore{
		known: true, constraintSet: constraints, data: data,
		pods:    value.FieldByName("TopologyValueToPodCounts").Interface().([]map[string]*int64),
		weights: value.FieldByName("TopologyNormalizingWeight").Interface().([]float64),
	}
	if ignored := value.FieldByName("IgnoredNodes").Interface().(sets.Set[string]); len(ignored) > 0 {
		s.ignored = make([]bool, len(m.infos))
		for slot, name := range m.names {
			s.ignored[slot] = ignored.Has(name)
		}
	}
	all := value.FieldByName("Constraints")
	for i, key := range s.keys {
		s.skews = append(s.skews, int32(all.Index(i).FieldByName("MaxSkew").Int()))
		p := constraintCounts{domains: m.domainsOf(key)}
		if key == v1.LabelHostname {
			p.onNode = make([]int64, len(m.infos))
		} else {
			for _, domain := range p.values {
				p.counts = append(p.counts, s.pods[i][domain])
			}
			p.included, p.seenInCycle = s.includedNodes(i, m.infos, pod), make([]int, len(p.values))
		}
		s.counts = append(s.counts, p)
	}
	for _, class := range m.pods.classList {
		if matching := s.matchBits(class, pod.Namespace); matching != 0 {
			for node, pods := range class.nodes {
				if slot, found := m.slots[node]; found {
					s.addPods(matching, pods, slot)
				}
			}
		}
	}
	return s
}

// includedNodes returns by slot whether the i-th constraint counts the pods on the node, or nil if it counts those on all nodes. It does what
// matchNodeInclusionPolicies does in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/podtopologyspread/common.go
func (c *constraintSet) includedNodes(i int, infos []fwk.NodeInfo, pod *v1.Pod) []bool {
	selects := len(pod.Spec.NodeSelector) > 0 || pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil
	if !c.taints[i] && !(c.affinity[i] && selects) {
		return nil
	}
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	comparing := utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)
	included := make([]bool, len(infos))
	for slot, info := range infos {
		node := info.Node()
		if c.affinity[i] {
			if match, _ := required.Match(node); !match {
				continue
			}
		}
		if c.taints[i] {
			if _, untolerated := corehelpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, helper.DoNotScheduleTaintsFilterFunc(), comparing); untolerated {
				continue
			}
		}
		included[slot] = true
	}
	return included
}

// addPods adds delta to the counts of the constraints in matching, for pods on the node at the slot.
func (s *spreadScore) addPods(matching uint64, delta, slot int) {
	for i := range s.counts {
		p := &s.counts[i]
		switch {
		case matching&(1<<i) == 0:
		case p.onNode != nil:
			p.onNode[slot] += int64(delta)
		case s.ignored != nil && s.ignored[slot] || p.included != nil && !p.included[slot]:
		default:
			*p.counts[p.number[slot]] += int64(delta)
		}
	}
}

// weigh computes the weights for the feasible nodes, as initPreScoreState does in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/podtopologyspread/scoring.go
func (s *spreadScore) weigh(feasible []int) {
	s.cycle++
	nodes := len(feasible)
	if s.ignored != nil {
		for _, slot := range feasible {
			if s.ignored[slot] {
				nodes--
			}
		}
	}
	for i := range s.counts {
		p := &s.counts[i]
		size := nodes
		if p.onNode == nil {
			size = 0
			for _, slot := range feasible {
				if number := p.number[slot]; p.seenInCycle[number] != s.cycle && (s.ignored == nil || !s.ignored[slot]) {
					p.seenInCycle[number] = s.cycle
					size++
				}
			}
		}
		s.weights[i] = math.Log(float64(size + 2))
	}
}

// Score computes upstream's score from counts that are kept. Upstream counts the pods on each node anew for each pod that it places, so its
// time grows with the square of the number of pods. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/podtopologyspread/scoring.go
func (p *spreadPlugin) Score(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	if p.preScored == nil {
		return p.PodTopologySpread.Score(ctx, cycle, pod, node)
	}
	s, slot := &p.preScored.score, p.memo.slotOf(node, p.memo.askedSlot)
	if s.ignored != nil && s.ignored[slot] {
		return 0, nil
	}
	score := 0.0
	for i := range s.counts {
		p := &s.counts[i]
		switch {
		case p.absent[slot]:
		case p.onNode != nil:
			score += scoreForCount(p.onNode[slot], s.skews[i], s.weights[i])
		default:
			score += scoreForCount(*p.counts[p.number[slot]], s.skews[i], s.weights[i])
		}
	}
	return int64(math.Round(score)), nil
}

func scoreForCount(pods int64, maxSkew int32, weight float64) float64 {
	return float64(pods)*weight + float64(maxSkew-1)
}
