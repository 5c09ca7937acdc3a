package sched

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
)

// maxAllocationSteps bounds the steps of the search for devices on one node. The allocator backtracks: if there is one device too few, the
// number of steps grows exponentially with the number of devices. kube-scheduler stops the search after ten seconds
// (DynamicResourcesArgs.filterTimeout), which are millions of steps. A number of steps gives the same answer on every machine; this one
// takes about three seconds. Each step may look at all devices of the node, so with more than usualDevices there are fewer steps.
const (
	maxAllocationSteps = 300_000
	usualDevices       = 32
)

// boundedClaims is DynamicResources with a search for devices that ends after maxAllocationSteps, or when the caller of Place cancels.
type boundedClaims struct {
	*dynamicresources.DynamicResources
	engine *Engine
}

// Filter gives DynamicResources a context that ends with its last step. The plugin then answers as it does at the end of its filterTimeout.
func (p *boundedClaims) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	limit := p.engine.allocationSteps * usualDevices / max(usualDevices, int64(p.engine.devices.CountDevices(node.Node().Name)))
	return p.DynamicResources.Filter(&stepContext{Context: ctx, placeContext: p.engine.placeContext, limit: limit}, state, pod, node)
}

// stepContext is a context that counts how often it is asked for its error: the allocator does so in each step of its search. See allocateOne in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/dynamic-resource-allocation/structured/internal/stable/allocator_stable.go.
type stepContext struct {
	context.Context
	placeContext context.Context // the context of Engine.Place
	done         atomic.Int64
	limit        int64
}

// Done ends the evaluation of a CEL expression that selects devices: CEL waits for it, and does not ask for the error.
func (s *stepContext) Done() <-chan struct{} { return s.placeContext.Done() }

// Err counts a step.
func (s *stepContext) Err() error {
	if s.done.Add(1) > s.limit {
		return context.DeadlineExceeded
	}
	if s.placeContext.Err() != nil {
		return context.Canceled
	}
	return s.Context.Err()
}
