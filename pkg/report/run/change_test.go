package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

func TestChangeText(t *testing.T) {
	ref := func(namespace, kind, name string) cluster.Ref {
		return cluster.Ref{Kind: kind, Namespace: namespace, Name: name}
	}
	web, db, bare := ref("default", "Deployment", "web"), ref("shop", "StatefulSet", "db"), ref("default", "Pod", "one")
	for want, c := range map[string]Change{
		"Nothing is newly Pending":                                            {},
		"Nothing is newly Pending (1 other was Pending before)":               {WasPending: 1, StillPending: 1},
		"Nothing is newly Pending (2 that were Pending before no longer are)": {WasPending: 2},
		"No: 3 pods of deployment/web that ran have no node":                  {Pending: 3, Lost: []PodsOf{{web, 3}}},
		"No: 3 of 8 pods that controllers make anew do not fit":               {Replacements: 8, ReplacementsPending: 3},
		"Yes: the new pod fits":                                               {New: 1},
		"Yes: 48 of 48 new pods fit (7 others were Pending before)":           {New: 48, WasPending: 7, StillPending: 7},
		"No: 5 of 12 new pods fit (7 others were Pending before and 2 that controllers make anew are, too)": {
			New: 12, NewPending: 7, WasPending: 7, StillPending: 7, Replacements: 3, ReplacementsPending: 2},
		"Yes: 30 of 30 new pods fit, evicting 16 pods (11 of shop/statefulset/db and 5 of deployment/web), and 1 pod of deployment/web that ran has no node": {
			New: 30, Evicted: []PodsOf{{db, 11}, {web, 5}}, Pending: 1, Lost: []PodsOf{{web, 1}}},
		"Yes: the new pod fits, evicting pod/one, and 1 pod is gone, since no controller replaces it": {New: 1, Evicted: []PodsOf{{bare, 1}}, Gone: 1},
		"Yes: 2 of 2 new pods fit (1 that was Pending before no longer is)":                           {New: 2, WasPending: 1},
		"No: the new pod is refused by the API server":                                                {New: 1, Refused: 1},
		"No: 0 of 3 new pods fit, and 3 new pods are refused by the API server (1 other was Pending before)": {
			New: 3, Refused: 3, WasPending: 1, StillPending: 1},
	} {
		if got := c.Text(""); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	const with = " with 2 more nodes (general from 1 to 3 nodes)"
	for want, c := range map[string]Change{
		"Yes: 2 of 2 new pods fit with 2 more nodes (general from 1 to 3 nodes) (1 other was Pending before)": {New: 2, WasPending: 1, StillPending: 1},
		"No: 1 of 2 new pods fits, even with 2 more nodes (general from 1 to 3 nodes)":                        {New: 2, NewPending: 1},
	} {
		if got := c.Text(with); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Before the step, the StatefulSet db has 2 running pods, and the Deployment web has 2 running pods and 1 that waits. The step asks for 3
// pods of job: 1 runs, 1 waits and 1 is not made yet. It has evicted db-1, which waits, and a pod of web. The waiting pod of web has taken
// its place, so that web has lost none: as many of its pods wait as before. A pod without a controller is gone. Pods that a new node brings
// do not count, nor pods that have ended.
func TestNewChange(t *testing.T) {
	pod := func(owner cluster.Ref, name, uid, node string) *v1.Pod {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(uid)}, Spec: v1.PodSpec{NodeName: node}, Status: v1.PodStatus{Phase: v1.PodRunning}}
		if owner.Kind != "Pod" {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: owner.Kind, Name: owner.Name, Controller: ptr.To(true)}}
		}
		return pod
	}
	ref := func(kind, name string) cluster.Ref { return cluster.Ref{Kind: kind, Namespace: "default", Name: name} }
	db, web, agent, bare, job := ref("StatefulSet", "db"), ref("ReplicaSet", "web"), ref("DaemonSet", "agent"), ref("Pod", "bare"), ref("StatefulSet", "job")
	victim := pod(db, "db-1", "db-1", "n")
	was := newClusterBefore(&cluster.State{Nodes: []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}}, podsByUID(&cluster.State{Pods: []*v1.Pod{
		pod(db, "db-0", "db-0", "n"), victim, pod(web, "web-a", "a", "n"), pod(web, "web-b", "b", "n"), pod(web, "web-c", "c", ""), pod(bare, "bare", "bare", "n"),
	}}))
	ended := pod(web, "web-x", "x", "n")
	ended.Status.Phase = v1.PodSucceeded
	three := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "default"}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3)}}
	step := simulation.Step{
		State: &cluster.State{StatefulSets: []*appsv1.StatefulSet{three}, Pods: []*v1.Pod{
			pod(db, "db-0", "db-0", "n"), pod(db, "db-1", "db-1 again", ""), pod(web, "web-a", "a", "n"), pod(web, "web-c", "c", "n"), pod(web, "web-d", "d", ""),
			pod(agent, "agent", "agent", "new"), pod(job, "job-0", "job-0", "n"), pod(job, "job-1", "job-1", ""),
		}},
		Record: world.Record{Preempted: []placement.Preemption{{Victim: victim}, {Victim: pod(web, "web-b", "b", "n")}}},
	}
	got := newChange(was, []simulation.Step{step}, map[cluster.Ref]bool{job: true})
	want := &Change{New: 3, NewPending: 2, Evicted: []PodsOf{{web, 1}, {db, 1}}, Pending: 1, Lost: []PodsOf{{db, 1}}, Gone: 1, Replacements: 2, WasPending: 1, StillPending: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A step asks for the objects that it applies, even if they were printed by kubectl and then edited. It does not ask for a dump that a
// first step applies.
func TestAskedBy(t *testing.T) {
	deployment := func(name, version string) cluster.Object {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", ResourceVersion: version}}
	}
	step := &scenario.LoadedStep{Step: scenario.Step{Apply: &scenario.Source{}}, Objects: []cluster.Object{deployment("written", ""), deployment("printed", "7")}}
	ref := func(name string) cluster.Ref {
		return cluster.Ref{Kind: "Deployment", Namespace: "default", Name: name}
	}
	for dump, want := range map[bool]map[cluster.Ref]bool{
		false: {ref("written"): true, ref("printed"): true},
		true:  {ref("written"): true},
	} {
		if diff := cmp.Diff(want, askedWorkloads(step, dump)); diff != "" {
			t.Errorf("a dump: %t (-want +got):\n%s", dump, diff)
		}
	}
	scaled := &scenario.LoadedStep{Step: scenario.Step{Scale: &scenario.Scale{Target: scenario.Target{Target: "deploy/web"}, Replicas: 3}}}
	if diff := cmp.Diff(map[cluster.Ref]bool{ref("web"): true}, askedWorkloads(scaled, false)); diff != "" {
		t.Errorf("a scale (-want +got):\n%s", diff)
	}
}
