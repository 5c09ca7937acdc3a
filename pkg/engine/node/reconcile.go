package node

import (
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/faultline/faultline/pkg/cluster"
)

// Controllers holds the controllers of nodes and the kubelets. They cache what they have seen, so that each call looks only at changes and
// at what is due. The cache never changes a result. The zero value is ready to use.
type Controllers struct {
	// Seed, if set, decides how long kubelets take to end a pod; see endsAt.
	Seed *uint64

	// steady is a list of nodes that all have the taints that match their conditions.
	steady []*v1.Node
	// The other fields derive from the nodes and pods of the last call.
	nodes      []*v1.Node
	containers *cluster.Containers
	byName     map[string]*v1.Node
	zones      *zones
	pods       *cluster.Groups[string] // by node
	due        map[string]duePods      // by node, for nodes that have such pods
}

// duePods holds the pods of a node that will need an action at some time, even if nothing else changes.
type duePods struct {
	// leaving are pods that must leave the node, and whose deletion was not requested yet.
	leaving []leavingPod
	// completing are pods that will become ready or end, and whose kubelet can report it.
	completing []*v1.Pod
	// ending are Terminating pods that a kubelet or the garbage collector will end.
	ending []*v1.Pod
	// resizing are pods that wait for room on the node for their new resources.
	resizing []*v1.Pod
}

// groupOfPod returns the group of a pod, which is the name of its node. A pod without a node is in a group only if it is Terminating.
func groupOfPod(pod *v1.Pod) []string {
	if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
		return nil
	}
	return []string{pod.Spec.NodeName}
}

// followState updates the fields that derive from nodes and pods.
func (c *Controllers) followState(s *cluster.State) {
	if c.pods == nil {
		c.pods, c.byName, c.due = cluster.NewGroups(groupOfPod), map[string]*v1.Node{}, map[string]duePods{}
	}
	stale := map[string]bool{}
	c.containers = s.Containers // the same for as long as there are controllers
	for _, node := range c.pods.Update(s.Pods) {
		stale[node] = true
	}
	cluster.VisitChanges(c.nodes, s.Nodes, func(was, is *v1.Node, _ int) {
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
		if now := c.findDuePods(name); len(now.leaving)+len(now.completing)+len(now.ending)+len(now.resizing) > 0 {
			c.due[name] = now
		} else {
			delete(c.due, name)
		}
	}
}

// findDuePods returns the pods of a node that need an action.
func (c *Controllers) findDuePods(name string) (now duePods) {
	node := c.byName[name]
	var taints []v1.Taint
	if node != nil {
		taints = noExecuteTaints(node)
	}
	ended := node == nil || isOutOfService(node) || cluster.KubeletResponds(node)
	for _, pod := range c.pods.Lookup(name).Pods() {
		if !nextOfContainers(c.containers, pod).IsZero() && node != nil && cluster.KubeletResponds(node) {
			now.completing = append(now.completing, pod)
		}
		if resourcehelper.IsPodResizeDeferred(pod) && node != nil && cluster.KubeletResponds(node) {
			now.resizing = append(now.resizing, pod)
		}
		switch at, leaves := evictionTime(pod, taints); {
		case pod.DeletionTimestamp == nil && leaves:
			now.leaving = append(now.leaving, leavingPod{pod, at})
		case pod.DeletionTimestamp != nil && (ended || cluster.IsTerminal(pod)):
			now.ending = append(now.ending, pod)
		}
	}
	return now
}

// Reconcile does everything that is due for the controllers of nodes and the kubelets. It marks pods as succeeded that have run long
// enough, taints nodes by their conditions, evicts pods that do not tolerate a taint, removes pods that have ended, and resizes pods for
// which there is room. It returns the same state if nothing is due. The generator chooses among equals; nil means a fixed order.
func (c *Controllers) Reconcile(s *cluster.State, r *rand.Rand) *cluster.State {
	return c.resizePods(c.endPods(c.evictTainted(c.taintByConditions(c.completePods(s), r))))
}

// Next returns the next time after s.Now at which Reconcile has something to do even if nothing else changes: a toleration of a NoExecute
// taint ends, the next node gets such a taint, or a pod ends or succeeds. It returns zero if there is no such time.
func (c *Controllers) Next(s *cluster.State) time.Time {
	var next time.Time
	consider := func(at time.Time) {
		if at.After(s.Now.Time) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	c.followState(s)
	consider(c.nextNoExecute(s))
	for name, due := range c.due {
		for _, pod := range due.leaving {
			consider(pod.at)
		}
		if node := c.byName[name]; node == nil || !cluster.KubeletResponds(node) {
			continue
		}
		for _, pod := range due.completing {
			consider(nextOfContainers(s.Containers, pod))
		}
		for _, pod := range due.ending {
			if !cluster.IsTerminal(pod) {
				consider(c.endsAt(pod))
			}
		}
	}
	return next
}
