package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// The worlds of these tests change something that a sync reads besides its object and its pods. Each round is compared with a round of
// controllers that remember nothing.

// The memory keeps a limited number of entries about objects that came and went. It keeps the entries about an object that exists, and
// about the state.
func TestTheMemoryForgetsWhatIsGone(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(replicaSet(1))
	m, stays, state := &memory{}, subject{inSync, w.state.ReplicaSets[0].UID}, subject{fact: claimsInSync}
	m.remember(stays, 1, w)
	m.remember(state, 2, w)
	for i := range 5000 {
		m.remember(subject{inSync, types.UID(fmt.Sprint(i))}, i)
		m.forget(w.state)
		if len(m.entries) > 2*2+1<<10 {
			t.Fatalf("after %d objects there are %d entries", i+1, len(m.entries))
		}
	}
	one, first := recall[int](m, stays, w)
	two, second := recall[int](m, state, w)
	if _, other := recall[int](m, stays, &world{}); one != 1 || !first || two != 2 || !second || other {
		t.Errorf("it knows %d (%t) and %d (%t), want 1 and 2; made from something else: %t, want false", one, first, two, second, other)
	}
}

func TestAnOrphanAppearsBesideAReplicaSetAtRest(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(replicaSet(1))
	w.apply(`
apiVersion: v1
kind: Pod
metadata: {name: bare, labels: {app: web}, finalizers: [batch.kubernetes.io/job-tracking]}
spec: {containers: [{name: c, image: a}]}
`)
	if len(w.state.Pods) != 1 {
		t.Errorf("want one of the two deleted, have %v", w.pods())
	}
}

func TestASelectorChangesBesideOrphans(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(replicaSet(1) + `---
apiVersion: v1
kind: Pod
metadata: {name: bare, labels: {app: other}}
spec: {containers: [{name: c, image: a}]}
`)
	other := *w.state.ReplicaSets[0]
	other.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
	w.state = w.state.With(&other)
	w.step()
	if !metav1.IsControlledBy(w.state.Pods[0], &other) {
		t.Errorf("want the bare pod adopted, have %v", w.pods())
	}
}

// If a controller adopts a pod in a round, the Job controller does not release the pod in the same round.
func TestAnAdoptedPodIsNoOrphan(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(`
apiVersion: v1
kind: Pod
metadata: {name: bare, labels: {app: web}, finalizers: [batch.kubernetes.io/job-tracking], ownerReferences: [{apiVersion: v1, kind: Node, name: n1, uid: u, controller: true}]}
spec: {containers: [{name: c, image: a}]}
`)
	orphan := *w.state.Pods[0]
	orphan.OwnerReferences = nil
	w.state = w.state.With(&orphan)
	w.admit(decode(t, replicaSet(1))...)
	w.settle()
	if pod := w.state.Pods[0]; !metav1.IsControlledBy(pod, w.state.ReplicaSets[0]) || !admission.HasJobTrackingFinalizer(pod) {
		t.Errorf("the pod has owners %v and finalizers %v, want the ReplicaSet, and what it had", pod.OwnerReferences, pod.Finalizers)
	}
}

// The pod tolerates the first taint for a while, and the second taint not at all.
func TestANodeIsTaintedOnceMore(t *testing.T) {
	w := newWorld(t, 1, func(*cluster.State, *v1.Pod) string { return "n1" })
	w.apply(`
apiVersion: v1
kind: Pod
metadata: {name: bare}
spec: {containers: [{name: c, image: a}], tolerations: [{key: first, operator: Exists, effect: NoExecute, tolerationSeconds: 100}]}
`)
	for i, key := range []string{"first", "second"} {
		node := w.state.Nodes[0].DeepCopy()
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: key, Effect: v1.TaintEffectNoExecute, TimeAdded: &w.state.Now})
		w.state = w.state.With(node)
		w.step()
		if want := 1 - i; len(w.state.Pods) != want {
			t.Errorf("after the taint %s: %d pods, want %d", key, len(w.state.Pods), want)
		}
	}
}

// The name that the next pod would get is taken; then it is free, since the cluster returns to its earlier state; then it is taken again.
func TestANameIsTakenAndFree(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(replicaSet(1))
	w.admit(decode(t, replicaSet(2))...)
	free := w.state
	w.step()
	name := w.state.Pods[1].Name
	taken := free.With(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}})
	for i, before := range []*cluster.State{taken, free, taken} {
		w.state = before
		w.step()
		made := w.state.Pods[len(w.state.Pods)-1].Name
		if (made == name) != (before == free) {
			t.Errorf("round %d: the pod is named %s, and %s is taken: %v", i+1, made, name, before == taken)
		}
	}
}

func TestOrphansAppearBesideADaemonSetAtRest(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(workload("DaemonSet", "web", 0, "a", ""))
	w.state = w.state.With(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bare", Namespace: "default", UID: "bare", Labels: map[string]string{"app": "web"}}})
	w.step()
	if pod := w.state.Pods[len(w.state.Pods)-1]; !metav1.IsControlledBy(pod, w.state.DaemonSets[0]) {
		t.Errorf("the pod has owners %v, want the DaemonSet", pod.OwnerReferences)
	}
	w.settle()
	orphan := *w.state.ControllerRevisions[0]
	orphan.Name, orphan.UID, orphan.OwnerReferences = "web-older", "older", nil
	w.state = w.state.With(&orphan)
	w.step()
	if adopted := w.state.ControllerRevisions[1]; !metav1.IsControlledBy(adopted, w.state.DaemonSets[0]) {
		t.Errorf("the ControllerRevision has owners %v, want the DaemonSet", adopted.OwnerReferences)
	}
}

func TestAClaimChangesBesideAStatefulSetAtRest(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(workload("StatefulSet", "web", 1, "a", `  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`))
	claim := *w.state.PersistentVolumeClaims[0]
	if len(claim.OwnerReferences) == 0 {
		t.Fatal("the claim has no owner")
	}
	claim.OwnerReferences = nil
	w.state = w.state.With(&claim)
	w.settle()
	if len(w.state.PersistentVolumeClaims[0].OwnerReferences) == 0 {
		t.Error("the claim has no owner again")
	}
}

// The set is scaled up again while its last pod ends. The next pod waits until the claim of that pod is gone, too.
func TestAStatefulSetWaitsForAStaleClaim(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(workload("StatefulSet", "web", 2, "a", `  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`))
	before := w.state.PersistentVolumeClaims[1].UID
	w.state.TerminationSeconds = 60
	for _, replicas := range []int32{1, 2} {
		set := *w.state.StatefulSets[0]
		set.Spec.Replicas = &replicas
		w.state = w.state.With(&set)
		w.settle()
	}
	w.waitOut()
	if len(w.state.Pods) != 2 || len(w.state.PersistentVolumeClaims) != 2 || w.state.PersistentVolumeClaims[1].UID == before {
		t.Errorf("have %v, and %d claims, the old one: %t", w.pods(), len(w.state.PersistentVolumeClaims), w.state.PersistentVolumeClaims[1].UID == before)
	}
}

// The cluster returns to a state in which the revision of the set is missing, as in many runs of one dump; once another revision has its
// name. Between them, the pods of the set are others.
func TestAMissingRevisionIsCreatedOnceMore(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(workload("StatefulSet", "web", 2, "a", ""))
	revision := w.state.ControllerRevisions[0]
	missing := w.state.Without(revision)
	taken := *revision
	taken.UID, taken.OwnerReferences = "taken", []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "n1", Controller: new(true)}}
	later := *missing
	later.Now, later.Created = metav1.NewTime(missing.Now.Add(time.Minute)), missing.Created+7
	for i, before := range []*cluster.State{missing, missing, &later, missing, missing.With(&taken), missing} {
		w.state = before
		w.step()
		created := w.state.ControllerRevisions[len(w.state.ControllerRevisions)-1]
		if !created.CreationTimestamp.Equal(&before.Now) || created.UID == revision.UID || !metav1.IsControlledBy(created, w.state.StatefulSets[0]) {
			t.Errorf("round %d: created %s at %s, now is %s", i+1, created.UID, created.CreationTimestamp, before.Now)
		}
		w.settle()
		w.state = w.state.Without(w.state.Pods[1])
		w.settle()
	}
}

func TestARevisionChangesBesideAStatefulSetAtRest(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(workload("StatefulSet", "web", 1, "a", ""))
	pod := *w.state.Pods[0]
	w.state = w.state.With(&pod)
	w.step() // a sync with nothing to do
	other := *w.state.ControllerRevisions[0]
	other.Data.Raw = []byte(strings.ReplaceAll(string(other.Data.Raw), `"image":"a"`, `"image":"b"`))
	w.state = w.state.With(&other)
	w.step()
	if len(w.state.ControllerRevisions) != 2 {
		t.Errorf("have %d ControllerRevisions, want a new one for the template", len(w.state.ControllerRevisions))
	}
	w.settle()
	orphan := other
	orphan.Name, orphan.UID, orphan.OwnerReferences = "web-older", "older", nil
	w.state = w.state.With(&orphan)
	w.step()
	if adopted := w.state.ControllerRevisions[2]; !metav1.IsControlledBy(adopted, w.state.StatefulSets[0]) {
		t.Errorf("the ControllerRevision has owners %v, want the StatefulSet", adopted.OwnerReferences)
	}
}

func TestAnOrphanAppearsBesideAStatefulSetAtRest(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(workload("StatefulSet", "web", 1, "a", ""))
	w.state = w.state.With(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-7", Namespace: "default", UID: "bare", Labels: map[string]string{"app": "web"}}})
	w.step()
	if pod := w.state.Pods[len(w.state.Pods)-1]; !metav1.IsControlledBy(pod, w.state.StatefulSets[0]) {
		t.Errorf("the pod has owners %v, want the StatefulSet", pod.OwnerReferences)
	}
}

// First the budget changes, then the scale that it is a share of, while the pods stay the same: the first pod is Pending, so the
// StatefulSet creates no other.
func TestABudgetAndItsScaleChange(t *testing.T) {
	w := newWorld(t, 1, func(*cluster.State, *v1.Pod) string { return "" })
	w.apply(workload("StatefulSet", "web", 2, "a", "") + "---" + budget("web", "maxUnavailable: 1"))
	w.checkBudget(2, 1, 0, 0)
	all := *w.state.PodDisruptionBudgets[0]
	all.Spec.MaxUnavailable = &intstr.IntOrString{IntVal: 2}
	w.state = w.state.With(&all)
	w.step()
	w.checkBudget(2, 0, 0, 0)
	w.settle()
	set := *w.state.StatefulSets[0]
	set.Spec.Replicas = new(int32(5))
	w.state = w.state.With(&set)
	w.settle()
	w.checkBudget(5, 3, 0, 0)
}
