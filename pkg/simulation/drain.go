package simulation

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/workload"
)

// drain cordons the nodes and evicts their pods node by node, as kubectl drain --ignore-daemonsets does. When a budget allows no eviction,
// controllers and scheduler act until it does; when nothing more can move, the pods that are left are noted.
func (r *run) drain(ctx context.Context, state *cluster.State, drain *scenario.Drain, step *Step) (*cluster.State, string, error) {
	names, err := selectNodes(state, drain.Nodes)
	if err != nil {
		return nil, "", err
	}
	if state, err = workload.Cordon(state, names...); err != nil {
		return nil, "", err
	}
	options := workload.DrainOptions{IgnoreDaemonSets: true, DeleteEmptyDirData: drain.DeleteEmptyDirData, Force: drain.Force}
	for _, name := range names {
		evict, blocked, err := workload.Drainable(state, name, options)
		if err != nil {
			return nil, "", err
		}
		for _, b := range blocked {
			step.Notes = append(step.Notes, fmt.Sprintf("drain of node %s: pod %s/%s stays: %s", name, b.Pod.Namespace, b.Pod.Name, b.Reason))
		}
		if len(blocked) > 0 {
			continue // kubectl evicts no pod of a node on which one cannot be.
		}
		if state, err = r.evict(ctx, state, evict, name, step); err != nil {
			return nil, "", err
		}
	}
	return state, "drain " + list(names), nil
}

// evict evicts the pods of one node until all are gone or no budget allows another.
func (r *run) evict(ctx context.Context, state *cluster.State, pods []*v1.Pod, node string, step *Step) (*cluster.State, error) {
	for {
		left := map[types.UID]error{}
		evicted := false
		for _, pod := range pods {
			if !holds(state, pod) {
				continue
			}
			next, err := workload.Evict(state, pod)
			if err != nil {
				left[pod.UID] = err
				continue
			}
			state, evicted = next, true
		}
		settled, err := r.Settle(ctx, state, step)
		if err != nil {
			return nil, err
		}
		state = settled
		if len(left) == 0 || !evicted {
			for _, pod := range pods {
				if why := left[pod.UID]; why != nil && holds(state, pod) {
					step.Notes = append(step.Notes, fmt.Sprintf("drain of node %s does not end: pod %s/%s stays: %s", node, pod.Namespace, pod.Name, why))
				}
			}
			return state, nil
		}
	}
}

func holds(state *cluster.State, pod *v1.Pod) bool {
	for _, p := range state.Pods {
		if p.UID == pod.UID {
			return true
		}
	}
	return false
}
