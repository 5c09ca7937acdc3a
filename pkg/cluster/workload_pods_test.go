package cluster

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// crewPod returns a pod of a controller. A pod of a DaemonSet is for the node that its affinity names, which is the pod's name here.
func crewPod(kind, owner, name, node string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(owner + "/" + name)}, Spec: v1.PodSpec{NodeName: node}}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: ptr.To(true)}}
	if kind == "DaemonSet" {
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchFields: []v1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{name}}}}}}}}
	}
	return pod
}

func TestShortfalls(t *testing.T) {
	web := func(name, node string) *v1.Pod { return crewPod("ReplicaSet", "web", name, node) }
	db := func(name, node string) *v1.Pod { return crewPod("StatefulSet", "db", name, node) }
	agent := func(name, node string) *v1.Pod { return crewPod("DaemonSet", "agent", name, node) }
	for name, test := range map[string]struct {
		before, after []*v1.Pod
		want          []string
	}{
		"the pod that waited took the place of one that ran": {
			before: []*v1.Pod{web("a", "n1"), web("b", "")},
			after:  []*v1.Pod{web("b", "n2"), web("c", "")},
		},
		"a pod of another workload took it": {
			before: []*v1.Pod{web("a", "n1"), crewPod("ReplicaSet", "late", "x", "")},
			after:  []*v1.Pod{web("b", ""), crewPod("ReplicaSet", "late", "x", "n2")},
			want:   []string{"web: 1 lost, Pending b"},
		},
		"another replica of a StatefulSet took it": {
			before: []*v1.Pod{db("db-0", "n1"), db("db-1", "")},
			after:  []*v1.Pod{db("db-0", ""), db("db-1", "n1")},
			want:   []string{"db: 1 lost, Pending db-0"},
		},
		"the pod that waited is deleted, and one that ran waits": {
			before: []*v1.Pod{web("a", "n1"), web("b", "n2"), web("c", "")},
			after:  []*v1.Pod{web("a", "n1"), web("d", "")},
			want:   []string{"web: 1 lost, Pending d"},
		},
		"one that ran is not made anew, and the other waits as before": {
			before: []*v1.Pod{web("a", "n1"), web("b", "")},
			after:  []*v1.Pod{web("b", "")},
		},
		"two are made, and none ran": {
			before: []*v1.Pod{web("a", "n1")},
			after:  []*v1.Pod{web("a", "n1"), web("b", ""), web("c", "")},
			want:   []string{"web: 0 lost, Pending b c"},
		},
		"a DaemonSet waits on a new node as on the old one": {
			before: []*v1.Pod{agent("old-1", "old-1"), agent("old-2", "")},
			after:  []*v1.Pod{agent("new-1", "new-1"), agent("new-2", "")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range Shortfalls((&State{Pods: test.before}).PodsByWorkload(), &State{Pods: test.after}) {
				line := fmt.Sprintf("%s: %d lost, Pending", s.Name, s.Lost)
				for _, pod := range s.Pending {
					line += " " + pod.Name
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
