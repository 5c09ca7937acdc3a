package world

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/scenario"
)

// trigger runs a CronJob once.
func (c *Cluster) trigger(_ context.Context, state *cluster.State, step *scenario.LoadedStep, _ *Record) (*cluster.State, string, error) {
	target, path := step.Trigger.Target, field.NewPath("trigger", "target")
	obj, err := findTarget(state, path, target, "CronJob")
	if err != nil {
		return state, "", err
	}
	cronJob, is := obj.(*batchv1.CronJob)
	if !is { // a controller that stands for an unknown owner of pods
		return state, "", &Problem{path, fmt.Errorf("%q is a %s; name a CronJob", target.Target, cluster.KindOf(obj))}
	}
	next, _, err := controller.RunCronJob(state, cronJob)
	if err != nil {
		return state, "", &Problem{path, err}
	}
	return next, "create job --from=" + target.Argument(), nil
}
