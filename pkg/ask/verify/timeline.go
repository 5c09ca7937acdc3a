package verify

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// timeline is the cluster from one placement to the next, as far as it is known.
type timeline struct {
	dump *cluster.State
	// since is the latest time by which each node existed: it was created, or the first of its pods was placed on it.
	since map[string]time.Time
	// The same moment in the life of a node gives the same object, and the same nodes the same list, so that a scheduler that holds them
	// has nothing to update.
	untainted map[moment]*v1.Node
	nodes     []*v1.Node
	services  []*v1.Service
}

// moment is a node without its last taints.
type moment struct {
	node  string
	later int
}

func newTimeline(dump *cluster.State, lives []*life) *timeline {
	t := &timeline{dump: dump, since: map[string]time.Time{}, untainted: map[moment]*v1.Node{}}
	for _, node := range dump.Nodes {
		t.since[node.Name] = node.CreationTimestamp.Time
	}
	for _, l := range lives {
		if since, known := t.since[l.node]; known && l.lo.Before(since) {
			t.since[l.node] = l.lo
		}
	}
	return t
}

// before returns the cluster at that time, as far as is known, with exactly these pods on their nodes and after that many ends, without the
// nodes, services and taints that came later. Everything else is as in the dump.
func (t *timeline) before(at time.Time, bound []*life, ends int) *cluster.State {
	state := *t.dump
	t.nodes = unchanged(t.nodes, t.nodesAt(at))
	t.services = unchanged(t.services, slices.DeleteFunc(slices.Clone(t.dump.Services), func(s *v1.Service) bool {
		return s.CreationTimestamp.After(at)
	}))
	state.Nodes, state.Services = t.nodes, t.services
	state.Pods = make([]*v1.Pod, 0, len(bound)+1)
	for _, l := range bound {
		switch {
		case l.ends < ends:
		case l.terminates < ends:
			state.Pods = append(state.Pods, l.ending)
		default:
			state.Pods = append(state.Pods, l.running)
		}
	}
	return &state
}

// unchanged returns the old list if the new one equals it.
func unchanged[T comparable](old, now []T) []T {
	if slices.Equal(old, now) {
		return old
	}
	return now
}

func (t *timeline) nodesAt(at time.Time) []*v1.Node {
	var nodes []*v1.Node
	for _, node := range t.dump.Nodes {
		if !t.since[node.Name].After(at) {
			nodes = append(nodes, t.nodeAt(node, at))
		}
	}
	return nodes
}

// nodeAt returns the node without the taints that were added later.
func (t *timeline) nodeAt(node *v1.Node, at time.Time) *v1.Node {
	later := func(taint v1.Taint) bool { return taint.TimeAdded != nil && taint.TimeAdded.After(at) }
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
	if t.untainted[key] == nil {
		was := node.DeepCopy()
		was.Spec.Taints = slices.DeleteFunc(was.Spec.Taints, later)
		was.Spec.Unschedulable = node.Spec.Unschedulable && slices.ContainsFunc(was.Spec.Taints, func(taint v1.Taint) bool {
			return taint.Key == v1.TaintNodeUnschedulable
		})
		t.untainted[key] = was
	}
	return t.untainted[key]
}
