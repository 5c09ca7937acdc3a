package price

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// rates is the custom pricing of OpenCost: the prices of a core, a GiB of memory and a GPU per hour, as text. Its other fields, such as
// storage and network, are not prices of nodes. See https://github.com/opencost/opencost/blob/develop/configs/default.json
type rates struct {
	CPU, SpotCPU, RAM, SpotRAM, GPU string
	SpotLabel, SpotLabelValue       string
}

// spotLabels has the labels of spot nodes of Karpenter, EKS, GKE and AKS. They count if the file names no label.
var spotLabels = map[string]string{
	"karpenter.sh/capacity-type": "spot", "eks.amazonaws.com/capacityType": "SPOT", "cloud.google.com/gke-spot": "true", "kubernetes.azure.com/scalesetpriority": "spot",
}

// parseRates reads OpenCost's custom pricing. It returns false if the file has another format.
func parseRates(name string, document []byte) (*Table, bool, error) {
	var head map[string]json.RawMessage
	if json.Unmarshal(document, &head) != nil || head["CPU"] == nil && head["RAM"] == nil {
		return nil, false, nil
	}
	var given rates
	if err := json.Unmarshal(document, &given); err != nil {
		return nil, true, fmt.Errorf("%s: %w; OpenCost's custom pricing has numbers in quotes, as \"CPU\": \"0.031611\"", name, err)
	}
	var problems []error
	number := func(field, text string) float64 {
		if text == "" {
			return 0
		}
		price, err := parsePrice(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %s: %w", name, field, err))
		}
		return price
	}
	cpu, ram, gpu := number("CPU", given.CPU), number("RAM", given.RAM), number("GPU", given.GPU)
	spotCPU, spotRAM := number("spotCPU", given.SpotCPU), number("spotRAM", given.SpotRAM)
	price := func(node *v1.Node) (float64, bool) {
		cores, memory := cpu, ram
		if (given.SpotCPU != "" || given.SpotRAM != "") && given.isSpot(node) {
			cores, memory = spotCPU, spotRAM
		}
		capacity := node.Status.Capacity
		if len(capacity) == 0 {
			capacity = node.Status.Allocatable
		}
		return cores*capacity.Cpu().AsApproximateFloat64() + memory*capacity.Memory().AsApproximateFloat64()/(1<<30) + gpu*countGPUs(node), true
	}
	return &Table{rules: []rule{price}}, true, errors.Join(problems...)
}

func (r *rates) isSpot(node *v1.Node) bool {
	if r.SpotLabel != "" {
		return node.Labels[r.SpotLabel] == r.SpotLabelValue
	}
	for key, value := range spotLabels {
		if node.Labels[key] == value {
			return true
		}
	}
	return false
}

// countGPUs returns the number of GPUs of the node, as OpenCost counts them.
func countGPUs(node *v1.Node) float64 {
	for _, name := range []v1.ResourceName{"nvidia.com/gpu", "k8s.amazonaws.com/vgpu"} {
		if n, found := node.Status.Capacity[name]; found && n.Cmp(resource.Quantity{}) > 0 {
			return n.AsApproximateFloat64()
		}
	}
	return 0
}

// maxPrice is the maximum price. A higher one is a mistake.
const maxPrice = 1e9

// parsePrice parses a price, which is at least 0 and at most [maxPrice].
func parsePrice(text string) (float64, error) {
	price, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(price >= 0 && price <= maxPrice) {
		return 0, fmt.Errorf("%q is no price; give a decimal number of at least 0, such as 0.192", text)
	}
	return price, nil
}

// hourlyColumn is the column with the price in OpenCost's CSV. A file with this column is such a CSV.
const hourlyColumn = "MarketPriceHourly"

// parseCSV reads OpenCost's CSV. A row prices the nodes whose field InstanceIDField has the value InstanceID. If no row does, a row prices
// the nodes of its Region and InstanceType. A row with the AssetClass gpu adds its price for each GPU of the nodes whose label
// InstanceIDField has the value InstanceID. See https://github.com/opencost/opencost/blob/develop/pkg/cloud/provider/csvprovider.go
func parseCSV(name string, data []byte) (*Table, error) {
	reader := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(data), "\ufeff")))
	reader.FieldsPerRecord, reader.TrimLeadingSpace, reader.Comment = -1, true, '#'
	header, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t, byType := &Table{}, []rule{}
	var problems []error
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := reader.FieldPos(0)
		report := func(err error) { problems = append(problems, fmt.Errorf("%s: line %d: %w", name, line, err)) }
		if len(record) != len(header) {
			report(fmt.Errorf("has %d fields, and the first line %d; give as many", len(record), len(header)))
			continue
		}
		row := row{}
		for i, column := range header {
			row[strings.TrimSpace(column)] = strings.TrimSpace(record[i])
		}
		class := row["AssetClass"]
		if class == "pv" {
			continue
		}
		price, err := parsePrice(row[hourlyColumn])
		if err != nil {
			report(fmt.Errorf("%s: %w", hourlyColumn, err))
			continue
		}
		if class == "gpu" {
			t.extras = append(t.extras, func(node *v1.Node) (float64, bool) {
				is := row.inRegion(node) && strings.EqualFold(node.Labels[row["InstanceIDField"]], row["InstanceID"])
				if !is {
					return 0, false
				}
				return price * countGPUs(node), true
			})
			continue
		}
		if id := row["InstanceIDField"]; id != "spec.providerID" && id != "metadata.name" && !strings.HasPrefix(id, labelField) && !strings.HasPrefix(id, annotationField) {
			report(fmt.Errorf("InstanceIDField: %q is no field; give spec.providerID, metadata.name, %sKEY or %sKEY", id, labelField, annotationField))
			continue
		}
		t.rules = append(t.rules, func(node *v1.Node) (float64, bool) {
			return price, row["InstanceID"] != "" && row.inRegion(node) && strings.EqualFold(row.instanceID(node), row["InstanceID"])
		})
		byType = append(byType, func(node *v1.Node) (float64, bool) {
			of, _ := labelValue(node, v1.LabelInstanceTypeStable)
			return price, row["InstanceType"] != "" && row.inRegion(node) && of == row["InstanceType"]
		})
	}
	if t.rules = slices.Concat(t.rules, byType); len(t.rules) == 0 && len(problems) == 0 {
		problems = append(problems, fmt.Errorf("%s: no row prices nodes; give one with the AssetClass node", name))
	}
	return t, errors.Join(problems...)
}

const labelField, annotationField = "metadata.labels.", "metadata.annotations."

// row is a line of the CSV: the value of each column.
type row map[string]string

// inRegion reports whether the row is for the node's region.
func (r row) inRegion(node *v1.Node) bool {
	region, _ := labelValue(node, v1.LabelTopologyRegion)
	return r["Region"] == "" || strings.EqualFold(r["Region"], region)
}

// instanceID returns the node's value of the field InstanceIDField. For a providerID of AWS, it returns only the last part; for one of Azure, the
// part after the scheme.
func (r row) instanceID(node *v1.Node) string {
	switch at := r["InstanceIDField"]; {
	case at == "metadata.name":
		return node.Name
	case strings.HasPrefix(at, labelField):
		value, _ := labelValue(node, strings.TrimPrefix(at, labelField))
		return value
	case strings.HasPrefix(at, annotationField):
		return node.Annotations[strings.TrimPrefix(at, annotationField)]
	}
	if of, is := strings.CutPrefix(node.Spec.ProviderID, "aws:///"); is {
		_, instance, _ := strings.Cut(of, "/")
		return instance
	}
	return strings.TrimPrefix(node.Spec.ProviderID, "azure://")
}
