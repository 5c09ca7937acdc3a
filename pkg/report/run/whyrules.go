package run

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// explainedRules returns the paths of the rules that [describeLeft], [explainPlaced] and [explainPending] mention: the required rules of each plugin that refused
// nodes, and the preferred rules of each plugin that decided.
func explainedRules(placed []placement.Placement, pending []placement.Pending, state *cluster.State) []string {
	var paths []string
	add := func(pod *v1.Pod, plugin string, hard bool, key string) {
		for _, r := range rule.List(&pod.Spec) {
			if r.Kind.Plugin() == plugin && r.Hard == hard && (key == "" || r.TopologyKey == key) && !slices.Contains(paths, r.Path) {
				paths = append(paths, r.Path)
			}
		}
	}
	for _, p := range placed {
		for plugin := range p.Filtered {
			add(p.Pod, plugin, true, "")
		}
		for _, plugin := range p.Deciders {
			add(p.Pod, plugin, false, "")
		}
	}
	terms := exhaustedTerms{state: state}
	for _, p := range pending {
		if onlyAffinityRefused(p.Reasons) {
			if key, _ := terms.find(p.Pod); key != "" {
				add(p.Pod, "InterPodAffinity", true, key)
				continue
			}
		}
		for _, reason := range p.Reasons {
			add(p.Pod, reason.Plugin, true, "")
		}
	}
	slices.Sort(paths)
	return paths
}
