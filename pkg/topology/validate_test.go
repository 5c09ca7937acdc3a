package topology

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name, spec string
		want       []string
	}{
		{"nothing", `{}`, []string{`cluster.nodeGroups: Required value: no nodes here`}},
		{
			"a zone without nodes", `zones: [{name: a, nodeGroups: [{count: 1}]}, {name: b}]`,
			[]string{`cluster.zones[1].nodeGroups: Required value: no nodes here`},
		},
		{
			"counts", `
regions: [{count: 0}]
zones: [{count: -1}]
levels: [{key: rack, count: 100001}]
nodeGroups: [{name: a, count: 0}, {name: b, total: -5}, {name: c}, {name: d, count: 1, total: 1}]
`,
			[]string{
				`cluster.regions[0].count: Invalid value: 0: must be at least 1`,
				`cluster.zones[0].count: Invalid value: -1: must be at least 1`,
				`cluster.levels[0].count: Invalid value: 100001: must be at most 100000`,
				`cluster.nodeGroups[0].count: Invalid value: 0: must be at least 1`,
				`cluster.nodeGroups[1].total: Invalid value: -5: must be at least 1`,
				`cluster.nodeGroups[2].count: Required value: give the number of nodes`,
				`cluster.nodeGroups[3].total: Forbidden: give either count or total`,
			},
		},
		{
			"quantities, in places that nothing uses too", `
zones: [{name: a, nodeGroups: [{count: 1}]}]
nodeGroups:
  - {count: 1, cpu: four, memory: -1Gi, pods: 0, ephemeralStorage: 1.5, resources: {gpu: 1, "a b/c": 1, example.com/fpga: 500m, hugepages-2Mi: 1e30, example.com/x: "1e999999999"}}
`,
			[]string{
				`cluster.nodeGroups[0].cpu: Invalid value: "four": must be a quantity`,
				`cluster.nodeGroups[0].memory: Invalid value: "-1Gi": must be more than 0`,
				`cluster.nodeGroups[0].pods: Invalid value: "0": must be more than 0`,
				`cluster.nodeGroups[0].ephemeralStorage: Invalid value: "1.5": must be a whole number`,
				`cluster.nodeGroups[0].resources[a b/c]: Invalid value: "a b/c": must be a resource name`,
				`cluster.nodeGroups[0].resources[example.com/fpga]: Invalid value: "500m": must be a whole number`,
				`cluster.nodeGroups[0].resources[example.com/x]: Invalid value: "1e999999999": is out of range`,
				`cluster.nodeGroups[0].resources[gpu]: Invalid value: "gpu": must have a domain`,
				`cluster.nodeGroups[0].resources[hugepages-2Mi]: Invalid value: "1e+30": is out of range`,
			},
		},
		{
			"labels and taints", `
labels: {"-a": b}
nodeGroups:
  - count: 1
    labels: {c: "no spaces", kubernetes.io/hostname: x}
    withoutLabels: [""]
    taints: [{key: k, effect: Never}, {key: "", effect: NoExecute}, {key: k}, {key: a, effect: NoSchedule}, {key: a, value: "?", effect: NoSchedule}]
`,
			[]string{
				`cluster.nodeGroups[0].labels[c]: Invalid value: "no spaces": must be a label value`,
				`cluster.nodeGroups[0].labels[kubernetes.io/hostname]: Forbidden: is the name of the node`,
				`cluster.nodeGroups[0].withoutLabels[0]: Invalid value: "": must be a label key`,
				`cluster.nodeGroups[0].taints[0].effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule", "PreferNoSchedule"`,
				`cluster.nodeGroups[0].taints[1].key: Invalid value: ""`,
				`cluster.nodeGroups[0].taints[2].effect: Required value`,
				`cluster.nodeGroups[0].taints[4].value: Invalid value: "?"`,
				`cluster.nodeGroups[0].taints[4]: Duplicate value: "a=?:NoSchedule": taints must be unique`,
				`cluster.labels[-a]: Invalid value: "-a": must be a label key`,
			},
		},
		{
			"keys of levels", `
levels: [{key: ""}, {key: a b}, {key: rack}, {key: example.com/rack}, {key: topology.kubernetes.io/zone}, {key: kubernetes.io/hostname}]
nodeGroups: [{count: 1}]
`,
			[]string{
				`cluster.levels[0].key: Required value`,
				`cluster.levels[1].key: Invalid value: "a b": must be a label key`,
				`cluster.levels[3].key: Invalid value: "example.com/rack": {rack} already has a meaning`,
				`cluster.levels[4].key: Invalid value: "topology.kubernetes.io/zone": {zone} already has a meaning`,
				`cluster.levels[5].key: Invalid value: "kubernetes.io/hostname": {hostname} already has a meaning`,
			},
		},
		{
			"a zone in two regions", `{regions: [{name: eu}, {name: us}], zones: [{name: a}, {name: "{region}-b"}], nodeGroups: [{count: 1}]}`,
			[]string{`cluster.zones[0].name: Duplicate value: "a": the name is already taken; add {index}`},
		},
		{
			"several zones of one name", `{zones: [{name: a, count: 2}], nodeGroups: [{count: 1}]}`,
			[]string{`cluster.zones[0].name: Duplicate value: "a"`},
		},
		{
			"several nodes of one name", `nodeGroups: [{count: 2, namePattern: a}]`,
			[]string{`cluster.nodeGroups[0].namePattern: Duplicate value: "a"`},
		},
		{
			"two groups of one name", `nodeGroups: [{count: 1}, {name: node, count: 1}]`,
			[]string{`cluster.nodeGroups[1].name: Duplicate value: "node"`},
		},
		{
			"placeholders that stand for nothing", `
regions: [{name: "{zone}"}, {name: eu}]
zones: [{name: "{region}-{rack}"}, {name: "{region}-a"}]
nodeGroups: [{count: 1, namePattern: "{rack}-{group}"}]
`,
			[]string{
				`cluster.regions[0].name: Invalid value: "{zone}": unknown placeholder {zone}: use {index}`,
				`cluster.zones[0].name: Invalid value: "{region}-{rack}": unknown placeholder {rack}: use {region}, {index}`,
				`cluster.nodeGroups[0].namePattern: Invalid value: "{rack}-{group}": unknown placeholder {rack}: use {region}, {zone}, {group}, {index}`,
			},
		},
		{
			"names that are no label values or node names", `
regions: [{name: "Europe, West"}, {name: eu}]
nodeGroups: [{count: 1, namePattern: "a_{index}"}, {name: ` + strings.Repeat("x", 60) + `, count: 1}]
`,
			[]string{
				`cluster.regions[0].name: Invalid value: "Europe, West": must be a label value`,
				`cluster.nodeGroups[0].namePattern: Invalid value: "a_1": must be a node name and a label value`,
				`cluster.nodeGroups[1].namePattern: Invalid value: "eu-` + strings.Repeat("x", 60) + `-1": must be a node name and a label value: must be no more than 63`,
			},
		},
		{
			"too many nodes", `{zones: [{count: 1000}], nodeGroups: [{count: 101}]}`,
			[]string{`cluster.nodeGroups[0]: Forbidden: the cluster has more than 100000 nodes`},
		},
		{
			"too many domains", `{regions: [{count: 1000}], zones: [{count: 10000}], levels: [{key: rack, count: 3}], nodeGroups: [{total: 1}]}`,
			[]string{`cluster.levels[0]: Forbidden: the cluster has more than 100000 innermost domains`},
		},
		{
			// 10 to the power of 12 domains, of which none is built.
			"too many domains of levels", "levels: [" + tenfold(12) + "]\nnodeGroups: [{total: 5}]",
			[]string{`cluster.levels[11]: Forbidden: the cluster has more than 100000 innermost domains`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec := decode(t, test.spec)
			errs := spec.Validate(field.NewPath("cluster"))
			if len(errs) != len(test.want) {
				t.Fatalf("got %d problems, want %d:\n%v", len(errs), len(test.want), errs)
			}
			for i, want := range test.want {
				if got := errs[i].Error(); !strings.HasPrefix(got, want) {
					t.Errorf("problem %d:\ngot  %s\nwant %s…", i, got, want)
				}
			}
			if nodes, err := Build(spec); err == nil || nodes != nil {
				t.Errorf("Build returned %d nodes and the error %v", len(nodes), err)
			}
		})
	}
}

// tenfold returns n levels of ten domains each.
func tenfold(n int) string {
	var levels []string
	for i := range n {
		levels = append(levels, fmt.Sprintf("{key: level-%d, count: 10}", i))
	}
	return strings.Join(levels, ", ")
}
