package topology

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func labelled(name string, labels map[string]string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func names(nodes []*v1.Node) []string {
	var names []string
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	return names
}

func TestDomains(t *testing.T) {
	nodes := []*v1.Node{
		labelled("a", map[string]string{"rack": "rack-10"}),
		labelled("b", map[string]string{"rack": "rack-2"}),
		labelled("c", nil),
		labelled("d", map[string]string{"rack": "rack-10"}),
		labelled("e", map[string]string{"rack": ""}),
		labelled("f", map[string]string{"zone": "rack-2"}),
	}
	domains, unlabelled := Domains(nodes, "rack")

	type domain struct {
		Key, Value string
		Nodes      []string
	}
	var got []domain
	for _, d := range domains {
		got = append(got, domain{d.Key, d.Value, names(d.Nodes)})
	}
	want := []domain{
		{"rack", "", []string{"e"}},
		{"rack", "rack-2", []string{"b"}},
		{"rack", "rack-10", []string{"a", "d"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"c", "f"}, names(unlabelled)); diff != "" {
		t.Errorf("unlabelled (-want +got):\n%s", diff)
	}
}

func TestLevels(t *testing.T) {
	region, zone, host := v1.LabelTopologyRegion, v1.LabelTopologyZone, v1.LabelHostname
	for _, test := range []struct {
		name    string
		nodes   []*v1.Node
		further []string
		want    []string
	}{
		{"no nodes", nil, []string{"rack"}, nil},
		{"hostname alone", []*v1.Node{labelled("a", map[string]string{host: "a"})}, []string{"rack"}, []string{host}},
		{
			"one node has the zone, another the rack",
			[]*v1.Node{labelled("a", map[string]string{zone: "z", host: "a"}), labelled("b", map[string]string{"rack": "r"})},
			[]string{"row", "rack"},
			[]string{zone, "rack", host},
		},
		{
			"every key once",
			[]*v1.Node{labelled("a", map[string]string{region: "r", zone: "z", "rack": "r", host: "a"})},
			[]string{"rack", zone, "rack"},
			[]string{region, zone, "rack", host},
		},
		{
			"the cluster is widest",
			[]*v1.Node{labelled("m1/a", map[string]string{LabelCluster: "m1", region: "r", host: "m1/a"})},
			[]string{LabelCluster},
			[]string{LabelCluster, region, host},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Levels(test.nodes, test.further...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompareNatural(t *testing.T) {
	sorted := []string{"", "1", "01", "2", "10", "99999999999999999998", "99999999999999999999", "a", "a1", "a01", "a1b", "a2", "a10", "b"}
	for i, a := range sorted {
		for j, b := range sorted {
			want := max(-1, min(1, i-j))
			if got := compareNatural(a, b); got != want {
				t.Errorf("compareNatural(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestKey(t *testing.T) {
	for word, want := range map[string]string{
		"cluster":                     "faultline.dev/cluster",
		"region":                      "topology.kubernetes.io/region",
		"zone":                        "topology.kubernetes.io/zone",
		"node":                        "kubernetes.io/hostname",
		"hostname":                    "kubernetes.io/hostname",
		"rack":                        "rack",
		"topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
	} {
		if got := Key(word); got != want {
			t.Errorf("%s is %s, want %s", word, got, want)
		}
	}
}

// A level of several labels has a domain for each combination of values that a node has. Nodes that lack one of the labels are in no
// domain.
func TestDomainsOfSeveralLabels(t *testing.T) {
	nodes := []*v1.Node{
		labelled("a", map[string]string{"example.com/kind": "spot", v1.LabelTopologyZone: "west"}),
		labelled("b", map[string]string{"example.com/kind": "reserved", v1.LabelTopologyZone: "west"}),
		labelled("c", map[string]string{"example.com/kind": "spot", v1.LabelTopologyZone: "west"}),
		labelled("d", map[string]string{v1.LabelTopologyZone: "west"}),
	}
	domains, unlabelled := Domains(nodes, ResolveKey(nodes, "kind+zone"))
	got := map[string][]string{"": names(unlabelled)}
	for _, d := range domains {
		got[d.Value] = names(d.Nodes)
	}
	want := map[string][]string{"": {"d"}, "reserved+west": {"b"}, "spot+west": {"a", "c"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
}

func TestKeyAmong(t *testing.T) {
	nodes := []*v1.Node{labelled("a", map[string]string{
		"node.kubernetes.io/instance-type": "m5", "beta.kubernetes.io/instance-type": "m5", "a.example.com/pool": "x", "b.example.com/pool": "y", "rack": "1",
	})}
	for word, want := range map[string]string{
		"instance-type": "node.kubernetes.io/instance-type", "zone": v1.LabelTopologyZone, "rack": "rack", "pool": "pool", "none": "none",
	} {
		if got := ResolveKey(nodes, word); got != want {
			t.Errorf("KeyAmong(%q) = %q, want %q", word, got, want)
		}
	}
}
