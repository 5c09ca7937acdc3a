package cluster

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A container that runs for a second each time is started again after 1, 12, 33, 74 … seconds.
func TestRestartsAfter(t *testing.T) {
	for since, want := range map[int]Restarts{
		0: {}, 1: {1, 0, 0}, 2: {1, 10 * time.Second, 0}, 11: {1, 10 * time.Second, 9 * time.Second}, 12: {2, 0, 10 * time.Second},
		13: {2, 20 * time.Second, 0}, 34: {3, 40 * time.Second, 0}, 3600: {16, maxBackOff, 273 * time.Second},
	} {
		if got := RestartsAfter(time.Duration(since)*time.Second, time.Second); got != want {
			t.Errorf("after %d s: %+v, want %+v", since, got, want)
		}
	}
}

// A pod whose container is started again and again runs and is never ready.
func TestCrashLoop(t *testing.T) {
	for _, test := range []struct {
		policy  v1.RestartPolicy
		command []string
		crashes bool
	}{
		{v1.RestartPolicyAlways, []string{"false"}, true},
		{v1.RestartPolicyAlways, []string{"sleep", "30"}, true},
		{v1.RestartPolicyAlways, []string{"sleep", "1h"}, false},
		{v1.RestartPolicyAlways, []string{"serve"}, false},
		{v1.RestartPolicyOnFailure, []string{"false"}, true},
		{v1.RestartPolicyOnFailure, []string{"true"}, false},
		{v1.RestartPolicyNever, []string{"false"}, false},
	} {
		pod := BindPod(&v1.Pod{Spec: v1.PodSpec{RestartPolicy: test.policy, Containers: []v1.Container{{Command: test.command}}}}, "n", Epoch.Time)
		started := (&Containers{}).Start(pod)
		if AwaitsContainers(started) != test.crashes {
			t.Errorf("%s %q: %+v", test.policy, test.command, started.Status.Conditions)
		}
		if at, waits := (&Containers{}).ReadyAt(started); waits {
			t.Errorf("%s %q is ready at %v", test.policy, test.command, at)
		}
		if of := (*Containers)(nil).Start(pod); of != pod {
			t.Errorf("%s %q does not start as in a run", test.policy, test.command)
		}
	}
}
