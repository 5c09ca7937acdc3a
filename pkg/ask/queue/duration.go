package queue

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// WithJobDuration returns the scenario in which the pods of Jobs succeed after that time, unless they say otherwise.
func WithJobDuration(s *scenario.Scenario, d time.Duration) *scenario.Scenario {
	next := *s
	next.Cluster = list.Map(s.Cluster, func(obj cluster.Object) cluster.Object { return withDuration(obj, d) })
	next.Steps = list.Map(s.Steps, func(step scenario.LoadedStep) scenario.LoadedStep {
		step.Objects = list.Map(step.Objects, func(obj cluster.Object) cluster.Object { return withDuration(obj, d) })
		return step
	})
	return &next
}

func withDuration(obj cluster.Object, d time.Duration) cluster.Object {
	switch o := obj.(type) {
	case *batchv1.Job:
		o = o.DeepCopy()
		annotate(&o.Spec.Template.ObjectMeta, d)
		return o
	case *v1.Pod:
		if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == "Job" && !cluster.IsTerminal(o) {
			o = o.DeepCopy()
			annotate(&o.ObjectMeta, d)
			return o
		}
	}
	return obj
}

func annotate(meta *metav1.ObjectMeta, d time.Duration) {
	if _, given := meta.Annotations[cluster.CompletesAfterAnnotation]; !given {
		metav1.SetMetaDataAnnotation(meta, cluster.CompletesAfterAnnotation, d.String())
	}
}
