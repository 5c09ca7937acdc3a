package cause

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Rollout is why the new pods of a rollout wait: pods of an older template hold what they need, and the rollout does not stop these first.
type Rollout struct {
	cluster.Ref
	// Old are the old pods without which the pod would get Node: one of them, if that is enough, or all.
	Old  []LocatedPod `json:"old"`
	Node string       `json:"node"`
	// MaxSurge and MaxUnavailable are the rollout's, as numbers of pods.
	MaxSurge       int32 `json:"maxSurge"`
	MaxUnavailable int32 `json:"maxUnavailable"`
}

// mostOld is how many old pods are taken away one by one.
const mostOld = 5

// heldByOld returns the old pods of the pod's rollout without which the scheduler would place it. Nothing else changes, so that it is they who hold
// what the pod needs: room, a port, a claim, a device, or a place that a rule of theirs or its own allows once.
func (f *Finder) heldByOld(ctx context.Context, state *cluster.State, pod *v1.Pod) ([]Cause, error) {
	fact, old := rolloutOf(state, pod)
	if len(old) == 0 {
		return nil, nil
	}
	var tries [][]*v1.Pod
	for _, one := range old[:min(len(old), mostOld)] {
		tries = append(tries, []*v1.Pod{one})
	}
	if len(old) > 1 {
		tries = append(tries, old)
	}
	for _, without := range tries {
		objects := list.Map(without, func(pod *v1.Pod) cluster.Object { return pod })
		alone := withoutGroup(pod)
		freed := *state.Without(objects...).With(alone)
		freed.ResourceClaims = controller.ClaimsInUse(&freed)
		result, err := f.placePod(ctx, &freed, alone)
		if err != nil {
			return nil, err
		}
		if len(result.Placed) == 0 {
			continue
		}
		fact.Node = result.Placed[0].Node
		fact.Old = list.Map(without, func(pod *v1.Pod) LocatedPod {
			return LocatedPod{Pod: pod.Namespace + "/" + pod.Name, Node: pod.Spec.NodeName}
		})
		return []Cause{{Plugin: "Rollout", Sentence: fact.sentence(), Rollout: fact}}, nil
	}
	return nil, nil
}

// rolloutOf returns the rollout that the pod is part of, if it starts new pods before it stops old ones, and the old ones that run.
func rolloutOf(state *cluster.State, pod *v1.Pod) (*Rollout, []*v1.Pod) {
	by := metav1.GetControllerOfNoCopy(pod)
	if by == nil {
		return nil, nil
	}
	for _, ds := range state.DaemonSets {
		surge, err := daemonutil.SurgeCount(ds, 1)
		if ds.UID != by.UID || err != nil || surge == 0 {
			continue
		}
		node, err := daemonutil.GetTargetNodeName(pod)
		old := list.Where(state.Pods, func(other *v1.Pod) bool {
			return metav1.IsControlledBy(other, ds) && other.Spec.NodeName == node && cluster.IsActive(other)
		})
		if err != nil {
			return nil, nil
		}
		return &Rollout{Ref: cluster.RefTo(ds), MaxSurge: int32(surge)}, old
	}
	sets := map[types.UID]*appsv1.ReplicaSet{}
	for _, rs := range state.ReplicaSets {
		sets[rs.UID] = rs
	}
	own := sets[by.UID]
	if own == nil {
		return nil, nil
	}
	for _, d := range state.Deployments {
		if !metav1.IsControlledBy(own, d) || !deploymentutil.IsRollingUpdate(d) || deploymentutil.MaxSurge(*d) == 0 {
			continue
		}
		old := list.Where(state.Pods, func(other *v1.Pod) bool {
			of := metav1.GetControllerOfNoCopy(other)
			return of != nil && of.UID != own.UID && sets[of.UID] != nil && metav1.IsControlledBy(sets[of.UID], d) && other.Spec.NodeName != "" && cluster.IsActive(other)
		})
		return &Rollout{Ref: cluster.RefTo(d), MaxSurge: deploymentutil.MaxSurge(*d), MaxUnavailable: deploymentutil.MaxUnavailable(*d)}, old
	}
	return nil, nil
}

// sentence is "old pod web-7d9-x on w-1 holds what it needs, and without that pod it would get w-1; the rollout starts new pods before it stops old
// ones (maxSurge 1, maxUnavailable 0), and with maxSurge 0 it would stop one first".
func (r *Rollout) sentence() string {
	names := list.Map(r.Old, func(p LocatedPod) string {
		_, name, _ := strings.Cut(p.Pod, "/")
		return name + " on " + p.Node
	})
	holds, way := "holds what it needs, and without that pod it would get "+r.Node, "with maxSurge 0 and maxUnavailable 1 it would stop one first"
	if len(r.Old) > 1 {
		holds, way = "hold what it needs, and without all of them it would get "+r.Node, "with strategy Recreate it would stop all first"
	}
	return fmt.Sprintf("old %s %s %s; the rollout starts new pods before it stops old ones (maxSurge %d, maxUnavailable %d): %s",
		words.Pick(len(r.Old), "pod", "pods"), words.Few(names), holds, r.MaxSurge, r.MaxUnavailable, way)
}
