package memo

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
)

// fit is upstream's plugin, which sums up what the pod requests once for each template.
type fit struct {
	*noderesources.Fit
	memo *Memo
}

func (f *fit) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	return f.memo.preScore(ctx, f.Fit, fitScoreKey, state, pod, nodes)
}

// balanced is the same.
type balanced struct {
	*noderesources.BalancedAllocation
	memo *Memo
}

func (b *balanced) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	return b.memo.preScore(ctx, b.BalancedAllocation, balancedScoreKey, state, pod, nodes)
}

// preScore lets a plugin that reads nothing but the pod's template write its state, or writes what it has written for another pod of the
// template. Nobody changes it. (Of resources that are devices the plugin reads more, but a pod that requests those has no template here.)
func (m *Memo) preScore(ctx context.Context, plugin fwk.PreScorePlugin, key fwk.StateKey, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	if m.template == nil {
		return plugin.PreScore(ctx, state, pod, nodes)
	}
	if known, found := m.template.base.scoring[plugin]; found {
		state.Write(key, known)
		return nil
	}
	status := plugin.PreScore(ctx, state, pod, nodes)
	if written, err := state.Read(key); err == nil && status.IsSuccess() {
		m.template.base.scoring[plugin] = written
	}
	return status
}
