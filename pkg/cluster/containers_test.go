package cluster

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Each command ends as a shell would end it; "runs" is for commands of which only a real container knows.
func TestEndOfCommand(t *testing.T) {
	for _, test := range []struct {
		image   string
		command []string
		want    string
	}{
		{"x", []string{"true"}, "1s 0"},
		{"x", []string{"/bin/false"}, "1s 1"},
		{"x", []string{"sleep", "30"}, "30s 0"},
		{"x", []string{"sleep", "1.5m", "5"}, "1m35s 0"},
		{"x", []string{"sleep", "infinity"}, "runs"},
		{"x", []string{"sleep"}, "runs"},
		{"x", []string{"echo", "a", "$(date)"}, "1s 0"},
		{"x", []string{"exit", "3"}, "runs"}, // no program
		{"x", []string{"nginx", "-g", "daemon off;"}, "runs"},
		{"x", nil, "runs"},
		{"docker.io/library/busybox:1.37", nil, "1s 0"},
		{"busybox", []string{"sh", "-c", "exit 3"}, "1s 3"},
		{"busybox", []string{"sh", "-c", "exit 300"}, "runs"},
		{"busybox", []string{"/bin/sh", "-c", "echo 'a; b' && sleep 10; exit 0"}, "10s 0"},
		{"busybox", []string{"sh", "-c", "false; true"}, "1s 0"},
		{"busybox", []string{"sh", "-ec", "false; sleep 10"}, "1s 1"},
		{"busybox", []string{"sh", "-ec", "false || sleep 10"}, "10s 0"},
		{"busybox", []string{"sh", "-c", "false && sleep 10"}, "1s 1"},
		{"busybox", []string{"sh", "-c", "sleep 5\nexit 1\nsleep 5"}, "5s 1"},
		{"busybox", []string{"sh", "-c", "sleep 5 & wait"}, "runs"},
		{"busybox", []string{"sh", "-c", "while true; do sleep 1; done"}, "runs"},
		{"busybox", []string{"sh", "-c", "echo $(cat /x)"}, "runs"},
		{"busybox", []string{"sh", "-c", "echo \"unfinished"}, "runs"},
		{"busybox", []string{"sh", "-c", ""}, "runs"},
		{"busybox", []string{"sh", "script.sh"}, "runs"},
	} {
		got := "runs"
		if after, code, ends := endOfCommand(&v1.Container{Image: test.image, Command: test.command}); ends {
			got = after.String() + " " + fmt.Sprint(code)
		}
		if got != test.want {
			t.Errorf("%s %q: %s, want %s", test.image, test.command, got, test.want)
		}
	}
}

// A pod ends with its longest container; what fails starts again unless it may not.
func TestContainersEnd(t *testing.T) {
	container := func(command ...string) v1.Container { return v1.Container{Image: "busybox", Command: command} }
	containers := &Containers{JobDuration: 7 * time.Second, MissingImages: []string{"*:404"}}
	for name, test := range map[string]struct {
		policy v1.RestartPolicy
		all    []v1.Container
		ofJob  bool
		want   string
	}{
		"of a Job, one crashes": {v1.RestartPolicyOnFailure, []v1.Container{container("migrate"), container("false")}, true, "runs"},
		"the longest":           {v1.RestartPolicyNever, []v1.Container{container("sleep", "5"), container("sleep", "9")}, false, "9s 0"},
		"one fails":             {v1.RestartPolicyNever, []v1.Container{container("sleep", "5"), container("false")}, false, "5s 1"},
		"one runs":              {v1.RestartPolicyNever, []v1.Container{container("sleep", "5"), container("serve")}, false, "runs"},
		"always":                {v1.RestartPolicyAlways, []v1.Container{container("sleep", "5")}, false, "runs"},
		"fails, and again":      {v1.RestartPolicyOnFailure, []v1.Container{container("false")}, false, "runs"},
		"of a Job":              {v1.RestartPolicyOnFailure, []v1.Container{container("migrate")}, true, "7s 0"},
		"of a Job, and says":    {v1.RestartPolicyOnFailure, []v1.Container{container("sleep", "3")}, true, "3s 0"},
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1.PodSpec{RestartPolicy: test.policy, Containers: test.all}}
		if test.ofJob {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Controller: new(true)}}
		}
		pod = BindPod(pod, "n", Epoch.Time)
		got := "runs"
		if at, code, ends := containers.EndsAt(pod); ends {
			got = at.Sub(Epoch.Time).String() + " " + fmt.Sprint(code)
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		if _, _, ends := (*Containers)(nil).EndsAt(pod); ends {
			t.Errorf("%s: it ends although nothing says what containers do", name)
		}
	}
}

// A pod that Helm waits for ends as a Job's does, unless a controller or a dump has it.
func TestHookEnds(t *testing.T) {
	containers := &Containers{JobDuration: 7 * time.Second}
	hook := func(change func(*v1.Pod)) *v1.Pod {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{"helm.sh/hook": "test"}}, Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Image: "curl"}}}}
		change(pod)
		return BindPod(pod, "n", Epoch.Time)
	}
	for name, test := range map[string]struct {
		pod  *v1.Pod
		ends bool
	}{
		"a hook":  {hook(func(*v1.Pod) {}), true},
		"no hook": {hook(func(pod *v1.Pod) { pod.Annotations = nil }), false},
		"of a controller": {hook(func(pod *v1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Controller: new(true)}}
		}), false},
		"that starts for ever": {hook(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyAlways }), false},
	} {
		if at, code, ends := containers.EndsAt(test.pod); ends != test.ends || ends && (at.Sub(Epoch.Time) != 7*time.Second || code != 0) {
			t.Errorf("%s: %v %d %t", name, at, code, ends)
		}
	}
}

// A probe's delay comes before readiness, and a missing image keeps a pod Pending.
func TestContainersStart(t *testing.T) {
	containers := &Containers{MissingImages: []string{"*:404"}}
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Image: "web", ReadinessProbe: &v1.Probe{InitialDelaySeconds: 20}}}}}
	started := containers.Start(BindPod(pod, "n", Epoch.Time))
	if at, waits := containers.ReadyAt(started); !waits || at.Sub(Epoch.Time) != 20*time.Second {
		t.Errorf("ready at %v, %v", at, waits)
	}
	if _, waits := containers.ReadyAt(MakeReady(started, Epoch)); waits || AwaitsContainers(MakeReady(started, Epoch)) {
		t.Error("a ready pod waits")
	}
	missing := pod.DeepCopy()
	missing.Spec.Containers[0].Image = "registry.example.com:5000/shop/web:404"
	started = containers.Start(BindPod(missing, "n", Epoch.Time))
	if _, waits := containers.ReadyAt(started); waits || started.Status.Phase != v1.PodPending {
		t.Errorf("a pod without its image is %s", started.Status.Phase)
	}
	if bound := BindPod(missing, "n", Epoch.Time); (*Containers)(nil).Start(bound) != bound {
		t.Error("a cluster without Containers changes pods")
	}
}
