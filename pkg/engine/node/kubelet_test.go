package node

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/input/admission"
)

// A pod without a node is gone at once, and so is a pod whose node is gone. A second deletion changes nothing. A pod of a dump ends when
// its grace period does, and a pod on a lost node does not end.
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
	if left := new(Controllers).endPods(&later); left != &later {
		t.Error("the pod ends after a second of five")
	}
	later.Now = metav1.NewTime(once.Now.Add(5e9))
	if left := new(Controllers).endPods(&later); len(left.Pods) != 0 {
		t.Error("the pod does not end after five seconds of five")
	}
	silent, err := Fail(&later, Unreachable, "n-1")
	if err != nil {
		t.Fatal(err)
	}
	if left := new(Controllers).endPods(silent); len(left.Pods) != 1 {
		t.Error("the pod ends on a node that does not answer")
	}
	off, err := Fail(&later, OutOfService, "n-1")
	if err != nil {
		t.Fatal(err)
	}
	if left := new(Controllers).endPods(off); len(left.Pods) != 0 {
		t.Error("the pod stays on a node that is out of service")
	}
}

// With a seed each pod ends at its own time between the request and the end of its grace period. Of 400 pods with 10 s, 1 in 40 ends before
// any controller reacts, and about 40 end in each second.
func TestKubeletsEndPodsSooner(t *testing.T) {
	asked := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	latest := metav1.NewTime(asked.Add(10 * time.Second))
	c := Controllers{Seed: ptr.To(uint64(7))}
	ended := map[time.Duration]int{}
	for i := range 400 {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint("p", i)), DeletionTimestamp: &latest, DeletionGracePeriodSeconds: ptr.To(int64(10))}}
		at := c.endsAt(pod)
		if at != c.endsAt(pod) {
			t.Fatalf("%s ends at %v, and then at another time", pod.UID, at)
		}
		ended[at.Sub(asked.Time)]++
		if at := new(Controllers).endsAt(pod); at != latest.Time {
			t.Errorf("without a seed it ends at %v, want %v", at, latest)
		}
	}
	if ended[0] > 30 || len(ended) != 11 {
		t.Errorf("so many ended after so long: %v", ended)
	}
	for second := 1; second <= 10; second++ {
		if n := ended[time.Duration(second)*time.Second]; n < 20 || n > 70 {
			t.Errorf("%d ended in second %d", n, second)
		}
	}
}

// Three pods of 2 CPU wait for 4 CPU on a node that has room for one of them. The pod with the highest priority gets it; among equals, the
// pod that has waited longest.
func TestWhichResizeComesFirst(t *testing.T) {
	state := nodesOf(map[string]int{"n": 1})
	n := state.Nodes[0].DeepCopy()
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"), v1.ResourceMemory: resource.MustParse("8Gi")}
	two, four := v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}, v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}
	pod := func(name string, priority int32, since int64) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
			Spec: v1.PodSpec{NodeName: n.Name, Priority: &priority, Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: four}}}},
			Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{Name: "c", AllocatedResources: two, Resources: &v1.ResourceRequirements{Requests: two}}},
				Conditions: []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred, LastTransitionTime: metav1.Unix(since, 0)}}}}
	}
	for want, pods := range map[string][]*v1.Pod{
		"high":  {pod("early", 0, 1), pod("high", 1, 2), pod("late", 0, 2)},
		"early": {pod("late", 0, 2), pod("early", 0, 1), pod("other", 0, 2)},
	} {
		s := state.With(n)
		for _, p := range pods {
			s = s.With(p)
		}
		var got []string
		for _, p := range new(Controllers).Reconcile(s, nil).Pods {
			if p.Status.ContainerStatuses[0].AllocatedResources.Cpu().String() == "4" && len(p.Status.Conditions) == 0 {
				got = append(got, p.Name)
			}
		}
		if fmt.Sprint(got) != "["+want+"]" {
			t.Errorf("%v are resized, %s is expected", got, want)
		}
	}
}
