package federation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// world generates clusters and bindings that wait to be scheduled.
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
			p.SpreadConstraints = []SpreadConstraint{bounds(r, SpreadByCluster, 3)}
			if r.IntN(2) == 0 {
				p.SpreadConstraints = append(p.SpreadConstraints, bounds(r, SpreadByRegion, 2))
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

// bounds generates a spread constraint.
func bounds(r *rand.Rand, by string, most int) SpreadConstraint {
	c := SpreadConstraint{SpreadByField: by, MaxGroups: 1 + r.IntN(most)}
	c.MinGroups = 1 + r.IntN(c.MaxGroups)
	return c
}

// Divided replicas add up to the desired number, or there is an error. No number is negative. No filter refuses a target, and the number of
// targets is within the spread constraints. Two workloads of an anti-affinity group share no cluster. After the first scheduling, the
// clusters of one of two workloads of an affinity group contain those of the other. The order of the clusters does not matter. All this
// also holds after workloads are scaled.
func TestInvariants(t *testing.T) {
	placed := 0
	for seed := range uint64(2000) {
		all, bindings := world(seed)
		r := rand.New(rand.NewPCG(seed, 1))
		for round := range 3 {
			s := &Scheduler{Clusters: all, Gates: Gates{WorkloadAffinity: true}}
			got := s.Run(bindings, bindings)
			name := func(i int) string { return fmt.Sprintf("seed %d, round %d, %s", seed, round, got[i].Template.Name) }

			shuffled := slices.Clone(all)
			r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			again := (&Scheduler{Clusters: shuffled, Gates: s.Gates}).Run(bindings, bindings)
			for i, b := range got {
				if diff := cmp.Diff(b.Targets, again[i].Targets); diff != "" || b.Message != again[i].Message {
					t.Errorf("%s: another order of the clusters: %s %s", name(i), again[i].Message, diff)
				}
				if b.Reason == "" || b.Scheduled() && len(b.Targets) == 0 || b.Reason == ReasonNoClusterFit && len(b.Targets) > 0 {
					t.Errorf("%s: %s %v", name(i), b.Reason, b.Targets)
				}
				if b.Scheduled() {
					checkTargets(t, name(i), all, b, round == 0)
				}
				for _, other := range got[:i] { // a binding keeps its clusters, even if others change
					if round == 0 && b.AffinityGroup != "" && b.AffinityGroup == other.AffinityGroup && !targetsWithin(b, other) && !targetsWithin(other, b) {
						t.Errorf("%s: %v, and %s of the same group %v", name(i), b.Targets, other.Template.Name, other.Targets)
					}
				}
				for _, target := range b.Targets {
					placed++
					c := clusterOf(all, target)
					if reason := refuseTaints(s, bindings[i], c) + refuseSpread(s, bindings[i], c) + refuseSameGroup(s, bindings[i], c); reason != "" {
						t.Errorf("%s on %s: %s", name(i), c.Name, reason)
					}
					for _, other := range got[:i] {
						if _, shared := other.On(c.Name); shared && b.AntiAffinityGroup != "" && b.AntiAffinityGroup == other.AntiAffinityGroup {
							t.Errorf("%s and %s of one group share %s", name(i), other.Template.Name, c.Name)
						}
					}
				}
			}
			bindings = scaleSome(r, got)
		}
	}
	if placed == 0 {
		t.Error("nothing was placed")
	}
}

// checkTargets returns the violations in the targets of a single binding. A new binding must also satisfy the spread constraints.
func checkTargets(t *testing.T, name string, all []*Cluster, b *Binding, fresh bool) {
	want := b.Template.Replicas
	if b.Placement.schedulingType() == Duplicated {
		want *= int32(len(b.Targets))
	}
	if b.assignedReplicas() != want {
		t.Errorf("%s: %v, want %d replicas", name, b.Targets, want)
	}
	regions := map[string]bool{}
	for _, target := range b.Targets {
		regions[clusterOf(all, target).Spec.Region] = true
		if target.Replicas <= 0 {
			t.Errorf("%s: %v", name, b.Targets)
		}
	}
	if !fresh || b.Placement.IgnoresSpread() {
		return
	}
	for _, c := range b.Placement.SpreadConstraints {
		n, most := len(b.Targets), max(c.MaxGroups, len(regions)) // each chosen region has a cluster
		if c.SpreadByField == SpreadByRegion {
			n, most = len(regions), c.MaxGroups
		}
		if n > most || b.Placement.schedulingType() == Duplicated && n < c.MinGroups {
			t.Errorf("%s: %v, want %d to %d by %s", name, b.Targets, c.MinGroups, c.MaxGroups, c.SpreadByField)
		}
	}
}

func clusterOf(all []*Cluster, target Target) *Cluster {
	return all[slices.IndexFunc(all, func(c *Cluster) bool { return c.Name == target.Cluster })]
}

// scaleSome returns the bindings, some of them with another number of replicas.
func scaleSome(r *rand.Rand, bindings []*Binding) []*Binding {
	next := slices.Clone(bindings)
	for i, b := range bindings {
		if r.IntN(2) == 0 {
			template, other := *b.Template, *b
			template.Replicas = int32(1 + r.IntN(9))
			other.Template = &template
			next[i] = &other
		}
	}
	return next
}

// targetsWithin reports whether the binding has no cluster that the other does not have.
func targetsWithin(b, other *Binding) bool {
	return !slices.ContainsFunc(b.Targets, func(target Target) bool {
		_, there := other.On(target.Cluster)
		return !there
	})
}
