package sched

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
)

// maxAllocationSteps is how many steps the search for devices on one node may take. The allocator backtracks: if devices do not suffice by
// one, the number of steps grows exponentially with their number. kube-scheduler stops the search after ten seconds
// (DynamicResourcesArgs.filterTimeout), in which it makes millions of steps. A number of steps gives the same answer on every machine; this one
// takes some three seconds.
const maxAllocationSteps = 300_000

// boundedClaims is DynamicResources with a search for devices that ends after so many steps, or when nobody waits for the answer.
type boundedClaims struct {
	*dynamicresources.DynamicResources
	engine *Engine
}

// Filter hands DynamicResources a context that ends with its last step. The plugin then says what it says at the end of its filterTimeout.
func (p *boundedClaims) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	return p.DynamicResources.Filter(&steps{Context: ctx, asked: p.engine.asked, most: p.engine.allocationSteps}, state, pod, node)
}

// steps is a context that the allocator asks in each step of its search whether to go on: see allocateOne in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/dynamic-resource-allocation/structured/internal/stable/allocator_stable.go.
type steps struct {
	context.Context
	asked context.Context // of the engine's Place
	done  atomic.Int64
	most  int64
}

// Err counts a step.
func (s *steps) Err() error {
	if s.done.Add(1) > s.most {
		return context.DeadlineExceeded
	}
	if s.asked.Err() != nil {
		return context.Canceled
	}
	return s.Context.Err()
}
