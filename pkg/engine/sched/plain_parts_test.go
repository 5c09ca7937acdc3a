package sched

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cases in which a rule counts or names other pods than before on a node that itself has not changed.
func TestPlainParts(t *testing.T) {
	config, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	nodes := then(in("z1", "n1"), in("z2", "n2"), in("z3", "n3"))
	avoiding := soft("b", map[string]int32{hostname: 1}, hostname)
	team := soft("b", map[string]int32{hostname: 1}, hostname)
	team.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	namespace := func(name, team string) *v1.Namespace {
		return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
	}
	of := func(namespace string) func(*v1.Pod) { return func(pod *v1.Pod) { pod.Namespace = namespace } }
	noDB := soft("", map[string]int32{hostname: 1}, hostname)
	noDB.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "db"}}
	onNodes := over(hostname, v1.ScheduleAnyway, map[string]string{"app": "b"})
	for name, moments := range map[string][]moment{
		"a namespace is no longer selected": {
			nodes, then(namespace("east", "a"), namespace("west", "a")), then(running(an("b", "b1", of("east")), "n1"), running(an("b", "b2", of("west")), "n2")),
			then(an("a", "p1", affine(team))), then(namespace("east", "b")), then(an("a", "p2", affine(team)))},
		"the first rule comes that reads a label by which two pods differ": {
			nodes, then(running(an("b", "b1"), "n1")), then(an("a", "p1", labeled("tier", "db"), affine(avoiding))),
			then(running(an("c", "c1", affine(noDB)), "n3")), then(an("a", "p2", affine(avoiding)))},
		"a pod of which less is kept": {
			then(in("z1", "n1"), in("z2", "n2")), then(running(an("b", "b1"), "n1"), running(an("b", "b2"), "n1")),
			then(an("a", "brief", affine(fond("b")))), then(an("a", "p1", affine(fond("b"))))},
		"a pod that is spread, of which less is kept": {
			then(in("z1", "n1"), in("z2", "n2")), then(running(an("b", "b1"), "n1"), running(an("b", "b2"), "n1")),
			then(an("a", "brief", onNodes)), then(an("a", "p1", onNodes))},
	} {
		t.Run(name, func(t *testing.T) { both(t, config, moments...) })
	}
}
