package autoscaler

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// quota is how many cores and how many bytes of memory nodes may still add, or give up.
type quota struct {
	left    [2]int64
	ofGroup map[string][2]int64 // cores and bytes of a node, by group; the first node that is counted stands for all
}

var quotaResources = [2]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}

// newQuota counts the nodes against --cores-total and --memory-total: against the maxima or, with minima, against the minima. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/resourcequotas/tracker.go.
func (l *loop) newQuota(nodes []*v1.Node, minima bool) *quota {
	q := &quota{ofGroup: map[string][2]int64{}}
	var used [2]int64
	for _, node := range nodes {
		name := ""
		if group := l.groupOf[node.Name]; group != nil {
			name = group.Name
		}
		for i, amount := range q.nodeAmount(name, node) {
			used[i] += amount
		}
	}
	for i, limit := range []Range{l.options.Cores, l.options.Memory} {
		q.left[i] = max(limit.Max-used[i], 0)
		if minima {
			q.left[i] = max(used[i]-limit.Min, 0)
		}
	}
	return q
}

// nodeAmount returns the cores and the bytes of memory of a node.
func (q *quota) nodeAmount(group string, node *v1.Node) [2]int64 {
	if known, found := q.ofGroup[group]; found && group != "" {
		return known
	}
	var amount [2]int64
	for i, resource := range quotaResources {
		quantity := node.Status.Capacity[resource]
		amount[i] = max(quantity.Value(), 0)
	}
	q.ofGroup[group] = amount
	return amount
}

// countAllowed returns how many of the nodes the quota allows, and the reason if it does not allow all.
func (q *quota) countAllowed(group string, node *v1.Node, nodes int) (allowed int, why []string) {
	allowed = nodes
	var exceeded []string
	for i, amount := range q.nodeAmount(group, node) {
		if amount > 0 && q.left[i] < amount*int64(nodes) {
			allowed = min(allowed, int(q.left[i]/amount))
			exceeded = append(exceeded, string(quotaResources[i]))
		}
	}
	if exceeded != nil {
		why = []string{fmt.Sprintf("exceeded quota: %q, resources: %s", "cluster-wide", strings.Join(exceeded, ", "))}
	}
	return allowed, why
}

// take takes as many of the nodes as the quota allows from the quota, and returns their number.
func (q *quota) take(group string, node *v1.Node, nodes int) int {
	allowed, _ := q.countAllowed(group, node, nodes)
	for i, amount := range q.nodeAmount(group, node) {
		q.left[i] = max(q.left[i]-amount*int64(allowed), 0)
	}
	return allowed
}
