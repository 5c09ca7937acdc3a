package verify

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// history is what a dump tells of its past: when nodes, taints and services came, and when the deletion of pods was asked for.
type history struct {
	dump *cluster.State
	// since is when each node was there at the latest: it was made, or the first of its pods was placed on it.
	since map[string]time.Time
	// The same moment in the life of a node gives the same object, and the same nodes the same list: a scheduler that holds them
	// has nothing to do.
	untainted map[moment]*v1.Node
	alive     map[types.UID]*v1.Pod
	nodes     []*v1.Node
	services  []*v1.Service
}

// moment is a node without the last of its taints.
type moment struct {
	node  string
	later int
}

func newHistory(dump *cluster.State) *history {
	h := &history{dump: dump, since: map[string]time.Time{}, untainted: map[moment]*v1.Node{}, alive: map[types.UID]*v1.Pod{}}
	for _, node := range dump.Nodes {
		h.since[node.Name] = node.CreationTimestamp.Time
	}
	for _, pod := range dump.Pods {
		if at := scheduledAt(pod); pod.Spec.NodeName != "" && at.Before(h.since[pod.Spec.NodeName]) {
			h.since[pod.Spec.NodeName] = at
		}
	}
	return h
}

// before is the cluster in that second, as far as the dump tells, with just these pods bound: without the nodes, the services and
// the taints that came later, and with the pods whose deletion was asked for later as they were. All else is as it is in the dump.
func (r *replay) before(at time.Time, bound []*v1.Pod) *cluster.State {
	h := r.history
	state := *h.dump
	h.nodes = unchanged(h.nodes, h.nodesAt(at))
	h.services = unchanged(h.services, slices.DeleteFunc(slices.Clone(h.dump.Services), func(s *v1.Service) bool {
		return s.CreationTimestamp.After(at)
	}))
	state.Nodes, state.Services = h.nodes, h.services
	state.Pods = make([]*v1.Pod, len(bound))
	for i, pod := range bound {
		state.Pods[i] = h.podAt(pod, at)
	}
	return &state
}

// unchanged is the old list if the new one holds the same.
func unchanged[T comparable](old, now []T) []T {
	if slices.Equal(old, now) {
		return old
	}
	return now
}

func (h *history) nodesAt(at time.Time) []*v1.Node {
	var nodes []*v1.Node
	for _, node := range h.dump.Nodes {
		if !h.since[node.Name].After(at) {
			nodes = append(nodes, h.nodeAt(node, at))
		}
	}
	return nodes
}

// nodeAt is the node without the taints that were added later.
func (h *history) nodeAt(node *v1.Node, at time.Time) *v1.Node {
	later := func(t v1.Taint) bool { return t.TimeAdded != nil && t.TimeAdded.After(at) }
	n := 0
	for _, taint := range node.Spec.Taints {
		if later(taint) {
			n++
		}
	}
	if n == 0 {
		return node
	}
	key := moment{node.Name, n}
	if h.untainted[key] == nil {
		was := node.DeepCopy()
		was.Spec.Taints = slices.DeleteFunc(was.Spec.Taints, later)
		was.Spec.Unschedulable = node.Spec.Unschedulable && slices.ContainsFunc(was.Spec.Taints, func(t v1.Taint) bool {
			return t.Key == v1.TaintNodeUnschedulable
		})
		h.untainted[key] = was
	}
	return h.untainted[key]
}

// podAt is the pod, without a deletion that was asked for later.
func (h *history) podAt(pod *v1.Pod, at time.Time) *v1.Pod {
	if pod.DeletionTimestamp == nil {
		return pod
	}
	asked := pod.DeletionTimestamp.Time
	if pod.DeletionGracePeriodSeconds != nil {
		asked = asked.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
	}
	if !asked.After(at) {
		return pod
	}
	if h.alive[pod.UID] == nil {
		was := *pod
		was.DeletionTimestamp = nil
		h.alive[pod.UID] = &was
	}
	return h.alive[pod.UID]
}
