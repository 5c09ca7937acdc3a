package metric

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/topology"
)

// workloadSpread holds the nodes of a workload's running pods.
type workloadSpread struct {
	owner  cluster.Ref
	nodes  map[string]int
	sample *v1.Pod
}

// workloadSpreads returns the running workloads that count, in order of arrival.
func workloadSpreads(state *cluster.State, counts func(cluster.Ref) bool) []*workloadSpread {
	var all []*workloadSpread
	index := map[cluster.Ref]*workloadSpread{}
	owner := state.Owners()
	for _, pod := range state.Pods {
		if pod.Spec.NodeName == "" || !cluster.IsActive(pod) {
			continue
		}
		o := owner(pod)
		if !counts(o) {
			continue
		}
		s := index[o]
		if s == nil {
			s = &workloadSpread{owner: o, nodes: map[string]int{}, sample: pod}
			index[o] = s
			all = append(all, s)
		}
		s.nodes[pod.Spec.NodeName]++
	}
	return all
}

// skew returns the workload's skew over the domains.
func (s *workloadSpread) skew(domains []topology.Domain) int {
	_, skew := CountByDomain(domains, s.nodes, s.sample)
	return skew
}

// DomainPods is a domain with its number of pods.
type DomainPods struct {
	Domain string
	Pods   int
}

// CountByDomain returns a workload's pods by domain, given their numbers by node, in the order of the domains. It also returns their skew: the pods
// in the fullest domain minus the pods in the emptiest. An empty domain counts if the hard spread constraint of the sample counts it.
// Without such a constraint, an empty domain counts unless all its nodes repel pods like the sample. Without a sample, all domains count.
func CountByDomain(domains []topology.Domain, onNode map[string]int, sample *v1.Pod) (counts []DomainPods, skew int) {
	counts = make([]DomainPods, 0, len(domains))
	counted := func(*v1.Node) bool { return true }
	if sample != nil && len(domains) > 0 {
		counted = cluster.CountsFor(sample, domains[0].Key)
	}
	for _, domain := range domains {
		n := 0
		for _, node := range domain.Nodes {
			n += onNode[node.Name]
		}
		if n == 0 && !slices.ContainsFunc(domain.Nodes, counted) {
			continue
		}
		counts = append(counts, DomainPods{domain.Value, n})
	}
	if len(counts) == 0 {
		return nil, 0
	}
	byPods := func(a, b DomainPods) int { return cmp.Compare(a.Pods, b.Pods) }
	return counts, slices.MaxFunc(counts, byPods).Pods - slices.MinFunc(counts, byPods).Pods
}

// CountMoves returns the number of pods that would have to move to get from one state to the other. Pods of a workload are interchangeable, and
// pods that only one of the states has do not count: a workload with 3 pods on a and 1 on b before, and 2 on each after, has 1 move.
func CountMoves(before, after *cluster.State) int {
	return CountMovesOf(before, after, func(cluster.Ref) bool { return true })
}

// CountMovesOf returns what [CountMoves] returns, for the workloads that count only.
func CountMovesOf(before, after *cluster.State, counts func(cluster.Ref) bool) int {
	moved := 0
	was := list.IndexBy(workloadSpreads(before, counts), func(s *workloadSpread) cluster.Ref { return s.owner })
	for _, now := range workloadSpreads(after, counts) {
		old := was[now.owner]
		if old == nil {
			continue
		}
		stay, pods, podsBefore := 0, 0, 0
		for node, n := range now.nodes {
			stay += min(n, old.nodes[node])
			pods += n
		}
		for _, n := range old.nodes {
			podsBefore += n
		}
		moved += min(pods, podsBefore) - stay
	}
	return moved
}
