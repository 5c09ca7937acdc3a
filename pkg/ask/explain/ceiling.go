package explain

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// ceilingOf returns the HorizontalPodAutoscaler that would run more replicas of a workload than its maximum allows, by its condition ScalingLimited; nil if there is
// none. The reason of the condition is that of
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/podautoscaler/horizontal.go.
func ceilingOf(state *cluster.State, of cluster.Ref) *autoscalingv2.HorizontalPodAutoscaler {
	hpa := autoscalerOf(state, of)
	if hpa == nil || !slices.ContainsFunc(hpa.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
		return c.Type == autoscalingv2.ScalingLimited && c.Status == v1.ConditionTrue && c.Reason == "TooManyReplicas"
	}) {
		return nil
	}
	return hpa
}

// autoscalerOf returns the HorizontalPodAutoscaler that sets the replicas of a workload; nil if there is none.
func autoscalerOf(state *cluster.State, of cluster.Ref) *autoscalingv2.HorizontalPodAutoscaler {
	for _, hpa := range state.HorizontalPodAutoscalers {
		if target := hpa.Spec.ScaleTargetRef; hpa.Namespace == of.Namespace && target.Kind == of.Kind && target.Name == of.Name {
			return hpa
		}
	}
	return nil
}

// boundReplicas returns the change with which a workload runs that many replicas, also if an autoscaler sets them, which would take back another number.
func (w *stuckWorkload) boundReplicas(now, left int32) candidate {
	scale := scenario.Step{Scale: &scenario.Scale{Target: action.Target(w.owner), Replicas: left}}
	hpa := autoscalerOf(w.step.State, w.owner)
	if hpa == nil || hpa.Spec.MaxReplicas <= left {
		says := fmt.Sprintf("%d replicas fewer: %d", now-left, left)
		if now-left == 1 {
			says = fmt.Sprintf("one replica fewer: %d", left)
		}
		return candidate{change: says, gone: true, steps: []scenario.Step{scale}}
	}
	bounds := map[string]any{"maxReplicas": left}
	says := fmt.Sprintf("maxReplicas: %d (now %d)", left, hpa.Spec.MaxReplicas)
	if least := ptr.Deref(hpa.Spec.MinReplicas, 1); least > left {
		bounds["minReplicas"] = left
		says += fmt.Sprintf(" and minReplicas: %d (now %d)", left, least)
	}
	name := cluster.RefTo(hpa)
	return candidate{change: fmt.Sprintf("%s in %s, which sets the replicas", says, name.String()), gone: true,
		steps: []scenario.Step{action.Merge(action.Target(name), map[string]any{"spec": bounds}), scale}}
}

// reachCeiling says that the autoscaler of the workload is at its maximum, and returns the changes that let it go on, which grow the workload as the
// autoscaler then may.
func (g *Gap) reachCeiling(step *simulation.Step) []candidate {
	hpa := ceilingOf(step.State, g.Ref)
	if hpa == nil {
		return nil
	}
	name, now := cluster.RefTo(hpa), hpa.Spec.MaxReplicas
	g.Says = fmt.Sprintf("no more than %d replicas: %s wants more and is at its maximum (maxReplicas %d)%s", now, name.String(), now, metricText(hpa))
	var all []candidate
	for _, most := range slices.Compact([]int32{2 * now, now + 1}) {
		all = append(all, candidate{change: fmt.Sprintf("maxReplicas: %d (now %d) in %s", most, now, name.String()), price: []string{fmt.Sprintf("up to %s", words.Count(int(most-now), "more pod"))},
			steps: []scenario.Step{action.Merge(action.Target(name), map[string]any{"spec": map[string]any{"maxReplicas": most}}),
				{Scale: &scenario.Scale{Target: action.Target(g.Ref), Replicas: most}}}})
	}
	return all
}

// metricText returns, for example, ", cpu is at 95 % and 50 % is wanted", of the first resource metric above its target; "" if there is none.
func metricText(hpa *autoscalingv2.HorizontalPodAutoscaler) string {
	for _, current := range hpa.Status.CurrentMetrics {
		if current.Resource == nil || current.Resource.Current.AverageUtilization == nil {
			continue
		}
		for _, want := range hpa.Spec.Metrics {
			if want.Resource == nil || want.Resource.Name != current.Resource.Name || want.Resource.Target.AverageUtilization == nil {
				continue
			}
			if is, target := *current.Resource.Current.AverageUtilization, *want.Resource.Target.AverageUtilization; is > target {
				return fmt.Sprintf(", %s is at %d %% and %d %% is wanted", want.Resource.Name, is, target)
			}
		}
	}
	return ""
}
