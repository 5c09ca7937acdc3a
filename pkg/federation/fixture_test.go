package federation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cluster returns a cluster that serves every API and has no resources.
func cluster(name string) *Cluster { return &Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}} }

func clusters(names ...string) []*Cluster {
	all := make([]*Cluster, len(names))
	for i, name := range names {
		all[i] = cluster(name)
	}
	return all
}

// withRoom returns a cluster with room for the number of pods.
func withRoom(name string, pods int64) *Cluster {
	c := cluster(name)
	c.Status.ResourceSummary = &ResourceSummary{Allocatable: v1.ResourceList{v1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI)}}
	return c
}

func clustersNamed(names ...string) ClusterAffinity { return ClusterAffinity{ClusterNames: names} }

// members returns the candidates member1, member2 and so on, with the room.
func members(room ...int32) []candidate {
	all := make([]candidate, len(room))
	for i, r := range room {
		all[i] = candidate{Cluster: cluster("member" + string(rune('1'+i))), room: r, available: int64(r)}
	}
	return all
}

// targets parses targets such as "member1=6 member2=4".
func targets(s string) []Target {
	var all []Target
	for _, field := range strings.Fields(s) {
		name, replicas, _ := strings.Cut(field, "=")
		q := resource.MustParse(cmp.Or(replicas, "0"))
		all = append(all, Target{name, int32(q.Value())})
	}
	return all
}

// sortTargets sorts targets by name, where Karmada's own tests do not look at their order.
func sortTargets(all []Target) []Target {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Target) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return all
}

func deployment(namespace, name string, replicas int32) *Template {
	return &Template{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: name, Workload: true, Replicas: replicas}
}

// These are ways to divide replicas.
var (
	duplicated = &ReplicaScheduling{ReplicaSchedulingType: Duplicated}
	aggregated = &ReplicaScheduling{ReplicaSchedulingType: Divided, ReplicaDivisionPreference: Aggregated}
	dynamic    = &ReplicaScheduling{
		ReplicaSchedulingType: Divided, ReplicaDivisionPreference: Weighted,
		WeightPreference: &WeightPreference{DynamicWeight: ByAvailableReplicas},
	}
	equal = &ReplicaScheduling{ReplicaSchedulingType: Divided, ReplicaDivisionPreference: Weighted}
)

// weighted returns a division by the weights of member1, member2 and so on.
func weighted(weights ...int64) *ReplicaScheduling {
	r := &ReplicaScheduling{ReplicaSchedulingType: Divided, ReplicaDivisionPreference: Weighted, WeightPreference: &WeightPreference{}}
	for i, weight := range weights {
		r.WeightPreference.StaticWeightList = append(r.WeightPreference.StaticWeightList, StaticWeight{clustersNamed("member" + string(rune('1'+i))), weight})
	}
	return r
}

// bindingWith returns a binding with the replicas, their division, and the present targets.
func bindingWith(replicas int32, by *ReplicaScheduling, had string) *Binding {
	return &Binding{Template: deployment("default", "web", replicas), Placement: &Placement{ReplicaScheduling: by}, Targets: targets(had)}
}

// emptyIsNil treats an empty list as nil.
var emptyIsNil = cmpopts.EquateEmpty()

// message returns the error's text; "" for nil.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// resources parses resources such as "cpu", "1", "memory", "1Gi".
func resources(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}
