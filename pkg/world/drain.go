package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// DrainedNode is the result of draining one node.
type DrainedNode struct {
	Node string `json:"node"`
	// Ends reports whether the drain ends: every pod that it must evict leaves the node.
	Ends bool `json:"ends"`
	// Evicted are the pods that leave the node, in order of their eviction.
	Evicted []cluster.PodRef `json:"evicted,omitempty"`
	// LostWork are the evicted pods that nothing replaces and that run once, for a controller that is not known, such as a workflow's.
	LostWork []cluster.PodRef `json:"lostWork,omitempty"`
	// Blocked are the pods because of which kubectl refuses to drain the node, with kubectl's reasons. It then evicts no pod of the node.
	Blocked []BlockedPod `json:"blocked,omitempty"`
	// Refused are the pods that are still on the node when nothing moves any more. The reason is the API server's answer to the eviction
	// or, for a Terminating pod, what the pod waits for.
	Refused []BlockedPod `json:"refused,omitempty"`
	// Placed are the pods that get a node during the drain and keep it to the end.
	Placed []placement.RecoveredPod `json:"placed,omitempty"`
	// Pending are the pods that have no node after the drain.
	Pending []PendingPod `json:"pending,omitempty"`
	// NotCreated are the replacements that the API server refuses to create after the drain, and did not refuse before.
	NotCreated []cluster.Refusal `json:"notCreated,omitempty"`
	// Delayed are the evicted pods whose eviction a disruption budget first refused.
	Delayed []DelayedPod `json:"-"`
}

// BlockingPods returns the pods that keep the drain from ending: Blocked, then Refused.
func (d *DrainedNode) BlockingPods() []BlockedPod { return slices.Concat(d.Blocked, d.Refused) }

// BlockedPod is a pod that keeps a drain from ending.
type BlockedPod struct {
	cluster.PodRef
	// Reason is kubectl's or the API server's message.
	Reason string `json:"reason"`
}

// DelayedPod is a pod that had to wait for its eviction.
type DelayedPod struct {
	Pod *v1.Pod
	// For is the time from the first refused eviction to the granted one.
	For time.Duration
}

// DrainOptions say how nodes are drained.
type DrainOptions struct {
	node.DrainOptions
	// Together drains all nodes at once.
	Together bool
	// Timeout limits the drain of a node or, with Together, of all nodes. 0 is no limit: the drain goes on for as long as anything moves.
	Timeout time.Duration
}

// evictionRetryInterval is how long kubectl waits before it requests a refused eviction again; see
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/kubectl/pkg/drain/drain.go.
const evictionRetryInterval = 5 * time.Second

// PendingPod is a pod that has no node after the drain.
type PendingPod struct {
	placement.StrandedPod
	// Before reports that the drain is not the cause: the pod had no node before the drain, or at least as many pods of its workload had
	// none.
	Before bool `json:"before,omitempty"`
}

// drainer drains the nodes of a cluster one by one.
type drainer struct {
	*Cluster
	options DrainOptions
	before  *cluster.State
	// owner returns a pod's owner as of the state before the drain. Replacements belong to the same controllers, since a drain makes no
	// ReplicaSets.
	owner func(*v1.Pod) cluster.Ref
	// crews are the pods of each workload before the drain.
	crews map[cluster.Ref]cluster.WorkloadPods
}

// newDrainer returns a drainer that remembers the state before the drain.
func (c *Cluster) newDrainer(before *cluster.State, options DrainOptions) *drainer {
	return &drainer{Cluster: c, options: options, before: before, owner: before.Owners(), crews: before.PodsByWorkload()}
}

// DrainNodes cordons the nodes and evicts their pods, as kubectl drain does: node by node, or from all nodes at once with Together. While a
// budget refuses an eviction, controllers and scheduler act until the budget allows it, nothing moves any more, or the timeout is over.
// Drain then goes on to the next node, as kubectl does with --timeout. The record gets what happens.
func (c *Cluster) DrainNodes(ctx context.Context, state *cluster.State, nodes []string, options DrainOptions, to *Record) (*cluster.State, []DrainedNode, error) {
	drainer := c.newDrainer(state, options)
	state, err := node.Cordon(state, nodes...)
	if err != nil {
		return nil, nil, err
	}
	if options.Together && len(nodes) > 0 {
		return drainer.drainTogether(ctx, state, nodes, to)
	}
	var all []DrainedNode
	for i := range nodes {
		next, drained, err := drainer.drainTogether(ctx, state, nodes[i:i+1], to)
		if err != nil {
			return nil, nil, err
		}
		state = next
		all = append(all, drained...)
	}
	return state, all, nil
}

// FindDrainOrder looks for an order of the nodes in which every drain ends. It cordons all nodes, and repeatedly drains the first remaining
// node whose drain ends. It returns the results in that order, or nil if at some point no remaining node can be drained. The drains begin
// at the mark.
func (c *Cluster) FindDrainOrder(ctx context.Context, from Mark, state *cluster.State, nodes []string, options DrainOptions) ([]DrainedNode, error) {
	drainer := c.newDrainer(state, options)
	at := from
	cordoned, err := node.Cordon(state, nodes...)
	if err != nil {
		return nil, err
	}
	var order []string
	for rest := slices.Clone(nodes); len(rest) > 0; {
		i, next, err := drainer.findDrainableNode(ctx, at, cordoned, rest)
		if err != nil || i < 0 {
			return nil, err
		}
		order, cordoned, rest, at = append(order, rest[i]), next, slices.Delete(rest, i, i+1), c.Mark()
	}
	// Drain all nodes again in one run, since the scheduler remembers the node at which its last search ended.
	if err := c.Resume(from); err != nil {
		return nil, err
	}
	_, all, err := c.DrainNodes(ctx, state, order, options, &Record{})
	if err != nil || slices.ContainsFunc(all, func(d DrainedNode) bool { return !d.Ends }) {
		return nil, err
	}
	return all, nil
}

// findDrainableNode returns the index of the first node whose drain ends, and the state after it; -1 if there is none.
func (d *drainer) findDrainableNode(ctx context.Context, from Mark, state *cluster.State, nodes []string) (int, *cluster.State, error) {
	for i := range nodes {
		if err := d.Resume(from); err != nil {
			return -1, nil, err
		}
		next, drained, err := d.drainTogether(ctx, state, nodes[i:i+1], &Record{})
		if err != nil {
			return -1, nil, err
		}
		if drained[0].Ends {
			return i, next, nil
		}
	}
	return -1, nil, nil
}

// drainTogether evicts the pods of the nodes until all pods are gone, no budget allows another eviction, or the timeout is over. The last of the
// results gets the pods that were placed meanwhile and the pods that wait.
func (d *drainer) drainTogether(ctx context.Context, state *cluster.State, names []string, to *Record) (*cluster.State, []DrainedNode, error) {
	all, last := make([]DrainedNode, len(names)), &Record{Autoscaling: to.Autoscaling, Acts: to.Acts, Events: to.Events, Cycles: to.Cycles, Moments: to.Moments, moments: to.moments}
	var pods []podToEvict
	for i, name := range names {
		if state.Node(name) == nil { // a decider has removed it
			all[i] = DrainedNode{Node: name, Ends: true}
			continue
		}
		evict, blocked, err := node.PodsToEvict(state, name, d.options.DrainOptions)
		if err != nil {
			return nil, nil, err
		}
		all[i] = DrainedNode{Node: name, Blocked: d.blockedPods(blocked), Ends: len(blocked) == 0}
		for _, pod := range evict {
			if len(blocked) == 0 { // kubectl evicts no pod of a node that has one it cannot evict
				pods = append(pods, podToEvict{Pod: pod, drained: &all[i]})
			}
		}
	}
	said := &all[len(all)-1]
	if len(pods) == 0 {
		d.appendPending(said, to.Pending, state)
		return state, all, nil // without an eviction nothing moves
	}
	last.Said = append(slices.Clone(to.Pending), to.Said...)
	state, err := d.evictPods(ctx, state, pods, last)
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		all[i].Ends = len(all[i].BlockingPods()) == 0
	}
	for _, placed := range SurvivingPlacements(last.Placed, state) {
		said.Placed = append(said.Placed, placed.Recovered(d.owner(placed.Pod)))
	}
	d.appendPending(said, last.Pending, state)
	to.Placed = append(to.Placed, last.Placed...)
	to.Pending = last.Pending
	to.Preempted = append(to.Preempted, last.Preempted...)
	to.Notes = append(to.Notes, last.Notes...)
	to.Autoscaling = last.Autoscaling
	to.Acts, to.Events, to.Cycles, to.Moments, to.moments = last.Acts, last.Events, last.Cycles, last.Moments, last.moments
	return state, all, nil
}

// podToEvict is a pod that a drain evicts.
type podToEvict struct {
	*v1.Pod
	drained      *DrainedNode
	refusal      error     // the API server's last refusal of the eviction
	refusedSince time.Time // time of the first refusal
}

// evictPods evicts the pods that budgets allow it to, and retries the refused evictions.
func (d *drainer) evictPods(ctx context.Context, state *cluster.State, pods []podToEvict, to *Record) (*cluster.State, error) {
	losesWork := state.LosesWork()
	if random := d.controllers.Arrivals; random != nil {
		random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	}
	var deadline time.Time
	if d.options.Timeout > 0 {
		deadline = state.Now.Add(d.options.Timeout)
	}
	var seen []*v1.Pod
	for rests := false; ; {
		refused, evicted := false, false
		for i := range pods {
			pod := &pods[i]
			current := currentPod(state, pod.Pod)
			if current == nil || current.DeletionTimestamp != nil {
				continue
			}
			next, err := node.Evict(state, current)
			if err != nil {
				if refused = true; pod.refusal == nil {
					pod.refusedSince = state.Now.Time
				}
				pod.refusal = err
				continue
			}
			ref := cluster.NewPodRef(pod.Pod, d.owner(pod.Pod))
			pod.drained.Evicted = append(pod.drained.Evicted, ref)
			if losesWork(pod.Pod) {
				pod.drained.LostWork = append(pod.drained.LostWork, ref)
			}
			if pod.refusal != nil {
				pod.drained.Delayed = append(pod.drained.Delayed, DelayedPod{pod.Pod, state.Now.Sub(pod.refusedSince)})
			}
			state, evicted = next, true
			if state, err = d.betweenEvictions(ctx, state, to); err != nil {
				return nil, err
			}
		}
		if over := !deadline.IsZero() && !state.Now.Before(&metav1.Time{Time: deadline}); over || refused && rests && !evicted {
			break
		}
		until := deadline
		if again := state.Now.Add(evictionRetryInterval); refused && !cluster.SameSlice(seen, state.Pods) && (until.IsZero() || again.Before(until)) {
			until = again // while no pod changes, the answer stays the same
		}
		seen = state.Pods
		settled, next, err := d.SettleUntil(ctx, state, until, to)
		if err != nil {
			return nil, err
		}
		if state, rests = settled, next.IsZero(); !refused {
			break
		}
		if state.Now.Time.Before(until) { // kubectl does not retry earlier
			state = AtTime(state, until)
		}
	}
	if rest := deadline; !rest.IsZero() && state.Now.Time.Before(rest) && slices.ContainsFunc(pods, func(p podToEvict) bool { return currentPod(state, p.Pod) != nil }) {
		state = AtTime(state, rest) // kubectl retries until the timeout
	}
	for i := range pods {
		pod := &pods[i]
		switch current := currentPod(state, pod.Pod); {
		case current == nil: // controllers may have deleted a pod whose eviction was refused
		case current.DeletionTimestamp == nil:
			// The error also names the pod.
			reason := strings.TrimPrefix(pod.refusal.Error(), fmt.Sprintf("Pod %s/%s: ", pod.Namespace, pod.Name))
			pod.drained.Refused = append(pod.drained.Refused, BlockedPod{PodRef: cluster.NewPodRef(pod.Pod, d.owner(pod.Pod)), Reason: reason})
		default:
			reason := "it stays Terminating, since the kubelet of its node does not answer"
			if on := state.Node(pod.Spec.NodeName); on != nil && cluster.KubeletResponds(on) {
				reason = fmt.Sprintf("it is still Terminating after %s", words.FormatDuration(d.options.Timeout))
			}
			pod.drained.Refused = append(pod.drained.Refused, BlockedPod{PodRef: cluster.NewPodRef(pod.Pod, d.owner(pod.Pod)), Reason: reason})
		}
	}
	return state, nil
}

// betweenEvictions lets controllers and scheduler act after an eviction with probability 1/2, if arrivals are random. kubectl evicts the
// pods of a node all at once, in no particular order, so the next eviction may come before or after they act; see evictPods in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/kubectl/pkg/drain/drain.go.
// Without random arrivals they act once all pods of the node have been evicted.
func (d *drainer) betweenEvictions(ctx context.Context, state *cluster.State, to *Record) (*cluster.State, error) {
	if random := d.controllers.Arrivals; random == nil || random.IntN(2) == 0 {
		return state, nil
	}
	next, _, err := d.runRound(ctx, state, to)
	return next, err
}

// blockedPods returns the pods that block a drain, with their owners.
func (d *drainer) blockedPods(pods []node.BlockingPod) []BlockedPod {
	var all []BlockedPod
	for _, b := range pods {
		all = append(all, BlockedPod{PodRef: cluster.NewPodRef(b.Pod, d.owner(b.Pod)), Reason: b.Reason})
	}
	return all
}

// appendPending appends the pods without a node after the drain: the Pending pods, and the pods that the API server refuses to create and did not
// refuse before.
func (d *drainer) appendPending(drained *DrainedNode, pending []placement.Pending, state *cluster.State) {
	newly := cluster.NewlyPending(d.crews, state)
	for _, p := range pending {
		drained.Pending = append(drained.Pending, PendingPod{StrandedPod: p.Stranded(d.owner(p.Pod)), Before: !newly[p.Pod.UID]})
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

// currentPod returns the pod with the same UID in the state; nil if it is gone.
func currentPod(state *cluster.State, pod *v1.Pod) *v1.Pod {
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
	if c.engine == nil { // which pods are there by then, and how many the budgets let go, depends on controllers, which do not act
		cordoned, err := node.Cordon(state, names...)
		return cordoned, "drain " + DescribeNodes(names), errors.Join(problem, err)
	}
	options := DrainOptions{
		DrainOptions: node.DrainOptions{IgnoreDaemonSets: true, DeleteEmptyDirData: drain.DeleteEmptyDirData, Force: drain.Force},
		Together:     drain.Together, Timeout: drain.TimeLimit(),
	}
	state, all, err := c.DrainNodes(ctx, state, names, options, to)
	if err != nil {
		return nil, "", err
	}
	to.Drained = all
	return state, "drain " + DescribeNodes(names), problem
}
