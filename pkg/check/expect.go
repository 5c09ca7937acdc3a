package check

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/world"
)

// checkExpect reports expectations that name labels, nodes or workloads that do not exist. The nodes must be all nodes that can exist at that
// time.
func (w *walker) checkExpect(path *field.Path, expect *scenario.Expect, nodes []*v1.Node) {
	for i := range expect.Domains {
		w.checkDomains(path.Child("domains").Index(i), &expect.Domains[i], nodes)
	}
	for i := range expect.Nodes {
		path, on := path.Child("nodes").Index(i), &expect.Nodes[i]
		w.checkPodSelector(path.Child("selector"), on.Selector)
		if on.OnlyOn != nil {
			w.checkNodeSelection(path.Child("onlyOn"), *on.OnlyOn, nodes)
		}
		if on.NotOn != nil {
			w.checkNodeSelection(path.Child("notOn"), *on.NotOn, nodes)
		}
	}
	for i := range expect.Workloads {
		w.checkWorkloadOrPod(path.Child("workloads").Index(i).Child("workload"), expect.Workloads[i].Workload)
	}
	for i, name := range expect.NodesGone {
		w.checkNodeSelection(path.Child("nodesGone").Index(i), scenario.Nodes{Names: []string{name}}, w.scenario.Nodes())
	}
	for i := range expect.Bindings {
		w.checkBinding(path.Child("bindings").Index(i), &expect.Bindings[i])
	}
	if expect.Peak != nil {
		w.checkPeakBounds(path.Child("peak"), expect.Peak, nodes)
	}
	for i := range expect.Failures {
		w.checkFailureBounds(path.Child("failures").Index(i), &expect.Failures[i], nodes)
	}
}

// checkWorkloadOrPod reports a workload that does not exist, unless a controller may make it.
func (w *walker) checkWorkloadOrPod(path *field.Path, target string) {
	if wanted, err := scenario.ParseWorkload(target); err == nil && !w.known.mayBeMade(wanted) {
		w.checkWorkload(path, target)
	}
}

// checkNodeSelection reports a selection that selects no node.
func (w *walker) checkNodeSelection(path *field.Path, on scenario.Nodes, nodes []*v1.Node) {
	among := *w.state
	among.Nodes = nodes
	_, err := world.SelectNodes(&among, path, on)
	w.reportErrors(nil, err)
}

// checkDomains reports labels, domains and numbers of domains that no nodes have.
func (w *walker) checkDomains(path *field.Path, domains *scenario.Domains, nodes []*v1.Node) {
	w.checkPodSelector(path.Child("selector"), domains.Selector)
	sets := scenario.NodeLabels(nodes)
	has := func(value string) bool {
		return slices.ContainsFunc(sets, func(set labels.Set) bool {
			return set.Has(domains.TopologyKey) && (value == "" || set.Get(domains.TopologyKey) == value)
		})
	}
	if domains.TopologyKey == "" {
		return // reported already
	}
	if !has("") {
		w.Add(path.Child("topologyKey"), "%s", scenario.LabelHint(domains.TopologyKey, "node", sets))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(domains.Exactly)) {
		if !has(name) {
			w.Add(path.Child("exactly"), "no node is in the domain %q; %s", name, scenario.LabelHint(domains.TopologyKey, "node", sets))
		}
	}
	if all, _ := topology.Domains(nodes, domains.TopologyKey); domains.Used != nil && *domains.Used > len(all) {
		w.Add(path.Child("used"), "%d domains cannot have a pod: there are only %d", *domains.Used, len(all))
	}
}

// checkBinding reports clusters that never exist.
func (w *walker) checkBinding(path *field.Path, b *scenario.ExpectedBinding) {
	var names []string
	for _, m := range w.scenario.AllMembers() {
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		w.Add(path, "is for a federation; leave it out, or give clusters in place of cluster")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(b.Clusters)) {
		if !slices.Contains(names, name) {
			w.Add(path.Child("clusters").Key(name), "is no cluster of the federation; %s", scenario.ListChoices(name, names))
		}
	}
}

// checkFailureBounds reports workloads and levels that do not exist, and more domains than the level has.
func (w *walker) checkFailureBounds(path *field.Path, f *scenario.FailureBounds, nodes []*v1.Node) {
	if f.Workload != "" {
		w.checkWorkload(path.Child("workload"), f.Workload)
	}
	if f.Level == "" {
		return // reported already
	}
	all, _ := topology.Domains(nodes, topology.ResolveKey(nodes, f.Level))
	switch {
	case len(all) == 0:
		w.Add(path.Child("level"), "%s", scenario.LabelHint(f.Level, "node", scenario.NodeLabels(nodes)))
	case f.Simultaneous != nil && *f.Simultaneous > len(all):
		w.Add(path.Child("simultaneous"), "%d domains cannot fail together: there are only %d", *f.Simultaneous, len(all))
	}
}

// checkPeakBounds reports workloads and a level that do not exist, and a peak of a federation.
func (w *walker) checkPeakBounds(path *field.Path, b *scenario.PeakBounds, nodes []*v1.Node) {
	if w.scenario.Federated() {
		w.Add(path, "is for one cluster; leave it out, or give cluster in place of clusters")
		return
	}
	for _, workload := range slices.Sorted(maps.Keys(b.Replicas)) {
		w.checkWorkload(path.Child("replicas").Key(workload), workload)
	}
	for i, name := range b.CronJobs {
		if name != scenario.AllCronJobs && name != scenario.BusiestCronJobs {
			w.checkWorkload(path.Child("cronJobs").Index(i), name)
		}
	}
	if key := topology.ResolveKey(nodes, b.Level); b.Level != "" {
		if all, _ := topology.Domains(nodes, key); len(all) == 0 {
			w.Add(path.Child("level"), "%s", scenario.LabelHint(b.Level, "node", scenario.NodeLabels(nodes)))
		}
	}
}
