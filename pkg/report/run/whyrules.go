package run

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// pluginOfRule maps each kind of rule in a pod's spec to the plugin that applies it.
var pluginOfRule = map[rule.Kind]string{
	rule.Affinity: "InterPodAffinity", rule.AntiAffinity: "InterPodAffinity", rule.Spread: "PodTopologySpread",
	rule.NodeAffinity: "NodeAffinity", rule.NodeSelector: "NodeAffinity",
}

// explainedRules returns the paths of the rules that [describeLeft], [explainPlaced] and [explainPending] mention: the required rules of each plugin that refused
// nodes, and the preferred rules of each plugin whose score decided.
func explainedRules(placed []placement.Placement, pending []placement.Pending, state *cluster.State) []string {
	var paths []string
	add := func(pod *v1.Pod, plugin string, hard bool, key string) {
		for _, r := range rule.List(&pod.Spec) {
			if pluginOfRule[r.Kind] == plugin && r.Hard == hard && (key == "" || r.TopologyKey == key) && !slices.Contains(paths, r.Path) {
				paths = append(paths, r.Path)
			}
		}
	}
	for _, p := range placed {
		for plugin := range p.Filtered {
			add(p.Pod, plugin, true, "")
		}
		if len(p.Deciders) > 0 && p.Ties < p.Scored {
			add(p.Pod, p.Decider().Plugin, false, "")
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
