// Package kafscale expands the resources of KafScale.
package kafscale

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/operator"
)

// Options are what the operator is given besides its resources.
type Options struct{}

// New returns the operator.
func New(opts Options) operator.Operator {
	return operator.Operator{
		Name:  "KafScale",
		Kinds: []schema.GroupKind{{Group: "kafscale.io", Kind: "KafscaleCluster"}},
		Expand: func(resource *operator.Resource, those []*operator.Resource) (*operator.Expansion, error) {
			return &operator.Expansion{}, nil
		},
	}
}
