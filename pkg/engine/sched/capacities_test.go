package sched

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// driver returns a driver that publishes its capacity.
func driver(name string) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{StorageCapacity: ptr.To(true)}}
}

// freeCapacity returns the free capacity of the class on a node.
func freeCapacity(node, size string) *storagev1.CSIStorageCapacity {
	return &storagev1.CSIStorageCapacity{
		ObjectMeta:       metav1.ObjectMeta{Name: "left-on-" + node, Namespace: "storage"},
		NodeTopology:     &metav1.LabelSelector{MatchLabels: map[string]string{hostname: node}},
		StorageClassName: "class",
		Capacity:         ptr.To(resource.MustParse(size)),
	}
}

// claimants returns an app and its pods, each followed by a claim of 1Gi of its own.
func claimants(count int) (objs []cluster.Object) {
	set, pods := replicas("db", count, nil)
	objs = append(objs, set)
	for i, pod := range pods {
		objs = append(objs, claims(pod, fmt.Sprint("data-", i)), claim(fmt.Sprint("data-", i)))
	}
	return objs
}

// w1 has room for three claims of 1Gi, w2 for one, and w3 publishes nothing, which is no room. So four of five pods are placed, whatever
// their scores.
func TestClaimsTakeWhatIsLeft(t *testing.T) {
	config, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	const lvm = "lvm.example.com"
	start := []cluster.Object{class(lvm), freeCapacity("w1", "3Gi"), freeCapacity("w2", "1Gi")}
	whole := func(*cluster.State) *cluster.State { return walkthrough() }
	onNodes := func(nodes map[string]string) map[string]int {
		count := map[string]int{}
		for _, node := range nodes {
			count[node]++
		}
		return count
	}
	pods := claimants(5)
	got := onNodes(placeBothWays(t, config, whole, withObjects(append(start, driver(lvm))...), withObjects(pods[:5]...), withObjects(pods[5:]...)))
	if diff := cmp.Diff(map[string]int{"w1": 3, "w2": 1, "pending ": 1}, got); diff != "" { //nolint:gocritic // what onNodes says of a pod without a node and a message
		t.Errorf("pods on nodes (-want +got):\n%s", diff)
	}
	// A driver that does not publish its capacity is not asked for it.
	if got := onNodes(placeBothWays(t, config, whole, withObjects(start...), withObjects(pods...))); got["pending "] > 0 {
		t.Errorf("%d pods Pending for want of capacities that no driver publishes", got["pending "])
	}
}

func TestNotEnoughFreeStorage(t *testing.T) {
	set, pods := replicas("db", 1, nil)
	claims(pods[0], "data")
	large := claim("data")
	large.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("100Gi")}
	state := walkthrough().With(class("topolvm.io"), driver("topolvm.io"), large)
	for _, node := range []string{"w1", "w2", "w3"} {
		state = state.With(freeCapacity(node, "1Gi"))
	}
	engine := newEngine(t, Ties{})
	result, err := engine.Place(t.Context(), state.With(set, pods[0]), pods)
	if err != nil {
		t.Fatal(err)
	}
	want := "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 node(s) did not have enough free storage. " +
		"preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
	if len(result.Pending) != 1 || result.Pending[0].Message != want {
		t.Fatalf("%+v\nwant %s", result.Pending, want)
	}
	// The rejection ends as soon as a node has room: the engine does not keep it for longer.
	result, err = engine.Place(t.Context(), state.With(set, pods[0], freeCapacity("w3", "200Gi")), pods)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Placed) != 1 || result.Placed[0].Node != "w3" {
		t.Errorf("placed %+v, want one pod on w3", result.Placed)
	}
	rest := result.Volumes.CSIStorageCapacities
	if len(rest) != 1 || rest[0].Name != "left-on-w3" || rest[0].Capacity.String() != "100Gi" {
		t.Errorf("capacities %v, want 100Gi left on w3", rest)
	}
}

// w1 has room for each of the pod's two claims, but not for both. The scheduler compares each claim alone with the capacity, so the first
// claim is provisioned on w1 and the second nowhere: from then on the pod needs w1, which has no capacity left.
func TestClaimsThatOnlyFitOneByOne(t *testing.T) {
	set, pods := replicas("db", 1, nil)
	claims(pods[0], "data", "log")
	state := walkthrough().With(class("lvm.example.com"), driver("lvm.example.com"), claim("data"), claim("log"), freeCapacity("w1", "1536Mi"))
	result := place(t, Ties{}, state, set, pods)
	want := "0/4 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't match PersistentVolume's node affinity, " +
		"3 node(s) did not have enough free storage. preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
	if len(result.Pending) != 1 || result.Pending[0].Message != want {
		t.Errorf("pending %+v\nwant %s", result.Pending, want)
	}
	if bound := result.Volumes.PersistentVolumeClaims; len(bound) != 1 || bound[0].Name != "data" || bound[0].Spec.VolumeName == "" {
		t.Errorf("bound claims %v, want data", bound)
	}
	note := "the driver of class class has no room on node w1 for claim default/log once the other claims of pod db-0 have theirs: " +
		"kube-scheduler compares each claim alone with the CSIStorageCapacities, and the pod waits."
	if diff := cmp.Diff([]string{note}, result.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	// Where another node has room for both, it gets the pod: more room scores higher.
	if result := place(t, Ties{}, state.With(freeCapacity("w3", "3Gi")), set, pods); len(result.Placed) != 1 || result.Placed[0].Node != "w3" || len(result.Notes) > 0 {
		t.Errorf("placed %+v with notes %q, want one pod on w3", result.Placed, result.Notes)
	}
}

// Of two otherwise equal nodes, the one with more free capacity wins: StorageCapacityScoring is on by default.
func TestMoreCapacityScoresHigher(t *testing.T) {
	for _, most := range []string{"w2", "w3"} {
		set, pods := replicas("db", 1, nil)
		claims(pods[0], "data")
		state := walkthrough().With(class("topolvm.io"), driver("topolvm.io"), claim("data"), freeCapacity("w1", "2Gi"), freeCapacity("w2", "2Gi"), freeCapacity("w3", "2Gi")).With(freeCapacity(most, "50Gi"))
		result := place(t, Ties{}, state, set, pods)
		if len(result.Placed) != 1 || result.Placed[0].Node != most || result.Placed[0].Ties != 1 {
			t.Errorf("placed %+v, want one pod on %s without a tie", result.Placed, most)
		}
	}
}

// A driver that only publishes the largest size of a volume has that capacity; upstream's Score alone would not accept it.
func TestLargestVolumeAlone(t *testing.T) {
	set, pods := replicas("db", 1, nil)
	claims(pods[0], "data")
	state := walkthrough().With(class("topolvm.io"), driver("topolvm.io"), claim("data"))
	for node, size := range map[string]string{"w1": "512Mi", "w2": "1Gi", "w3": "5Gi"} {
		only := freeCapacity(node, size)
		only.Capacity, only.MaximumVolumeSize = nil, only.Capacity
		state = state.With(only)
	}
	if result := place(t, Ties{}, state, set, pods); len(result.Placed) != 1 || result.Placed[0].Node != "w3" {
		t.Errorf("placed %+v, want one pod on w3", result.Placed)
	}
}
