package node

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	nodetopology "k8s.io/component-helpers/node/topology"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/topology"
)

// excludeDisruption is the label of nodes that do not count for the state of their zone. See labelNodeDisruptionExclusion in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/nodelifecycle/node_lifecycle_controller.go.
const excludeDisruption = "node.kubernetes.io/exclude-disruption"

// Disruption is a zone in which the node lifecycle controller evicts no pods, or evicts them only slowly, because too many of its nodes are
// down.
type Disruption struct {
	// Region and Zone identify the zone as in the controller: by the values of the labels for region and zone. They are empty for nodes
	// without these labels.
	Region, Zone string
	// Nodes lists the nodes of the zone that are down and keep their pods.
	Nodes []string
	// All means that no zone has a ready node. Then this is the only Disruption, and it belongs to no particular zone.
	All bool
}

// Disruptions returns the zones in which evictions have stopped, so that pods stay on nodes that are down. The zones are in the order of
// their nodes.
func Disruptions(s *cluster.State) []Disruption {
	if !slices.ContainsFunc(s.Nodes, waitsForNoExecute) {
		return nil
	}
	var all []Disruption
	zones := zonesOf(s)
	if zones.stopped() {
		d := Disruption{All: true}
		for _, zone := range zones.inOrder {
			for _, node := range zone.waiting {
				d.Nodes = append(d.Nodes, node.Name)
			}
		}
		return []Disruption{d}
	}
	for _, zone := range zones.inOrder {
		if _, goes := zones.taintInterval(zone); goes || len(zone.waiting) == 0 {
			continue
		}
		d := Disruption{Region: topology.RegionOf(zone.waiting[0].Labels), Zone: topology.ZoneOf(zone.waiting[0].Labels)}
		d.Nodes = list.Map(zone.waiting, func(node *v1.Node) string { return node.Name })
		all = append(all, d)
	}
	return all
}

// zone is the controller's state of a zone.
type zone struct {
	ready, down, size int
	// lastTainted is when the controller last tainted one of its nodes; waiting lists the nodes still to be tainted.
	lastTainted metav1.Time
	waiting     []*v1.Node
}

// zones holds all zones, in the order of their nodes.
type zones struct {
	down    bool // whether any node is down
	byKey   map[string]*zone
	inOrder []*zone
}

// zonesOf returns the zones of the state's nodes.
func zonesOf(s *cluster.State) *zones {
	z := &zones{byKey: map[string]*zone{}}
	for _, node := range s.Nodes {
		of, ready := z.zoneOf(node), isReady(node)
		if !isExcluded(node) {
			of.size++
			if ready {
				of.ready++
			} else {
				of.down++
			}
		}
		if ready {
			continue
		}
		z.down = true
		if waitsForNoExecute(node) {
			of.waiting = append(of.waiting, node)
		}
		of.recordTaint(node.Spec.Taints)
	}
	return z
}

// isReady reports whether the node is ready, as a node without a Ready condition is.
func isReady(node *v1.Node) bool {
	ready := readyCondition(node)
	return ready == nil || ready.Status == v1.ConditionTrue
}

func isExcluded(node *v1.Node) bool {
	_, excluded := node.Labels[excludeDisruption]
	return excluded
}

// replace replaces a node by its new version. It handles only nodes that stay ready, and nodes that waited for their NoExecute taint. For
// any other change it returns false, and the zones must be built again.
func (z *zones) replace(was, is *v1.Node) bool {
	if was == nil || is == nil || nodetopology.GetZoneKey(was) != nodetopology.GetZoneKey(is) || isExcluded(was) != isExcluded(is) || isReady(was) != isReady(is) {
		return false
	}
	if isReady(was) {
		return true
	}
	of := z.zoneOf(was)
	i := slices.Index(of.waiting, was)
	switch {
	case i < 0:
		return false
	case waitsForNoExecute(is):
		of.waiting[i] = is
	default:
		of.waiting = slices.Delete(of.waiting, i, i+1)
		of.recordTaint(is.Spec.Taints)
	}
	return true
}

// recordTaint records when a node that is down got its NoExecute taint.
func (of *zone) recordTaint(taints []v1.Taint) {
	for _, taint := range taints {
		if isFailureTaint(taint, v1.TaintEffectNoExecute) && taint.TimeAdded != nil && of.lastTainted.Before(taint.TimeAdded) {
			of.lastTainted = *taint.TimeAdded
		}
	}
}

// zoneOf returns the node's zone, and adds it if it is new.
func (z *zones) zoneOf(node *v1.Node) *zone {
	key := nodetopology.GetZoneKey(node)
	if z.byKey[key] == nil {
		z.byKey[key] = &zone{}
		z.inOrder = append(z.inOrder, z.byKey[key])
	}
	return z.byKey[key]
}

// taintInterval returns the time between the taints of two nodes of the zone, or false if the controller taints no more of them. See
// ComputeZoneState, handleDisruption and ReducedQPSFunc of upstream's controller.
func (z *zones) taintInterval(of *zone) (time.Duration, bool) {
	switch {
	case of.ready == 0 && of.down > 0:
		return evictionInterval, !z.stopped()
	case of.down > 2 && float32(of.down)/float32(of.down+of.ready) >= unhealthyShare:
		return secondaryInterval, of.size > largeZone
	}
	return evictionInterval, true
}

// stopped reports whether all zones are down. Then the controller assumes that it is disconnected itself, and evicts nothing.
func (z *zones) stopped() bool {
	return !slices.ContainsFunc(z.inOrder, func(of *zone) bool { return of.ready > 0 || of.down == 0 && of.size > 0 })
}

// dueAt returns when the zone's next node may be tainted.
func (of *zone) dueAt(interval time.Duration, now metav1.Time) time.Time {
	if of.lastTainted.IsZero() {
		return now.Time
	}
	return of.lastTainted.Add(interval)
}
