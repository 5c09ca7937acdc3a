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
	since, came []time.Time
	// phases has the phases of each of the dump's nodes; nil for a node that never changed. changed has the indices of the nodes that changed.
	phases  []phases
	changed []int
	// nodeLists has the list of nodes for each key. Equal nodes give the same list, so that a scheduler that holds them has nothing to update.
	// lastNodes caches the latest list.
	nodes map[string][]*v1.Node
	last  nodesAt
	bound []boundPods // the latest ones, the last call's at the end
	// serviceArrivals are the times at which services were created, in order. lastServices caches the services that existed at the time of the
	// latest call.
	offered  []time.Time
	services []*v1.Service
	// auditFrom and auditTo are the times of the first and the last request in an audit log that has requests about nodes; zero without such a
	// log.
	from, to time.Time
}

// nodesAt is the list of nodes at a moment, with the key of that list.
type nodesAt struct {
	moment moment
	key    string
	nodes  []*v1.Node
}

func newTimeline(dump *cluster.State, lives []*life, facts []fact) *timeline {
	t := &timeline{dump: dump, since: make([]time.Time, len(dump.Nodes)), phases: make([]phases, len(dump.Nodes)), nodes: map[string][]*v1.Node{}}
	if slices.ContainsFunc(facts, audited) {
		for _, f := range facts {
			if !f.audit {
				continue
			}
			if t.from.IsZero() || f.at.Before(t.from) {
				t.from = f.at
			}
			if f.at.After(t.to) {
				t.to = f.at
			}
		}
	}
	of, on := ofNodes(facts), livesOn(lives)
	for i, node := range dump.Nodes {
		since := node.CreationTimestamp.Time
		for _, f := range of[node.Name] {
			if f.what == nodeAdded && f.at.Add(-f.late).Before(since) {
				since = f.at.Add(-f.late)
			}
		}
		for _, l := range on[node.Name] {
			if l.lo.Before(since) {
				since = l.lo
			}
		}
		t.since[i] = since
		if all := newPhases(node, of[node.Name], on[node.Name], !t.from.IsZero()); all != nil {
			t.phases[i], t.changed = all, append(t.changed, i)
		}
	}
	t.came = slices.SortedFunc(slices.Values(t.since), time.Time.Compare)
	for _, s := range dump.Services {
		t.offered = append(t.offered, s.CreationTimestamp.Time)
	}
	slices.SortFunc(t.offered, time.Time.Compare)
	return t
}

// another returns a timeline of the same cluster for another worker.
func (t *timeline) another() *timeline {
	other := *t
	other.nodes, other.last, other.bound = map[string][]*v1.Node{}, nodesAt{}, nil
	return &other
}

// before returns the cluster at that moment, as far as the sources show it: with exactly the bound pods on their nodes after that number of
// ends, and with the services that existed. Everything else is as in the dump.
func (t *timeline) before(m moment, bound []*life, ends int) *cluster.State {
	state := *t.dump
	_, state.Nodes = t.nodesAt(m)
	state.Services = t.servicesAt(m.at)
	state.Pods = t.pods(bound, ends)
	return &state
}

// pods returns the pods of these lives after that number of ends. Lists may share memory: pods only writes behind the end of a shorter one.
func (t *timeline) pods(bound []*life, ends int) []*v1.Pod {
	// Usually bound has the pods of one of the last calls, and perhaps some more: a search asks for the same lives after 3, 4 and 2 ends.
	at := slices.IndexFunc(t.bound, func(last boundPods) bool {
		return last.ends == ends && len(last.lives) <= len(bound) && slices.Equal(bound[:len(last.lives)], last.lives)
	})
	last := boundPods{ends: ends, pods: make([]*v1.Pod, 0, len(bound)+64)}
	switch {
	case at >= 0:
		last = t.bound[at]
		t.bound = slices.Delete(t.bound, at, at+1)
	case len(t.bound) == maxBoundPods:
		t.bound = t.bound[1:]
	}
	for _, l := range bound[len(last.lives):] {
		switch {
		case l.ends < ends:
		case l.terminates < ends:
			last.pods = append(last.pods, l.ending)
		default:
			last.pods = append(last.pods, l.running)
		}
	}
	last.lives = bound
	t.bound = append(t.bound, last)
	return last.pods
}

// maxBoundPods is how many lists of bound pods a timeline keeps: the numbers of ends between which a search goes back and forth.
const maxBoundPods = 8

// boundPods caches the pods of these lives after that number of ends.
type boundPods struct {
	lives []*life
	ends  int
	pods  []*v1.Pod
}

// countBy returns how many of the sorted times are not after at.
func countBy(at time.Time, times []time.Time) int {
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
	if countBy(at, t.offered) != len(t.services) {
		t.services = slices.DeleteFunc(slices.Clone(t.dump.Services), func(s *v1.Service) bool { return s.CreationTimestamp.After(at) })
	}
	return t.services
}

// nodesAt returns the key and the list of the nodes at that moment.
func (t *timeline) nodesAt(m moment) (string, []*v1.Node) {
	if t.last.nodes != nil && t.last.moment == m {
		return t.last.key, t.last.nodes
	}
	var key strings.Builder // what differs from the dump
	fmt.Fprint(&key, countBy(m.at, t.came))
	for _, i := range t.changed {
		if was := t.nodeAt(i, m); was != t.dump.Nodes[i] && !t.since[i].After(m.at) {
			fmt.Fprintf(&key, " %d %p", i, was)
		}
	}
	if t.nodes[key.String()] == nil {
		t.nodes[key.String()] = t.listAt(m)
	}
	t.last = nodesAt{m, key.String(), t.nodes[key.String()]}
	return t.last.key, t.last.nodes
}

// listAt lists the nodes at that moment.
func (t *timeline) listAt(m moment) []*v1.Node {
	nodes := make([]*v1.Node, 0, len(t.dump.Nodes))
	for i := range t.dump.Nodes {
		if t.since[i].After(m.at) {
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
	case m.nodes == undisturbed:
		return p.dumped
	case m.nodes == assumed && p.avoided != nil:
		return p.avoided
	}
	return p.known
}

// moments returns the moments at which the pod may have been scheduled and whose nodes differ, the most likely first.
func (t *timeline) moments(l *life) []moment {
	all := []moment{l.moment()}
	if len(t.changed) == 0 {
		return all
	}
	first, _ := t.nodesAt(all[0])
	keys := []string{first}
	for _, edge := range []edge{late, early} {
		m := l.moment().on(edge)
		if key, _ := t.nodesAt(m); !slices.Contains(keys, key) {
			keys, all = append(keys, key), append(all, m)
		}
	}
	return all
}

// watched reports whether an audit log has all changes of nodes until the pod was scheduled. The nodes at the beginning of the log follow
// from these changes and from the dump.
func (t *timeline) watched(l *life) bool {
	return !t.from.IsZero() && !l.lo.Before(t.from) && !l.hi.After(t.to.Add(lag))
}
