package controller

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/input/admission"
)

func replicationController(replicas int) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: ReplicationController
metadata: {name: old}
spec:
  replicas: %d
  template:
    metadata: {labels: {app: old}}
    spec: {containers: [{name: c, image: registry.example.com/old:1}]}
`, replicas)
}

// controllersOfPods counts the pods of each controller; "" has the pods without one.
func (w *world) controllersOfPods() map[string]int {
	all := map[string]int{}
	for _, pod := range w.state.Pods {
		if ref := metav1.GetControllerOf(pod); ref != nil {
			all[ref.APIVersion+" "+ref.Kind+" "+ref.Name]++
		} else {
			all[""]++
		}
	}
	return all
}

// The selector comes from the template. The controller adopts an orphan that the selector matches, and releases and replaces a pod that it
// does not match any more.
func TestReplicationController(t *testing.T) {
	w := newWorld(t, 2, placeAnywhere)
	w.apply(`
apiVersion: v1
kind: Pod
metadata: {name: orphan, labels: {app: old}}
spec: {containers: [{name: c, image: registry.example.com/old:1}]}
`)
	w.apply(replicationController(3))
	w.check("pods", w.controllersOfPods(), map[string]int{"v1 ReplicationController old": 3})
	status := w.state.ReplicationControllers[0].Status
	w.check("status", []int32{status.Replicas, status.FullyLabeledReplicas, status.ReadyReplicas, status.AvailableReplicas}, []int32{3, 3, 3, 3})

	w.apply(replicationController(1))
	w.check("scaled down", w.controllersOfPods(), map[string]int{"v1 ReplicationController old": 1})

	released := w.state.Pods[0].DeepCopy()
	released.Labels["app"] = "debugged"
	w.state = w.state.With(released)
	w.settle()
	w.check("released", w.controllersOfPods(), map[string]int{"v1 ReplicationController old": 1, "": 1})

	w.state = admission.Delete(w.state, w.state.ReplicationControllers[0])
	w.settle()
	w.check("deleted", w.controllersOfPods(), map[string]int{"": 1})
}

// Half of three pods, rounded up, must be available, so one pod can be evicted.
func TestBudgetOfAReplicationController(t *testing.T) {
	w := newWorld(t, 2, placeAnywhere)
	w.apply(replicationController(3) + `---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: old}
spec: {minAvailable: 50%, selector: {matchLabels: {app: old}}}
`)
	w.checkBudget(3, 2, 3, 1)
}

// An autoscaler scales the ReplicationController to its minimum.
func TestAutoscalerOfAReplicationController(t *testing.T) {
	w := newWorld(t, 2, placeAnywhere)
	w.apply(replicationController(1) + `---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: old}
spec: {minReplicas: 4, maxReplicas: 9, scaleTargetRef: {apiVersion: v1, kind: ReplicationController, name: old}}
`)
	w.waitOut()
	w.check("pods", w.controllersOfPods(), map[string]int{"v1 ReplicationController old": 4})
}
