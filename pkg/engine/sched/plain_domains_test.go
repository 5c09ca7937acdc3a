package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// Cases in which InterPodAffinity's verdict on the nodes of a domain changes, or differs from the verdict on another node in one respect.
func TestPlainDomains(t *testing.T) {
	config, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	join := withAffinity(&v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{apart("a", zone)}}})
	repelling := func(key string) func(*v1.Pod) { return withAffinity(hard("a", key)) }
	avoiding := withAffinity(hard("b", hostname))
	of := func(inRack, name string) *v1.Node { return node(name, map[string]string{rack: inRack}) }
	filler := running(pod("filler", "8", 0), "n1")
	for name, c := range map[string]struct {
		moments []stateStep
		want    map[string]string
	}{
		"a domain without a name, and a node without a domain": {
			[]stateStep{withObjects(nodeInZone("", "n1"), node("n2", nil)), withObjects(running(newAppPod("a", "o1"), "n1")), withObjects(newAppPod("a", "p1", join)), withObjects(newAppPod("a", "p2", join))},
			map[string]string{"p1": "n1", "p2": "n1"}},
		"a node without a domain, which the first pod may not use either": {
			[]stateStep{withObjects(node("n0", nil), nodeInZone("z1", "n1")), withObjects(filler, newAppPod("a", "p1", join)), withoutObjects(filler)},
			map[string]string{"p1": "n1"}},
		"another pod comes that repels the pod": {
			[]stateStep{withObjects(nodeInZone("z1", "n1"), nodeInZone("z2", "n2"), nodeInZone("z3", "n3")), withObjects(running(newAppPod("b", "r1", repelling(hostname)), "n1"), newAppPod("a", "p1")), withObjects(newAppPod("a", "p2")),
				withObjects(running(newAppPod("b", "r2", repelling(hostname)), "n2"), newAppPod("a", "p3"))},
			map[string]string{"p1": "n2", "p2": "n3", "p3": "n3"}},
		"another pod comes that the pod avoids": {
			[]stateStep{withObjects(nodeInZone("z1", "n1"), nodeInZone("z2", "n2"), nodeInZone("z3", "n3")), withObjects(running(newAppPod("b", "b1"), "n1"), newAppPod("c", "p1", avoiding)), withObjects(newAppPod("c", "p2", avoiding)),
				withObjects(running(newAppPod("b", "b2"), "n2"), newAppPod("c", "p3", avoiding))},
			map[string]string{"p1": "n2", "p2": "n3", "p3": "n3"}},
		"the first pod comes that repels by another key": {
			[]stateStep{withObjects(of("r1", "n1"), of("r1", "n2"), of("r2", "n3"), of("r3", "n4")),
				withObjects(running(newAppPod("b", "r1", repelling(rack)), "n1"), newAppPod("a", "p1")), withObjects(newAppPod("a", "p2")),
				withObjects(running(newAppPod("b", "r2", repelling(hostname)), "n3"), newAppPod("a", "p3"))},
			map[string]string{"p1": "n3", "p2": "n4", "p3": "n4"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, placeBothWays(t, config, c.moments...)); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}
