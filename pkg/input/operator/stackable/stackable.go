// Package stackable expands the resources of the Stackable Data Platform into the objects that the operators of its twelve products create,
// one role group at a time. products.go is the table of products, roles and defaults. All other code serves all products, since their
// operators share one library (https://github.com/stackabletech/operator-rs at 7b9f9ac, "the library" below).
//
//	resource ─ read ─▶ cluster ─ for each role and role group: resolve, make, override ─▶ operator.Expansion
package stackable

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/list"
)

// Options configure the operators.
type Options struct {
	// ADR selects the rules of the platform's decision record ADR026 wherever the operators' code differs from the record;
	// docs/operators.md lists the differences.
	ADR bool
}

// New returns the operators of all products as one.
func New(opts Options) operator.Operator {
	o := operator.Operator{
		Name: "Stackable",
		Expand: func(r *operator.Resource, all []*operator.Resource) (*operator.Expansion, error) {
			return expandResource(r, all, opts)
		},
	}
	for _, p := range products {
		o.Kinds = append(o.Kinds, p.groupKind())
	}
	return o
}

type cluster struct {
	*product
	resource  *operator.Resource
	all       []*operator.Resource
	opts      Options
	config    map[string]any // spec.clusterConfig
	image     image
	stopped   bool
	overrides []json.RawMessage // spec.objectOverrides: objects or parts of objects

	nodeSelector map[string]string // for all roles, a field of ADR026; current resources have none
	expansion    *operator.Expansion
	problems     []error
}

func expandResource(r *operator.Resource, all []*operator.Resource, opts Options) (*operator.Expansion, error) {
	group, version, _ := strings.Cut(r.APIVersion, "/")
	at := slices.IndexFunc(products, func(p product) bool { return p.group == group && p.kind == r.Kind })
	p := &products[at]
	if !slices.Contains(p.versions, version) {
		return nil, fmt.Errorf("apiVersion: unknown version %s of %s: use %s/%s", version, r.Kind, p.group, p.versions[0])
	}
	c := &cluster{product: p, resource: r, all: all, opts: opts, expansion: &operator.Expansion{}}
	if len(p.roles) == 0 {
		return c.expansion, nil // other resources refer to this one
	}
	roles := c.readSpec()
	for i := range p.roles {
		if spec := roles[p.roles[i].key]; spec != nil && len(c.problems) == 0 {
			c.addRole(&p.roles[i], spec)
		}
	}
	c.overrideObjects()
	if err := errors.Join(c.problems...); err != nil {
		return nil, err
	}
	for _, text := range p.assumes {
		c.assume(text)
	}
	if c.opts.ADR {
		c.assume("the weights of ADR026's default affinities are all of the operators' code, since the record names none")
	}
	return c.expansion, nil
}

// addRole creates the workloads of the role's groups, and the role's disruption budget.
func (c *cluster) addRole(r *role, spec *roleSpec) {
	var replicas int32
	for _, name := range slices.Sorted(maps.Keys(spec.RoleGroups)) {
		g := &group{cluster: c, role: r, name: name, roleLevel: &spec.Level, level: &spec.RoleGroups[name].Level}
		g.replicas = r.replicaCount(spec.RoleGroups[name])
		if r.maxReplicas > 0 && g.replicas > r.maxReplicas {
			c.warn("%s: %d replicas are asked for, and the operator makes no more than %d", g.path(), g.replicas, r.maxReplicas)
			g.replicas = r.maxReplicas
		}
		replicas += g.replicas
		g.makeWorkload()
	}
	if len(spec.RoleGroups) == 0 {
		c.warn("spec.%s has no role group, so that no pod of it is made", r.key)
		return
	}
	if replicas < r.minReplicas {
		c.warn("spec.%s: replicas add up to %d, and the operator warns of fewer than %d", r.key, replicas, r.minReplicas)
	}
	c.addBudget(r, spec.RoleConfig.PodDisruptionBudget, replicas)
}

// replicaCount returns the number of replicas of a role group. Without a number in the resource, it is the role's default, or 1.
func (r *role) replicaCount(g *roleGroup) int32 {
	if g.Replicas == nil {
		return max(r.replicas, 1)
	}
	return *g.Replicas
}

func (c *cluster) addProblem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

// warn adds a warning, once.
func (c *cluster) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.expansion.Warnings, text) {
		c.expansion.Warnings = append(c.expansion.Warnings, text)
	}
}

// assume adds an assumption, once.
func (c *cluster) assume(text string) {
	if !slices.Contains(c.expansion.Assumptions, text) {
		c.expansion.Assumptions = append(c.expansion.Assumptions, text)
	}
}

// namespaceOf returns the namespace of the resource, which is also that of everything created for it.
func namespaceOf(r *operator.Resource) string { return cmp.Or(r.Namespace, "default") }

// resourcesOfKind returns the resources of a kind in the same namespace.
func (c *cluster) resourcesOfKind(group, kind string) []*operator.Resource {
	return list.Without(c.all, func(r *operator.Resource) bool {
		return r.Kind != kind || !strings.HasPrefix(r.APIVersion, group+"/") || namespaceOf(r) != namespaceOf(c.resource)
	})
}

// decodeObject returns the content of another resource, or nil if it is no object. The expansion of that resource reports the error.
func decodeObject(r *operator.Resource) map[string]any {
	var object map[string]any
	if json.Unmarshal(r.JSON, &object) != nil {
		return nil
	}
	return object
}
