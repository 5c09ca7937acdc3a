package admission

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

func TestGeneratedNamesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for n := range 100_000 {
		name := GenerateName("web-", n)
		if seen[name] {
			t.Fatalf("name %s came twice", name)
		}
		seen[name] = true
	}
}

// GivenUID ignores generated UIDs, for every kind and namespace.
func TestGivenUID(t *testing.T) {
	for _, test := range []struct {
		obj  cluster.Object
		want types.UID
	}{
		{&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, ""},
		{&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "p-"}}, ""},
		{&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, ""},
		{&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "given"}}, "given"},
	} {
		identify(test.obj, "file")
		if got := GivenUID(test.obj); got != test.want {
			t.Errorf("%s: %q, want %q", test.obj.GetName(), got, test.want)
		}
	}
}

// Only the managed fields that date a node's taints and cordon are kept, since all of them would make a dump large.
func TestManagedFieldsOfNodes(t *testing.T) {
	entry := func(manager string, second int, fields string) metav1.ManagedFieldsEntry {
		at := metav1.Unix(int64(second), 0)
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	undated := entry("undated", 0, `{"f:spec":{"f:taints":{}}}`)
	undated.Time = nil
	fields := []metav1.ManagedFieldsEntry{
		entry("kubelet", 90, `{"f:metadata":{"f:labels":{"f:taints":{}}},"f:status":{"f:conditions":{}}}`),
		entry("kubectl-taint", 20, `{"f:spec":{"f:taints":{}}}`),
		entry("kubectl-cordon", 40, `{"f:spec":{"f:unschedulable":{}}}`),
		entry("kube-controller-manager", 30, `{"f:metadata":{"f:annotations":{}},"f:spec":{"f:podCIDR":{},"f:taints":{}}}`),
		entry("broken", 95, `{"f:spec"`),
		undated,
	}
	plain := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "plain", ManagedFields: fields}}
	identify(plain, "file")
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", ManagedFields: fields}}
	identify(pod, "file")
	if plain.ManagedFields != nil || pod.ManagedFields != nil {
		t.Errorf("a node without taints has %v, a pod %v", plain.ManagedFields, pod.ManagedFields)
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", ManagedFields: fields}, Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "x"}}}}
	identify(node, "file")
	want := []metav1.ManagedFieldsEntry{fields[1], fields[2], entry("kube-controller-manager", 30, `{"f:spec":{"f:taints":{}}}`)}
	if diff := cmp.Diff(want, node.ManagedFields); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	for field, want := range map[string]time.Time{"taints": time.Unix(30, 0), "unschedulable": time.Unix(40, 0), "podCIDR": {}} {
		if got := UnchangedSince(node, field); !got.Equal(want) {
			t.Errorf("%s was last set at %s, want %s", field, got, want)
		}
	}
}
