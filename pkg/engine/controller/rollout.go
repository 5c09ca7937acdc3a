package controller

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/words"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
)

// Rollout says how far a Deployment, a StatefulSet or a DaemonSet is from its spec. All numbers count pods.
type Rollout struct {
	cluster.Ref
	// Desired is the number that the spec asks for. A DaemonSet asks for a pod on each node that it fits.
	Desired int `json:"desired"`
	// Updated counts pods of the current template, Old pods of earlier templates, and Ready pods of either that are ready.
	Updated int `json:"updated"`
	Old     int `json:"old"`
	Ready   int `json:"ready"`
	// NotCreated names the pods of a StatefulSet that are not created before an earlier pod is ready.
	NotCreated []string `json:"notCreated,omitempty"`
	// Waiting explains in a sentence which pod waits for what. It is empty if the rollout is complete.
	Waiting string `json:"waiting"`
	// Unavailable is the number by which the available pods (ready for minReadySeconds) fall short of Desired.
	Unavailable int `json:"-"`
	// Complete means that all desired pods are updated and available, and no old pod is left.
	Complete bool `json:"-"`
	// OnlyScales means that the Deployment controller waits for ReplicaSets to be scaled although they have their size already, and so
	// updates nothing.
	OnlyScales bool `json:"-"`
	// AwaitsEnd means that the Deployment creates no pod before Terminating ones have ended.
	AwaitsEnd bool `json:"-"`
}

// Stuck reports whether pods of an old revision remain, or pods are not created yet. A first revision whose pods are Pending is not stuck.
func (r *Rollout) Stuck() bool {
	return !r.Complete && (r.Old > 0 || r.AwaitsEnd || len(r.NotCreated) > 0)
}

// Rollouts returns the rollouts of all Deployments, StatefulSets and DaemonSets, each kind in order of arrival.
func Rollouts(s *cluster.State) []Rollout { return new(Controllers).Rollouts(s) }

// Rollouts does what the function [Rollouts] does, with what the controllers remember of the state.
func (c *Controllers) Rollouts(s *cluster.State) []Rollout {
	owned := c.ownership(s)
	var rollouts []Rollout
	sets := map[types.UID][]*appsv1.ReplicaSet{}
	for _, rs := range s.ReplicaSets {
		if ref := metav1.GetControllerOfNoCopy(rs); ref != nil {
			sets[ref.UID] = append(sets[ref.UID], rs)
		}
	}
	for _, d := range s.Deployments {
		rollouts = append(rollouts, deploymentRollout(s, d, sets[d.UID], c.findNewReplicaSet(d, sets[d.UID]), owned))
	}
	for _, set := range s.StatefulSets {
		rollouts = append(rollouts, statefulSetRollout(s, set, owned))
	}
	for _, ds := range s.DaemonSets {
		rollouts = append(rollouts, daemonSetRollout(s, ds, owned))
	}
	return rollouts
}

// tally counts the pods of a workload by state.
type tally struct {
	updated, old, ready, available int
	oldEnding                      int // old pods that are counted and Terminating
	// waiting are the updated pods that are not available, and isNew reports whether a pod is updated.
	waiting []*v1.Pod
	isNew   func(*v1.Pod) bool
	// ending are the Terminating pods that the controller does not count.
	ending []*v1.Pod
}

// tallyPods counts the pods of a workload. With endingToo it also counts Terminating pods, as StatefulSets and DaemonSets do.
func tallyPods(s *cluster.State, pods []*v1.Pod, minReady int32, endingToo bool, isNew func(*v1.Pod) bool) tally {
	t := tally{isNew: isNew}
	for _, pod := range pods {
		if cluster.IsTerminal(pod) {
			continue
		}
		if pod.DeletionTimestamp != nil && !endingToo {
			t.ending = append(t.ending, pod)
			continue
		}
		available := podutil.IsPodAvailable(pod, minReady, s.Now) && pod.DeletionTimestamp == nil
		if podutil.IsPodReady(pod) {
			t.ready++
		}
		if available {
			t.available++
		}
		if !isNew(pod) {
			t.old++
			if pod.DeletionTimestamp != nil {
				t.oldEnding++
			}
			continue
		}
		t.updated++
		if !available {
			t.waiting = append(t.waiting, pod)
		}
	}
	return t
}

// newRollout returns a rollout with the counted pods. It is complete if all desired pods are updated and available, and no old pod is left.
func (t tally) newRollout(kind string, meta *metav1.ObjectMeta, desired int) Rollout {
	return Rollout{
		Ref:     cluster.Ref{Kind: kind, Namespace: meta.Namespace, Name: meta.Name},
		Desired: desired, Updated: t.updated, Ready: t.ready, Old: t.old,
		Unavailable: max(0, desired-t.available),
		Complete:    t.updated == desired && t.old == 0 && t.available == desired,
	}
}

func deploymentRollout(s *cluster.State, d *appsv1.Deployment, sets []*appsv1.ReplicaSet, current *appsv1.ReplicaSet, owned *owners) Rollout {
	var pods []*v1.Pod
	for _, rs := range sets {
		pods = append(pods, owned.podsOf(rs.UID)...)
	}
	isNew := func(pod *v1.Pod) bool {
		return current != nil && metav1.GetControllerOfNoCopy(pod).UID == current.UID
	}
	t := tallyPods(s, pods, d.Spec.MinReadySeconds, false, isNew)
	r := t.newRollout("Deployment", &d.ObjectMeta, int(*d.Spec.Replicas))
	if r.Complete {
		return r
	}
	clauses := append(notCreatedClauses(s, r.Ref, &d.Spec.Template), waitingClauses(t, d.Spec.MinReadySeconds)...)
	scaled, desired := findStaleScale(d, sets)
	switch {
	case d.Spec.Paused && t.updated < r.Desired:
		clauses = append(clauses, "the Deployment is paused")
	case scaled != nil:
		r.OnlyScales = true
		clauses = append(clauses, fmt.Sprintf("the controller only scales, and updates nothing, since the annotation %s of replicaset/%s is %d, not %d",
			deploymentutil.DesiredReplicasAnnotation, scaled.Name, desired, r.Desired))
	case t.old+len(t.ending) > 0 && d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		clause := fmt.Sprintf("%s must go before a new one is created", words.Count(t.old+len(t.ending), "old pod"))
		if r.AwaitsEnd = len(t.ending) > 0; r.AwaitsEnd {
			clause += fmt.Sprintf("; %s is Terminating on node %s, which does not answer", t.ending[0].Name, t.ending[0].Spec.NodeName)
		}
		clauses = append(clauses, clause)
	case t.old > 0:
		limit := "0"
		if rolling := d.Spec.Strategy.RollingUpdate; rolling != nil && rolling.MaxUnavailable != nil {
			limit = formatLimit(*rolling.MaxUnavailable, int(deploymentutil.MaxUnavailable(*d)))
		}
		clauses = append(clauses, fmt.Sprintf("the %s because maxUnavailable is %s", oldPodsStay(t.old), limit))
	}
	r.Waiting = joinClauses(clauses)
	return r
}

// formatLimit returns the limit as the user wrote it. A percentage is followed by its number of pods: "25% (2)".
func formatLimit(limit intstr.IntOrString, pods int) string {
	if limit.Type == intstr.String {
		return fmt.Sprintf("%s (%d)", limit.String(), pods)
	}
	return limit.String()
}

func statefulSetRollout(s *cluster.State, set *appsv1.StatefulSet, owned *owners) Rollout {
	pods, desired := owned.podsOf(set.UID), int(*set.Spec.Replicas)
	isNew := func(pod *v1.Pod) bool {
		return pod.Labels[appsv1.ControllerRevisionHashLabelKey] == set.Status.UpdateRevision
	}
	t := tallyPods(s, pods, set.Spec.MinReadySeconds, true, isNew)
	r := t.newRollout("StatefulSet", &set.ObjectMeta, desired)
	start, partition := 0, 0
	if set.Spec.Ordinals != nil {
		start = int(set.Spec.Ordinals.Start)
	}
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		partition = int(ptr.Deref(rolling.Partition, 0))
	}
	have := map[string]bool{}
	keep, blocked := 0, 0 // number of old pods below the partition, which stay, and of the others that are not available
	for _, pod := range pods {
		have[pod.Name] = true
		if isNew(pod) {
			continue
		}
		stays := ordinal(pod) < start+partition
		if stays {
			keep++
		}
		if !podutil.IsPodAvailable(pod, set.Spec.MinReadySeconds, s.Now) { // an old pod can block the rollout as well as a new one
			t.waiting = append(t.waiting, pod)
			if !stays {
				blocked++
			}
		}
	}
	for i := start; i < start+desired; i++ {
		if name := fmt.Sprintf("%s-%d", set.Name, i); !have[name] {
			r.NotCreated = append(r.NotCreated, name)
		}
	}
	r.Complete = t.available == desired && t.updated+keep == desired && t.old == keep
	if !r.Complete {
		r.Waiting = statefulSetWaiting(s, set, t, keep, blocked, r.NotCreated)
	}
	return r
}

func statefulSetWaiting(s *cluster.State, set *appsv1.StatefulSet, t tally, keep, blocked int, notCreated []string) string {
	clauses := append(notCreatedClauses(s, cluster.RefTo(set), &set.Spec.Template), waitingClauses(t, set.Spec.MinReadySeconds)...)
	if len(notCreated) > 0 && len(t.waiting) > 0 {
		clauses = append(clauses, fmt.Sprintf("%s not created before it is Ready, because podManagementPolicy is %s",
			strings.Join(notCreated, ", ")+words.Pick(len(notCreated), " is", " are"), set.Spec.PodManagementPolicy))
	}
	switch {
	case t.old == keep:
	case set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType:
		clauses = append(clauses, onDeleteClause(t.old-keep))
	case len(t.waiting) > 0 && t.waiting[0].DeletionTimestamp != nil:
		clauses = append(clauses, "the controller creates the pod anew once it is gone")
	case blocked == t.old-keep && set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement:
		clauses = append(clauses, fmt.Sprintf("the controller replaces %s once %s Ready, unless somebody deletes %s",
			words.Pick(blocked, "it only", "them only"), words.Pick(blocked, "it is", "they are"), words.Pick(blocked, "it", "them")))
	default:
		clauses = append(clauses, fmt.Sprintf("the %s until the pods after them are Ready", oldPodsStay(t.old-keep)))
	}
	return joinClauses(clauses)
}

func daemonSetRollout(s *cluster.State, ds *appsv1.DaemonSet, owned *owners) Rollout {
	desired := int(countDaemonPods(s, ds))
	hash := "" // no pod is of a template that the controller has not seen yet
	if current, err := matchingRevision(ds, owned.revisions[ds.UID]); err == nil && current != nil {
		hash = current.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	}
	t := tallyPods(s, owned.podsOf(ds.UID), ds.Spec.MinReadySeconds, true, func(pod *v1.Pod) bool { return isOfTemplate(ds, hash, pod) })
	r := t.newRollout("DaemonSet", &ds.ObjectMeta, desired)
	if r.Complete {
		return r
	}
	if len(t.waiting) == 0 { // what is unavailable are old pods, and these use up maxUnavailable
		t.waiting = list.Where(owned.podsOf(ds.UID), func(pod *v1.Pod) bool {
			return !cluster.IsTerminal(pod) && (pod.DeletionTimestamp != nil || !podutil.IsPodAvailable(pod, ds.Spec.MinReadySeconds, s.Now))
		})
	}
	clauses := append(notCreatedClauses(s, r.Ref, &ds.Spec.Template), waitingClauses(t, ds.Spec.MinReadySeconds)...)
	if t.old > 0 {
		switch {
		case ds.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType:
			clauses = append(clauses, onDeleteClause(t.old))
		case t.oldEnding == t.old:
		case ds.Spec.UpdateStrategy.RollingUpdate != nil && ds.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable != nil:
			limit, _ := daemonutil.UnavailableCount(ds, desired)
			clauses = append(clauses, fmt.Sprintf("the %s because maxUnavailable is %s", oldPodsStay(t.old-t.oldEnding),
				formatLimit(*ds.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable, limit)))
		}
	}
	r.Waiting = joinClauses(clauses)
	return r
}

// notCreatedClauses says why pods are not created: the template names a node that does not exist, or the API server refuses the pods.
func notCreatedClauses(s *cluster.State, of cluster.Ref, template *v1.PodTemplateSpec) []string {
	for _, r := range s.Refused {
		switch {
		case r.Ref != of:
		case r.Pods == 0:
			return []string{"the API server refuses its new ReplicaSet"}
		default:
			return []string{"the API server refuses " + words.Count(r.Pods, "pod")}
		}
	}
	if node := template.Spec.NodeName; node != "" && s.Node(node) == nil {
		return []string{"no pod is created, because node " + node + ", which the template names, does not exist"}
	}
	return nil
}

// waitingClauses say which pods are not available, and why.
func waitingClauses(t tally, minReady int32) []string {
	if len(t.waiting) == 0 {
		return nil
	}
	pod := t.waiting[0]
	revision := ""
	switch {
	case t.old > 0 && t.isNew(pod):
		revision = " (new revision)"
	case t.updated > 0 && !t.isNew(pod):
		revision = " (old revision)"
	}
	condition := "is not Ready"
	switch {
	case pod.DeletionTimestamp != nil:
		condition = "is Terminating on node " + pod.Spec.NodeName + ", which does not answer"
	case pod.Spec.NodeName == "":
		condition = "is Pending"
	case cluster.WaitsForVolume(pod) != "":
		condition = cluster.WaitsForVolume(pod)
	case podutil.IsPodReady(pod):
		condition = fmt.Sprintf("is Ready but not yet for the %d seconds of minReadySeconds", minReady)
	}
	others := ""
	if n := len(t.waiting) - 1; n > 0 {
		others = fmt.Sprintf(", as are %d more", n)
		if n == 1 {
			others = ", as is one more"
		}
	}
	return []string{"pod " + pod.Name + revision + " " + condition + others}
}

// joinClauses joins the clauses.
func joinClauses(clauses []string) string {
	if len(clauses) == 0 {
		return "the controllers have more to do"
	}
	return strings.Join(clauses, "; ")
}

// oldPodsStay returns "1 old pod stays" or "2 old pods stay".
func oldPodsStay(old int) string {
	return words.Count(old, "old pod") + words.Pick(old, " stays", " stay")
}

func onDeleteClause(old int) string {
	return fmt.Sprintf("the %s until somebody deletes them, because the update strategy is OnDelete", oldPodsStay(old))
}
