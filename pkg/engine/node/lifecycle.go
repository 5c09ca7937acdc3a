package node

import (
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
)

// The defaults of kube-controller-manager:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/nodelifecycle/config/v1alpha1/defaults.go and
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/cmd/kube-controller-manager/app/options/nodelifecyclecontroller.go.
const (
	// NodeMonitorGracePeriod is how long a kubelet may be silent before its node is unreachable. A simulated failure begins after this
	// time.
	NodeMonitorGracePeriod = 50 * time.Second
	// evictionInterval is the time between the NoExecute taints of two nodes of a zone: --node-eviction-rate, 0.1 a second.
	evictionInterval = 10 * time.Second
	// secondaryInterval is the same in a large zone that is disrupted: --secondary-node-eviction-rate, 0.01 a second.
	secondaryInterval = 100 * time.Second
	// largeZone is the number of nodes above which evictions go on, at the secondary rate, in a disrupted zone:
	// --large-cluster-size-threshold.
	largeZone = 50
	// unhealthyShare is the share of a zone's nodes that must be down for it to be disrupted: --unhealthy-zone-threshold.
	unhealthyShare = 0.55
)

// taintByConditions taints nodes by their conditions, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/nodelifecycle/node_lifecycle_controller.go
// does: NoSchedule at once, NoExecute zone by zone at a limited rate, which is lower or zero in a disrupted zone. It ignores a node without
// a Ready condition, such as one written by hand.
func (c *Controllers) taintByConditions(s *cluster.State, r *rand.Rand) *cluster.State {
	var changed []cluster.Object
	var found []*v1.Node // nodes that went down since the last pass
	cluster.VisitChanges(c.steady, s.Nodes, func(_, node *v1.Node, _ int) {
		if node == nil || readyCondition(node) == nil {
			return
		}
		taints := conditionTaints(node, s.Now)
		if slices.Equal(taints, node.Spec.Taints) {
			return
		}
		tainted := *node
		tainted.Spec.Taints = taints
		changed = append(changed, &tainted)
		if readyCondition(node).Status != v1.ConditionTrue && !isTainted(node, v1.TaintEffectNoSchedule) {
			found = append(found, &tainted)
		}
	})
	if len(changed) == 0 {
		c.steady = s.Nodes
	}
	s = s.With(changed...)
	c.followState(s)
	if !c.zones.down {
		return s
	}
	return c.taintNoExecute(s, found, r)
}

// taintNoExecute adds the NoExecute taint to the next node of each zone that is due. When nodes go down together, the controller taints the
// first one that it finds before it sees the others, and only then knows that their zone is disrupted.
func (c *Controllers) taintNoExecute(s *cluster.State, found []*v1.Node, r *rand.Rand) *cluster.State {
	zones := c.zones
	var due []cluster.Object
	served := map[*zone]bool{}
	add := func(node *v1.Node) {
		served[zones.zoneOf(node)] = true
		due = append(due, withNoExecute(node, s.Now))
	}
	if len(found) > 0 {
		if first := pickNode(found, r); !zones.zoneOf(first).dueAt(evictionInterval, s.Now).After(s.Now.Time) {
			add(first)
		}
		if zones.stopped() { // upstream removes the taints of all nodes when the last node goes down
			for _, node := range s.Nodes {
				if isTainted(node, v1.TaintEffectNoExecute) && readyCondition(node).Status != v1.ConditionTrue {
					due = append(due, withoutNoExecute(node))
				}
			}
		}
	}
	for _, zone := range zones.inOrder {
		interval, goes := zones.taintInterval(zone)
		if goes && !served[zone] && len(zone.waiting) > 0 && !zone.dueAt(interval, s.Now).After(s.Now.Time) {
			add(pickNode(zone.waiting, r))
		}
	}
	return s.With(due...)
}

// pickNode returns the first of the nodes or, with a generator, a random one: upstream visits them in no particular order.
func pickNode(nodes []*v1.Node, r *rand.Rand) *v1.Node {
	if r == nil {
		return nodes[0]
	}
	return nodes[r.IntN(len(nodes))]
}

// nextNoExecute returns the next time after now at which a node gets its NoExecute taint, or zero if none does.
func (c *Controllers) nextNoExecute(s *cluster.State) time.Time {
	var next time.Time
	for _, zone := range c.zones.inOrder {
		interval, goes := c.zones.taintInterval(zone)
		if at := zone.dueAt(interval, s.Now); goes && len(zone.waiting) > 0 && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

func readyCondition(node *v1.Node) *v1.NodeCondition {
	_, ready := nodeutil.GetNodeCondition(&node.Status, v1.NodeReady)
	return ready
}

// conditionTaints returns the taints that the node should have by its conditions, as doNoScheduleTaintingPass does and, for a ready node,
// markNodeAsReachable.
func conditionTaints(node *v1.Node, now metav1.Time) []v1.Taint {
	taints := node.Spec.Taints
	for _, condition := range node.Status.Conditions {
		for status, key := range taintKeys[condition.Type] {
			taint := v1.Taint{Key: key, Effect: v1.TaintEffectNoSchedule, TimeAdded: &now}
			has := slices.ContainsFunc(taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) })
			switch {
			case condition.Status == status && !has:
				taints = append(slices.Clip(taints), taint)
			case condition.Status != status && has:
				taints = list.Without(taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) })
			}
		}
		if condition.Type == v1.NodeReady {
			taints = replaceNoExecute(taints, taintKeys[v1.NodeReady][condition.Status], now)
		}
	}
	return taints
}

// replaceNoExecute removes the NoExecute taint that does not match the node's readiness. If there was one, it at once adds a taint with the
// key. See processTaintBaseEviction.
func replaceNoExecute(taints []v1.Taint, key string, now metav1.Time) []v1.Taint {
	i := slices.IndexFunc(taints, func(t v1.Taint) bool { return isFailureTaint(t, v1.TaintEffectNoExecute) && t.Key != key })
	if i < 0 {
		return taints
	}
	taints = slices.Delete(slices.Clone(taints), i, i+1)
	right := v1.Taint{Key: key, Effect: v1.TaintEffectNoExecute, TimeAdded: &now}
	if key != "" && !slices.ContainsFunc(taints, func(t v1.Taint) bool { return t.MatchTaint(&right) }) {
		taints = append(taints, right)
	}
	return taints
}

// taintKeys is upstream's nodeConditionToTaintKeyStatusMap.
var taintKeys = map[v1.NodeConditionType]map[v1.ConditionStatus]string{
	v1.NodeReady: {
		v1.ConditionFalse:   v1.TaintNodeNotReady,
		v1.ConditionUnknown: v1.TaintNodeUnreachable,
	},
	v1.NodeMemoryPressure:     {v1.ConditionTrue: v1.TaintNodeMemoryPressure},
	v1.NodeDiskPressure:       {v1.ConditionTrue: v1.TaintNodeDiskPressure},
	v1.NodeNetworkUnavailable: {v1.ConditionTrue: v1.TaintNodeNetworkUnavailable},
	v1.NodePIDPressure:        {v1.ConditionTrue: v1.TaintNodePIDPressure},
}

// isFailureTaint reports whether the taint is one with which the controller marks a node that is down.
func isFailureTaint(taint v1.Taint, effect v1.TaintEffect) bool {
	return taint.Effect == effect && (taint.Key == v1.TaintNodeUnreachable || taint.Key == v1.TaintNodeNotReady)
}

func isTainted(node *v1.Node, effect v1.TaintEffect) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return isFailureTaint(t, effect) })
}

// waitsForNoExecute reports whether the node is down and does not yet have its NoExecute taint.
func waitsForNoExecute(node *v1.Node) bool {
	ready := readyCondition(node)
	return ready != nil && ready.Status != v1.ConditionTrue && !isTainted(node, v1.TaintEffectNoExecute)
}

// withNoExecute returns the node with the NoExecute taint that matches its readiness.
func withNoExecute(node *v1.Node, now metav1.Time) *v1.Node {
	tainted := *node
	key := taintKeys[v1.NodeReady][readyCondition(node).Status]
	tainted.Spec.Taints = append(slices.Clip(node.Spec.Taints), v1.Taint{Key: key, Effect: v1.TaintEffectNoExecute, TimeAdded: &now})
	return &tainted
}

func withoutNoExecute(node *v1.Node) *v1.Node {
	freed := *node
	freed.Spec.Taints = list.Without(node.Spec.Taints, func(t v1.Taint) bool {
		return isFailureTaint(t, v1.TaintEffectNoExecute)
	})
	return &freed
}
