package cluster

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A container that runs for a second each time is started again after 1, 12, 33, 74 … seconds.
func TestRestartsAfter(t *testing.T) {
	for since, want := range map[int]Restarts{
		0:  {Next: time.Second},
		1:  {Count: 1, Next: 11 * time.Second},
		2:  {Count: 1, BackOff: 10 * time.Second, Next: 10 * time.Second},
		11: {Count: 1, BackOff: 10 * time.Second, Ended: 9 * time.Second, Next: time.Second},
		12: {Count: 2, Ended: 10 * time.Second, Next: 21 * time.Second},
		13: {Count: 2, BackOff: 20 * time.Second, Next: 20 * time.Second},
		34: {Count: 3, BackOff: 40 * time.Second, Next: 40 * time.Second},

		3600: {Count: 16, BackOff: maxBackOff, Ended: 273 * time.Second, Next: 27 * time.Second},
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
