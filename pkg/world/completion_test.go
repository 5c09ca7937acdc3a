package world_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A Job whose pods complete takes as long as its batches of pods, whose size is limited by parallelism and by the room on the node. In the
// end all its completions have succeeded, each index of an Indexed Job once, and none of its pods runs or is Pending.
func TestJobsComplete(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		completions, parallelism, slots := 1+r.IntN(9), 1+r.IntN(6), 1+r.IntN(4)
		span := time.Duration(1+r.IntN(5000)) * time.Second
		mode := []string{"NonIndexed", "Indexed"}[r.IntN(2)]
		name := fmt.Sprintf("%d %s completions, %d at once, %d slots, %s each", completions, mode, parallelism, slots, span)
		t.Run(name, func(t *testing.T) {
			node := fmt.Sprintf(`{apiVersion: v1, kind: Node, metadata: {name: one}, status: {capacity: {cpu: %d, pods: 100}}}`, slots)
			job := fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: sum}, spec: {completions: %d, parallelism: %d, completionMode: %s, template: {metadata: {annotations: {faultline.dev/completes-after: %s}}, spec: {restartPolicy: Never, containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}]}}}}`,
				completions, parallelism, mode, span)
			state := runDrainSteps(t, node, job).Steps[0].State
			status := state.Jobs[0].Status
			atOnce := min(parallelism, slots)
			batches := (completions + atOnce - 1) / atOnce
			if got, want := status.CompletionTime.Sub(status.StartTime.Time), time.Duration(batches)*span; status.Succeeded != int32(completions) || got != want {
				t.Errorf("%d succeeded after %s, want %d after %s", status.Succeeded, got, completions, want)
			}
			if want := fmt.Sprintf("0-%d", completions-1); mode == "Indexed" && completions > 2 && status.CompletedIndexes != want {
				t.Errorf("completed indexes %s, want %s", status.CompletedIndexes, want)
			}
			for _, pod := range state.Pods {
				if pod.Status.Phase != v1.PodSucceeded {
					t.Errorf("%s is %s", pod.Name, pod.Status.Phase)
				}
			}
		})
	}
}
