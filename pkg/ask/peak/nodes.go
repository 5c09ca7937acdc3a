package peak

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// grownLosses is the largest number of losses for which an autoscaler looks for nodes: the worst ones. The nodes that it finds are tried with
// all losses that other changes are tried with. Above fewPods without a node, each try takes seconds, and changes that need several have fewer.
const grownLosses, fewPods = 3, 150

// growingGroup is a group of equal nodes in one zone, of which more can be added.
type growingGroup struct {
	scenario.AutoscaledGroup
	group, zone string
	nodes       []*v1.Node
}

// growingGroups returns the groups of which more nodes can be added.
func (f *finder) growingGroups() ([]growingGroup, error) {
	state := f.before.state
	found, err := capacity.GroupsOf(state.Nodes, state.Pods, state.ResourceSlices, f.base.Scenario.LevelKeys)
	if err != nil {
		return nil, err
	}
	var all []growingGroup
	for _, g := range found {
		for _, zone := range g.Zones {
			nodes := list.Where(zone.Nodes, cluster.KubeletResponds)
			if g.Kept || len(nodes) == 0 {
				continue
			}
			name := strings.TrimSuffix(g.Name+"/"+zone.Name, "/")
			all = append(all, growingGroup{scenario.AutoscaledGroup{Name: name, Max: scenario.AssumedMaxNodes, Template: nodes[0].Name, Price: g.Price}, g.Name, zone.Name, nodes})
		}
	}
	return all, nil
}

// addNodes finds nodes to add. It lets a Cluster Autoscaler without limits, whose groups are the kinds of nodes of each zone, add nodes at the
// peak and, outside the lost domain, after each of its losses. Of each group the largest number is then added in advance, and tried.
func (f *finder) addNodes(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	groups, err := f.growingGroups()
	if err != nil || f.base.Scenario.Autoscaler != nil || len(groups) == 0 {
		return nil, err
	}
	var grown []*domain
	for i := range domains[:min(grownLosses, len(domains))] {
		grown = append(grown, &domains[i])
	}
	if len(grown) == 0 {
		grown = []*domain{nil} // the peak itself
	}
	needed := make([][]int, len(grown))
	f.expect(len(needed))
	name := func(i int) string {
		if grown[i] == nil {
			return "nodes for the peak"
		}
		return "nodes for the loss of " + grown[i].name
	}
	err = parallel.Each(ctx, len(needed), f.progress(name), func(ctx context.Context, _, i int) (err error) {
		needed[i], err = f.grow(ctx, groups, grown[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	most := make([]int, len(groups))
	for g := range groups {
		for i := range needed {
			most[g] = max(most[g], needed[i][g])
		}
	}
	r := &Remedy{Kind: "nodes"}
	steps, parts := r.addNodes(groups, most)
	if r.Nodes == 0 {
		return nil, nil
	}
	r.What = fmt.Sprintf("%s (%s)", words.Count(r.Nodes, "more node"), words.Few(parts))
	return f.trySteps(ctx, r, answer, steps, domains)
}

// addNodes sets the nodes of each group that the change adds, with their price. It returns the steps, and the nodes in words.
func (r *Remedy) addNodes(groups []growingGroup, nodes []int) (steps []scenario.LoadedStep, parts []string) {
	price := newSum()
	for g := range groups {
		if nodes[g] == 0 {
			continue
		}
		add := Addition{Group: groups[g].group, Zone: groups[g].zone, Nodes: nodes[g], Like: groups[g].Template}
		if groups[g].Price > 0 {
			add.Price = &groups[g].Price
		}
		r.Add, r.Nodes, steps = append(r.Add, add), r.Nodes+nodes[g], append(steps, scenario.LoadedStep{Step: add.Step()})
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s %s", nodes[g], add.Group, add.Zone)))
		price.add(groups[g].Price, nodes[g], groups[g].nodes[0])
	}
	r.Price, r.cores = price.prices, price.cores
	return steps, parts
}

// grow returns how many nodes of each group an autoscaler without limits adds at the peak, or at the peak and the loss of the domain, without
// nodes in that domain.
func (f *finder) grow(ctx context.Context, groups []growingGroup, d *domain) ([]int, error) {
	steps := []scenario.LoadedStep{{Step: f.peakStep(f.opts.Peak.Way())}}
	if d != nil {
		steps = append(steps, scenario.LoadedStep{Step: f.failStep(d)})
	}
	return f.growAfter(ctx, groups, d, steps)
}

// growAfter returns how many nodes of each group an autoscaler without limits adds while the steps are done, without nodes in the domain; nil for
// no domain.
func (f *finder) growAfter(ctx context.Context, groups []growingGroup, d *domain, steps []scenario.LoadedStep) ([]int, error) {
	s := *f.base.Scenario
	s.Autoscaler = &scenario.Autoscaler{Flags: map[string]string{"balance-similar-node-groups": "true"}}
	at := make([]int, len(groups))
	for i := range groups {
		g := groups[i].AutoscaledGroup
		at[i] = -1
		if d != nil {
			left := slices.IndexFunc(groups[i].nodes, func(n *v1.Node) bool { return !d.has(n) })
			if left < 0 {
				continue
			}
			g.Template = groups[i].nodes[left].Name
		}
		at[i] = len(s.Autoscaler.NodeGroups)
		s.Autoscaler.NodeGroups = append(s.Autoscaler.NodeGroups, g)
	}
	added := make([]int, len(groups))
	if len(s.Autoscaler.NodeGroups) == 0 {
		return added, nil
	}
	w, err := simulation.NewCluster(&s)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	course, err := simulation.Continue(w, f.base, simulation.Options{})
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		if _, err := course.DoLoaded(ctx, step); err != nil {
			return nil, err
		}
	}
	for i := range groups {
		if at[i] >= 0 {
			added[i] = countNodes(course.State(), &s.Autoscaler.NodeGroups[at[i]])
		}
	}
	return added, nil
}

// has reports whether the node is in the domain.
func (d *domain) has(node *v1.Node) bool {
	key, _, one := topology.SplitValue(d.level)
	if !one {
		key = d.level
	}
	value, _ := topology.Value(node.Labels, key)
	return value == d.name
}
