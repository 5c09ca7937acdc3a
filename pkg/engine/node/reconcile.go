package node

import (
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// Controllers are the controllers of nodes, and the kubelets. They remember what they saw last, so that each call looks only at what has
// changed since or is due; the result is that of new ones. The zero value is ready to use.
type Controllers struct {
	pods *cluster.Groups[group]
	// steady is a list of nodes all of which have the taints that their conditions ask for.
	steady  []*v1.Node
	last    *view
	leaving map[string]leaving
}

// group is that of the pods of a node, or that of the pods that are Terminating.
type group struct {
	node        string
	terminating bool
}

func groupsOf(pod *v1.Pod) (groups []group) {
	if pod.Spec.NodeName != "" {
		groups = append(groups, group{node: pod.Spec.NodeName})
	}
	if isTerminating(pod) {
		groups = append(groups, group{terminating: true})
	}
	return groups
}

// view is what follows from a list of nodes alone.
type view struct {
	nodes  []*v1.Node
	byName map[string]*v1.Node
	zones  *zones
	// down are those that are not ready, waiting those of them without a NoExecute taint.
	down, waiting bool
	// tainted are those with a NoExecute taint of any kind.
	tainted []*v1.Node
}

func (c *Controllers) view(s *cluster.State) *view {
	if c.last != nil && cluster.Same(c.last.nodes, s.Nodes) {
		return c.last
	}
	v := &view{nodes: s.Nodes, byName: s.NodesByName(), zones: zonesOf(s)}
	for _, node := range s.Nodes {
		ready := readyCondition(node)
		v.down = v.down || ready != nil && ready.Status != v1.ConditionTrue
		v.waiting = v.waiting || waitsForNoExecute(node)
		if slices.ContainsFunc(node.Spec.Taints, isNoExecute) {
			v.tainted = append(v.tainted, node)
		}
	}
	c.last = v
	return v
}

// follow brings the groups of pods up to date.
func (c *Controllers) follow(s *cluster.State) {
	if c.pods == nil {
		c.pods = cluster.NewGroups(groupsOf)
	}
	c.pods.Follow(s.Pods)
}

// Reconcile lets the controllers of nodes and the kubelets do what is due: nodes are tainted by their conditions, pods that do not
// tolerate a taint are evicted, and pods whose time is over have ended. It returns the same state where nothing is due. The generator
// chooses among equals; nil keeps a fixed order.
func (c *Controllers) Reconcile(s *cluster.State, r *rand.Rand) *cluster.State {
	return c.endPods(c.evictTainted(c.taintByConditions(s, r)), r)
}

// Next returns the earliest moment after s.Now at which Reconcile has something to do although nothing else changes: a toleration of a
// NoExecute taint runs out, the next node gets one, or a kubelet has ended a pod; zero: never.
func (c *Controllers) Next(s *cluster.State) time.Time {
	var next time.Time
	consider := func(at time.Time) {
		if at.After(s.Now.Time) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	consider(c.nextNoExecute(s))
	consider(c.nextEnd(s))
	c.follow(s)
	for _, node := range c.view(s).tainted {
		for _, pod := range c.leavingFrom(node) {
			consider(pod.at)
		}
	}
	return next
}
