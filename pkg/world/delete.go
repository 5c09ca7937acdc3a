package world

import (
	"context"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// delete carries out a delete step, object by object.
func (c *Cluster) delete(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	objects := slices.Clone(step.Objects)
	var deleted []string
	if len(step.Delete.Files) > 0 {
		deleted = append(deleted, "-f "+strings.Join(step.Delete.Files, " -f "))
	}
	for _, name := range step.Delete.Targets {
		obj, err := find(state, scenario.Target{Target: name, Namespace: step.Delete.Namespace})
		if err != nil {
			return nil, "", err
		}
		objects = append(objects, obj)
		deleted = append(deleted, name)
	}
	if selected := step.Delete.Pods; selected != nil {
		pods, err := selectPods(state, step.Delete.Namespace, selected)
		if err != nil {
			return nil, "", err
		}
		for _, pod := range pods {
			if !slices.Contains(objects, cluster.Object(pod)) { // may also be a target; a StatefulSet's pod has a successor with the same name
				objects = append(objects, pod)
			}
		}
		deleted = append(deleted, words.Count(len(pods), "pod"))
	}
	next, err := inTurn(ctx, c, state, to, step.Delete.Together, objects, func(state *cluster.State, objects ...cluster.Object) (*cluster.State, error) {
		return admission.Delete(state, objects...), nil
	})
	return next, "delete " + strings.Join(deleted, " "), err
}
