package price_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/input/price"
	"github.com/faultline/faultline/pkg/topology"
)

// node returns a node with 4 cores and 16 GiB, and with the given properties: labels as key=value, or spec.providerID, gpus or price.
func node(name string, says ...string) *v1.Node {
	n := &v1.Node{}
	n.Name, n.Labels, n.Annotations = name, map[string]string{}, map[string]string{}
	n.Status.Capacity = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("16Gi")}
	for _, word := range says {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "spec.providerID":
			n.Spec.ProviderID = value
		case "gpus":
			n.Status.Capacity["nvidia.com/gpu"] = resource.MustParse(value)
		case "price":
			n.Annotations[topology.PriceAnnotation] = value
		default:
			n.Labels[key] = value
		}
	}
	return n
}

const instance = v1.LabelInstanceTypeStable + "="

const csvHeader = "EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,MarketPriceHourly,Version\n"

func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want map[*v1.Node]string // "" if the price is unknown
	}{
		"the first entry whose labels the node has": {
			`prices:
- {instanceType: m5.xlarge, labels: {karpenter.sh/capacity-type: spot}, pricePerHour: 0.08}
- {instanceType: m5.xlarge, pricePerHour: 0.192}
- {labels: {pool: own}, pricePerHour: 0}`,
			map[*v1.Node]string{
				node("spot", instance+"m5.xlarge", "karpenter.sh/capacity-type=spot"): "0.08",
				node("on demand", instance+"m5.xlarge"):                               "0.192",
				node("older label", v1.LabelInstanceType+"=m5.xlarge"):                "0.192",
				node("own", "pool=own"):                                               "0",
				node("own price", instance+"m5.xlarge", "price=7"):                    "7",
				node("other", instance+"m5.large"):                                    "",
			},
		},
		"a catalogue": {
			`types: [{name: m5.xlarge, cpu: 4, memory: 16Gi, pricePerHour: 0.192}]`,
			map[*v1.Node]string{node("a", instance+"m5.xlarge"): "0.192", node("b"): ""},
		},
		// 4 × 0.03 + 16 × 0.004 = 0.184; 4 × 0.01 + 16 × 0.001 = 0.056; a GPU is 1 more.
		"OpenCost's custom pricing": {
			`{"provider": "custom", "description": "ours", "CPU": "0.03", "RAM": "0.004", "spotCPU": "0.01", "spotRAM": "0.001", "GPU": "1", "storage": "0.00005"}`,
			map[*v1.Node]string{
				node("a"): "0.184", node("spot", "eks.amazonaws.com/capacityType=SPOT"): "0.056", node("two", "gpus=2"): "2.184",
			},
		},
		"with a label of its own": {
			`{"CPU": "0.03", "RAM": "0.004", "spotCPU": "0.01", "spotRAM": "0.001", "spotLabel": "lifecycle", "spotLabelValue": "spot"}`,
			map[*v1.Node]string{node("a", "eks.amazonaws.com/capacityType=SPOT"): "0.184", node("b", "lifecycle=spot"): "0.056"},
		},
		"OpenCost's CSV": {
			"\ufeff" + csvHeader + `# ours
2026-01-01,i-01,eu-west-1,node,spec.providerID,m5.xlarge,0.192,v1
2026-01-01,m5.large,,node,metadata.labels.node.kubernetes.io/instance-type,,0.096,v1
2026-01-01,Special,,node,metadata.name,,0.5,v1
2026-01-01,a100,,gpu,gpu.nvidia.com/class,,3,v1
2026-01-01,gp3,,pv,spec.storageClassName,,much,v1
`,
			map[*v1.Node]string{
				node("exact", "spec.providerID=aws:///eu-west-1a/i-01", v1.LabelTopologyRegion+"=EU-west-1"):        "0.192",
				node("other region", "spec.providerID=aws:///us-east-1a/i-01", v1.LabelTopologyRegion+"=us-east-1"): "",
				node("by its type", instance+"m5.xlarge", v1.LabelFailureDomainBetaRegion+"=eu-west-1"):             "0.192",
				node("by a label", instance+"m5.large"):                                                             "0.096",
				node("special"):                                                                                     "0.5",
				node("gpus", instance+"m5.large", "gpus=2", "gpu.nvidia.com/class=A100"):                            "6.096",
				node("other gpus", instance+"m5.large", "gpus=2", "gpu.nvidia.com/class=T4"):                        "0.096",
			},
		},
	} {
		table, err := price.Parse("prices", []byte(c.file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for n, want := range c.want {
			_, unknown := table.Annotate([]*v1.Node{n})
			if got := n.Annotations[topology.PriceAnnotation]; got != want || (len(unknown) == 1) != (want == "") {
				t.Errorf("%s: %s costs %q, want %q", name, n.Name, got, want)
			}
		}
	}
}

// The error has a line for each problem.
func TestParseWrong(t *testing.T) {
	for file, want := range map[string]string{
		`{}`: `prices: prices: Required value: list what nodes cost, as {instanceType: m5.xlarge, pricePerHour: 0.192}`,
		`prices: [{pricePerHour: -1}, {instanceType: a}]`: `prices: prices[0]: Required value: give instanceType, or labels of the nodes that cost this
prices: prices[0].pricePerHour: Invalid value: -1: must be 0 or more
prices: prices[1].pricePerHour: Required value: what a node costs in an hour, such as 0.192`,
		`prices: [{instance: a, pricePerHour: 1}]`: `prices: unknown field "prices[0].instance"`,
		`types: [{name: a, cpu: 1, memory: 1Gi}]`:  `prices: types[0].pricePerHour: Required value: what a node costs in an hour, such as 0.192; the cheapest mix cannot be found without`,
		`{"CPU": 0.03}`: `prices: json: cannot unmarshal number into Go struct field rates.CPU of type string; OpenCost's custom pricing has numbers in quotes, as "CPU": "0.031611"`,
		`{"CPU": "much", "RAM": "-1", "GPU": "1e300"}`: `prices: CPU: "much" is no price; give a decimal number of at least 0, such as 0.192
prices: RAM: "-1" is no price; give a decimal number of at least 0, such as 0.192
prices: GPU: "1e300" is no price; give a decimal number of at least 0, such as 0.192`,
		csvHeader: `prices: no row prices nodes; give one with the AssetClass node`,
		csvHeader + "a,b\n,x,,node,spec.host,,1,\n,x,,node,metadata.name,,,\n": `prices: line 2: has 2 fields, and the first line 8; give as many
prices: line 3: InstanceIDField: "spec.host" is no field; give spec.providerID, metadata.name, metadata.labels.KEY or metadata.annotations.KEY
prices: line 4: MarketPriceHourly: "" is no price; give a decimal number of at least 0, such as 0.192`,
	} {
		_, err := price.Parse("prices", []byte(file))
		if err == nil {
			t.Errorf("no error for %s", file)
			continue
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// Prices are finite and not negative, whatever the file contains.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`prices: [{instanceType: m5.xlarge, labels: {a: b}, pricePerHour: 0.1}]`, `types: [{name: m5.xlarge, cpu: 4, memory: 16Gi, pricePerHour: 0.192}]`,
		`{"CPU": "0.03", "RAM": "1e8", "spotLabel": "a"}`, csvHeader + ",m5.xlarge,,node,metadata.name,m5.xlarge,1e8,\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := price.Parse("prices", data)
		if err != nil {
			return
		}
		if of, known := table.PriceOf(node("m5.xlarge", instance+"m5.xlarge", "a=b", "gpus=8")); known && !(of >= 0) {
			t.Errorf("%v an hour", of)
		}
	})
}
