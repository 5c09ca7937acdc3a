package controller

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// An autoscaler looks at its target 15 s after its creation, when the target has the pods that it asks for.
func TestAutoscalerBounds(t *testing.T) {
	tests := []struct {
		name           string
		replicas, want int
	}{{"raised", 1, 3}, {"within", 4, 4}, {"lowered", 9, 5}, {"zero switches it off", 0, 0}}
	for _, kind := range []string{"Deployment", "StatefulSet", "ReplicaSet"} {
		for _, test := range tests {
			t.Run(kind+" "+test.name, func(t *testing.T) {
				w := newWorld(t, 1, placeAnywhere)
				w.apply(workload(kind, "web", test.replicas, "a", "") + fmt.Sprintf(`---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 3, maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: %s, name: web}}
`, kind))
				w.check("pods before it looks", len(w.state.Pods), test.replicas)
				looks, acts := w.controllers.Next(w.state)
				if acts != (test.want != test.replicas) || acts && !looks.Equal(ptr.To(metav1.NewTime(cluster.Epoch.Add(15*time.Second)))) {
					t.Errorf("it acts %t at %v, want %t, 15 s after it was made", acts, looks, !acts)
				}
				w.waitOut()
				w.check("pods", len(w.state.Pods), test.want)
			})
		}
	}
}
