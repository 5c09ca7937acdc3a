package live

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterRole returns the smallest role that may read all that a cluster is asked for, by these verbs.
func ClusterRole(name string, verbs ...string) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, k := range kinds {
		at := slices.IndexFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return r.APIGroups[0] == k.Group })
		if at < 0 {
			at = len(role.Rules)
			role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{k.Group}, Verbs: verbs})
		}
		role.Rules[at].Resources = append(role.Rules[at].Resources, k.Resource)
	}
	return role
}
