package memo

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
)

// fitPlugin is upstream's plugin, except that it sums up the requests of the pods once per template.
type fitPlugin struct {
	*noderesources.Fit
	memo *Memo
}

func (f *fitPlugin) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	return f.memo.preScore(ctx, f.Fit, fitScoreKey, state, pod, nodes)
}

// balancedPlugin is upstream's plugin with the same change.
type balancedPlugin struct {
	*noderesources.BalancedAllocation
	memo *Memo
}

func (b *balancedPlugin) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	return b.memo.preScore(ctx, b.BalancedAllocation, balancedScoreKey, state, pod, nodes)
}

// preScore runs PreScore once per [templateBase]: the plugin reads nothing but the pod's template, and nobody changes the state that it writes. For
// further pods, preScore writes that state again. For resources that device classes provide, the plugin reads more, but a pod that requests
// them has no template here.
func (m *Memo) preScore(ctx context.Context, plugin fwk.PreScorePlugin, key fwk.StateKey, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	if m.template == nil {
		return plugin.PreScore(ctx, state, pod, nodes)
	}
	if known, found := m.template.base.preScores[plugin]; found {
		state.Write(key, known)
		return nil
	}
	status := plugin.PreScore(ctx, state, pod, nodes)
	if written, err := state.Read(key); err == nil && status.IsSuccess() {
		m.template.base.preScores[plugin] = written
	}
	return status
}
