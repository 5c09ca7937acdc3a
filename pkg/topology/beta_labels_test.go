package topology

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The level of zones is that of the older label if no node has the new one. If some nodes have the new one, the others are in no zone.
func TestOlderKeys(t *testing.T) {
	const oldZone, oldRegion = v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion
	labelled := func(labels ...string) *v1.Node {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: labels[1], Labels: map[string]string{}}}
		for i := 0; i < len(labels); i += 2 {
			node.Labels[labels[i]] = labels[i+1]
		}
		return node
	}
	for _, tt := range []struct {
		name                string
		nodes               []*v1.Node
		levels, keys, apart []string
		zone                string
	}{
		{"new alone", []*v1.Node{labelled(v1.LabelTopologyZone, "a")}, []string{v1.LabelTopologyZone}, nil, nil, v1.LabelTopologyZone},
		{"both", []*v1.Node{labelled(v1.LabelTopologyZone, "a", oldZone, "a")}, []string{v1.LabelTopologyZone}, nil, nil, v1.LabelTopologyZone},
		{"old alone", []*v1.Node{labelled(oldZone, "a", oldRegion, "r")}, []string{oldRegion, oldZone}, []string{oldZone, oldRegion}, nil, oldZone},
		{"some of each", []*v1.Node{labelled(v1.LabelTopologyZone, "a"), labelled(oldZone, "b")}, []string{v1.LabelTopologyZone}, nil, []string{"b"}, v1.LabelTopologyZone},
		{"none", []*v1.Node{labelled("rack", "a")}, nil, nil, nil, v1.LabelTopologyZone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			keys, nodes := OlderKeys(tt.nodes)
			var apart []string
			for _, node := range nodes {
				apart = append(apart, node.Name)
			}
			if diff := cmp.Diff([]any{tt.levels, tt.keys, tt.apart, tt.zone, tt.zone + "+rack"},
				[]any{Levels(tt.nodes), keys, apart, ResolveKey(tt.nodes, "zone"), ResolveKey(tt.nodes, "zone+rack")}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if zone, region := ZoneOf(map[string]string{oldZone: "a"}), RegionOf(map[string]string{oldRegion: "r", v1.LabelTopologyRegion: "s"}); zone != "a" || region != "s" {
		t.Errorf("zone %q, region %q", zone, region)
	}
}
