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
	join := affine(&v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{apart("a", zone)}}})
	repelling := func(key string) func(*v1.Pod) { return affine(hard("a", key)) }
	avoiding := affine(hard("b", hostname))
	of := func(inRack, name string) *v1.Node { return node(name, map[string]string{rack: inRack}) }
	filler := running(pod("filler", "8", 0), "n1")
	for name, c := range map[string]struct {
		moments []moment
		want    map[string]string
	}{
		"a domain without a name, and a node without a domain": {
			[]moment{then(in("", "n1"), node("n2", nil)), then(running(an("a", "o1"), "n1")), then(an("a", "p1", join)), then(an("a", "p2", join))},
			map[string]string{"p1": "n1", "p2": "n1"}},
		"a node without a domain, which the first pod may not use either": {
			[]moment{then(node("n0", nil), in("z1", "n1")), then(filler, an("a", "p1", join)), except(filler)},
			map[string]string{"p1": "n1"}},
		"another pod comes that repels the pod": {
			[]moment{then(in("z1", "n1"), in("z2", "n2"), in("z3", "n3")), then(running(an("b", "r1", repelling(hostname)), "n1"), an("a", "p1")), then(an("a", "p2")),
				then(running(an("b", "r2", repelling(hostname)), "n2"), an("a", "p3"))},
			map[string]string{"p1": "n2", "p2": "n3", "p3": "n3"}},
		"another pod comes that the pod avoids": {
			[]moment{then(in("z1", "n1"), in("z2", "n2"), in("z3", "n3")), then(running(an("b", "b1"), "n1"), an("c", "p1", avoiding)), then(an("c", "p2", avoiding)),
				then(running(an("b", "b2"), "n2"), an("c", "p3", avoiding))},
			map[string]string{"p1": "n2", "p2": "n3", "p3": "n3"}},
		"the first pod comes that repels by another key": {
			[]moment{then(of("r1", "n1"), of("r1", "n2"), of("r2", "n3"), of("r3", "n4")),
				then(running(an("b", "r1", repelling(rack)), "n1"), an("a", "p1")), then(an("a", "p2")),
				then(running(an("b", "r2", repelling(hostname)), "n3"), an("a", "p3"))},
			map[string]string{"p1": "n3", "p2": "n4", "p3": "n4"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, both(t, config, c.moments...)); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}
