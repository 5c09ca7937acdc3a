package capacity

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/topology"
)

// bound is what nodes must have at least so that the pods fit on them, also after the loss of any domain of a level.
type bound struct {
	resources []v1.ResourceName
	needs     []need
	domains   []string // none: nothing is lost
	rooms     [][]room // by group and zone
}

// need is what pods request, by resource, that no other groups take: those that certainly come back, and those that do unless they are lost.
type need struct {
	groups              []bool
	certain, unlessLost []int64
}

// room is what a node has left for them, by resource, and which of the bound's domains it is in, or -1.
type room struct {
	domain int
	node   []int64
}

// zonal are the levels whose domains are whole zones: from these, pods are evicted. In a zone of which only a part is lost they may stay.
var zonal = topology.PlaceKeys

// enough reports whether the nodes have what the pods request: those of some groups what the pods request that no other groups take.
func (z *sizer) enough(point []int) bool {
	if z.bounds == nil {
		z.bounds = append(z.bounds, z.boundOf(""))
		for _, level := range z.opts.Survive {
			if slices.Contains(zonal, level) {
				z.bounds = append(z.bounds, z.boundOf(level))
			}
		}
	}
	counts := z.counts(point)
	return !slices.ContainsFunc(z.bounds, func(b *bound) bool { return !b.holds(counts) })
}

// boundOf returns the bound of a level, or that without a failure. What was set aside is left out.
func (z *sizer) boundOf(level string) *bound {
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
		if known[by.on] {
			continue
		}
		known[by.on] = true
		n := need{d.groups, make([]int64, len(b.resources)), make([]int64, len(b.resources))}
		for of, other := range z.demands {
			if aside[of.owner] || !within(other.groups, d.groups) {
				continue
			}
			for r, name := range b.resources {
				switch {
				case level == "" || of.back == certain:
					n.certain[r] += other.amounts[name]
				case of.back == unlessLost:
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
				r.node = append(r.node, max(0, amount(name, has[name])-z.agents[first][name]))
			}
			rooms = append(rooms, r)
		}
		b.rooms = append(b.rooms, rooms)
	}
	return b
}

// holds reports whether that many nodes, by group and zone, have what the pods request.
func (b *bound) holds(counts [][]int) bool {
	if len(b.domains) > 0 && !b.outlasts(counts) {
		return true
	}
	rest, lost := int64(0), make([]int64, len(b.domains)) // what no failure takes, and what that of a domain does
	for _, need := range b.needs {
		for r := range b.resources {
			rest = 0
			clear(lost)
			for i, takes := range need.groups {
				for j, n := range counts[i] {
					switch room := &b.rooms[i][j]; {
					case !takes:
					case room.domain < 0:
						rest += int64(n) * room.node[r]
					default:
						lost[room.domain] += int64(n) * room.node[r]
					}
				}
			}
			if !fits(need.certain[r], need.unlessLost[r], rest, lost) {
				return false
			}
		}
	}
	return true
}

// outlasts reports whether something is left whichever domain is lost. Otherwise nothing is evicted, and nothing comes back.
func (b *bound) outlasts(counts [][]int) bool {
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

// fits reports whether an amount may fit into what is left whichever domain is lost, and whether all may fit added up over these failures:
// what certainly comes back is there after each of them, what comes back unless it is lost after all but one, and so is the room in a domain.
func fits(certain, unlessLost, rest int64, lost []int64) bool {
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

// within reports whether all of the groups are among the others.
func within(groups, others []bool) bool {
	for i, in := range groups {
		if in && !others[i] {
			return false
		}
	}
	return true
}
