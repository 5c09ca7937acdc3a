package world

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Move is a pod that left its node, and the pod that replaces it.
type Move struct {
	cluster.PodRef
	// From is the pod's node. Next is the pod that replaces it, and To the node of Next.
	From string `json:"from"`
	Next string `json:"next"`
	To   string `json:"to"`
	// Budgets are the PodDisruptionBudgets that do not allow the eviction, as namespace/name; only if budgets are ignored.
	Budgets []string `json:"budgets,omitempty"`
}

// MovedPods is what a step makeRoom does.
type MovedPods struct {
	// Moves are the pods that moved, in order.
	Moves []Move
	// Stuck is the pod at which the step stopped; nil if all moved. Evicted reports that this pod has left its node, and that the pod that
	// replaces it has none.
	Stuck   *BlockedPod
	Evicted bool
}

// makeRoom carries out a makeRoom step.
func (c *Cluster) makeRoom(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	names := step.MakeRoom.Names()
	action := "move " + words.Few(list.Map(names, func(name types.NamespacedName) string { return cluster.Qualify(name.Namespace, "pod/"+name.Name) }))
	if c.engine == nil { // which pods there are by then, and whether others replace them, depends on controllers, which do not act
		return nil, action, nil
	}
	var nodes []string
	for _, name := range names {
		if pod := findPod(state, name); pod != nil {
			if on := state.Node(pod.Spec.NodeName); on != nil && !on.Spec.Unschedulable && !slices.Contains(nodes, on.Name) {
				nodes = append(nodes, on.Name)
			}
		}
	}
	state, err := node.Cordon(state, nodes...)
	if err != nil {
		return nil, "", err
	}
	to.Moved = &MovedPods{}
	for _, name := range names {
		if state, err = c.movePod(ctx, state, name, step.MakeRoom, to); err != nil {
			return nil, "", err
		}
		if stuck := to.Moved.Stuck; stuck != nil {
			to.Notes = append(to.Notes, fmt.Sprintf("The moves end at pod %s: %s.", cluster.Qualify(stuck.Namespace, stuck.Name), strings.TrimSuffix(stuck.Reason, ".")))
			break
		}
	}
	state, err = node.Uncordon(state, nodes...)
	return state, action, err
}

// movePod evicts the pod, and lets the cluster settle. The record gets the move, or the reason why there is none.
func (c *Cluster) movePod(ctx context.Context, state *cluster.State, name types.NamespacedName, how *scenario.MakeRoom, to *Record) (*cluster.State, error) {
	pod := findPod(state, name)
	if pod == nil || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
		to.Moved.Stuck = &BlockedPod{cluster.PodRef{Namespace: name.Namespace, Name: name.Name}, "no such pod is on a node"}
		return state, nil
	}
	owner := state.Owners()(pod)
	ref := cluster.NewPodRef(pod, owner)
	movable, blocked, err := node.PodsToEvict(state, pod.Spec.NodeName, node.DrainOptions{IgnoreDaemonSets: true, DeleteEmptyDirData: how.DeleteEmptyDirData})
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(blocked, func(b node.BlockingPod) bool { return b.Pod == pod }); at >= 0 {
		to.Moved.Stuck = &BlockedPod{ref, blocked[at].Reason}
		return state, nil
	}
	if !slices.Contains(movable, pod) {
		to.Moved.Stuck = &BlockedPod{ref, "pods of DaemonSets and static pods belong to their nodes"}
		return state, nil
	}
	var broken []string
	next, refused := node.Evict(state, pod)
	switch {
	case refused != nil && !how.IgnoreBudgets:
		to.Moved.Stuck = &BlockedPod{ref, strings.TrimPrefix(refused.Error(), fmt.Sprintf("Pod %s/%s: ", pod.Namespace, pod.Name))}
		return state, nil
	case refused != nil:
		next = admission.Delete(state, pod)
		broken = list.Map(state.BudgetsOf(pod), func(b *policyv1.PodDisruptionBudget) string { return cluster.Qualify(b.Namespace, b.Name) })
	}
	after, err := c.Settle(ctx, next, to)
	if err != nil {
		return nil, err
	}
	switch made := FindReplacement(state, after, owner); {
	case made != nil && made.Spec.NodeName != "":
		to.Moved.Moves = append(to.Moved.Moves, Move{PodRef: ref, From: pod.Spec.NodeName, Next: made.Name, To: made.Spec.NodeName, Budgets: broken})
	case made != nil:
		reason := "the pod that replaces it gets no node"
		if at := slices.IndexFunc(to.Pending, func(p placement.Pending) bool { return p.Pod.UID == made.UID }); at >= 0 && to.Pending[at].Message != "" {
			reason += ": " + to.Pending[at].Message
		}
		to.Moved.Stuck, to.Moved.Evicted = &BlockedPod{ref, reason}, true
	default:
		to.Moved.Stuck, to.Moved.Evicted = &BlockedPod{ref, "no pod comes in its place"}, true
	}
	return after, nil
}

// FindReplacement returns the pod of the workload that is new in the second state, one with a node if there is any; nil if there is none.
func FindReplacement(before, after *cluster.State, workload cluster.Ref) *v1.Pod {
	type id struct {
		uid     types.UID
		created int64
	}
	known := map[id]bool{}
	for _, pod := range before.Pods {
		known[id{pod.UID, pod.CreationTimestamp.Unix()}] = true
	}
	owner := after.Owners()
	var made *v1.Pod
	for _, pod := range after.Pods {
		if known[id{pod.UID, pod.CreationTimestamp.Unix()}] || cluster.IsTerminal(pod) || owner(pod) != workload {
			continue
		}
		if pod.Spec.NodeName != "" {
			return pod
		}
		if made == nil {
			made = pod
		}
	}
	return made
}

// findPod returns the pod with the name, or nil.
func findPod(state *cluster.State, name types.NamespacedName) *v1.Pod {
	i := slices.IndexFunc(state.Pods, func(p *v1.Pod) bool { return cluster.NameOf(p) == name })
	if i < 0 {
		return nil
	}
	return state.Pods[i]
}
