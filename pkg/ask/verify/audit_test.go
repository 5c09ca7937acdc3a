package verify

import (
	"strings"
	"testing"
)

// A pod whose deletion is requested exists until its kubelet deletes it after it has ended, or until a request gives it no grace period.
func TestWhoDeletes(t *testing.T) {
	for _, test := range []struct {
		name, verb, subresource, user, options string
		want                                   factKind
	}{
		{"a controller", "delete", "", "system:serviceaccount:kube-system:replicaset-controller", "{}", podDeletionRequested},
		{"a user", "delete", "", "jane", `{"gracePeriodSeconds": 30}`, podDeletionRequested},
		{"a user who does not wait", "delete", "", "jane", `{"gracePeriodSeconds": 0}`, podGone},
		{"a kubelet", "delete", "", "system:node:n1", "{}", podGone},
		{"a kubelet, of which the log keeps no request", "delete", "", "system:node:n1", "null", podGone},
		{"a user with such a name", "delete", "", "system:nodes", "{}", podDeletionRequested},
		{"an eviction by a kubelet's user", "create", "eviction", "system:node:n1", "{}", podDeletionRequested},
	} {
		facts, err := decodeAudit("log", strings.NewReader(auditLine("web-1", test.verb, test.subresource, test.user, 1000, test.options)))
		if err != nil || len(facts) != 1 || facts[0].kind != test.want {
			t.Errorf("%s: %+v, %v, want %d", test.name, facts, err, test.want)
		}
	}
}
