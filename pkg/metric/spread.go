package metric

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/topology"
)

// spread is where the running pods of a workload are.
type spread struct {
	owner  cluster.Owner
	nodes  map[string]int
	sample *v1.Pod
}

// spreads returns the workloads that run and count, in order of arrival.
func spreads(state *cluster.State, counts func(cluster.Owner) bool) []*spread {
	var all []*spread
	index := map[cluster.Owner]*spread{}
	owner := state.Owners()
	for _, pod := range state.Pods {
		if pod.Spec.NodeName == "" || cluster.Terminal(pod) {
			continue
		}
		o := owner(pod)
		if !counts(o) {
			continue
		}
		s := index[o]
		if s == nil {
			s = &spread{owner: o, nodes: map[string]int{}, sample: pod}
			index[o] = s
			all = append(all, s)
		}
		s.nodes[pod.Spec.NodeName]++
	}
	return all
}

// skew is the pods in the fullest domain less those in the emptiest. A domain whose nodes all repel such pods is no empty one.
func (s *spread) skew(state *cluster.State, key string) int {
	domains, _ := topology.Domains(state.Nodes, key)
	least, most := -1, 0
	for _, domain := range domains {
		n := 0
		for _, node := range domain.Nodes {
			n += s.nodes[node.Name]
		}
		if n == 0 && !slices.ContainsFunc(domain.Nodes, func(node *v1.Node) bool { return !cluster.Repels(node, s.sample) }) {
			continue
		}
		most = max(most, n)
		if least < 0 || n < least {
			least = n
		}
	}
	return most - max(least, 0)
}

// Moved is the number of pods that would have to move to get from one state to the other. Pods of a workload are interchangeable,
// and those that only one of the states has do not count.
func Moved(before, after *cluster.State) int {
	moved := 0
	was := map[cluster.Owner]*spread{}
	all := func(cluster.Owner) bool { return true }
	for _, s := range spreads(before, all) {
		was[s.owner] = s
	}
	for _, now := range spreads(after, all) {
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
