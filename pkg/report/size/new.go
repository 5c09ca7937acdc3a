package size

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report"
	reportcapacity "github.com/faultline/faultline/pkg/report/capacity"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// New puts a sizing of the scenario, which has these nodes, into the model, and whether it is safe as it is. The version is Faultline's own.
func New(s *scenario.Scenario, nodes []*v1.Node, sizing *capacity.Sizing, safety []capacity.Safety, opts capacity.SizeOptions, version string) *Report {
	r := &Report{
		Head:  report.NewHead(&simulation.Result{Scenario: s, Initial: &cluster.State{Nodes: nodes}, Partial: sizing.Partial}, Kind, version),
		Found: sizing.Counts != nil, Survive: opts.Survive, Proven: sizing.Proven, Tried: sizing.Tried, Unbound: sizing.Unbound, Foreign: sizing.Foreign,
		Safety: reportcapacity.NewSafety(safety),
	}
	if len(opts.Survive) > 0 {
		r.Mode = string(opts.Mode)
	}
	if sizing.Priced {
		r.CostBefore = &sizing.Before
		if r.Found {
			r.Cost = &sizing.Cost
		}
	}
	for i := range sizing.Groups {
		given := &sizing.Groups[i]
		g := Group{Name: given.Name, Kept: given.Kept}
		if given.Priced {
			g.Price = &given.Price
		}
		for j, zone := range given.Zones {
			z := Zone{Zone: zone.Name, Before: len(zone.Nodes)}
			if r.Found {
				z.Nodes = sizing.Counts[i][j]
			}
			if !g.Kept {
				r.Nodes += z.Nodes
				r.Before += z.Before
			}
			g.Zones = append(g.Zones, z)
		}
		r.Even = r.Even || !opts.Free && !g.Kept && len(g.Zones) > 1
		r.Groups = append(r.Groups, g)
	}
	r.uneven(sizing)
	for _, given := range sizing.Aside {
		a := Aside{Workload: given.Workload.Qualified(), Pods: given.Pods, Empty: given.Empty, Level: given.Level, Domain: given.Domain}
		a.Pod, a.Message = given.Refused.Said()
		r.Aside = append(r.Aside, a)
	}
	for _, given := range sizing.Fewer {
		f := Fewer{Group: given.Group, Zone: given.Zone, Level: given.Level, Domain: given.Domain, Stranded: given.Stranded}
		f.Pod, f.Message = given.Refused.Said()
		r.Fewer = append(r.Fewer, f)
	}
	return r
}

// uneven adds the cluster whose numbers differ from zone to zone.
func (r *Report) uneven(sizing *capacity.Sizing) {
	if sizing.Uneven == nil {
		return
	}
	r.Uneven = &Uneven{}
	if sizing.Priced {
		r.Uneven.Cost = &sizing.UnevenCost
	}
	for i, g := range r.Groups {
		if g.Kept {
			continue
		}
		g.Zones = slices.Clone(g.Zones)
		for j, n := range sizing.Uneven[i] {
			g.Zones[j].Nodes = n
			r.Uneven.Nodes += n
		}
		r.Uneven.Groups = append(r.Uneven.Groups, g)
	}
}
