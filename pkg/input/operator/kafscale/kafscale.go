// Package kafscale makes of a KafscaleCluster what KafScale's operator makes of it, and of a release of KafScale's Helm chart its
// workloads.
//
//	KafscaleCluster ─ read ───▶ what its CRD lets through       (resource.go)
//	                ─ expand ─▶ brokers, lfs-proxy, etcd        (cluster.go, etcd.go)
//	chart values    ─ merge ──▶ values                          (values.go)
//	                ─ install ▶ operator, console, proxy, mcp   (chart.go)
//
// It follows https://github.com/KafScale/platform at commit 7aa2a11: deploy/helm/kafscale, api/v1alpha1 and pkg/operator. What decides
// where pods go is as there; their environment, probes and commands, and Services that select by labels that pods are spread by anyway,
// are left out.
package kafscale

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/input/operator"
)

// Revision is one of the chart, by how it keeps the replicas of its proxy apart.
type Revision string

// The revisions.
const (
	// Before has no rule for the proxy, as chart 0.4.2.
	Before Revision = "before"
	// Drifted has a rule in the chart's values whose selector is written out, as commit 1edae9b: it is about other pods than the chart's
	// own once nameOverride changes their labels.
	Drifted Revision = "drifted"
	// Fixed has a rule in the template with the labels of the pods, as chart 0.4.3 from commit e2b5fb2 on.
	Fixed Revision = "fixed"
)

// Revisions are all that there are, the oldest first.
var Revisions = []Revision{Before, Drifted, Fixed}

// Options are what Helm is given for KafScale's chart. If any of them is, the chart's own workloads are there, too. What an option leaves
// out is as in the chart; of the operator that means that it makes no etcd, as the chart names one that is there already.
type Options struct {
	// Release is the release's name. Default: kafscale.
	Release string
	// Namespace is the release's. Default: default.
	Namespace string
	// Revision is the chart's. Default: Fixed.
	Revision Revision
	// Values are the chart's, the later over the earlier, as for helm --values.
	Values []Document
}

// Document is a file of chart values, or what stands for one.
type Document struct {
	// Name names it in errors.
	Name string
	// Data is YAML or JSON.
	Data []byte
}

// Over returns the options with those that are given in other in place of its own; its values are followed by those of other.
func (o Options) Over(other Options) Options {
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

// installed tells whether the chart is.
func (o *Options) installed() bool {
	return o.Release+o.Namespace+string(o.Revision) != "" || len(o.Values) > 0
}

// Validate tells all that is wrong with the values, a line each; the other options are the API server's to judge.
func (o *Options) Validate() error {
	_, _, err := merge(o.Values)
	return err
}

// New returns the operator. Options that are not valid are what it answers with whatever it is asked.
func New(opts Options) operator.Operator {
	values, warnings, err := merge(opts.Values)
	o := operator.Operator{
		Name:     "KafScale",
		Kinds:    []schema.GroupKind{{Group: group, Kind: kind}},
		Misspelt: map[string]string{"kafscale.novatechflow.io": group},
		Expand: func(r *operator.Resource, _ []*operator.Resource) (*operator.Expansion, error) {
			if err != nil {
				return nil, err
			}
			c, warnings, err := read(r)
			if err != nil {
				return nil, err
			}
			return expand(c, &values.Operator, warnings), nil
		},
	}
	if opts.installed() {
		o.Install = func() (*operator.Expansion, error) {
			if err != nil {
				return nil, err
			}
			return install(&opts, values, warnings), nil
		}
	}
	return o
}
