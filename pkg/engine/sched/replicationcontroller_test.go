package sched

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// The pods of a ReplicationController are spread by default. w1 has one of them, and w2, the only other node that takes pods, is fuller:
// without the spread, the second pod would go to w1.
func TestReplicationControllersAreSpread(t *testing.T) {
	rc := &v1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: "default", UID: "old"}, Spec: v1.ReplicationControllerSpec{Selector: map[string]string{"app": "old"}}}
	_, pods := replicas("old", 2, nil)
	for _, pod := range pods {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rc, v1.SchemeGroupVersion.WithKind("ReplicationController"))}
	}
	_, others := replicas("other", 1, nil)
	others[0].Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("800m"), v1.ResourceMemory: resource.MustParse("1600Mi")}
	state := walkthrough().With(cluster.BindPod(pods[0], "w1", cluster.Epoch.Time), cluster.BindPod(others[0], "w2", cluster.Epoch.Time), pods[1])
	state = state.Without(state.Node("w3"))
	for _, test := range []struct {
		state *cluster.State
		want  string
	}{{state, "w1"}, {state.With(rc), "w2"}} {
		engine := newEngine(t, Ties{})
		result, err := engine.Place(t.Context(), test.state, pods[1:])
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Placed) != 1 || result.Placed[0].Node != test.want {
			t.Errorf("with %d controllers: placed %+v, want one pod on %s", len(test.state.ReplicationControllers), result.Placed, test.want)
		}
	}
}
