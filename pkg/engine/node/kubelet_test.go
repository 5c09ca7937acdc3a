package node

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/input/admission"
)

// A pod without a node is gone at once, and so is a pod whose node is gone; a second request changes nothing; a pod of a dump ends when its
// grace period does, and one on a lost node not at all.
func TestWhoEndsAPod(t *testing.T) {
	state := nodesOf(map[string]int{"n": 2})
	state.TerminationSeconds = 5
	at := func(node string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}, Spec: v1.PodSpec{NodeName: node}, Status: v1.PodStatus{Phase: v1.PodRunning}}
	}
	for name, pod := range map[string]*v1.Pod{"no node": at(""), "a node that is gone": at("n9")} {
		if s := admission.Terminate(state.With(pod), "", pod); len(s.Pods) != 0 {
			t.Errorf("%s: %d pods", name, len(s.Pods))
		}
	}
	once := admission.Terminate(state.With(at("n-1")), "", at("n-1"))
	later := *once
	later.Now = metav1.NewTime(once.Now.Add(1e9))
	if twice := admission.Terminate(&later, "", once.Pods[0]); twice != &later {
		t.Error("asked twice, the pod is another")
	}
	if left := new(Controllers).endPods(&later, nil); left != &later {
		t.Error("the pod ends after a second of five")
	}
	later.Now = metav1.NewTime(once.Now.Add(5e9))
	if left := new(Controllers).endPods(&later, nil); len(left.Pods) != 0 {
		t.Error("the pod does not end after five seconds of five")
	}
	silent, err := Fail(&later, Unreachable, "n-1")
	if err != nil {
		t.Fatal(err)
	}
	if left := new(Controllers).endPods(silent, nil); len(left.Pods) != 1 {
		t.Error("the pod ends on a node that does not answer")
	}
	off, err := Fail(&later, OutOfService, "n-1")
	if err != nil {
		t.Fatal(err)
	}
	if left := new(Controllers).endPods(off, nil); len(left.Pods) != 0 {
		t.Error("the pod stays on a node that is out of service")
	}
}
