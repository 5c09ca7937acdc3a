package controller

import (
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/input/admission"
)

// A Terminating pod occupies its node until its kubelet has ended it, at the latest when its grace period ends. Its Deployment creates
// another pod meanwhile.
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
			w := newWorld(t, 2, placeAnywhere)
			w.state.TerminationSeconds = test.seconds
			w.apply(strings.Replace(deployment("web", 1, "a", ""), "{containers:", "{"+test.spec+"containers:", 1))
			pod, asked := w.state.Pods[0], w.state.Now
			w.state = admission.Delete(w.state, pod)
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
