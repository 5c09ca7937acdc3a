package federation

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/faultline/faultline/pkg/list"
)

// selectClusters returns the candidates that the placement's spread constraints select.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/spreadconstraint/select_clusters.go
func selectClusters(b *Binding, all []candidate) ([]candidate, error) {
	constraints := b.Placement.SpreadConstraints
	if len(constraints) == 0 || b.Placement.IgnoresSpread() {
		return all, nil
	}
	by := list.IndexBy(constraints, func(c SpreadConstraint) string { return c.SpreadByField })
	if region, found := by[SpreadByRegion]; found {
		return selectByRegion(b, all, region, by[SpreadByCluster])
	}
	if c, found := by[SpreadByCluster]; found {
		return selectByCluster(b, all, c)
	}
	return nil, errors.New("just support cluster and region spread constraint")
}

// IgnoresSpread reports whether replicas are divided by static weights, in which case spread constraints have no effect.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/spreadconstraint/select_clusters.go, shouldIgnoreSpreadConstraint
func (p *Placement) IgnoresSpread() bool {
	r := p.ReplicaScheduling
	if r == nil || r.ReplicaSchedulingType != Divided || r.ReplicaDivisionPreference != Weighted {
		return false
	}
	w := r.WeightPreference
	return w == nil || len(w.StaticWeightList) != 0 && w.DynamicWeight == ""
}

// selectByCluster takes the best candidates, at most maxGroups. Divided replicas need room there: as long as the room is too small, a
// cluster with more room replaces the worst one.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/spreadconstraint/select_clusters_by_cluster.go
func selectByCluster(b *Binding, all []candidate, c SpreadConstraint) ([]candidate, error) {
	if len(all) < c.MinGroups {
		return nil, errors.New("the number of feasible clusters is less than spreadConstraint.MinGroups")
	}
	n := min(len(all), c.MaxGroups)
	if b.Placement.schedulingType() == Duplicated {
		return all[:n], nil
	}
	taken, rest := slices.Clone(all[:n]), slices.Clone(all[n:])
	enough := func() bool {
		var sum int64
		for _, c := range taken {
			sum += c.available
		}
		return sum >= int64(b.Template.Replicas)
	}
	for last := n - 1; last >= 0 && !enough(); last-- {
		most, at := taken[last].available, -1
		for i := range rest {
			if rest[i].available > most {
				most, at = rest[i].available, i
			}
		}
		if at >= 0 {
			taken[last], rest[at] = rest[at], taken[last]
		}
	}
	if !enough() || n == 0 {
		return nil, fmt.Errorf("no enough resource when selecting %d clusters", n)
	}
	return taken, nil
}

// selectByRegion takes the best candidate of each of the best regions, and then the best remaining candidates, up to the clusters'
// maxGroups.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/spreadconstraint/select_clusters_by_region.go
func selectByRegion(b *Binding, all []candidate, by, clusters SpreadConstraint) ([]candidate, error) {
	members := map[string][]candidate{}
	for _, c := range all {
		if c.Spec.Region != "" {
			members[c.Spec.Region] = append(members[c.Spec.Region], c)
		}
	}
	if len(members) < by.MinGroups {
		return nil, errors.New("the number of feasible region is less than spreadConstraint.MinGroups")
	}
	var regions []region
	for name, of := range members {
		regions = append(regions, region{name: name, clusters: len(of), weight: rateRegion(b, of, by.MinGroups, clusters.MinGroups)})
	}
	chosen := bestRegions(regions, by, clusters.MinGroups)
	if len(chosen) == 0 {
		return nil, errors.New("the number of clusters is less than the cluster spreadConstraint.MinGroups")
	}
	var taken, rest []candidate
	for _, r := range chosen {
		taken = append(taken, members[r.name][0])
		rest = append(rest, members[r.name][1:]...)
	}
	if more := min(len(taken)+len(rest), clusters.MaxGroups) - len(taken); more > 0 {
		sortCandidates(rest)
		taken = append(taken, rest[:more]...)
	}
	return taken, nil
}

// region is a group of candidates.
type region struct {
	name     string
	clusters int
	weight   int64
}

// unit makes room outweigh scores, which are at most 100.
const unit = 1000

// rateRegion rates a region by its candidates, which are sorted from the best. If replicas are duplicated, the number of candidates with room
// for all replicas counts; otherwise the number of replicas of the region's share for which they have room.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/spreadconstraint/group_clusters.go, calcGroupScore
func rateRegion(b *Binding, of []candidate, minRegions, minClusters int) int64 {
	replicas := int64(b.Template.Replicas)
	var n, scores int64
	if b.Placement.schedulingType() == Duplicated {
		for _, c := range of {
			if c.available >= replicas {
				n, scores = n+1, scores+c.score
			}
		}
		if n == 0 {
			return 0
		}
		return n*unit + scores/n
	}
	share := int64(math.Ceil(float64(replicas) / float64(minRegions)))
	var sum int64
	for _, c := range of {
		n, scores, sum = n+1, scores+c.score, sum+c.available
		if n >= int64(max(minClusters, minRegions)) && sum >= share {
			break
		}
	}
	if sum < share {
		return sum*unit + scores/int64(len(of))
	}
	return share*unit + scores/n
}

// path is a choice of regions.
type path struct {
	regions  []region // the heaviest first
	weight   int64
	clusters int
}

// bestRegions returns the choice of regions with the largest weight that has enough clusters. Among equal choices the one with the most clusters
// wins, then the one found first. If a shorter choice is a prefix of the result, best returns the shorter one.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/spreadconstraint/select_groups.go
func bestRegions(regions []region, by SpreadConstraint, clusters int) []region {
	paths := listPaths(regions, by, clusters)
	if len(paths) == 0 {
		return nil
	}
	slices.SortStableFunc(paths, func(a, b path) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.clusters, a.clusters))
	})
	chosen := paths[0].regions
	for _, shorter := range paths[1:] {
		if len(shorter.regions) < len(chosen) && slices.Equal(shorter.regions, chosen[:len(shorter.regions)]) {
			chosen = shorter.regions
		}
	}
	return chosen
}

// listPaths returns the choices of regions that have enough clusters. It leaves out choices that only add a region to another choice.
func listPaths(regions []region, by SpreadConstraint, clusters int) []path {
	slices.SortFunc(regions, func(a, b region) int {
		return cmp.Or(cmp.Compare(a.clusters, b.clusters), cmp.Compare(b.weight, a.weight), cmp.Compare(a.name, b.name))
	})
	var found []path
	var taken []region
	var visit func(sum, from int)
	visit = func(sum, from int) {
		if sum >= clusters && len(taken) >= by.MinGroups && len(taken) <= by.MaxGroups {
			found = append(found, newPath(taken))
			return
		}
		if len(taken) >= by.MaxGroups {
			return
		}
		for i := from; i < len(regions); i++ {
			taken = append(taken, regions[i])
			visit(sum+regions[i].clusters, i+1)
			if len(regions) == by.MinGroups {
				return // needs all regions
			}
			taken = taken[:len(taken)-1]
		}
	}
	visit(0, 0)
	return found
}

func newPath(regions []region) path {
	p := path{regions: slices.Clone(regions)}
	for _, r := range regions {
		p.weight, p.clusters = p.weight+r.weight, p.clusters+r.clusters
	}
	slices.SortFunc(p.regions, func(a, b region) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.name, b.name)) })
	return p
}
