// Package price reads the prices of nodes from a file: in Faultline's own format, from a catalogue of node types, or from OpenCost's custom
// pricing, as JSON or CSV.
package price

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/topology"
)

// Table has the prices of nodes.
type Table struct {
	// rules price a node: the first rule for the node counts. extras add to this price.
	rules, extras []rule
}

// rule returns the price of a node per hour, or a part of it, and whether the rule is for the node.
type rule func(*v1.Node) (float64, bool)

// priceFile is a file in Faultline's own format, or a catalogue of node types.
type priceFile struct {
	// Prices are the entries; the first one for a node counts.
	Prices []priceEntry `json:"prices,omitempty"`
	// Types are the node types of a catalogue. Only their names and prices count here.
	Types []topology.NodeType `json:"types,omitempty"`
}

// priceEntry is the price of the nodes that have all its labels.
type priceEntry struct {
	// InstanceType stands for the label node.kubernetes.io/instance-type.
	InstanceType string            `json:"instanceType,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	PricePerHour *float64          `json:"pricePerHour"`
}

// Parse reads a file of prices. The error has a line for each problem.
func Parse(name string, data []byte) (*Table, error) {
	if header, _, _ := bytes.Cut(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n")); bytes.Contains(header, []byte(hourlyColumn)) {
		return parseCSV(name, data)
	}
	document, err := manifest.Document(name, data)
	if err != nil {
		return nil, err
	}
	if rates, is, err := parseRates(name, document); is || err != nil {
		return rates, err
	}
	given := &priceFile{}
	if err := manifest.Unmarshal(name, document, given); err != nil {
		return nil, err
	}
	return given.newTable(name)
}

// newTable checks the file, and returns its table.
func (f *priceFile) newTable(name string) (*Table, error) {
	t := &Table{}
	var problems []error
	report := func(err *field.Error) { problems = append(problems, fmt.Errorf("%s: %w", name, err)) }
	if len(f.Prices)+len(f.Types) == 0 {
		report(field.Required(field.NewPath("prices"), "list what nodes cost, as {instanceType: m5.xlarge, pricePerHour: 0.192}"))
	}
	for i, e := range f.Prices {
		path := field.NewPath("prices").Index(i)
		labels := maps.Clone(e.Labels)
		if e.InstanceType != "" {
			if labels == nil {
				labels = map[string]string{}
			}
			labels[v1.LabelInstanceTypeStable] = e.InstanceType
		}
		if len(labels) == 0 {
			report(field.Required(path, "give instanceType, or labels of the nodes that cost this"))
		}
		switch price := e.PricePerHour; {
		case price == nil:
			report(field.Required(path.Child("pricePerHour"), "what a node costs in an hour, such as 0.192"))
		case *price < 0:
			report(field.Invalid(path.Child("pricePerHour"), *price, "must be 0 or more"))
		default:
			t.rules = append(t.rules, newLabelRule(labels, *price))
		}
	}
	if len(f.Types) > 0 {
		for _, invalid := range (&topology.Catalogue{Types: f.Types}).Validate() {
			report(invalid)
		}
		for _, of := range f.Types {
			if of.PricePerHour != nil {
				t.rules = append(t.rules, newLabelRule(map[string]string{v1.LabelInstanceTypeStable: of.Name}, *of.PricePerHour))
			}
		}
	}
	return t, errors.Join(problems...)
}

// newLabelRule returns a rule with a price for the nodes that have all of the labels.
func newLabelRule(labels map[string]string, price float64) rule {
	return func(node *v1.Node) (float64, bool) {
		for key, value := range labels {
			if has, found := labelValue(node, key); !found || has != value {
				return 0, false
			}
		}
		return price, true
	}
}

// formerKeys maps the key of a label to its key before Kubernetes 1.17.
var formerKeys = map[string]string{
	v1.LabelInstanceTypeStable: v1.LabelInstanceType, v1.LabelTopologyRegion: v1.LabelFailureDomainBetaRegion, v1.LabelTopologyZone: v1.LabelFailureDomainBetaZone,
}

// labelValue returns the node's value of a label, also if the node has only the older key.
func labelValue(node *v1.Node, key string) (string, bool) {
	value, found := node.Labels[key]
	if !found && formerKeys[key] != "" {
		value, found = node.Labels[formerKeys[key]]
	}
	return value, found
}

// PriceOf returns the price of the node per hour, and whether the table has one.
func (t *Table) PriceOf(node *v1.Node) (float64, bool) {
	for _, price := range t.rules {
		sum, known := price(node)
		if !known {
			continue
		}
		for _, extra := range t.extras {
			more, _ := extra(node)
			sum += more
		}
		return math.Round(sum*1e6) / 1e6, true
	}
	return 0, false
}

// Annotate writes the price of each node into its annotation, except for nodes whose annotation has a price already. It returns the number
// of nodes that it priced, and the nodes that have neither an annotation nor a price in the table.
func (t *Table) Annotate(nodes []*v1.Node) (priced int, unknown []*v1.Node) {
	for _, node := range nodes {
		if _, has := node.Annotations[topology.PriceAnnotation]; has {
			continue
		}
		price, known := t.PriceOf(node)
		if !known {
			unknown = append(unknown, node)
			continue
		}
		if node.Annotations == nil {
			node.Annotations = map[string]string{}
		}
		priced++
		node.Annotations[topology.PriceAnnotation] = strconv.FormatFloat(price, 'f', -1, 64)
	}
	return priced, unknown
}

// InstanceTypes returns the instance types of the nodes, sorted, each once.
func InstanceTypes(nodes []*v1.Node) []string {
	types := map[string]bool{}
	for _, node := range nodes {
		if of, found := labelValue(node, v1.LabelInstanceTypeStable); found {
			types[of] = true
		}
	}
	return slices.Sorted(maps.Keys(types))
}
