package outcome

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// Two nodes differ in one thing only, and two pods must not share a node. Both nodes are equally good for the first pod; the second pod can
// only be on the plain node, since it tolerates no taint. So with a chance of one half each, both pods have a node, or the second stays
// Pending. If the nodes stood for each other, one of the two outcomes would be certain.
func TestNodesThatDifferDoNotStandForEachOther(t *testing.T) {
	const apart = `"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
		{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}]}},`
	const anywhere = `"tolerations": [{"operator": "Exists"}],`
	zones := []topology.Zone{{Name: "z-1", NodeGroups: []topology.NodeGroup{
		{Name: "plain", Count: new(1)},
		{Name: "tainted", Count: new(1), Taints: []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}}},
	}}}
	found := runExact(t, scenarioOf(t, zones,
		applyStep("first", false, deploymentJSON("first", 1, "100m", apart+anywhere)),
		applyStep("second", false, deploymentJSON("second", 1, "100m", apart))), Options{})
	got := map[string]string{}
	for _, o := range probabilitiesByNode(t, &found.Steps[1]) {
		for _, node := range []string{"z-1-plain-1", "z-1-tainted-1"} {
			if o.nodes[node] == 1 && len(o.nodes) == 1 {
				got["only "+node] = o.p.RatString()
			}
		}
		if len(o.nodes) == 2 {
			got["both"] = o.p.RatString()
		}
	}
	if diff := cmp.Diff(map[string]string{"only z-1-plain-1": "1/2", "both": "1/2"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A pod is on one of three equal nodes, and then the first of them is removed. A pod on that node moves to either of the others, so in the
// end the pod is on each of the two with a chance of one half, and never on the removed node.
func TestNodesThatAStepRemovesDoNotStandForOthers(t *testing.T) {
	zones := []topology.Zone{{Name: "z-1", NodeGroups: []topology.NodeGroup{{Count: new(3)}}}}
	remove := scenario.Step{Name: "remove", RemoveNodes: &scenario.RemoveNodes{Nodes: scenario.Nodes{Names: []string{"z-1-node-1"}}}}
	found := runExact(t, scenarioOf(t, zones, applyStep("one", false, deploymentJSON("a", 1, "100m", "")), remove), Options{})
	got := map[string]string{}
	for _, o := range probabilitiesByNode(t, &found.Steps[1]) {
		for node := range o.nodes {
			got[node] = o.p.RatString()
		}
	}
	if diff := cmp.Diff(map[string]string{"z-1-node-2": "1/2", "z-1-node-3": "1/2"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
