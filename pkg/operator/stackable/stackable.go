// Package stackable expands the resources of Stackable.
package stackable

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/operator"
)

// Options are what the operator is given besides its resources.
type Options struct{}

// New returns the operator.
func New(opts Options) operator.Operator {
	return operator.Operator{
		Name:  "Stackable",
		Kinds: []schema.GroupKind{},
		Expand: func(resource *operator.Resource, those []*operator.Resource) (*operator.Expansion, error) {
			return &operator.Expansion{}, nil
		},
	}
}
