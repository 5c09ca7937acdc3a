// Package kafscale expands a KafscaleCluster as KafScale's operator does, and a release of KafScale's Helm chart into its workloads.
//
//	KafscaleCluster ─ read ───▶ settings                        (resource.go)
//	                ─ expand ─▶ brokers, lfs-proxy, etcd        (cluster.go, etcd.go)
//	chart values    ─ merge ──▶ values                          (values.go)
//	                ─ install ▶ operator, console, proxy, mcp   (chart.go)
//
// It follows https://github.com/KafScale/platform at commit 7aa2a11: deploy/helm/kafscale, api/v1alpha1 and pkg/operator. It includes
// everything that decides where pods go. It leaves out environment, probes and commands, and Services whose selectors match pods that are
// spread anyway.
package kafscale

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/input/operator"
)

// Revision is a revision of the chart. Revisions differ in how they keep the proxy's replicas apart.
type Revision string

const (
	// Before has no rule for the proxy, like chart 0.4.2.
	Before Revision = "before"
	// Drifted has a rule in the chart's values with a fixed selector, like commit 1edae9b. If nameOverride changes the labels of the
	// chart's pods, the rule selects other pods.
	Drifted Revision = "drifted"
	// Fixed has a rule in the template with the labels of the pods, like chart 0.4.3 since commit e2b5fb2.
	Fixed Revision = "fixed"
)

// Revisions lists all revisions, oldest first.
var Revisions = []Revision{Before, Drifted, Fixed}

// Options are Helm's options for KafScale's chart. If any is set, [New] also creates the chart's own workloads. Unset options have the
// chart's defaults; the operator then creates no etcd, because the chart's values name an existing one.
type Options struct {
	// Release is the name of the release. Default: kafscale.
	Release string
	// Namespace is the namespace of the release. Default: default.
	Namespace string
	// Revision is the revision of the chart. Default: Fixed.
	Revision Revision
	// Values are the chart's values, later ones over earlier ones, as with helm --values.
	Values []Document
}

// Document is a file of chart values, or chart values from elsewhere.
type Document struct {
	// Name is the name of the document in errors.
	Name string
	// Data is YAML or JSON.
	Data []byte
}

// OverriddenBy returns the options, overridden by the options that are set in other. The values of other come last.
func (o Options) OverriddenBy(other Options) Options {
	if other.Release != "" {
		o.Release = other.Release
	}
	if other.Namespace != "" {
		o.Namespace = other.Namespace
	}
	if other.Revision != "" {
		o.Revision = other.Revision
	}
	o.Values = append(o.Values[:len(o.Values):len(o.Values)], other.Values...)
	return o
}

// installsChart reports whether any option is set, so that the chart is installed.
func (o *Options) installsChart() bool {
	return o.Release+o.Namespace+string(o.Revision) != "" || len(o.Values) > 0
}

// Validate returns an error with a line for each problem of the values. The API server's code checks the other options when the objects are
// created.
func (o *Options) Validate() error {
	_, _, err := mergeValues(o.Values)
	return err
}

// New returns the operator. If the options are invalid, its functions return their error.
func New(opts Options) operator.Operator {
	values, warnings, err := mergeValues(opts.Values)
	o := operator.Operator{
		Name:     "KafScale",
		Kinds:    []schema.GroupKind{{Group: group, Kind: kind}},
		Misspelt: map[string]string{"kafscale.novatechflow.io": group},
		Expand: func(r *operator.Resource, _ []*operator.Resource) (*operator.Expansion, error) {
			if err != nil {
				return nil, err
			}
			c, warnings, err := readResource(r)
			if err != nil {
				return nil, err
			}
			return expandCluster(c, &values.Operator, warnings), nil
		},
	}
	if opts.installsChart() {
		o.Install = func() (*operator.Expansion, error) {
			if err != nil {
				return nil, err
			}
			return installChart(&opts, values, warnings), nil
		}
	}
	return o
}
