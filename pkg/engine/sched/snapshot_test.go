package sched

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// separatePod returns a pod that shares a host with no other pod of its kind.
func separatePod(name string) *v1.Pod {
	p := pod(name, "100m", 0)
	p.Labels = map[string]string{"app": "loner"}
	p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		LabelSelector: metav1.SetAsLabelSelector(p.Labels), TopologyKey: v1.LabelHostname,
	}}}}
	return p
}

func hosts(names ...string) (nodes []*v1.Node) {
	for _, name := range names {
		nodes = append(nodes, node(name, map[string]string{v1.LabelHostname: name}))
	}
	return nodes
}

func newSnapshot(t *testing.T, nodes []*v1.Node, pods ...*v1.Pod) *Snapshot {
	t.Helper()
	config, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSnapshot(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Fill(t.Context(), &cluster.State{Now: cluster.Epoch}, nodes, pods); err != nil {
		t.Fatal(err)
	}
	return s
}

// content prints nodes and their pods.
func content(s *Snapshot) string {
	text := ""
	for _, node := range s.Nodes() {
		text += node.Name + ":"
		for _, pod := range s.Pods(node.Name) {
			text += " " + pod.Name
		}
		text += fmt.Sprintf(" (%d taints)\n", len(node.Spec.Taints))
	}
	return text
}

func TestSnapshotAsksTheFilters(t *testing.T) {
	first := separatePod("first")
	first.Spec.NodeName = "a"
	s := newSnapshot(t, hosts("a", "b"), first)
	if reasons, fits := s.Check(separatePod("second"), "a"); fits || !cmp.Equal(reasons, []string{"node(s) didn't match pod anti-affinity rules"}) {
		t.Errorf("a pod beside one that it must not share a host with: %v, %v", reasons, fits)
	}
	if _, placed := s.Place(separatePod("second"), "b"); !placed {
		t.Error("it does not fit onto a free host")
	}
	if found := s.Find(separatePod("third"), func(string) bool { return true }); found != "" {
		t.Errorf("a third fits onto %q", found)
	}
	s.AddNode(hosts("c")[0])
	if found := s.Find(separatePod("third"), func(string) bool { return true }); found != "c" {
		t.Errorf("with another host the third fits onto %q, want c", found)
	}
	if err := s.RemovePod(first, "a"); err != nil {
		t.Fatal(err)
	}
	if found := s.Find(separatePod("fourth"), func(string) bool { return true }); found != "a" {
		t.Errorf("with a host free again the fourth fits onto %q, want a", found)
	}
}

func TestSnapshotSearchesBehindTheLastNode(t *testing.T) {
	s := newSnapshot(t, hosts("a", "b", "c"))
	var found []string
	for i := range 5 {
		found = append(found, s.Find(pod(fmt.Sprint("p", i), "100m", 0), func(name string) bool { return name != "c" }))
	}
	if diff := cmp.Diff([]string{"b", "a", "b", "a", "b"}, found); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

// Revert undoes the changes since a fork. Commit keeps them until an outer fork is reverted.
func TestSnapshotForks(t *testing.T) {
	onA := separatePod("p1")
	onA.Spec.NodeName = "a"
	s := newSnapshot(t, hosts("a", "b"), onA)
	before := content(s)
	change := func(n int) {
		s.AddNode(hosts(fmt.Sprint("new", n))[0], pod(fmt.Sprint("own", n), "1m", 0))
		s.Place(separatePod(fmt.Sprint("p", n)), "b")
		tainted := hosts("a")[0]
		tainted.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
		s.ReplaceNode(tainted)
	}
	s.Fork()
	change(1)
	outer := content(s)
	want := "a: (1 taints)\nb: p1 (0 taints)\nnew1: own1 (0 taints)\n"
	if diff := cmp.Diff(want, outer); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	s.Fork()
	s.RemoveNode("a")
	change2 := content(s)
	s.Revert()
	if diff := cmp.Diff(outer, content(s)); diff != "" || change2 == outer {
		t.Errorf("inner fork taken back (-want +got):\n%s", diff)
	}
	s.Fork()
	s.RemoveNode("b")
	s.Commit()
	if diff := cmp.Diff("a: (1 taints)\nnew1: own1 (0 taints)\n", content(s)); diff != "" {
		t.Errorf("inner fork kept (-want +got):\n%s", diff)
	}
	s.Revert()
	if diff := cmp.Diff(before, content(s)); diff != "" {
		t.Errorf("outer fork taken back (-want +got):\n%s", diff)
	}
	if _, fits := s.Check(separatePod("other"), "a"); fits {
		t.Error("after that, the pod that must be alone on its host no longer counts")
	}
	if s.Node("new1") != nil || s.Node("b") == nil {
		t.Error("after that, nodes are not found as before")
	}
}

// With pod groups, plugins ask the snapshot for the groups while they are made.
func TestSnapshotWithPodGroups(t *testing.T) {
	withPodGroups(t)
	s := newSnapshot(t, hosts("a"))
	if _, fits := s.Place(pod("web", "100m", 0), "a"); !fits {
		t.Error("the pod does not fit on an empty node")
	}
}

// What Check says of a node does not depend on what it was asked before, also if pods have come to other nodes meanwhile.
func TestCheckOneNodeAfterAnother(t *testing.T) {
	nodes := hosts("free", "taken", "tainted", "small")
	nodes[2].Spec.Taints = []v1.Taint{{Key: "gpu", Effect: v1.TaintEffectNoSchedule}}
	nodes[3].Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("50m"), v1.ResourcePods: resource.MustParse("10")}
	newPods := func() (asked, there *v1.Pod) {
		there = separatePod("there")
		there.Spec.NodeName = "taken"
		return separatePod("asked"), there
	}
	describe := func(s *Snapshot, pod *v1.Pod, node string) string {
		reasons, fits := s.Check(pod, node)
		return fmt.Sprint(node, " ", reasons, " ", fits)
	}
	var got, want []string
	asked, there := newPods()
	s := newSnapshot(t, nodes, there)
	for _, node := range []string{"free", "taken", "tainted", "small", "free"} {
		got = append(got, describe(s, asked, node))
		alone, there := newPods()
		want = append(want, describe(newSnapshot(t, nodes, there), alone, node))
	}
	if _, placed := s.Place(separatePod("later"), "free"); !placed {
		t.Fatal("a pod is not placed on the free node")
	}
	got = append(got, describe(s, asked, "free"))
	want = append(want, strings.Replace(want[1], "taken", "free", 1))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !strings.HasSuffix(want[0], "true") || strings.Contains(strings.Join(want[1:4], " "), "true") {
		t.Errorf("only the first node should take the pod: %q", want)
	}
}
