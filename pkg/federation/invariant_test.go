package federation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// world draws clusters, and bindings that wait.
func world(seed uint64) ([]*Cluster, []*Binding) {
	r := rand.New(rand.NewPCG(seed, 0))
	var all []*Cluster
	for i := range 1 + r.IntN(6) {
		c := withRoom(fmt.Sprint("member", i+1), int64(r.IntN(12)))
		c.Spec.Region = []string{"", "r1", "r2"}[r.IntN(3)]
		if r.IntN(4) == 0 {
			c.Spec.Taints = []v1.Taint{{Key: "key", Effect: v1.TaintEffectNoSchedule}}
		}
		all = append(all, c)
	}
	ways := []*ReplicaScheduling{nil, duplicated, aggregated, dynamic, equal, weighted(3, 2, 1)}
	var bindings []*Binding
	for i := range 1 + r.IntN(6) {
		p := Placement{ReplicaScheduling: ways[r.IntN(len(ways))]}
		if r.IntN(3) == 0 {
			p.ClusterTolerations = []v1.Toleration{{Key: "key", Operator: v1.TolerationOpExists}}
		}
		if r.IntN(2) == 0 {
			p.SpreadConstraints = []SpreadConstraint{{SpreadByField: SpreadByCluster, MinGroups: 1, MaxGroups: 1 + r.IntN(3)}}
			if r.IntN(2) == 0 {
				p.SpreadConstraints = append(p.SpreadConstraints, SpreadConstraint{SpreadByField: SpreadByRegion, MinGroups: 1, MaxGroups: 1 + r.IntN(2)})
			}
		}
		term := &GroupTerm{GroupByLabelKey: "group"}
		p.WorkloadAffinity = []*WorkloadAffinity{nil, {AntiAffinity: term}, {AntiAffinity: term}, {Affinity: term}}[r.IntN(4)]
		b := bind(deployment("a", fmt.Sprint("web", i), int32(1+r.IntN(9))), map[string]string{"group": []string{"x", "y"}[r.IntN(2)]}, p)
		b.Template.UID, b.Priority = fmt.Sprint("uid", r.IntN(100)), int32(r.IntN(3))
		bindings = append(bindings, b)
	}
	return all, bindings
}

// Divided replicas add up to the number that is wanted, or there is an error; no filter refuses a cluster that was given; two workloads of an
// anti-affinity group share none, of two of an affinity group the later has no cluster that the earlier does not have; and the order of the
// clusters does not matter.
func TestInvariants(t *testing.T) {
	placed := 0
	for seed := range uint64(2000) {
		all, bindings := world(seed)
		s := &Scheduler{Clusters: all, Gates: Gates{WorkloadAffinity: true}}
		got := s.Run(bindings, bindings)

		shuffled := slices.Clone(all)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		again := (&Scheduler{Clusters: shuffled, Gates: s.Gates}).Run(bindings, bindings)
		for i, b := range got {
			if diff := cmp.Diff(b.Targets, again[i].Targets); diff != "" || b.Message != again[i].Message {
				t.Errorf("seed %d, %s: another order of the clusters: %s %s", seed, b.Template.Name, again[i].Message, diff)
			}
			if b.Scheduled() != (len(b.Targets) > 0) || b.Reason == "" {
				t.Errorf("seed %d, %s: %s %v", seed, b.Template.Name, b.Reason, b.Targets)
			}
			want := b.Template.Replicas
			if b.Placement.schedulingType() == Duplicated {
				want *= int32(len(b.Targets))
			}
			if b.Scheduled() && b.assigned() != want {
				t.Errorf("seed %d, %s: %v, want %d replicas", seed, b.Template.Name, b.Targets, want)
			}
			for _, other := range got[:i] {
				if b.AffinityGroup != "" && b.AffinityGroup == other.AffinityGroup && !within(b, other) && !within(other, b) {
					t.Errorf("seed %d: %s and %s of one group have %v and %v", seed, b.Template.Name, other.Template.Name, b.Targets, other.Targets)
				}
			}
			for _, target := range b.Targets {
				placed++
				c := all[slices.IndexFunc(all, func(c *Cluster) bool { return c.Name == target.Cluster })]
				if reason := refuseTaints(s, bindings[i], c) + refuseSpread(s, bindings[i], c) + refuseSameGroup(s, bindings[i], c); reason != "" {
					t.Errorf("seed %d, %s on %s: %s", seed, b.Template.Name, c.Name, reason)
				}
				for _, other := range got[:i] {
					if _, shared := other.On(c.Name); shared && b.AntiAffinityGroup != "" && b.AntiAffinityGroup == other.AntiAffinityGroup {
						t.Errorf("seed %d: %s and %s of one group share %s", seed, b.Template.Name, other.Template.Name, c.Name)
					}
				}
			}
		}
	}
	if placed == 0 {
		t.Error("nothing was placed")
	}
}

// within reports whether the binding has no cluster that the other does not have.
func within(b, other *Binding) bool {
	return !slices.ContainsFunc(b.Targets, func(target Target) bool {
		_, there := other.On(target.Cluster)
		return !there
	})
}
