package cluster

import "testing"

func TestReason(t *testing.T) {
	for message, want := range map[string]string{
		`Error creating: pods "web-7d9f8c-" is forbidden: exceeded quota: q`: "exceeded quota: q",
		`Error creating: Pod "web-7d9f8c-" is invalid: spec.containers[0]`:   "spec.containers[0]",
		"something else": "something else",
	} {
		if got := (Refusal{Message: message}).Reason(); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}
