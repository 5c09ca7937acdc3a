package explain

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// undoRollout returns the change that gives the workload its earlier template, as kubectl rollout undo does, if pods of the new one are not Ready; none if the
// input does not have the earlier template. A StatefulSet's new pods that are not Ready are deleted, too, since its controller replaces no such pod.
func undoRollout(state *cluster.State, object cluster.Object) []candidate {
	undo := candidate{price: []string{"the new template is given up"}}
	switch o := object.(type) {
	case *appsv1.Deployment:
		sets := list.Where(state.ReplicaSets, func(rs *appsv1.ReplicaSet) bool { return metav1.IsControlledBy(rs, o) })
		current := deploymentutil.FindNewReplicaSet(o, sets)
		earlier := list.Where(sets, func(rs *appsv1.ReplicaSet) bool {
			return current != nil && rs != current && rs.Status.ReadyReplicas > 0
		})
		if len(earlier) == 0 || !hasUnready(state, current.UID) {
			return nil
		}
		to := slices.MaxFunc(earlier, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revisionOf(a), revisionOf(b)) })
		undo.change = fmt.Sprintf("roll back to revision %d: kubectl rollout undo", revisionOf(to))
		undo.strategy = func(obj cluster.Object) {
			deploymentutil.SetFromReplicaSetTemplate(obj.(*appsv1.Deployment), *to.Spec.Template.DeepCopy())
		}
	case *appsv1.StatefulSet:
		var unready []string
		for _, pod := range podsOf(state)[cluster.RefTo(o)] {
			if pod.Labels[appsv1.ControllerRevisionHashLabelKey] == o.Status.UpdateRevision && !podutil.IsPodReady(pod) && cluster.IsActive(pod) {
				unready = append(unready, pod.Name)
			}
		}
		at := slices.IndexFunc(state.ControllerRevisions, func(r *appsv1.ControllerRevision) bool {
			return r.Namespace == o.Namespace && r.Name == o.Status.CurrentRevision
		})
		if at < 0 || len(unready) == 0 || o.Status.CurrentRevision == o.Status.UpdateRevision {
			return nil
		}
		patch := &scenario.Patch{Target: action.Target(cluster.RefTo(o)), Type: "strategic", Patch: state.ControllerRevisions[at].Data}
		undo.change = fmt.Sprintf("roll back to revision %d: kubectl rollout undo, then delete %s", state.ControllerRevisions[at].Revision, words.Pick(len(unready), "pod ", "pods ")+words.And(unready))
		undo.steps = []scenario.Step{{Patch: patch}, action.Delete(o.Namespace, list.Map(unready, func(name string) string { return "pod/" + name })...)}
	default:
		return nil
	}
	return []candidate{undo}
}

// hasUnready reports whether a controller has a pod that is not Ready.
func hasUnready(state *cluster.State, controller types.UID) bool {
	return slices.ContainsFunc(state.Pods, func(pod *v1.Pod) bool {
		by := metav1.GetControllerOfNoCopy(pod)
		return by != nil && by.UID == controller && cluster.IsActive(pod) && !podutil.IsPodReady(pod)
	})
}

// revisionOf returns the number of the revision that a ReplicaSet is of; 0 if nothing says so.
func revisionOf(rs *appsv1.ReplicaSet) int64 {
	revision, err := deploymentutil.Revision(rs)
	if err != nil {
		return 0
	}
	return revision
}
