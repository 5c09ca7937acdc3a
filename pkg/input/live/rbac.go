package live

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Parameters names parameters of admission policies: a resource with its group, and a name. Without a name, it stands for all objects of
// the resource.
type Parameters struct {
	schema.GroupResource
	Name string
}

// ParseParameters parses RESOURCE or RESOURCE.GROUP, with or without /NAME, such as configmaps/limit or limits.rules.example.com.
func ParseParameters(text string) (Parameters, error) {
	resource, name, named := strings.Cut(text, "/")
	p := Parameters{schema.ParseGroupResource(resource), name}
	switch {
	case p.Resource == "" || named && name == "" || strings.Contains(name, "/") || strings.ToLower(resource) != resource:
		return p, fmt.Errorf("%q is no resource; give one as kubectl api-resources prints it, and perhaps a name: configmaps/limit, limits.rules.example.com", text)
	case p.GroupResource == groupResource("", "secrets"):
		return p, fmt.Errorf("%q: Secrets are never read; leave them out", text)
	}
	return p, nil
}

// ClusterRole returns the smallest role that may read, with these verbs, all kinds that a client reads, and may list these parameters.
func ClusterRole(name string, parameters []Parameters, verbs ...string) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, k := range kinds {
		at := slices.IndexFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return r.APIGroups[0] == k.Group })
		if at < 0 {
			at = len(role.Rules)
			role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{k.Group}, Verbs: verbs})
		}
		role.Rules[at].Resources = append(role.Rules[at].Resources, k.Resource)
	}
	for _, p := range parameters {
		rule := rbacv1.PolicyRule{APIGroups: []string{p.Group}, Resources: []string{p.Resource}, Verbs: []string{"list"}}
		if p.Name != "" {
			rule.ResourceNames = []string{p.Name} // this also allows listing with this name as field selector
		}
		role.Rules = append(role.Rules, rule)
	}
	return role
}
