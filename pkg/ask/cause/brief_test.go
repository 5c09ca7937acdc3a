package cause

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestBrief(t *testing.T) {
	short := func(name v1.ResourceName, asked, free, allocatable string, nodes int) Cause {
		return Cause{Plugin: "NodeResourcesFit", Nodes: nodes, Sentence: "long", Resource: &Shortage{Resource: name, Asked: asked, Free: free, Allocatable: allocatable, Node: "w-1", Pods: 110, allocatable: resource.MustParse(allocatable)}}
	}
	taints := Cause{Plugin: "TaintToleration", Nodes: 3, Taints: []Taint{{Taint: "pool=db:NoSchedule"}}}
	unmet := Cause{Plugin: "NodeAffinity", Nodes: 1, NodeAffinity: &NodeAffinity{Lacks: []string{"pool=x"}, Unmet: []Unmet{{Requirement: "pool=x"}}}}
	for _, c := range []struct {
		want   string
		causes []Cause
	}{
		{"", nil},
		{"no node has pool=x", []Cause{short("cpu", "2", "1", "4", 6), unmet}},
		{"2 cpu asked and at most 1 free on 6 nodes, untolerated taint pool=db:NoSchedule on 3 nodes", []Cause{taints, short("cpu", "2", "1", "4", 6), {Plugin: "Preemption", Nodes: 9, Preemption: &Preemption{}}}},
		{"nvidia.com/gpu asked and none on 1 node", []Cause{short("nvidia.com/gpu", "1", "0", "0", 1)}},
		{"2 nodes are full (w-1 takes 110 pods)", []Cause{short(v1.ResourcePods, "1", "0", "110", 2)}},
		{"1 node lacks disk=ssd", []Cause{{Nodes: 1, NodeAffinity: &NodeAffinity{Lacks: []string{"disk=ssd"}}}}},
		{"2 nodes are cordoned", []Cause{{Nodes: 2, Cordoned: []string{"a", "b"}}}},
		{"2 nodes lack the label zone", []Cause{{Nodes: 2, Spread: &Spread{TopologyKey: "zone", Unlabelled: []string{"a", "b"}}}}},
		{"the spread over zone allows none of 2 nodes", []Cause{{Nodes: 2, Spread: &Spread{TopologyKey: "zone"}}}},
		{"2 nodes have no pod with app=db", []Cause{{Nodes: 2, PodAffinity: &PodAffinity{Selector: "app=db"}}}},
		{"anti-affinity over zone keeps it off 2 nodes, the anti-affinity of shop/db-0 keeps it off 1 node", []Cause{
			{Nodes: 2, PodAffinity: &PodAffinity{TopologyKey: "zone", Anti: true}}, {Nodes: 1, PodAffinity: &PodAffinity{Owner: "shop/db-0", Anti: true}}}},
		{"host port 80 is taken on 1 node", []Cause{{Nodes: 1, HostPort: &HostPort{Port: 80}}}},
		{"claim data finds no volume of 20Gi on 3 nodes", []Cause{{Nodes: 3, Volume: &Volume{Claim: "data", Asked: "20Gi"}}}},
		{"2 nodes cannot reach the volume of claim data", []Cause{{Nodes: 2, Volume: &Volume{Claim: "data", Volume: "pv-1", Wants: []string{"zone=a"}}}}},
		{"2 nodes are cordoned, 6 nodes lack pool=db", []Cause{{Nodes: 6, NodeAffinity: &NodeAffinity{Lacks: []string{"pool=db"}}}, {Nodes: 2, Cordoned: []string{"a", "b"}}}},
		{"2 nodes have no pod with " + strings.Repeat("a", 100), []Cause{{Nodes: 2, PodAffinity: &PodAffinity{Selector: strings.Repeat("a", 100)}}, taints}},
		{"claim data has no volume", []Cause{{Nodes: 1, Sentence: "claim data has no volume", Volume: &Volume{}}}},
	} {
		if got := Brief(c.causes); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
