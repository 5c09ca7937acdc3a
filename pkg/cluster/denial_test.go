package cluster

import "testing"

// A policy's own words come after its name; anything else is the API server's reason.
func TestDenial(t *testing.T) {
	for message, want := range map[string][2]string{
		`deployments.apps "app" is forbidden: ValidatingAdmissionPolicy 'ceiling' with binding 'all' denied request: no more than 2`: {"ceiling", "no more than 2"},
		`deployments.apps "app" is forbidden: ValidatingAdmissionPolicy 'ceiling' denied request: no more than 2`:                    {"ceiling", "no more than 2"},
		`services "app" is forbidden: exceeded quota: q, requested: services=1`:                                                      {"", "exceeded quota: q, requested: services=1"},
	} {
		if policy, says := (Refusal{Message: message}).Denial(); policy != want[0] || says != want[1] {
			t.Errorf("%s: policy %q says %q", message, policy, says)
		}
	}
}
