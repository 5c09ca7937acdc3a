package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

func class(provisioner string) *storagev1.StorageClass {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}, Provisioner: provisioner, VolumeBindingMode: &wait}
}

func claim(name string) *v1.PersistentVolumeClaim {
	class := "class"
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("claim-" + name)},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources:        v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		},
		Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending},
	}
}

func claims(pod *v1.Pod, names ...string) *v1.Pod {
	for _, name := range names {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
	}
	return pod
}

// The claim's volume is created where its first pod goes, and pins the next pod to that zone: a second pod that must not share the first
// one's node finds only w1 in its zone, so there is no other node.
func TestProvisionedVolumePinsPodsToItsZone(t *testing.T) {
	set, pods := replicas("db", 2, hard("db", hostname))
	for _, pod := range pods {
		claims(pod, "data")
	}
	state := walkthrough().With(class("ebs.csi.aws.com"), claim("data"))
	result := place(t, Ties{}, state, set, pods)
	if len(result.Placed) != 1 || len(result.Pending) != 1 {
		t.Fatalf("%d placed and %d pending, want 1 and 1", len(result.Placed), len(result.Pending))
	}
	want := "0/4 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 1 node(s) had untolerated taint(s), " +
		"2 node(s) didn't match PersistentVolume's node affinity. preemption: 0/4 nodes are available: " +
		"1 No preemption victims found for incoming pod, 3 Preemption is not helpful for scheduling."
	if got := result.Pending[0].Message; got != want {
		t.Errorf("message\n got %s\nwant %s", got, want)
	}
	volume := result.Volumes.PersistentVolumes[0]
	terms := volume.Spec.NodeAffinity.Required.NodeSelectorTerms
	if diff := cmp.Diff([]v1.NodeSelectorRequirement{{Key: zone, Operator: v1.NodeSelectorOpIn, Values: []string{"west-1a"}}}, terms[0].MatchExpressions); diff != "" {
		t.Errorf("volume's node affinity (-want +got):\n%s", diff)
	}
	if bound := result.Volumes.PersistentVolumeClaims[0]; bound.Spec.VolumeName != volume.Name || bound.Status.Phase != v1.ClaimBound {
		t.Errorf("claim has volume %q in phase %s, want %q, Bound", bound.Spec.VolumeName, bound.Status.Phase, volume.Name)
	}
}

func TestLocalVolumePinsPodsToItsNode(t *testing.T) {
	set, pods := replicas("db", 1, nil)
	claims(pods[0], "data")
	result := place(t, Ties{}, walkthrough().With(class("rancher.io/local-path"), claim("data")), set, pods)
	terms := result.Volumes.PersistentVolumes[0].Spec.NodeAffinity.Required.NodeSelectorTerms
	want := []v1.NodeSelectorRequirement{{Key: hostname, Operator: v1.NodeSelectorOpIn, Values: []string{result.Placed[0].Node}}}
	if diff := cmp.Diff(want, terms[0].MatchExpressions); diff != "" {
		t.Errorf("volume's node affinity (-want +got):\n%s", diff)
	}
}

// Upstream takes the smallest volume that fits and, of equal ones, the first that its index lists, in random order. Here it is always the
// first by name.
func TestEqualVolumesAreTakenByName(t *testing.T) {
	local := func(name, node string) *v1.PersistentVolume {
		return &v1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1.PersistentVolumeSpec{
				StorageClassName:       "class",
				Capacity:               v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")},
				AccessModes:            []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
				PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/" + name}},
				NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
					MatchExpressions: []v1.NodeSelectorRequirement{{Key: hostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}}}}}},
			},
			Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
		}
	}
	for range 20 {
		set, pods := replicas("db", 1, nil)
		claims(pods[0], "a", "b")
		state := walkthrough().With(class("kubernetes.io/no-provisioner"), claim("a"), claim("b"))
		for _, name := range []string{"pv-5", "pv-3", "pv-1", "pv-4", "pv-2"} {
			state = state.With(local(name, "w2"))
		}
		result := place(t, Ties{}, state, set, pods)
		got := map[string]string{}
		for _, bound := range result.Volumes.PersistentVolumeClaims {
			got[bound.Name] = bound.Spec.VolumeName
		}
		if diff := cmp.Diff(map[string]string{"a": "pv-1", "b": "pv-2"}, got); diff != "" {
			t.Fatalf("volumes (-want +got):\n%s", diff)
		}
		if node := result.Placed[0].Node; node != "w2" {
			t.Fatalf("pod on %s, want w2, which alone has volumes", node)
		}
	}
}

// The next pod of the same queue sees the claim that a pod has bound.
func TestVolumesStayBoundAcrossCalls(t *testing.T) {
	set, pods := replicas("db", 1, nil)
	claims(pods[0], "data")
	state := walkthrough().With(class("ebs.csi.aws.com"), claim("data"), set, pods[0])
	engine := newEngine(t, Ties{})
	first, err := engine.Place(t.Context(), state, pods)
	if err != nil {
		t.Fatal(err)
	}
	home := first.Placed[0].Node
	var changed []cluster.Object
	for _, volume := range first.Volumes.PersistentVolumes {
		changed = append(changed, volume)
	}
	for _, claim := range first.Volumes.PersistentVolumeClaims {
		changed = append(changed, claim)
	}
	again := pods[0].DeepCopy()
	again.Name, again.UID = "db-again", "db-again"
	state = state.With(changed...).Without(pods[0]).With(again)
	second, err := engine.Place(t.Context(), state, []*v1.Pod{again})
	if err != nil {
		t.Fatal(err)
	}
	if node := second.Placed[0].Node; node != home || len(second.Volumes.PersistentVolumes) > 0 {
		t.Errorf("pod came back on %s with %d new volumes, want %s and none", node, len(second.Volumes.PersistentVolumes), home)
	}
}

// A volume that the engine provisioned is gone if the state says that it never existed.
func TestVolumesOfAnotherStateAreForgotten(t *testing.T) {
	set, pods := replicas("db", 1, nil)
	claims(pods[0], "data")
	state := walkthrough().With(class("ebs.csi.aws.com"), claim("data"), set, pods[0])
	engine := newEngine(t, Ties{})
	for range 2 {
		result, err := engine.Place(t.Context(), state, pods)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(result.Volumes.PersistentVolumes); got != 1 {
			t.Fatalf("%d volumes were provisioned, want 1 each time", got)
		}
	}
}
