package world

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// finish lets the running pods of a Job succeed. A Job that waits, such as one without quota, has none, and nothing happens.
func (c *Cluster) finish(_ context.Context, state *cluster.State, step *scenario.LoadedStep, _ *Record) (*cluster.State, string, error) {
	target, path := step.Finish.Target, field.NewPath("finish", "target")
	obj, err := findTarget(state, path, target, "Job")
	if err != nil {
		return state, "", err
	}
	job, is := obj.(*batchv1.Job)
	if !is { // a controller that stands for an unknown owner of pods
		return state, "", &Problem{path, fmt.Errorf("%q is a %s; name a Job", target.Target, cluster.KindOf(obj))}
	}
	var finished []cluster.Object
	for _, pod := range state.Pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner != nil && owner.Kind == "Job" && owner.Name == job.Name && pod.Namespace == job.Namespace && pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && !cluster.IsTerminal(pod) {
			finished = append(finished, cluster.CompletePod(pod, state.Now))
		}
	}
	said := "finish " + target.Argument()
	if len(finished) == 0 {
		return state, said + ", of which no pod runs", nil
	}
	return state.With(finished...), said, nil
}
