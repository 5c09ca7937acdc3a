package controller

import (
	"fmt"
	"testing"
)

func TestAutoscalerBounds(t *testing.T) {
	tests := []struct {
		name           string
		replicas, want int
	}{{"raised", 1, 3}, {"within", 4, 4}, {"lowered", 9, 5}, {"zero switches it off", 0, 0}}
	for _, kind := range []string{"Deployment", "StatefulSet", "ReplicaSet"} {
		for _, test := range tests {
			t.Run(kind+" "+test.name, func(t *testing.T) {
				w := newWorld(t, 1, anywhere)
				w.apply(workload(kind, "web", test.replicas, "a", "") + fmt.Sprintf(`---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 3, maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: %s, name: web}}
`, kind))
				w.check("pods", len(w.state.Pods), test.want)
			})
		}
	}
}
