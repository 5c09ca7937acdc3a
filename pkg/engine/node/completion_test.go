package node

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// A pod that needs ten seconds succeeds ten seconds after its start, and nothing else happens before that. On a node that does not answer
// it succeeds when the node is back. A pod without the annotation goes on running.
func TestPodsThatComplete(t *testing.T) {
	state := nodesOf(map[string]int{"n": 2})
	pod := func(name, node string, annotations map[string]string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Annotations: annotations}, Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyNever}}
		return cluster.BindPod(p, node, state.Now.Time.Add(7)) // starts are some nanoseconds apart
	}
	ten := map[string]string{cluster.CompletesAfterAnnotation: "10s"}
	state = state.With(pod("short", "n-1", ten), pod("lost", "n-2", ten), pod("service", "n-1", nil))
	state, err := Fail(state, Unreachable, "n-2")
	if err != nil {
		t.Fatal(err)
	}
	after := func(s *cluster.State, seconds int) *cluster.State {
		later := *s
		later.Now = metav1.NewTime(state.Now.Add(time.Duration(seconds) * time.Second))
		return &later
	}
	phases := func(s *cluster.State) map[string]v1.PodPhase {
		phases := map[string]v1.PodPhase{}
		for _, p := range s.Pods {
			phases[p.Name] = p.Status.Phase
		}
		return phases
	}
	var c Controllers
	early := c.completePods(after(state, 9))
	if got := phases(early); got["short"] != v1.PodRunning {
		t.Errorf("after nine seconds: %v", got)
	}
	if next := c.Next(early); !next.Equal(state.Now.Add(10 * time.Second)) {
		t.Errorf("next is %v, want ten seconds after %v", next, state.Now)
	}
	done := c.completePods(after(early, 10))
	if got := phases(done); got["short"] != v1.PodSucceeded || got["lost"] != v1.PodRunning || got["service"] != v1.PodRunning {
		t.Errorf("after ten seconds: %v", got)
	}
	if again := c.completePods(done); again != done {
		t.Error("what has succeeded does so again")
	}
	back, err := Restore(after(done, 20), "n-2")
	if err != nil {
		t.Fatal(err)
	}
	if got := phases(c.completePods(back)); got["lost"] != v1.PodSucceeded {
		t.Errorf("once the node is back: %v", got)
	}
}
