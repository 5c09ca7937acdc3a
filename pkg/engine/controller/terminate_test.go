package controller

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A pod keeps its node for as long as its kubelet takes to end it, which is no longer than its grace period; its Deployment makes
// another meanwhile.
func TestPodEndsInItsTime(t *testing.T) {
	for name, test := range map[string]struct {
		seconds int64
		spec    string
		want    float64
	}{
		"as long as the kubelet takes": {5, "", 5},
		"no longer than it may":        {5, "terminationGracePeriodSeconds: 2, ", 2},
		"at once":                      {0, "", 0},
		"killed":                       {5, "terminationGracePeriodSeconds: 0, ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, anywhere)
			w.state.TerminationSeconds = test.seconds
			w.apply(strings.Replace(deployment("web", 1, "a", ""), "{containers:", "{"+test.spec+"containers:", 1))
			pod, asked := w.state.Pods[0], w.state.Now
			w.state = Delete(w.state, pod)
			if test.want == 0 {
				w.check("pods", len(w.state.Pods), 0)
				return
			}
			w.check("Terminating", []any{w.state.Pods[0].Spec.NodeName, w.state.Pods[0].DeletionTimestamp.Sub(asked.Time).Seconds()}, []any{"n1", test.want})
			next, err := w.controllers.Reconcile(w.state)
			if err != nil {
				t.Fatal(err)
			}
			w.check("with its successor", len(next.Pods), 2)
			w.settle()
			w.waitOut()
			if took := w.state.Now.Sub(asked.Time).Seconds(); took < test.want || len(w.state.Pods) != 1 || w.state.Pods[0].UID == pod.UID {
				t.Errorf("after %v s the pods are %v", took, w.pods())
			}
		})
	}
}

// A pod without a node is gone at once, and so is one on a node that is no more; asking twice changes nothing; a pod of a dump ends when
// its grace period does, and one on a lost node not at all.
func TestWhoEndsAPod(t *testing.T) {
	w := newWorld(t, 2, anywhere)
	w.state.TerminationSeconds = 5
	at := func(node string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}, Spec: v1.PodSpec{NodeName: node}, Status: v1.PodStatus{Phase: v1.PodRunning}}
	}
	for name, pod := range map[string]*v1.Pod{"no node": at(""), "a node that is gone": at("n9")} {
		if s := Terminate(w.state.With(pod), "", pod); len(s.Pods) != 0 {
			t.Errorf("%s: %d pods", name, len(s.Pods))
		}
	}
	once := Terminate(w.state.With(at("n1")), "", at("n1"))
	later := *once
	later.Now = metav1.NewTime(once.Now.Add(1e9))
	if twice := Terminate(&later, "", once.Pods[0]); twice != &later {
		t.Error("asked twice, the pod is another")
	}
	if left := new(Controllers).end(&later); left != &later {
		t.Error("the pod ends after a second of five")
	}
	later.Now = metav1.NewTime(once.Now.Add(5e9))
	if left := new(Controllers).end(&later); len(left.Pods) != 0 {
		t.Error("the pod does not end after five seconds of five")
	}
	silent, err := Fail(&later, Unreachable, "n1")
	if err != nil {
		t.Fatal(err)
	}
	if left := new(Controllers).end(silent); len(left.Pods) != 1 {
		t.Error("the pod ends on a node that does not answer")
	}
	off, err := Fail(&later, OutOfService, "n1")
	if err != nil {
		t.Fatal(err)
	}
	if left := new(Controllers).end(off); len(left.Pods) != 0 {
		t.Error("the pod stays on a node that is out of service")
	}
}
