package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

func TestChangeText(t *testing.T) {
	for want, c := range map[string]Change{
		"Nothing is newly Pending":                                                     {},
		"Nothing is newly Pending (1 other was Pending before)":                        {WasPending: 1, StillPending: 1},
		"Nothing is newly Pending (2 that were Pending before no longer are)":          {WasPending: 2},
		"Nothing is newly Pending, and 3 pods that ran are Pending":                    {Pending: 3},
		"Yes: the new pod fits":                                                        {New: 1},
		"Yes: all 48 new pods fit (7 others were Pending before)":                      {New: 48, WasPending: 7, StillPending: 7},
		"No: 7 of 12 new pods do not fit (7 others were Pending before)":               {New: 12, NewPending: 7, WasPending: 7, StillPending: 7},
		"No: 1 of 1 new pod does not fit, and 1 pod that ran is Pending":               {New: 1, NewPending: 1, Pending: 1},
		"Yes: all 2 new pods fit (1 that was Pending before no longer is)":             {New: 2, WasPending: 1},
		"No: 3 new pods are refused by the API server (1 other was Pending before)":    {New: 3, Refused: 3, WasPending: 1, StillPending: 1},
		"No: 1 of 2 new pods does not fit, and 1 new pod is refused by the API server": {New: 2, NewPending: 1, Refused: 1},
	} {
		if got := c.Text(""); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	const with = " with 2 more nodes (general 1->3)"
	for want, c := range map[string]Change{
		"Yes: all 2 new pods fit with 2 more nodes (general 1->3) (1 other was Pending before)": {New: 2, WasPending: 1, StillPending: 1},
		"No: 1 of 2 new pods does not fit, even with 2 more nodes (general 1->3)":               {New: 2, NewPending: 1},
	} {
		if got := c.Text(with); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Of four pods a runs on, b was and is Pending, c was and is no longer, and d, which ran, is gone. e is new and runs, f is new and waits, and
// g ran and waits now. What has ended does not count, nor what a
// new node brings. Two pods are refused.
func TestNewChange(t *testing.T) {
	pod := func(name, node string, phase v1.PodPhase) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{NodeName: node}, Status: v1.PodStatus{Phase: phase}}
	}
	there := podsOf(&cluster.State{Pods: []*v1.Pod{pod("a", "n", v1.PodRunning), pod("b", "", v1.PodPending), pod("c", "", v1.PodPending),
		pod("d", "n", v1.PodRunning), pod("g", "n", v1.PodRunning)}})
	agent := pod("agent", "new", v1.PodRunning)
	agent.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", Controller: ptr.To(true)}}
	nodes := []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}
	got := newChange(there, nodes, &cluster.State{Refused: []cluster.Refusal{{Pods: 2}}, Pods: []*v1.Pod{agent, pod("a", "n", v1.PodRunning), pod("b", "", v1.PodPending), pod("c", "n", v1.PodRunning),
		pod("e", "n", v1.PodRunning), pod("f", "", v1.PodPending), pod("g", "", v1.PodPending), pod("h", "n", v1.PodSucceeded)}})
	if diff := cmp.Diff(&Change{New: 2, NewPending: 1, Refused: 2, Pending: 1, WasPending: 2, StillPending: 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
