package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
)

// DrainedNode is what comes of draining one node.
type DrainedNode struct {
	Node string `json:"node"`
	// Ends says whether the drain of the node ends.
	Ends bool `json:"ends"`
	// Evicted are the pods that leave the node, in order of their eviction.
	Evicted []cluster.PodRef `json:"evicted,omitempty"`
	// LostWork are those of them that run once, for a controller that is not known, such as a workflow's.
	LostWork []cluster.PodRef `json:"lostWork,omitempty"`
	// Blocked are the pods because of which kubectl evicts none of the node's, in its words.
	Blocked []BlockedPod `json:"blocked,omitempty"`
	// Refused are the pods that still are on the node when nothing moves any more, with the API server's answer to their eviction or, if they
	// are Terminating, what they wait for.
	Refused []BlockedPod `json:"refused,omitempty"`
	// Placed are the pods that get a node meanwhile, and keep it to the end.
	Placed []placement.RecoveredPod `json:"placed,omitempty"`
	// Pending are the pods that have no node after it.
	Pending []PendingPod `json:"pending,omitempty"`
	// NotCreated are the pods that the API server refuses to create in the place of others, after the drain and not before.
	NotCreated []cluster.Refusal `json:"notCreated,omitempty"`
}

// Stays are the pods that keep the drain from its end.
func (d *DrainedNode) Stays() []BlockedPod { return slices.Concat(d.Blocked, d.Refused) }

// BlockedPod is a pod that keeps a drain from its end.
type BlockedPod struct {
	cluster.PodRef
	// Reason is kubectl's or the API server's.
	Reason string `json:"reason"`
}

// PendingPod is a pod that has no node after the drain.
type PendingPod struct {
	placement.StrandedPod
	// Before means that it had none before the drain, either, which is then not the cause.
	Before bool `json:"before,omitempty"`
}

// drainer drains the nodes of a cluster one by one.
type drainer struct {
	*Cluster
	options node.DrainOptions
	before  *cluster.State
	// owner finds the owners of pods before the drain. The replacements belong to the same controllers, save the ReplicaSets that are made on
	// the way. A drain makes no ReplicaSets.
	owner func(*v1.Pod) cluster.Ref
	// waited are the pods that had no node before the drain.
	waited map[types.UID]bool
}

func (c *Cluster) drainer(before *cluster.State, options node.DrainOptions) *drainer {
	d := &drainer{Cluster: c, options: options, before: before, owner: before.Owners(), waited: map[types.UID]bool{}}
	for _, pod := range before.Unscheduled() {
		d.waited[pod.UID] = true
	}
	return d
}

// Drain cordons the nodes and evicts their pods node by node, as kubectl drain does. When a budget allows no eviction, controllers and
// scheduler act until it does, or until nothing moves any more; then it goes on to the next node, as kubectl does with a --timeout. What
// happens is added to the record.
func (c *Cluster) Drain(ctx context.Context, state *cluster.State, nodes []string, options node.DrainOptions, to *Record) (*cluster.State, []DrainedNode, error) {
	drainer := c.drainer(state, options)
	state, err := node.Cordon(state, nodes...)
	if err != nil {
		return nil, nil, err
	}
	var all []DrainedNode
	for _, node := range nodes {
		next, drained, err := drainer.drain(ctx, state, node, to)
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
func (c *Cluster) DrainOrder(ctx context.Context, state *cluster.State, nodes []string, options node.DrainOptions) ([]DrainedNode, error) {
	drainer := c.drainer(state, options)
	cordoned, err := node.Cordon(state, nodes...)
	if err != nil {
		return nil, err
	}
	var order []string
	for rest := slices.Clone(nodes); len(rest) > 0; {
		i, next, err := drainer.firstThatEnds(ctx, cordoned, rest)
		if err != nil || i < 0 {
			return nil, err
		}
		order, cordoned, rest = append(order, rest[i]), next, slices.Delete(rest, i, i+1)
	}
	// Repeat it in one run: the scheduler remembers at which node its last search ended.
	c.Reset()
	_, all, err := c.Drain(ctx, state, order, options, &Record{})
	if err != nil || slices.ContainsFunc(all, func(d DrainedNode) bool { return !d.Ends }) {
		return nil, err
	}
	return all, nil
}

// firstThatEnds returns the index of the first node whose drain finishes, and the state after it; -1 if there is none.
func (d *drainer) firstThatEnds(ctx context.Context, state *cluster.State, nodes []string) (int, *cluster.State, error) {
	for i, node := range nodes {
		d.Reset()
		next, drained, err := d.drain(ctx, state, node, &Record{})
		if err != nil {
			return -1, nil, err
		}
		if drained.Ends {
			return i, next, nil
		}
	}
	return -1, nil, nil
}

// drain evicts the pods of one node until all are gone or no budget allows another eviction.
func (d *drainer) drain(ctx context.Context, state *cluster.State, name string, to *Record) (*cluster.State, *DrainedNode, error) {
	pods, blocked, err := node.Drainable(state, name, d.options)
	if err != nil {
		return nil, nil, err
	}
	drained := &DrainedNode{Node: name, Blocked: d.blocked(blocked), Ends: len(blocked) == 0}
	if len(blocked) > 0 || len(pods) == 0 {
		d.wait(drained, to.Pending, state)
		return state, drained, nil // kubectl evicts no pod if one cannot be evicted, and without an eviction nothing moves
	}
	during := Record{Said: append(slices.Clone(to.Pending), to.Said...)}
	var refused []node.Blocked
	losesWork := state.LosesWork()
	for {
		refused = nil
		evicted := false
		for _, pod := range pods {
			if current := podOf(state, pod); current == nil || current.DeletionTimestamp != nil {
				continue
			}
			next, err := node.Evict(state, pod)
			if err != nil {
				// the error also names the pod
				reason := strings.TrimPrefix(err.Error(), fmt.Sprintf("Pod %s/%s: ", pod.Namespace, pod.Name))
				refused = append(refused, node.Blocked{Pod: pod, Reason: reason})
				continue
			}
			ref := cluster.NewPodRef(pod, d.owner(pod))
			drained.Evicted = append(drained.Evicted, ref)
			if losesWork(pod) {
				drained.LostWork = append(drained.LostWork, ref)
			}
			state, evicted = next, true
		}
		if state, err = d.Settle(ctx, state, &during); err != nil {
			return nil, nil, err
		}
		if len(refused) == 0 || !evicted {
			break
		}
	}
	// Controllers may have deleted a pod whose eviction was refused, and kubectl waits until the pods that it evicted are gone.
	refused = slices.DeleteFunc(refused, func(b node.Blocked) bool { return podOf(state, b.Pod) == nil })
	for _, pod := range pods {
		if current := podOf(state, pod); current != nil && current.DeletionTimestamp != nil {
			refused = append(refused, node.Blocked{Pod: current, Reason: "it stays Terminating, since the kubelet of its node does not answer"})
		}
	}
	drained.Refused, drained.Ends = d.blocked(refused), len(refused) == 0
	for _, placed := range StillThere(during.Placed, state) {
		drained.Placed = append(drained.Placed, placed.Recovered(d.owner(placed.Pod)))
	}
	d.wait(drained, during.Pending, state)
	to.Placed = append(to.Placed, during.Placed...)
	to.Pending = during.Pending
	to.Preempted = append(to.Preempted, during.Preempted...)
	to.Notes = append(to.Notes, during.Notes...)
	return state, drained, nil
}

func (d *drainer) blocked(pods []node.Blocked) []BlockedPod {
	var all []BlockedPod
	for _, b := range pods {
		all = append(all, BlockedPod{PodRef: cluster.NewPodRef(b.Pod, d.owner(b.Pod)), Reason: b.Reason})
	}
	return all
}

// wait adds the pods without a node after the drain of a node: the Pending pods, and the pods that the API server newly refuses to create.
func (d *drainer) wait(drained *DrainedNode, pending []placement.Pending, state *cluster.State) {
	for _, p := range pending {
		drained.Pending = append(drained.Pending, PendingPod{StrandedPod: p.Stranded(d.owner(p.Pod)), Before: d.waited[p.Pod.UID]})
	}
	for _, r := range state.Refused {
		if !r.Retried || !r.OfWorkload() {
			continue
		}
		for _, was := range d.before.Refused {
			if was.Ref == r.Ref {
				r.Pods -= was.Pods
			}
		}
		if r.Pods > 0 {
			drained.NotCreated = append(drained.NotCreated, r)
		}
	}
}

// podOf returns the pod as it is in the state, or nil if it is gone.
func podOf(state *cluster.State, pod *v1.Pod) *v1.Pod {
	i := slices.IndexFunc(state.Pods, func(p *v1.Pod) bool { return p.UID == pod.UID })
	if i < 0 {
		return nil
	}
	return state.Pods[i]
}

// drain carries out a drain step: kubectl drain --ignore-daemonsets.
func (c *Cluster) drain(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	drain := step.Drain
	names, problem := SelectNodes(state, field.NewPath("drain"), drain.Nodes)
	if c.engine == nil { // controllers decide which pods are there by then, and how many of them the budgets let go
		cordoned, err := node.Cordon(state, names...)
		return cordoned, "drain " + List(names), errors.Join(problem, err)
	}
	options := node.DrainOptions{IgnoreDaemonSets: true, DeleteEmptyDirData: drain.DeleteEmptyDirData, Force: drain.Force}
	state, all, err := c.Drain(ctx, state, names, options, to)
	if err != nil {
		return nil, "", err
	}
	to.Drained = all
	return state, "drain " + List(names), problem
}
