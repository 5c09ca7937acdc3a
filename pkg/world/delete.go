package world

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

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
	var problems []error
	for i := 0; i < len(step.Delete.Targets) && ctx.Err() == nil; i++ {
		name := step.Delete.Targets[i]
		obj, err := findTarget(state, field.NewPath("delete", "targets").Index(i), scenario.Target{Target: name, Namespace: step.Delete.Namespace})
		if err != nil {
			problems = append(problems, err)
			continue
		}
		objects = append(objects, obj)
		deleted = append(deleted, name)
	}
	if selected := step.Delete.Pods; selected != nil {
		pods, err := selectPods(state, step.Delete.Namespace, selected)
		problems = append(problems, err)
		for _, pod := range pods {
			if !slices.Contains(objects, cluster.Object(pod)) { // a pod may also be a target; deleted twice, its StatefulSet's new pod would go, too
				objects = append(objects, pod)
			}
		}
		deleted = append(deleted, words.Count(len(pods), "pod"))
	}
	next, err := applyInTurn(ctx, c, state, to, step.Delete.Together, objects, func(state *cluster.State, objects ...cluster.Object) (*cluster.State, error) {
		return admission.Delete(state, objects...), nil
	})
	if err != nil {
		return nil, "", err
	}
	return next, "delete " + strings.Join(deleted, " "), errors.Join(problems...)
}

// selectPods returns the selected pods in the order in which the API server lists them.
func selectPods(state *cluster.State, namespace string, pods *scenario.Pods) ([]*v1.Pod, error) {
	path := field.NewPath("delete", "pods")
	selector, err := scenario.ParseSelector(pods.Selector)
	if err != nil {
		return nil, &Problem{path.Child("selector"), err}
	}
	var on []string
	if pods.Nodes != nil {
		on, err = SelectNodes(state, path.Child("nodes"), *pods.Nodes)
	}
	var selected []*v1.Pod
	for _, pod := range state.Pods {
		if (namespace == "" || pod.Namespace == namespace) && selector.Matches(labels.Set(pod.Labels)) &&
			(pods.Nodes == nil || slices.Contains(on, pod.Spec.NodeName)) {
			selected = append(selected, pod)
		}
	}
	slices.SortFunc(selected, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return selected, err
}
