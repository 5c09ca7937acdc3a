package node

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	nodetopology "k8s.io/component-helpers/node/topology"

	"github.com/faultline/faultline/pkg/cluster"
)

// excludeDisruption is the label of nodes that do not count for the state of their zone: labelNodeDisruptionExclusion in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/nodelifecycle/node_lifecycle_controller.go.
const excludeDisruption = "node.kubernetes.io/exclude-disruption"

// Disruption is a zone in which the node lifecycle controller evicts no pods, or only slowly, since too many of its nodes are down.
type Disruption struct {
	// Zone is the zone as the controller knows it: the values of the labels for region and zone. It is empty for the nodes without any.
	Region, Zone string
	// Nodes are those of the zone that are down and whose pods stay bound to them.
	Nodes []string
	// All says that no zone has a ready node left; then this is the only Disruption, of no particular zone.
	All bool
}

// Disruptions returns the zones in which pods stay on nodes that are down since evictions have stopped, in order of their nodes.
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
		if _, goes := zones.interval(zone); goes || len(zone.waiting) == 0 {
			continue
		}
		d := Disruption{Region: zone.waiting[0].Labels[v1.LabelTopologyRegion], Zone: zone.waiting[0].Labels[v1.LabelTopologyZone]}
		for _, node := range zone.waiting {
			d.Nodes = append(d.Nodes, node.Name)
		}
		all = append(all, d)
	}
	return all
}

// zone is what the controller knows of a zone.
type zone struct {
	ready, down, size int
	// last is when one of its nodes was tainted last; waiting are those that have not been yet.
	last    metav1.Time
	waiting []*v1.Node
}

// zones are all of them, in order of their nodes.
type zones struct {
	byKey   map[string]*zone
	inOrder []*zone
}

func zonesOf(s *cluster.State) *zones {
	z := &zones{byKey: map[string]*zone{}}
	for _, node := range s.Nodes {
		of := z.of(node)
		ready := readyCondition(node)
		isReady := ready == nil || ready.Status == v1.ConditionTrue
		if _, excluded := node.Labels[excludeDisruption]; !excluded {
			of.size++
			if isReady {
				of.ready++
			} else {
				of.down++
			}
		}
		if isReady {
			continue
		}
		if waitsForNoExecute(node) {
			of.waiting = append(of.waiting, node)
		}
		for _, taint := range node.Spec.Taints {
			if isNodeControllers(taint, v1.TaintEffectNoExecute) && taint.TimeAdded != nil && of.last.Before(taint.TimeAdded) {
				of.last = *taint.TimeAdded
			}
		}
	}
	return z
}

func (z *zones) of(node *v1.Node) *zone {
	key := nodetopology.GetZoneKey(node)
	if z.byKey[key] == nil {
		z.byKey[key] = &zone{}
		z.inOrder = append(z.inOrder, z.byKey[key])
	}
	return z.byKey[key]
}

// interval is the time between two nodes of the zone; it does not go on at all where false is returned: ComputeZoneState,
// handleDisruption and ReducedQPSFunc of upstream's controller.
func (z *zones) interval(of *zone) (time.Duration, bool) {
	switch {
	case of.ready == 0 && of.down > 0:
		return evictionInterval, !z.stopped()
	case of.down > 2 && float32(of.down)/float32(of.down+of.ready) >= unhealthyShare:
		return secondaryInterval, of.size > largeZone
	}
	return evictionInterval, true
}

// stopped reports whether all zones are down: then the controller believes that it is cut off itself, and evicts nothing.
func (z *zones) stopped() bool {
	return !slices.ContainsFunc(z.inOrder, func(of *zone) bool { return of.ready > 0 || of.down == 0 && of.size > 0 })
}

// dueAt is when the zone's next node may be tainted.
func (of *zone) dueAt(interval time.Duration, now metav1.Time) time.Time {
	if of.last.IsZero() {
		return now.Time
	}
	return of.last.Add(interval)
}
