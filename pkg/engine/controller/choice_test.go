package controller

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
)

// Two ReplicaSets have one owner, as in a rollout. The old one has a pod on n2 and a newer pod on n1; the new one has a pod on n2. When the
// old one deletes a pod, it deletes the pod on n2, whose node has another pod of the same owner. Alone it would delete the newer pod.
func TestTheOldReplicaSetGivesUpTheSharedNode(t *testing.T) {
	w := newWorld(t, 2, placeAnywhere)
	old, next := decode(t, replicaSet(2))[0].(*appsv1.ReplicaSet), decode(t, replicaSet(1))[0].(*appsv1.ReplicaSet)
	next.Name = "web-new"
	next.Spec.Selector.MatchLabels["hash"], next.Spec.Template.Labels["hash"] = "new", "new"
	old.Spec.Selector.MatchLabels["hash"], old.Spec.Template.Labels["hash"] = "old", "old"
	for _, rs := range []*appsv1.ReplicaSet{old, next} {
		rs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "web", UID: "rollout", Controller: new(true)}}
	}
	seats := []string{"n2", "n1", "n2"} // two of the old one, then that of the new one
	w.place = func(*cluster.State, *v1.Pod) string {
		seat := seats[0]
		seats = seats[1:]
		return seat
	}
	w.admit(old)
	w.settle()
	w.admit(next)
	w.settle()
	fewer := w.state.ReplicaSets[0].DeepCopy()
	fewer.Spec.Replicas = new(int32(1))
	w.admit(fewer)
	w.settle()
	left := map[string]string{}
	for _, pod := range w.state.Pods {
		left[pod.Labels["hash"]] += pod.Spec.NodeName
	}
	w.check("left", left, map[string]string{"old": "n1", "new": "n2"})
}

// A budget guards only pods of its own namespace. A budget that its controller has not seen since its last change allows nothing.
func TestWhichBudgetAllowsAnEviction(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w *world)
		want   error
	}{
		"of another namespace": {func(w *world) {
			elsewhere := w.state.PodDisruptionBudgets[0].DeepCopy()
			elsewhere.Namespace, elsewhere.Status.DisruptionsAllowed = "elsewhere", 0
			w.state = w.state.Without(w.state.PodDisruptionBudgets[0]).With(elsewhere)
		}, nil},
		"up to date": {func(*world) {}, nil},
		"out of date": {func(w *world) {
			changed := w.state.PodDisruptionBudgets[0].DeepCopy()
			changed.Generation++
			w.state = w.state.With(changed)
		}, node.ErrBudget},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, placeAnywhere)
			w.apply(deployment("web", 3, "a", "") + "---" + budget("web", "maxUnavailable: 1"))
			test.change(w)
			if _, err := node.Evict(w.state, w.state.Pods[0]); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// A volume is provisioned where both the class allows it and the node is: if the class has several terms, the first that the node meets
// counts. A volume that is local to a node stays there, whatever zones the class allows. The class says whether the volume is kept or
// deleted.
func TestProvisionInTheTermOfTheNode(t *testing.T) {
	labelled := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{v1.LabelHostname: "h", v1.LabelTopologyZone: "z1", v1.LabelTopologyRegion: "r1"}}}
	in := func(key, value string) v1.TopologySelectorTerm {
		return v1.TopologySelectorTerm{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: key, Values: []string{value}}}}
	}
	retain := v1.PersistentVolumeReclaimRetain
	for provisioner, want := range map[string]string{"ebs.csi.aws.com": "topology.kubernetes.io/region=r1", "rancher.io/local-path": "kubernetes.io/hostname=h"} {
		class := &storagev1.StorageClass{Provisioner: provisioner, ReclaimPolicy: &retain,
			AllowedTopologies: []v1.TopologySelectorTerm{in(v1.LabelTopologyZone, "z2"), in(v1.LabelTopologyRegion, "r1")}}
		volume, _ := Provision(&v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", UID: "u"}}, class, labelled)
		if got := affinityOf(volume); got != want {
			t.Errorf("%s: affinity %q, want %q", provisioner, got, want)
		}
		if got := volume.Spec.PersistentVolumeReclaimPolicy; got != retain {
			t.Errorf("%s: reclaim policy %s, want %s", provisioner, got, retain)
		}
	}
}
