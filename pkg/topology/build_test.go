package topology

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

func decode(t *testing.T, text string) Spec {
	t.Helper()
	var spec Spec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// lines returns one line per node: its name and the values of its topology keys.
func lines(nodes []*v1.Node, keys ...string) []string {
	var lines []string
	for _, node := range nodes {
		line := node.Name
		for _, key := range keys {
			if value, found := node.Labels[key]; found {
				line += " " + value
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestBuildNode(t *testing.T) {
	nodes, err := Build(decode(t, `
labels: {team: a, tier: outer}
regions:
  - name: EU
    labels: {tier: region, topology.kubernetes.io/region: europe}
    zones:
      - name: eu-1a
        labels: {tier: zone}
        nodeGroups:
          - name: gpu
            count: 1
            cpu: 1.5
            memory: "8Gi"
            pods: 20
            resources: {nvidia.com/gpu: 2, hugepages-2Mi: 1Gi}
            labels: {tier: group, kubernetes.io/arch: arm64}
            taints: [{key: dedicated, value: ml, effect: NoSchedule}]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := `
metadata:
  labels:
    kubernetes.io/arch: arm64
    kubernetes.io/hostname: eu-1a-gpu-1
    kubernetes.io/os: linux
    team: a
    tier: group
    topology.kubernetes.io/region: europe
    topology.kubernetes.io/zone: eu-1a
  name: eu-1a-gpu-1
spec:
  taints: [{key: dedicated, value: ml, effect: NoSchedule}]
status:
  allocatable: &resources {cpu: 1500m, memory: 8Gi, pods: "20", ephemeral-storage: 100Gi, nvidia.com/gpu: "2", hugepages-2Mi: 1Gi}
  capacity: *resources
  conditions: [{type: Ready, status: "True", reason: KubeletReady}]
  declaredFeatures: [ExtendWebSocketsToKubelet, InPlacePodLevelResourcesVerticalScaling, InPlacePodVerticalScalingInitContainers, RestartAllContainersOnContainerExits]
  nodeInfo: {operatingSystem: linux, architecture: arm64}
`
	var node v1.Node
	if err := yaml.UnmarshalStrict([]byte(want), &node); err != nil {
		t.Fatal(err)
	}
	node.APIVersion, node.Kind = "v1", "Node"
	if diff := cmp.Diff([]*v1.Node{&node}, nodes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBuild(t *testing.T) {
	for _, test := range []struct {
		name, spec string
		keys       []string
		want       []string
	}{
		{"node groups alone", `nodeGroups: [{count: 2}, {name: big, count: 1}]`, nil, []string{"node-1", "node-2", "big-1"}},
		{
			"zones alone", `{zones: [{count: 2}], nodeGroups: [{count: 1}]}`, []string{v1.LabelTopologyZone},
			[]string{"zone-1-node-1 zone-1", "zone-2-node-1 zone-2"},
		},
		{
			"regions alone", `{regions: [{count: 2}], nodeGroups: [{count: 1}]}`, []string{v1.LabelTopologyRegion, v1.LabelTopologyZone},
			[]string{"region-1-node-1 region-1", "region-2-node-1 region-2"},
		},
		{
			"racks alone", `{levels: [{key: example.com/rack, count: 2}], nodeGroups: [{count: 1}]}`, []string{"example.com/rack"},
			[]string{"rack-1-node-1 rack-1", "rack-2-node-1 rack-2"},
		},
		{
			"lists of inner places replace those further out", `
regions:
  - {name: eu}
  - {name: us, zones: [{name: us-east}], nodeGroups: [{name: u, count: 1}]}
  - name: ap
    zones:
      - {name: ap-1, levels: [{key: row}]}
      - {name: ap-2, nodeGroups: [{name: z, count: 1}]}
zones: [{count: 2}]
levels: [{key: rack}]
nodeGroups: [{name: c, count: 1}]
`, []string{v1.LabelTopologyRegion, v1.LabelTopologyZone, "row", "rack"},
			[]string{
				"eu-1-rack-1-c-1 eu eu-1 eu-1-rack-1",
				"eu-2-rack-1-c-1 eu eu-2 eu-2-rack-1",
				"us-east-rack-1-u-1 us us-east us-east-rack-1",
				"ap-1-row-1-c-1 ap ap-1 ap-1-row-1",
				"ap-2-rack-1-z-1 ap ap-2 ap-2-rack-1",
			},
		},
		{
			"levels nest", `{levels: [{key: row, count: 2}, {key: rack, count: 2, name: "{row}.{index}"}], nodeGroups: [{count: 1}]}`,
			[]string{"row", "rack"},
			[]string{
				"row-1.1-node-1 row-1 row-1.1", "row-1.2-node-1 row-1 row-1.2",
				"row-2.1-node-1 row-2 row-2.1", "row-2.2-node-1 row-2 row-2.2",
			},
		},
		{
			"an index counts among names that would be equal", `
regions: [{name: eu}, {name: us}]
zones: [{name: "z{index}", count: 2}]
nodeGroups: [{name: a, count: 1, namePattern: "{region}-{index}"}, {name: b, count: 1, namePattern: "n{index}"}]
`, []string{v1.LabelTopologyZone},
			[]string{"eu-1 z1", "n1 z1", "eu-2 z2", "n2 z2", "us-1 z3", "n3 z3", "us-2 z4", "n4 z4"},
		},
		{
			"a total is spread evenly at every level", `{regions: [{count: 2}], zones: [{count: 2}], nodeGroups: [{total: 6, namePattern: "{zone}.{index}"}]}`,
			nil,
			[]string{"region-1-1.1", "region-1-1.2", "region-1-2.1", "region-2-1.1", "region-2-1.2", "region-2-2.1"},
		},
		{
			"a total may leave domains empty", `{zones: [{count: 4}], nodeGroups: [{total: 2}]}`, nil,
			[]string{"zone-1-node-1", "zone-3-node-1"},
		},
		{
			"nodes that were never given their zone", `
zones: [{name: a}]
nodeGroups: [{count: 1}, {name: lost, count: 1, withoutLabels: [topology.kubernetes.io/zone]}]
`, []string{v1.LabelTopologyZone},
			[]string{"a-node-1 a", "a-lost-1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			nodes, err := Build(decode(t, test.spec))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, lines(nodes, test.keys...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLevelKeys(t *testing.T) {
	spec := decode(t, `
levels: [{key: row}, {key: rack}]
zones: [{levels: [{key: feed}]}]
regions: [{levels: [{key: rack}, {key: room}], zones: [{levels: [{key: shelf}]}]}]
`)
	if diff := cmp.Diff([]string{"row", "rack", "feed", "room", "shelf"}, spec.LevelKeys()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const large = `
regions: [{name: eu}, {name: us}, {name: ap}]
zones: [{count: 3}]
levels: [{key: rack, count: 8}]
nodeGroups: [{name: worker, total: 5000, cpu: 16, memory: 64Gi}]
`

func TestBuildLarge(t *testing.T) {
	nodes, err := Build(decode(t, large))
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes) != 5000 {
		t.Errorf("got %d nodes, want 5000", len(nodes))
	}
	// 5,000 in 3 regions, 9 zones and 72 racks: at every level, shares differ by at most one node.
	for key, share := range map[string]int{v1.LabelTopologyRegion: 1666, v1.LabelTopologyZone: 555, "rack": 69} {
		domains, unlabelled := Domains(nodes, key)
		if len(domains) != 5000/share || len(unlabelled) > 0 {
			t.Errorf("%s: got %d domains and %d nodes outside, want %d and none", key, len(domains), len(unlabelled), 5000/share)
		}
		for _, d := range domains {
			if n := len(d.Nodes); n != share && n != share+1 {
				t.Errorf("%s=%s has %d nodes, want %d or one more", key, d.Value, n, share)
			}
		}
	}
}

func ExampleBuild() {
	nodes, err := Build(Spec{
		Zones:      []Zone{{Name: "a"}, {Name: "b"}},
		Levels:     []Level{{Key: "rack", Count: new(2)}},
		NodeGroups: []NodeGroup{{Name: "worker", Count: new(1)}},
	})
	if err != nil {
		fmt.Println(err)
	}
	for _, node := range nodes {
		fmt.Println(node.Name, node.Labels["topology.kubernetes.io/zone"], node.Labels["rack"])
	}
	// Output:
	// a-rack-1-worker-1 a a-rack-1
	// a-rack-2-worker-1 a a-rack-2
	// b-rack-1-worker-1 b b-rack-1
	// b-rack-2-worker-1 b b-rack-2
}

// FuzzBuild decodes a spec strictly and builds it. There are either problems, or nodes that the API server would accept.
func FuzzBuild(f *testing.F) {
	f.Add([]byte(large))
	f.Add([]byte(`nodeGroups: [{count: 3, resources: {nvidia.com/gpu: 1}, taints: [{key: a, effect: NoExecute}]}]`))
	f.Add([]byte(`{zones: [{name: "{region}{index}{x}", count: 1e9}], nodeGroups: [{total: 7, cpu: 1e999, namePattern: "{{index}}"}]}`))
	f.Add([]byte(`{levels: [{key: a/b, name: "{b}", count: 2}], nodeGroups: [{count: 1, withoutLabels: [kubernetes.io/hostname]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var spec Spec
		if yaml.UnmarshalStrict(data, &spec) != nil {
			return
		}
		const limit = 500
		b, errs := build(&spec, nil, limit)
		if len(errs) > 0 {
			if b != nil {
				t.Fatalf("got nodes despite %v", errs)
			}
			return
		}
		nodes := b.nodes
		if len(nodes) == 0 || len(nodes) > limit {
			t.Fatalf("got %d nodes", len(nodes))
		}
		seen := map[string]bool{}
		for _, node := range nodes {
			if len(validation.IsDNS1123Subdomain(node.Name)) > 0 || seen[node.Name] {
				t.Errorf("node name %q is invalid or taken", node.Name)
			}
			seen[node.Name] = true
			if errs := append(validateLabels(node.Labels, nil), validateTaints(node.Spec.Taints, nil)...); len(errs) > 0 {
				t.Errorf("node %s: %v", node.Name, errs)
			}
			for resource, q := range node.Status.Allocatable {
				if q.MilliValue() <= 0 {
					t.Errorf("node %s: %s is %s", node.Name, resource, q.String())
				}
			}
		}
		again, _ := build(&spec, nil, limit)
		if diff := cmp.Diff([]any{nodes, b.slices}, []any{again.nodes, again.slices}); diff != "" {
			t.Errorf("the same spec gave different nodes:\n%s", diff)
		}
	})
}

func BenchmarkBuild5000(b *testing.B) {
	var spec Spec
	if err := yaml.UnmarshalStrict([]byte(large), &spec); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Build(spec); err != nil {
			b.Fatal(err)
		}
	}
}
