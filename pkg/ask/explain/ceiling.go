package explain

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"

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
	for _, hpa := range state.HorizontalPodAutoscalers {
		target := hpa.Spec.ScaleTargetRef
		limited := slices.ContainsFunc(hpa.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
			return c.Type == autoscalingv2.ScalingLimited && c.Status == v1.ConditionTrue && c.Reason == "TooManyReplicas"
		})
		if limited && hpa.Namespace == of.Namespace && target.Kind == of.Kind && target.Name == of.Name {
			return hpa
		}
	}
	return nil
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
