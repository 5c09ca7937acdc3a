package controller

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/faultline/faultline/pkg/cluster"
)

// daemons has the nodes and pods of a DaemonSet. It follows the state: a sync looks only at what has changed since the last one.
type daemons struct {
	followed []*v1.Node
	pods     []*v1.Pod
	byName   map[string]*daemonNode
	nodes    []*daemonNode // in the order of the state
	strays   int           // pods that wait for a node that does not exist any more
	counted  daemonCounts
	updated  map[*v1.Pod]bool // the pods that were looked at: whether they are of the current template
}

// daemonNode is a node with the pods of the DaemonSet that run there or wait for it, the oldest first.
type daemonNode struct {
	*v1.Node // nil if the node does not exist any more
	pods     []*v1.Pod
	// run reports whether a pod should start on the node, stay whether an existing pod may stay.
	run, stay bool
	// settled means that the node needs nothing: it should have no pod and has none, or its only pod is up to date and available.
	settled bool
	strays  int
	counted daemonCounts
}

// daemonCounts are the numbers of nodes in a DaemonSet's status.
type daemonCounts struct{ misscheduled, desired, current, ready, available, updated int32 }

// add adds the other counts n times; -1 subtracts them.
func (c *daemonCounts) add(other daemonCounts, n int32) {
	c.misscheduled += n * other.misscheduled
	c.desired += n * other.desired
	c.current += n * other.current
	c.ready += n * other.ready
	c.available += n * other.available
	c.updated += n * other.updated
}

// claimDaemonPods returns the DaemonSet's pods after it has adopted and released pods. It looks only at pods that are new.
func (p *pass) claimDaemonPods(ds *appsv1.DaemonSet) ([]*v1.Pod, error) {
	owned, all := p.owned.ownGroup(ds.UID)
	selector, err := p.parseSelector(ds, ds.Spec.Selector)
	if err != nil || !all {
		return p.claimPods(ds, daemonSetKind, ds.Spec.Selector, nil)
	}
	type matching struct {
		pods    []*v1.Pod
		foreign int // number of pods that the selector does not match
	}
	known := recallOrCompute(&p.memory, subject{daemonsMatching, ds.UID}, []any{ds.Spec.Selector}, func() *matching { return &matching{} })
	look := func(pod *v1.Pod, n int) {
		if pod != nil && !selector.Matches(labels.Set(pod.Labels)) {
			known.foreign += n
		}
	}
	cluster.VisitChanges(known.pods, owned.Pods(), func(was, is *v1.Pod, _ int) {
		look(was, -1)
		look(is, 1)
	})
	if known.pods = owned.Pods(); known.foreign > 0 {
		return p.claimPods(ds, daemonSetKind, ds.Spec.Selector, nil)
	}
	return known.pods, nil
}

// knownDaemons returns the nodes and pods as the last sync of the DaemonSet left them; empty ones if the template has changed since.
func (p *pass) knownDaemons(ds *appsv1.DaemonSet, hash string) *daemons {
	made := func() *daemons { return &daemons{byName: map[string]*daemonNode{}, updated: map[*v1.Pod]bool{}} }
	if ds.Spec.MinReadySeconds > 0 { // pods become available with time
		return made()
	}
	return recallOrCompute(&p.memory, subject{daemonsByNode, ds.UID}, []any{newTemplateID(ds, &ds.Spec.Template), hash}, made)
}

// followNodesAndPods updates the nodes and pods to those of the state.
func (d *daemonSetSync) followNodesAndPods(pods []*v1.Pod) {
	changed := map[string]*daemonNode{}
	at := func(name string) *daemonNode {
		node := d.byName[name]
		if node == nil {
			node = &daemonNode{}
			d.byName[name] = node
		}
		changed[name] = node
		return node
	}
	should := newDaemonNodeFilter(d.set)
	cluster.VisitChanges(d.followed, d.Nodes, func(was, is *v1.Node, _ int) {
		if was != nil {
			node := at(was.Name)
			node.Node, node.run, node.stay = nil, false, false
		}
		if is != nil {
			node := at(is.Name)
			node.Node = is
			node.run, node.stay = should(is)
		}
	})
	cluster.VisitChanges(d.pods, pods, func(was, is *v1.Pod, _ int) {
		delete(d.updated, was)
		if name, counts := targetNode(was); counts {
			node := at(name)
			node.pods = slices.DeleteFunc(node.pods, func(pod *v1.Pod) bool { return pod == was })
		}
		if name, counts := targetNode(is); counts {
			node := at(name)
			node.pods = append(node.pods, is)
		}
	})
	for name, node := range changed {
		d.counted.add(node.counted, -1)
		d.strays -= node.strays
		slices.SortStableFunc(node.pods, olderFirst)
		d.inspectNode(node)
		d.counted.add(node.counted, 1)
		d.strays += node.strays
		if node.Node == nil && len(node.pods) == 0 {
			delete(d.byName, name)
		}
	}
	if !cluster.SameSlice(d.followed, d.Nodes) {
		d.nodes = make([]*daemonNode, len(d.Nodes))
		for i, node := range d.Nodes {
			d.nodes[i] = d.byName[node.Name]
		}
	}
	d.followed, d.pods = d.Nodes, pods
}

// targetNode returns the name of the node for which the pod was created, and whether the pod counts there.
func targetNode(pod *v1.Pod) (string, bool) {
	if pod == nil || cluster.IsTerminal(pod) && pod.DeletionTimestamp != nil {
		return "", false
	}
	name, err := daemonutil.GetTargetNodeName(pod)
	return name, err == nil
}

// inspectNode updates what the status counts for a node, as upstream's updateDaemonSetStatus does, and whether the node is settled.
func (d *daemonSetSync) inspectNode(node *daemonNode) {
	node.settled, node.strays, node.counted = false, 0, daemonCounts{}
	count := &node.counted
	switch {
	case node.Node == nil:
		for _, pod := range node.pods {
			if pod.Spec.NodeName == "" {
				node.strays++
			}
		}
	case !node.run:
		if node.settled = len(node.pods) == 0; !node.settled {
			count.misscheduled = 1
		}
	default:
		if count.desired = 1; len(node.pods) == 0 {
			return
		}
		count.current = 1
		first := node.pods[0]
		if podutil.IsPodReady(first) {
			if count.ready = 1; d.isAvailable(first) {
				count.available = 1
			}
		}
		if d.isNew(first) {
			count.updated = 1
		}
		node.settled = len(node.pods) == 1 && count.updated+count.available == 2 && first.DeletionTimestamp == nil && !cluster.IsTerminal(first)
	}
}
