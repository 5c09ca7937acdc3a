package federation

import (
	"cmp"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// candidate is a feasible cluster.
type candidate struct {
	*Cluster
	// score is 100 if the binding already has the cluster, and 0 otherwise. No other plugin gives scores.
	// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/framework/plugins/clusterlocality/cluster_locality.go
	score int64
	// room is the estimate of how many more replicas fit; available adds the replicas that the binding already has there.
	room      int32
	available int64
}

// candidates returns the feasible clusters with their scores and room, the best first: by score, then by available, then by name.
func (s *Scheduler) candidates(b *Binding, feasible []*Cluster) []candidate {
	estimate := s.Estimate
	if estimate == nil {
		estimate = GeneralEstimate
	}
	all := make([]candidate, len(feasible))
	for i, c := range feasible {
		had, there := b.On(c.Name)
		all[i] = candidate{Cluster: c, room: math.MaxInt32}
		if there {
			all[i].score = 100
		}
		if b.Template.Replicas > 0 {
			all[i].room = estimate(b, c)
		}
		if all[i].room == math.MaxInt32 { // no estimate bounds it
			all[i].room = b.Template.Replicas
		}
		all[i].available = int64(all[i].room) + int64(had)
	}
	sortCandidates(all)
	return all
}

func sortCandidates(all []candidate) {
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.available, a.available), cmp.Compare(a.Name, b.Name))
	})
}

// GeneralEstimate estimates from the cluster's resource summary how many more replicas of the binding fit, as Karmada's general estimator does. It
// considers the sum of the free resources of all nodes, neither those of a single node nor scheduling rules.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/estimator/client/general.go
func GeneralEstimate(b *Binding, c *Cluster) int32 {
	summary := c.Status.ResourceSummary
	if summary == nil {
		return 0
	}
	most := summary.free(v1.ResourcePods)
	for name, request := range b.Template.Requests {
		if request.Value() <= 0 {
			continue
		}
		if _, offered := summary.Allocatable[name]; !offered {
			return 0
		}
		asked := request.Value()
		if name == v1.ResourceCPU {
			asked = request.MilliValue()
		}
		most = min(most, summary.free(name)/asked)
	}
	return int32(min(max(0, most), math.MaxInt32))
}

// free returns how much of the resource is free: CPU in thousandths, all others in units.
func (s *ResourceSummary) free(name v1.ResourceName) int64 {
	left := s.Allocatable[name].DeepCopy()
	left.Sub(s.Allocated[name])
	left.Sub(s.Allocating[name])
	if name == v1.ResourceCPU {
		return left.MilliValue()
	}
	return left.Value()
}
