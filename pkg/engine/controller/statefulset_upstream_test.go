package controller

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/controller/history"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/utils/clock"

	"github.com/faultline/faultline/pkg/input/admission"
)

// signallingControl is upstream's control, and signals when a sync is done.
type signallingControl struct {
	statefulset.StatefulSetControlInterface
	done chan error
}

func (t signallingControl) UpdateStatefulSet(ctx context.Context, set *appsv1.StatefulSet, pods []*v1.Pod, now time.Time) (*appsv1.StatefulSetStatus, error) {
	status, err := t.StatefulSetControlInterface.UpdateStatefulSet(ctx, set, pods, now)
	t.done <- err
	return status, err
}

// Both sides use upstream's control. The test compares which pods and revisions the control gets, and how it sees and changes the cluster.
func TestStatefulSetSyncIsUpstreams(t *testing.T) {
	u := newUpstream(t)
	factory := informers.NewSharedInformerFactory(u.client, 0)
	sets, revisions := factory.Apps().V1().StatefulSets(), factory.Apps().V1().ControllerRevisions()
	pods, claims := factory.Core().V1().Pods(), factory.Core().V1().PersistentVolumeClaims()
	controller := statefulset.NewStatefulSetController(context.Background(), pods, sets, claims, revisions, u.client)
	w := newWorld(t, 2, placeAnywhere)
	u.clock.SetTime(w.state.Now.Time)
	*field[clock.PassiveClock](controller, "clock") = u.clock
	control := field[statefulset.StatefulSetControlInterface](controller, "control")
	done := make(chan error)
	*control = signallingControl{*control, done}
	enqueue := u.run(controller, controller.Run, "podListerSynced", "setListerSynced", "pvcListerSynced", "revListerSynced")
	w.admit(decode(t, statefulSet(1, "a", ""))...)
	for seed := range uint64(*worlds) {
		g := dice{rand.New(rand.NewPCG(seed, 1)), w.state}
		set, history := g.statefulSet(t, w.state.StatefulSets[0], fmt.Sprint("db-", seed))
		s := *w.state.Without(w.state.StatefulSets[0]).With(set)
		s.ControllerRevisions = history
		s.Pods, s.PersistentVolumeClaims = g.ordinals(set, history)
		p := newPass(&s)
		if err := p.syncStatefulSet(set); err != nil {
			t.Fatal(err)
		}
		setStore(t, sets.Informer(), set)
		setStore(t, revisions.Informer(), history...)
		setStore(t, pods.Informer(), s.Pods...)
		setStore(t, claims.Informer(), s.PersistentVolumeClaims...)
		u.owner, u.actions = set, &outcome{Status: map[string]string{}}
		enqueue(set)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want, got := u.actions.sorted(), outcomeOf(p)
		for _, obj := range append(objects(s.Pods), set) { // upstream writes a pod anew whose claim it has changed
			want.unchanged(obj)
			got.unchanged(obj)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d (-upstream +here):\n%s\n%s", seed, diff, describe(append(append(objects(history), objects(s.PersistentVolumeClaims)...), set), s.Pods))
		}
	}
}

// statefulSet returns a StatefulSet and its revisions; one of them may have the StatefulSet's template.
func (g dice) statefulSet(t *testing.T, template *appsv1.StatefulSet, name string) (*appsv1.StatefulSet, []*appsv1.ControllerRevision) {
	set := template.DeepCopy()
	set.Name, set.UID, set.Generation = name, types.UID(name), 2
	spec := &set.Spec
	spec.Selector.MatchLabels["app"], spec.Template.Labels["app"] = name, name
	spec.Replicas, spec.MinReadySeconds = new(g.Int32N(5)), pick[int32](g, 0, 0, 30)
	spec.PodManagementPolicy = pick(g, appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)
	if g.oneIn(4) {
		spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 2}
	}
	switch g.IntN(4) {
	case 0:
		spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	case 1:
		spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(g.Int32N(3)), MaxUnavailable: new(intstr.FromInt32(2))}
	}
	if g.oneIn(2) {
		spec.VolumeClaimTemplates = []v1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, VolumeMode: new(v1.PersistentVolumeFilesystem),
		}}}
		if g.oneIn(2) {
			spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: pick(g, appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType),
				WhenScaled:  pick(g, appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType),
			}
		}
	}
	spec.RevisionHistoryLimit = new(g.Int32N(3))
	var revisions []*appsv1.ControllerRevision
	current := g.IntN(4)
	for i := range g.IntN(4) {
		of := &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: *spec.Template.DeepCopy()}}
		if i != current {
			of.Spec.Template.Spec.Containers[0].Image = fmt.Sprint("h", i)
		}
		patch, err := admission.TemplatePatch(of)
		if err != nil {
			t.Fatal(err)
		}
		revision, err := history.NewControllerRevision(set, statefulSetKind, spec.Template.Labels, runtime.RawExtension{Raw: patch}, int64(i+1), nil)
		if err != nil {
			t.Fatal(err)
		}
		revision.Namespace, revision.UID = set.Namespace, types.UID(revision.Name)
		if g.oneIn(8) {
			revision.OwnerReferences = nil // an orphan
		}
		revisions = append(revisions, revision)
	}
	set.Status.ObservedGeneration = 1
	if len(revisions) > 0 {
		set.Status.CurrentRevision, set.Status.UpdateRevision = pick(g, revisions...).Name, pick(g, revisions...).Name
	}
	return set, revisions
}

// ordinals returns pods and claims of a StatefulSet, of any of its revisions.
func (g dice) ordinals(set *appsv1.StatefulSet, revisions []*appsv1.ControllerRevision) (pods []*v1.Pod, claims []*v1.PersistentVolumeClaim) {
	for i := range 6 {
		name := fmt.Sprintf("%s-%d", set.Name, i)
		for _, template := range set.Spec.VolumeClaimTemplates {
			if g.oneIn(2) {
				claim := template.DeepCopy()
				claim.Namespace, claim.Name, claim.UID = set.Namespace, "data-"+name, types.UID("data-"+name)
				claim.Labels = set.Spec.Selector.MatchLabels
				claims = append(claims, claim)
			}
		}
		if g.oneIn(3) {
			continue
		}
		pod := &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: set.Namespace, Name: name, UID: types.UID(name), CreationTimestamp: secondsAgo(g.state, 200-i), Labels: maps.Clone(set.Spec.Template.Labels),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, statefulSetKind)},
			},
			Spec:   *set.Spec.Template.Spec.DeepCopy(),
			Status: v1.PodStatus{Phase: pick(g, v1.PodPending, v1.PodRunning, v1.PodRunning, v1.PodRunning, v1.PodRunning, v1.PodRunning, v1.PodFailed, v1.PodSucceeded)},
		}
		pod.Labels[appsv1.StatefulSetRevisionLabel] = "other"
		if len(revisions) > 0 {
			pod.Labels[appsv1.StatefulSetRevisionLabel] = pick(g, revisions...).Name
		}
		if !g.oneIn(8) {
			pod.Labels[appsv1.StatefulSetPodNameLabel], pod.Labels[appsv1.PodIndexLabel] = name, fmt.Sprint(i)
		}
		for range set.Spec.VolumeClaimTemplates {
			pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + name},
			}})
		}
		switch g.IntN(16) {
		case 0:
			pod.OwnerReferences = nil // an orphan
		case 1:
			pod.Labels["app"] = "other" // to be released
		}
		if g.oneIn(8) {
			pod.DeletionTimestamp = new(secondsAgo(g.state, -20))
		}
		if pod.Status.Phase == v1.PodRunning && !g.oneIn(4) {
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: secondsAgo(g.state, pick(g, 10, 100))}}
		}
		pods = append(pods, pod)
	}
	return pods, claims
}
