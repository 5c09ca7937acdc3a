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
	nodes := withObjects(nodeInZone("z1", "n1"), nodeInZone("z2", "n2"), nodeInZone("z3", "n3"))
	avoiding := soft("b", map[string]int32{hostname: 1}, hostname)
	team := soft("b", map[string]int32{hostname: 1}, hostname)
	team.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	namespace := func(name, team string) *v1.Namespace {
		return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
	}
	of := func(namespace string) func(*v1.Pod) { return func(pod *v1.Pod) { pod.Namespace = namespace } }
	noDB := soft("", map[string]int32{hostname: 1}, hostname)
	noDB.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "db"}}
	onNodes := spreadOver(hostname, v1.ScheduleAnyway, map[string]string{"app": "b"})
	for name, moments := range map[string][]stateStep{
		"a namespace is no longer selected": {
			nodes, withObjects(namespace("east", "a"), namespace("west", "a")), withObjects(running(newAppPod("b", "b1", of("east")), "n1"), running(newAppPod("b", "b2", of("west")), "n2")),
			withObjects(newAppPod("a", "p1", withAffinity(team))), withObjects(namespace("east", "b")), withObjects(newAppPod("a", "p2", withAffinity(team)))},
		"the first rule comes that reads a label by which two pods differ": {
			nodes, withObjects(running(newAppPod("b", "b1"), "n1")), withObjects(newAppPod("a", "p1", labeled("tier", "db"), withAffinity(avoiding))),
			withObjects(running(newAppPod("c", "c1", withAffinity(noDB)), "n3")), withObjects(newAppPod("a", "p2", withAffinity(avoiding)))},
		"a pod of which less is kept": {
			withObjects(nodeInZone("z1", "n1"), nodeInZone("z2", "n2")), withObjects(running(newAppPod("b", "b1"), "n1"), running(newAppPod("b", "b2"), "n1")),
			withObjects(newAppPod("a", "brief", withAffinity(preferZoneOf("b")))), withObjects(newAppPod("a", "p1", withAffinity(preferZoneOf("b"))))},
		"a pod that is spread, of which less is kept": {
			withObjects(nodeInZone("z1", "n1"), nodeInZone("z2", "n2")), withObjects(running(newAppPod("b", "b1"), "n1"), running(newAppPod("b", "b2"), "n1")),
			withObjects(newAppPod("a", "brief", onNodes)), withObjects(newAppPod("a", "p1", onNodes))},
	} {
		t.Run(name, func(t *testing.T) { placeBothWays(t, config, moments...) })
	}
}
