package lint

import (
	"encoding/json"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// replicasSetTwice finds workloads whose replicas both a HorizontalPodAutoscaler and a manifest set: an apply resets the autoscaler's number.
func replicasSetTwice(l *inspection, s *subject) []Finding {
	hpa := s.scaler()
	if hpa == nil || l.member != "" || s.object.GetAnnotations()[operator.OwnerAnnotation] != "" {
		return nil
	}
	least := int32(1) // the API server's default
	if hpa.Spec.MinReplicas != nil {
		least = *hpa.Spec.MinReplicas
	}
	says, before := l.manifestReplicas(s)
	between := fmt.Sprintf("between %d and %d", least, hpa.Spec.MaxReplicas)
	edit := "kubectl apply edit-last-applied " + s.target().Target
	if s.owner.Namespace != v1.NamespaceDefault {
		edit += " -n " + s.owner.Namespace
	}
	f := Finding{Field: "spec.replicas", Fix: "remove spec.replicas from the manifest, and before the next apply from what was applied last: " + edit}
	switch {
	case says != nil && least == hpa.Spec.MaxReplicas && *says == least:
		return nil
	case says != nil:
		f.Message = fmt.Sprintf("the manifest has replicas: %d, and the HorizontalPodAutoscaler %s sets it %s: each apply resets it to %d", *says, hpa.Name, between, *says)
	case before != nil:
		f.Message = fmt.Sprintf("the manifest has one replica or no spec.replicas, and the one before has %d: the apply resets the count to 1, until the HorizontalPodAutoscaler %s sets it %s",
			*before, hpa.Name, between)
		f.Fix = "before the apply, remove spec.replicas from what was applied last: " + edit
	default:
		return nil
	}
	return []Finding{f}
}

// autoscalersOverlap finds workloads that several HorizontalPodAutoscalers scale. The controller of autoscalers then acts for none of them, with the
// condition AmbiguousSelector:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/podautoscaler/horizontal.go, validateAndParseSelector.
func autoscalersOverlap(_ *inspection, s *subject) []Finding {
	names := list.Map(s.scalers(), func(hpa *autoscalingv2.HorizontalPodAutoscaler) string { return hpa.Name })
	if len(names) < 2 {
		return nil
	}
	return []Finding{{Field: s.path,
		Message: fmt.Sprintf("the autoscalers %s scale the same pods: the controller then scales for none of them (AmbiguousSelector), so that the replicas stay as they are", words.And(names)),
		Brief:   fmt.Sprintf("it is not scaled any more, since the autoscalers %s exclude each other", words.And(names)),
		Fix:     "keep one of the autoscalers, with the metrics of all, and delete the others"}}
}

// scaler returns the autoscaler that sets the subject's replicas; nil if there is none.
func (s *subject) scaler() *autoscalingv2.HorizontalPodAutoscaler {
	if all := s.scalers(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// scalers returns the autoscalers of the subject.
func (s *subject) scalers() []*autoscalingv2.HorizontalPodAutoscaler {
	return list.Where(s.step.State.HorizontalPodAutoscalers, func(hpa *autoscalingv2.HorizontalPodAutoscaler) bool { return cluster.ScaleTarget(hpa) == s.owner })
}

// manifestReplicas returns the replicas in the manifest that was last applied to the subject by the step, and in the manifest before that;
// nil for none, or one. For an object of a dump, kubectl's annotation has the last applied manifest.
func (l *inspection) manifestReplicas(s *subject) (says, before *int32) {
	apply := func(objects []cluster.Object) {
		obj := cluster.Find(objects, s.owner)
		if obj == nil {
			return
		}
		before, says = says, nil
		if cluster.FromDump(obj) {
			says = lastApplied(obj)
		} else if replicas, _ := cluster.Replicas(obj); replicas != 1 { // 1 is also the default
			says = &replicas
		}
	}
	apply(l.result.Scenario.Cluster)
	for _, step := range simulation.StepsOf(l.result.Scenario) {
		apply(step.Objects)
		if step.Name == s.step.Name {
			break
		}
	}
	return says, before
}

func lastApplied(obj cluster.Object) *int32 {
	var manifest struct {
		Spec struct {
			Replicas *int32 `json:"replicas"`
		} `json:"spec"`
	}
	if err := json.Unmarshal([]byte(obj.GetAnnotations()[v1.LastAppliedConfigAnnotation]), &manifest); err != nil {
		return nil // there is no annotation, or kubectl did not write it
	}
	return manifest.Spec.Replicas
}
