package capacity

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/topology"
)

// bound is a lower bound on the nodes: the resources that they need at least so that the pods fit, without a failure or after the loss of
// any one domain of a level.
type bound struct {
	resources []v1.ResourceName
	needs     []need
	domains   []string // the domains of the level; none if nothing fails
	rooms     [][]room // by group and zone
}

// need is the sum of what pods request, by resource, of all pods that only these groups take. certain is the part of the pods that are
// there after every failure, unlessLost the part of the pods that are there unless their own domain is lost.
type need struct {
	groups              []bool
	certain, unlessLost []int64
}

// room is what one node has left for workloads, by resource, and the index of its domain in bound.domains; -1 if it is in none.
type room struct {
	domain  int
	perNode []int64
}

// zonalLevels are the levels whose domains are whole zones. Pods are evicted from a lost domain of such a level. If only a part of a zone is
// lost, its pods may stay.
var zonalLevels = topology.PlaceKeys

// hasResources reports whether the nodes have enough resources by arithmetic. It asks this for each set of groups: whether the groups together
// have what the pods request that only they take. With one set this is the sum of all requests; a pool with GPUs must also have what the
// pods request that run only there.
func (z *sizer) hasResources(point []int) bool {
	if z.bounds == nil {
		z.bounds = append(z.bounds, z.newBound(""))
		for _, level := range z.opts.Survive {
			if slices.Contains(zonalLevels, level) {
				z.bounds = append(z.bounds, z.newBound(level))
			}
		}
	}
	counts := z.counts(point)
	return !slices.ContainsFunc(z.bounds, func(b *bound) bool { return !b.allows(counts) })
}

// newBound returns the bound for the failures of a level, or, for "", without a failure. It leaves out the pods that were set aside.
func (z *sizer) newBound(level string) *bound {
	aside := map[cluster.Ref]bool{}
	for failure, owners := range z.aside {
		for owner := range owners {
			aside[owner] = aside[owner] || failure.level == level || failure.level == ""
		}
	}
	names := map[v1.ResourceName]bool{}
	for _, d := range z.demands {
		for name := range d.amounts {
			names[name] = true
		}
	}
	b := &bound{resources: slices.Sorted(maps.Keys(names))}
	known := map[string]bool{}
	for by, d := range z.demands {
		if known[by.groupSet] {
			continue
		}
		known[by.groupSet] = true
		n := need{d.groups, make([]int64, len(b.resources)), make([]int64, len(b.resources))}
		for of, other := range z.demands {
			if aside[of.owner] || !isSubset(other.groups, d.groups) {
				continue
			}
			for r, name := range b.resources {
				switch {
				case level == "" || of.back == returnsCertainly:
					n.certain[r] += other.amounts[name]
				case of.back == returnsUnlessLost:
					n.unlessLost[r] += other.amounts[name]
				}
			}
		}
		b.needs = append(b.needs, n)
	}
	for _, g := range z.groups {
		var rooms []room
		for _, zone := range g.Zones {
			first := zone.Nodes[0]
			has := zone.roomiest(first).Status.Allocatable
			r := room{domain: -1}
			if value, labelled := topology.Value(first.Labels, level); labelled {
				if r.domain = slices.Index(b.domains, value); r.domain < 0 {
					r.domain = len(b.domains)
					b.domains = append(b.domains, value)
				}
			}
			for _, name := range b.resources {
				r.perNode = append(r.perNode, max(0, quantityAmount(name, has[name])-z.agents[first][name]))
			}
			rooms = append(rooms, r)
		}
		b.rooms = append(b.rooms, rooms)
	}
	return b
}

// allows reports whether that many nodes, by group and zone, have what the pods request.
func (b *bound) allows(counts [][]int) bool {
	if len(b.domains) > 0 && !b.survivesAnyLoss(counts) {
		return true
	}
	rest, lost := int64(0), make([]int64, len(b.domains)) // the room that no failure takes, and the room that each domain's failure takes
	for _, need := range b.needs {
		for r := range b.resources {
			rest = 0
			clear(lost)
			for i, takes := range need.groups {
				for j, n := range counts[i] {
					switch room := &b.rooms[i][j]; {
					case !takes:
					case room.domain < 0:
						rest += int64(n) * room.perNode[r]
					default:
						lost[room.domain] += int64(n) * room.perNode[r]
					}
				}
			}
			if !fitsAfterLosses(need.certain[r], need.unlessLost[r], rest, lost) {
				return false
			}
		}
	}
	return true
}

// survivesAnyLoss reports whether some nodes remain, whichever domain is lost. If none do, nothing is evicted and nothing comes back.
func (b *bound) survivesAnyLoss(counts [][]int) bool {
	first := -1
	for i, rooms := range b.rooms {
		for j, r := range rooms {
			switch {
			case counts[i][j] == 0:
			case r.domain < 0, first >= 0 && r.domain != first:
				return true
			default:
				first = r.domain
			}
		}
	}
	return false
}

// fitsAfterLosses reports whether pods can fit after the loss of any one domain, for one resource. rest is the room outside the domains, and lost the
// room in each domain.
//
// Two conditions are necessary. First, what certainly comes back fits into the smallest remainder, the one after the loss of the largest
// domain. Second, the sums over all d failures must fit: pods that certainly come back need room in d failures, the pods that come back
// unless lost in at least d−1; the room of a domain is there in d−1 failures. With three domains of 10 cores and no rest, certain is at
// most 20, and 3·certain + 2·unlessLost at most 60: 12 and 12 can fit, 12 and 13 cannot.
func fitsAfterLosses(certain, unlessLost, rest int64, lost []int64) bool {
	domains, all, most := int64(0), int64(0), int64(0)
	for _, amount := range lost {
		if amount > 0 {
			domains, all, most = domains+1, all+amount, max(most, amount)
		}
	}
	if domains == 0 {
		return certain+unlessLost <= rest
	}
	return certain <= rest+all-most && domains*certain+(domains-1)*unlessLost <= domains*rest+(domains-1)*all
}

// isSubset reports whether every one of the groups is among the others.
func isSubset(groups, others []bool) bool {
	for i, in := range groups {
		if in && !others[i] {
			return false
		}
	}
	return true
}
