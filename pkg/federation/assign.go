package federation

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sort"
	"strings"

	"github.com/faultline/faultline/pkg/list"
)

// roomError means that the clusters have too little room.
type roomError struct{ message string }

func (e *roomError) Error() string { return e.message }

// assign divides the replicas among the selected clusters. A template that is not a workload goes to each of them.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/assignment.go
func assign(b *Binding, selected []candidate) ([]Target, error) {
	if len(selected) == 0 {
		return nil, errors.New("no clusters available to schedule")
	}
	replicas := b.Template.Replicas
	var targets []Target
	var err error
	switch r := b.Placement.ReplicaScheduling; {
	case !b.Template.Workload:
		return list.Map(selected, func(c candidate) Target { return Target{Cluster: c.Name} }), nil
	case b.Placement.schedulingType() == Duplicated:
		for _, c := range selected {
			targets = append(targets, Target{c.Name, replicas})
		}
	case r.ReplicaDivisionPreference == Aggregated:
		targets, err = divideByRoom(b, selected, true)
	case r.WeightPreference != nil && r.WeightPreference.DynamicWeight != "":
		targets, err = divideByRoom(b, selected, false)
	default:
		targets = webster(replicas, staticWeights(r.WeightPreference, selected), b.Template.UID)
	}
	return slices.DeleteFunc(targets, func(t Target) bool { return t.Replicas == 0 }), err
}

// staticWeights returns the static weights of the selected clusters: for each cluster the largest weight of the matching rules. If no cluster has
// a weight, all are equal.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/division_algorithm.go,
// getStaticWeightInfoList
func staticWeights(preference *WeightPreference, selected []candidate) []share {
	var found []share
	for _, c := range selected {
		var weight int64
		if preference != nil {
			for _, rule := range preference.StaticWeightList {
				if rule.TargetCluster.Matches(c.Cluster) {
					weight = max(weight, rule.Weight)
				}
			}
		}
		if weight > 0 {
			found = append(found, share{c.Name, weight})
		}
	}
	if len(found) == 0 {
		for _, c := range selected {
			found = append(found, share{c.Name, 1})
		}
	}
	return found
}

// divideByRoom divides the replicas in proportion to the room in the clusters: among all of them or, if aggregated, among the first that
// together have room for all replicas. It changes as little as possible: it divides additional replicas in proportion to the remaining
// room, and a smaller total in proportion to the present replicas of each cluster.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/division_algorithm.go
func divideByRoom(b *Binding, selected []candidate, aggregated bool) ([]Target, error) {
	had := list.Where(b.Targets, func(t Target) bool {
		return slices.ContainsFunc(selected, func(c candidate) bool { return c.Name == t.Cluster })
	})
	switch n := sumReplicas(had); {
	case n > b.Template.Replicas:
		targets, err := divideInProportion(b.Template.Replicas, sortByReplicas(had), nil, aggregated, b.Template.UID)
		return targets, wrapError("failed to scale down", err)
	case n < b.Template.Replicas:
		room := list.Map(selected, func(c candidate) Target { return Target{c.Name, c.room} })
		targets, err := divideInProportion(b.Template.Replicas-n, sortByReplicas(room), had, aggregated, b.Template.UID)
		return targets, wrapError("failed to scale up", err)
	}
	return had, nil
}

// wrapError returns the error with a prefix; nil for nil.
func wrapError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// sortByReplicas sorts the targets, most replicas first. The order of equal ones is that of Go's sort, as in Karmada.
func sortByReplicas(targets []Target) []Target {
	sorted := slices.Clone(targets)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Replicas > sorted[j].Replicas })
	return sorted
}

// divideInProportion adds n replicas to the binding's, in proportion to the clusters' room.
func divideInProportion(n int32, room, had []Target, aggregated bool, uid string) ([]Target, error) {
	var free int64
	for _, target := range room {
		free += int64(target.Replicas)
	}
	if free < int64(n) {
		return nil, &roomError{fmt.Sprintf("Clusters available replicas %d are not enough to schedule.", free)}
	}
	if aggregated {
		slices.SortStableFunc(room, func(a, b Target) int { return hasReplicas(had, b) - hasReplicas(had, a) })
		var sum int32
		for i, target := range room {
			if sum += target.Replicas; sum >= n {
				room = room[:i+1]
				break
			}
		}
	}
	return merge(had, webster(n, sharesByRoom(room), uid)), nil
}

// hasReplicas returns 1 if the cluster has replicas, and 0 otherwise.
func hasReplicas(had []Target, of Target) int {
	if slices.ContainsFunc(had, func(t Target) bool { return t.Cluster == of.Cluster && t.Replicas > 0 }) {
		return 1
	}
	return 0
}

// merge adds up two lists of targets. The new targets come first, in their order; then follow the targets that only the old list has, by
// name.
func merge(old, new []Target) []Target {
	if len(new) == 0 {
		return old
	}
	var only []Target
	for _, target := range old {
		if i := slices.IndexFunc(new, func(t Target) bool { return t.Cluster == target.Cluster }); i >= 0 {
			new[i].Replicas += target.Replicas
		} else {
			only = append(only, target)
		}
	}
	slices.SortFunc(only, func(a, b Target) int { return strings.Compare(a.Cluster, b.Cluster) })
	return append(new, only...)
}

// share is the weight of a cluster when replicas are divided.
type share struct {
	cluster string
	weight  int64
}

// sharesByRoom weighs clusters by their room.
func sharesByRoom(room []Target) []share {
	return list.Map(room, func(target Target) share { return share{target.Cluster, int64(target.Replicas)} })
}

// webster divides n replicas by Webster's method: each replica goes to the cluster with the largest weight/(2·replicas+1). In a tie, the
// cluster with fewer replicas wins, then the first by name, or the last if the hash of the UID is odd. The targets are sorted by name.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/helper/webstermethod.go
func webster(n int32, weights []share, uid string) []Target {
	hash := fnv.New32a()
	hash.Write([]byte(uid))
	descending := uid != "" && hash.Sum32()&1 == 1
	weights = slices.Clone(weights)
	slices.SortFunc(weights, func(a, b share) int { return strings.Compare(a.cluster, b.cluster) })
	targets := make([]Target, len(weights))
	for i, w := range weights {
		targets[i].Cluster = w.cluster
	}
	quotient := func(i int) float64 { return float64(weights[i].weight) / float64(2*targets[i].Replicas+1) }
	for ; n > 0 && len(targets) > 0; n-- {
		next := 0
		for i := 1; i < len(targets); i++ {
			x, y := quotient(i), quotient(next)
			fewer := cmp.Compare(targets[i].Replicas, targets[next].Replicas)
			if x > y || x == y && (fewer < 0 || fewer == 0 && descending) {
				next = i
			}
		}
		targets[next].Replicas++
	}
	return targets
}

// DivideCompletions divides the completions of a Job by the replicas of its copies.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/binding/common.go, divideReplicasByJobCompletions
func DivideCompletions(n int32, copies []Target) map[string]int32 {
	divided := map[string]int32{}
	for _, target := range webster(n, sharesByRoom(copies), "") {
		divided[target.Cluster] = target.Replicas
	}
	return divided
}
