package blast

import (
	"encoding/json"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/topology"
)

// EvenLoss returns how many replicas the failure of the k fullest domains takes if the replicas are spread over the domains as evenly as
// possible. No placement does better: with more replicas in one domain, the failure of that domain takes more. For 5 replicas over 3
// domains and k = 1 it is 2.
func EvenLoss(replicas, domains, k int) int {
	if k >= domains {
		return replicas
	}
	return k*(replicas/domains) + min(k, replicas%domains)
}

// evenLosses returns, for each workload, what an even spread over the domains would lose. A domain counts if one of its nodes takes such pods,
// by taints and node affinity, or if it has one of the pods. In a federation, a node takes only pods that Karmada's policy admits to its
// cluster, and the cluster's own pods.
func (c *contents) evenLosses(of []topology.Domain, domains []domain, k int) []int {
	holds := make([]map[int]bool, len(c.workloads)) // by workload: the domains that have one of its pods
	for d := range domains {
		for _, part := range domains[d].workloads {
			if holds[part.workload] == nil {
				holds[part.workload] = map[int]bool{}
			}
			holds[part.workload][d] = true
		}
	}
	open := map[string][]bool{} // by what pods require of nodes: the domains with a node that takes them
	evens := make([]int, len(c.workloads))
	for i, w := range c.workloads {
		lets := c.admittingClusters(&w)
		key := nodeRequirementsKey(w.sample) + strings.Join(lets, " ")
		takes, known := open[key]
		if !known {
			takes = make([]bool, len(of))
			for d := range of {
				takes[d] = slices.ContainsFunc(of[d].Nodes, func(node *v1.Node) bool {
					return (lets == nil || slices.Contains(lets, node.Labels[cluster.MemberLabel])) && !cluster.Repels(node, w.sample) && cluster.Attracts(node, w.sample)
				})
			}
			open[key] = takes
		}
		n := 0
		for d := range of {
			if takes[d] || holds[i][d] {
				n++
			}
		}
		evens[i] = EvenLoss(w.replicas, n, k)
	}
	return evens
}

// admittingClusters returns the names of the member clusters that can have pods of the workload; nil outside a federation.
func (c *contents) admittingClusters(w *knownWorkload) []string {
	if c.federation == nil {
		return nil
	}
	b := c.federation.Control.BindingOf(w.owner)
	names := []string{}
	for _, m := range c.federation.Members {
		if b == nil && w.clusters[m.Name] > 0 || b != nil && b.Admits(c.federation.Control.Cluster(m.Name)) {
			names = append(names, m.Name)
		}
	}
	return names
}

// nodeRequirementsKey returns what the pod requires of a node's taints and labels, as a key.
func nodeRequirementsKey(pod *v1.Pod) string {
	var affinity *v1.NodeAffinity
	if pod.Spec.Affinity != nil {
		affinity = pod.Spec.Affinity.NodeAffinity
	}
	key, err := json.Marshal([]any{pod.Spec.NodeSelector, affinity, pod.Spec.Tolerations})
	if err != nil {
		panic(err) // these types can always be encoded
	}
	return string(key)
}
