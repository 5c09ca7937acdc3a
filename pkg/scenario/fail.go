package scenario

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Fail makes nodes fail.
type Fail struct {
	Nodes `json:",inline"`
	// Mode is how they fail. With unreachable, the nodes stop answering; their pods are evicted when their tolerations end, and replaced,
	// except pods of StatefulSets and DaemonSets. With out-of-service, an administrator has also tainted the nodes as out of service, and
	// pods of StatefulSets are replaced, too. With deleted, the nodes are removed, and their pods with them. Default: unreachable.
	Mode string `json:"mode,omitempty" jsonschema:"enum=unreachable,enum=out-of-service,enum=deleted"`
}

func (f *Fail) validate(c *actionChecks) {
	f.Nodes.validate(c)
	validateMode(c.Problems, c.path.Child("mode"), f.Mode)
}

func validateMode(p *Problems, path *field.Path, mode string) {
	if !slices.Contains([]string{"", "unreachable", "out-of-service", "deleted"}, mode) {
		p.Add(path, "%q is not a failure mode; use unreachable, out-of-service or deleted", mode)
	}
}
