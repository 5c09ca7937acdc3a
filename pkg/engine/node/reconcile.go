package node

import (
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// Controllers are the controllers of nodes, and the kubelets. They remember what they saw last, so that each call looks only at what has
// changed since or is due; the result is that of new ones. The zero value is ready to use.
type Controllers struct {
	// steady is a list of nodes all of which have the taints that their conditions ask for.
	steady []*v1.Node
	// The rest follows from the nodes and pods that were seen last.
	nodes  []*v1.Node
	byName map[string]*v1.Node
	zones  *zones
	pods   *cluster.Groups[string] // by node
	due    map[string]due          // by node, of those that have any
}

// due are the pods of a node of which something is due at some time, although nothing else changes.
type due struct {
	// leaving must leave the node; their deletion has not been asked for.
	leaving []leavingPod
	// completing succeed on a node whose kubelet says so.
	completing []*v1.Pod
	// ending are Terminating, and somebody is going to end them.
	ending []*v1.Pod
}

// nodeOf returns the node of a pod; that of a pod that has none matters only if it is Terminating.
func nodeOf(pod *v1.Pod) []string {
	if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
		return nil
	}
	return []string{pod.Spec.NodeName}
}

// follow brings what follows from nodes and pods up to date.
func (c *Controllers) follow(s *cluster.State) {
	if c.pods == nil {
		c.pods, c.byName, c.due = cluster.NewGroups(nodeOf), map[string]*v1.Node{}, map[string]due{}
	}
	stale := map[string]bool{}
	for _, node := range c.pods.Follow(s.Pods) {
		stale[node] = true
	}
	cluster.Changes(c.nodes, s.Nodes, func(was, is *v1.Node, _ int) {
		if was != nil {
			stale[was.Name] = true
			delete(c.byName, was.Name)
		}
		if is != nil {
			stale[is.Name] = true
			c.byName[is.Name] = is
		}
		if c.zones != nil && !c.zones.replace(was, is) {
			c.zones = nil
		}
	})
	c.nodes = s.Nodes
	if c.zones == nil {
		c.zones = zonesOf(s)
	}
	for name := range stale {
		if now := c.dueOn(name); len(now.leaving)+len(now.completing)+len(now.ending) > 0 {
			c.due[name] = now
		} else {
			delete(c.due, name)
		}
	}
}

// dueOn looks at the pods of a node.
func (c *Controllers) dueOn(name string) (now due) {
	node := c.byName[name]
	var taints []v1.Taint
	if node != nil {
		taints = noExecuteTaints(node)
	}
	ended := node == nil || isOutOfService(node) || cluster.Answers(node)
	for _, pod := range c.pods.Of(name).Pods() {
		if _, completes := cluster.CompletesAt(pod); completes && node != nil && cluster.Answers(node) {
			now.completing = append(now.completing, pod)
		}
		switch at, leaves := evictionTime(pod, taints); {
		case pod.DeletionTimestamp == nil && leaves:
			now.leaving = append(now.leaving, leavingPod{pod, at})
		case pod.DeletionTimestamp != nil && (ended || cluster.Terminal(pod)):
			now.ending = append(now.ending, pod)
		}
	}
	return now
}

// Reconcile lets the controllers of nodes and the kubelets do what is due: nodes are tainted by their conditions, pods that have
// run for as long as they need succeed, those that do not tolerate a taint are evicted, and those whose time is over have ended. It returns the same state where nothing is due. The generator
// chooses among equals; nil keeps a fixed order.
func (c *Controllers) Reconcile(s *cluster.State, r *rand.Rand) *cluster.State {
	return c.endPods(c.evictTainted(c.taintByConditions(c.completePods(s), r)), r)
}

// Next returns the earliest moment after s.Now at which Reconcile has something to do although nothing else changes: a toleration of a
// NoExecute taint runs out, the next node gets one, or a kubelet has ended a pod or seen it succeed; zero: never.
func (c *Controllers) Next(s *cluster.State) time.Time {
	var next time.Time
	consider := func(at time.Time) {
		if at.After(s.Now.Time) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	c.follow(s)
	consider(c.nextNoExecute(s))
	for name, due := range c.due {
		for _, pod := range due.leaving {
			consider(pod.at)
		}
		if node := c.byName[name]; node == nil || !cluster.Answers(node) {
			continue
		}
		for _, pod := range due.completing {
			at, _ := cluster.CompletesAt(pod)
			consider(at)
		}
		for _, pod := range due.ending {
			if !cluster.Terminal(pod) {
				consider(pod.DeletionTimestamp.Time)
			}
		}
	}
	return next
}
