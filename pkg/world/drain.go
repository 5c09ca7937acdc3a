package world

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
)

// Drained is the result of draining one node.
type Drained struct {
	Node string
	// Evicted are the pods that left the node, in order of eviction.
	Evicted []*v1.Pod
	// Blocked are the pods that keep kubectl from evicting any pod of the node, in its words.
	Blocked []node.Blocked
	// Refused are the pods left when nothing moves any more, with the API server's last answer to their eviction or, if they are
	// Terminating, what they wait for.
	Refused []node.Blocked
	// Placed are the pods that got a node meanwhile and kept it to the end; Pending are those without a node at the end.
	Placed  []placement.Placement
	Pending []placement.Pending
	// NotCreated are the pods that the API server refuses to the controllers at the end.
	NotCreated []cluster.Refusal
}

// Ends reports whether kubectl drain finishes on the node.
func (d *Drained) Ends() bool { return len(d.Blocked)+len(d.Refused) == 0 }

// Drain cordons the nodes and evicts their pods node by node, as kubectl drain does. When a budget allows no eviction, controllers and
// scheduler act until it does, or until nothing moves any more; then it goes on to the next node, as kubectl does with a --timeout. What
// happens is added to the record.
func (c *Cluster) Drain(ctx context.Context, state *cluster.State, nodes []string, options node.DrainOptions, to *Record) (*cluster.State, []Drained, error) {
	state, err := node.Cordon(state, nodes...)
	if err != nil {
		return nil, nil, err
	}
	var all []Drained
	for _, node := range nodes {
		next, drained, err := c.drainNode(ctx, state, node, options, to)
		if err != nil {
			return nil, nil, err
		}
		state = next
		all = append(all, *drained)
	}
	return state, all, nil
}

// DrainOrder looks for an order of the nodes in which every drain finishes: it cordons them all, and repeatedly drains the first of the
// rest whose drain finishes. It returns the result of that order, or nil if at some point there is no such node.
func (c *Cluster) DrainOrder(ctx context.Context, state *cluster.State, nodes []string, options node.DrainOptions) ([]Drained, error) {
	cordoned, err := node.Cordon(state, nodes...)
	if err != nil {
		return nil, err
	}
	var order []string
	for rest := slices.Clone(nodes); len(rest) > 0; {
		i, next, err := c.firstThatEnds(ctx, cordoned, rest, options)
		if err != nil || i < 0 {
			return nil, err
		}
		order, cordoned, rest = append(order, rest[i]), next, slices.Delete(rest, i, i+1)
	}
	// Repeat it in one run: the scheduler remembers at which node its last search ended.
	c.Reset()
	_, all, err := c.Drain(ctx, state, order, options, &Record{})
	if err != nil || slices.ContainsFunc(all, func(d Drained) bool { return !d.Ends() }) {
		return nil, err
	}
	return all, nil
}

// firstThatEnds returns the index of the first node whose drain finishes, and the state after it; -1 if there is none.
func (c *Cluster) firstThatEnds(ctx context.Context, state *cluster.State, nodes []string, options node.DrainOptions) (int, *cluster.State, error) {
	for i, node := range nodes {
		c.Reset()
		next, drained, err := c.drainNode(ctx, state, node, options, &Record{})
		if err != nil {
			return -1, nil, err
		}
		if drained.Ends() {
			return i, next, nil
		}
	}
	return -1, nil, nil
}

// drainNode evicts the pods of one node until all are gone or no budget allows another eviction.
func (c *Cluster) drainNode(ctx context.Context, state *cluster.State, name string, options node.DrainOptions, to *Record) (*cluster.State, *Drained, error) {
	d := &Drained{Node: name}
	pods, blocked, err := node.Drainable(state, name, options)
	if err != nil {
		return nil, nil, err
	}
	d.Blocked = blocked
	if len(blocked) > 0 || len(pods) == 0 {
		d.Pending, d.NotCreated = to.Pending, notCreated(state)
		return state, d, nil // kubectl evicts no pod if one cannot be evicted, and without an eviction nothing moves
	}
	during := Record{Said: append(slices.Clone(to.Pending), to.Said...)}
	for {
		d.Refused = nil
		evicted := false
		for _, pod := range pods {
			if current := podOf(state, pod); current == nil || current.DeletionTimestamp != nil {
				continue
			}
			next, err := node.Evict(state, pod)
			if err != nil {
				// the error also names the pod
				reason := strings.TrimPrefix(err.Error(), fmt.Sprintf("Pod %s/%s: ", pod.Namespace, pod.Name))
				d.Refused = append(d.Refused, node.Blocked{Pod: pod, Reason: reason})
				continue
			}
			d.Evicted = append(d.Evicted, pod)
			state, evicted = next, true
		}
		if state, err = c.Settle(ctx, state, &during); err != nil {
			return nil, nil, err
		}
		if len(d.Refused) == 0 || !evicted {
			break
		}
	}
	// Controllers may have deleted a pod whose eviction was refused, and kubectl waits until the pods that it evicted are gone.
	d.Refused = slices.DeleteFunc(d.Refused, func(b node.Blocked) bool { return podOf(state, b.Pod) == nil })
	for _, pod := range pods {
		if current := podOf(state, pod); current != nil && current.DeletionTimestamp != nil {
			d.Refused = append(d.Refused, node.Blocked{Pod: current, Reason: "it stays Terminating, since the kubelet of its node does not answer"})
		}
	}
	d.Placed, d.Pending, d.NotCreated = StillThere(during.Placed, state), during.Pending, notCreated(state)
	to.Placed = append(to.Placed, during.Placed...)
	to.Pending = during.Pending
	to.Preempted = append(to.Preempted, during.Preempted...)
	to.Notes = append(to.Notes, during.Notes...)
	return state, d, nil
}

// notCreated are the pods that the API server refuses to the controllers.
func notCreated(state *cluster.State) []cluster.Refusal {
	return slices.DeleteFunc(slices.Clone(state.Refused), func(r cluster.Refusal) bool { return !r.Retried || !r.OfWorkload() })
}

// podOf returns the pod as it is in the state, or nil if it is gone.
func podOf(state *cluster.State, pod *v1.Pod) *v1.Pod {
	i := slices.IndexFunc(state.Pods, func(p *v1.Pod) bool { return p.UID == pod.UID })
	if i < 0 {
		return nil
	}
	return state.Pods[i]
}

// drain carries out a drain step: kubectl drain --ignore-daemonsets. What keeps it from finishing is noted.
func (c *Cluster) drain(ctx context.Context, state *cluster.State, drain *scenario.Drain, to *Record) (*cluster.State, string, error) {
	names, problem := SelectNodes(state, field.NewPath("drain"), drain.Nodes)
	options := node.DrainOptions{IgnoreDaemonSets: true, DeleteEmptyDirData: drain.DeleteEmptyDirData, Force: drain.Force}
	state, all, err := c.Drain(ctx, state, names, options, to)
	if err != nil {
		return nil, "", err
	}
	for _, d := range all {
		for _, b := range d.Blocked {
			to.Notes = append(to.Notes, fmt.Sprintf("drain of node %s: pod %s/%s stays: %s", d.Node, b.Pod.Namespace, b.Pod.Name, b.Reason))
		}
		for _, b := range d.Refused {
			to.Notes = append(to.Notes, fmt.Sprintf("drain of node %s does not end: pod %s/%s stays: %s", d.Node, b.Pod.Namespace, b.Pod.Name, b.Reason))
		}
	}
	return state, "drain " + List(names), problem
}
