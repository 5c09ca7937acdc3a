package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// timeline has the cluster at any moment, as far as the sources show it.
type timeline struct {
	dump *cluster.State
	// nodesSince is the latest time by which each of the dump's nodes existed: it was created, or its first pod was placed on it. nodeArrivals
	// has these times in order.
	nodesSince, nodeArrivals []time.Time
	// phases has the phases of each of the dump's nodes; nil for a node that never changed. changed has the indices of the nodes that changed.
	phases  []phases
	changed []int
	// nodeLists has the list of nodes for each key. Equal nodes give the same list, so that a scheduler that holds them has nothing to update.
	// lastNodes caches the latest list.
	nodeLists map[string][]*v1.Node
	lastNodes nodeList
	lastPods  []boundPods // the latest ones, the last call's at the end
	// serviceArrivals are the times at which services were created, in order. lastServices caches the services that existed at the time of the
	// latest call.
	serviceArrivals []time.Time
	lastServices    []*v1.Service
	// auditFrom and auditTo are the times of the first and the last request in an audit log that has requests about nodes; zero without such a
	// log.
	auditFrom, auditTo time.Time
}

// nodeList is the list of nodes at a moment, with the key of that list.
type nodeList struct {
	moment moment
	key    string
	nodes  []*v1.Node
}

func newTimeline(dump *cluster.State, lives []*podLife, facts []fact) *timeline {
	t := &timeline{dump: dump, nodesSince: make([]time.Time, len(dump.Nodes)), phases: make([]phases, len(dump.Nodes)), nodeLists: map[string][]*v1.Node{}}
	if slices.ContainsFunc(facts, isAuditedNodeFact) {
		for _, f := range facts {
			if !f.audit {
				continue
			}
			if t.auditFrom.IsZero() || f.at.Before(t.auditFrom) {
				t.auditFrom = f.at
			}
			if f.at.After(t.auditTo) {
				t.auditTo = f.at
			}
		}
	}
	of, on := factsByNode(facts), livesByNode(lives)
	for i, node := range dump.Nodes {
		since := node.CreationTimestamp.Time
		for _, f := range of[node.Name] {
			if f.kind == nodeAdded && f.at.Add(-f.maxDelay).Before(since) {
				since = f.at.Add(-f.maxDelay)
			}
		}
		for _, l := range on[node.Name] {
			if l.lo.Before(since) {
				since = l.lo
			}
		}
		t.nodesSince[i] = since
		if all := newPhases(node, of[node.Name], on[node.Name], !t.auditFrom.IsZero()); all != nil {
			t.phases[i], t.changed = all, append(t.changed, i)
		}
	}
	t.nodeArrivals = slices.SortedFunc(slices.Values(t.nodesSince), time.Time.Compare)
	for _, s := range dump.Services {
		t.serviceArrivals = append(t.serviceArrivals, s.CreationTimestamp.Time)
	}
	slices.SortFunc(t.serviceArrivals, time.Time.Compare)
	return t
}

// copyForWorker returns a timeline of the same cluster for another worker.
func (t *timeline) copyForWorker() *timeline {
	other := *t
	other.nodeLists, other.lastNodes, other.lastPods = map[string][]*v1.Node{}, nodeList{}, nil
	return &other
}

// stateAt returns the cluster at that moment, as far as the sources show it: with exactly the bound pods on their nodes after that number of
// ends, and with the services that existed. Everything else is as in the dump.
func (t *timeline) stateAt(m moment, bound []*podLife, ends int) *cluster.State {
	state := *t.dump
	_, state.Nodes = t.nodesAt(m)
	state.Services = t.servicesAt(m.at)
	state.Pods = t.pods(bound, ends)
	return &state
}

// pods returns the pods of these lives after that number of ends. Lists may share memory: pods only writes behind the end of a shorter one.
func (t *timeline) pods(bound []*podLife, ends int) []*v1.Pod {
	// Usually bound has the pods of one of the last calls, and perhaps some more: a search asks for the same lives after 3, 4 and 2 ends.
	at := slices.IndexFunc(t.lastPods, func(last boundPods) bool {
		return last.endCount == ends && len(last.lives) <= len(bound) && slices.Equal(bound[:len(last.lives)], last.lives)
	})
	last := boundPods{endCount: ends, pods: make([]*v1.Pod, 0, len(bound)+64)}
	switch {
	case at >= 0:
		last = t.lastPods[at]
		t.lastPods = slices.Delete(t.lastPods, at, at+1)
	case len(t.lastPods) == maxBoundPods:
		t.lastPods = t.lastPods[1:]
	}
	for _, l := range bound[len(last.lives):] {
		switch {
		case l.endsUntilGone < ends:
		case l.endsUntilTerminating < ends:
			last.pods = append(last.pods, l.ending)
		default:
			last.pods = append(last.pods, l.running)
		}
	}
	last.lives = bound
	t.lastPods = append(t.lastPods, last)
	return last.pods
}

// maxBoundPods is how many lists of bound pods a timeline keeps: the numbers of ends between which a search goes back and forth.
const maxBoundPods = 8

// boundPods caches the pods of these lives after that number of ends.
type boundPods struct {
	lives    []*podLife
	endCount int
	pods     []*v1.Pod
}

// countUntil returns how many of the sorted times are not after at.
func countUntil(at time.Time, times []time.Time) int {
	n, _ := slices.BinarySearchFunc(times, at, func(t, at time.Time) int {
		if t.After(at) {
			return 1
		}
		return -1
	})
	return n
}

// servicesAt returns the services that existed at that time.
func (t *timeline) servicesAt(at time.Time) []*v1.Service {
	if countUntil(at, t.serviceArrivals) != len(t.lastServices) {
		t.lastServices = slices.DeleteFunc(slices.Clone(t.dump.Services), func(s *v1.Service) bool { return s.CreationTimestamp.After(at) })
	}
	return t.lastServices
}

// nodesAt returns the key and the list of the nodes at that moment.
func (t *timeline) nodesAt(m moment) (string, []*v1.Node) {
	if t.lastNodes.nodes != nil && t.lastNodes.moment == m {
		return t.lastNodes.key, t.lastNodes.nodes
	}
	var key strings.Builder // what differs from the dump
	fmt.Fprint(&key, countUntil(m.at, t.nodeArrivals))
	for _, i := range t.changed {
		if was := t.nodeAt(i, m); was != t.dump.Nodes[i] && !t.nodesSince[i].After(m.at) {
			fmt.Fprintf(&key, " %d %p", i, was)
		}
	}
	if t.nodeLists[key.String()] == nil {
		t.nodeLists[key.String()] = t.listNodesAt(m)
	}
	t.lastNodes = nodeList{m, key.String(), t.nodeLists[key.String()]}
	return t.lastNodes.key, t.lastNodes.nodes
}

// listNodesAt lists the nodes at that moment.
func (t *timeline) listNodesAt(m moment) []*v1.Node {
	nodes := make([]*v1.Node, 0, len(t.dump.Nodes))
	for i := range t.dump.Nodes {
		if t.nodesSince[i].After(m.at) {
			continue
		}
		if was := t.nodeAt(i, m); was != nil {
			nodes = append(nodes, was)
		}
	}
	return nodes
}

// nodeAt returns the node with that index in the dump as it was at that moment, or nil if it did not exist.
func (t *timeline) nodeAt(i int, m moment) *v1.Node {
	all := t.phases[i]
	if all == nil {
		return t.dump.Nodes[i]
	}
	p := all[all.index(m)]
	switch {
	case m.nodes == nodesAsDumped:
		return p.asDumped
	case m.nodes == nodesAssumed && p.avoided != nil:
		return p.avoided
	}
	return p.known
}

// moments returns the moments at which the pod may have been scheduled and whose nodes differ, the most likely first.
func (t *timeline) moments(l *podLife) []moment {
	all := []moment{l.moment()}
	if len(t.changed) == 0 {
		return all
	}
	first, _ := t.nodesAt(all[0])
	keys := []string{first}
	for _, edge := range []changeSide{beforeChange, afterChange} {
		m := l.moment().onSide(edge)
		if key, _ := t.nodesAt(m); !slices.Contains(keys, key) {
			keys, all = append(keys, key), append(all, m)
		}
	}
	return all
}

// hasAuditedNodes reports whether an audit log has all changes of nodes until the pod was scheduled. The nodes at the beginning of the log follow
// from these changes and from the dump.
func (t *timeline) hasAuditedNodes(l *podLife) bool {
	return !t.auditFrom.IsZero() && !l.lo.Before(t.auditFrom) && !l.hi.After(t.auditTo.Add(lag))
}
