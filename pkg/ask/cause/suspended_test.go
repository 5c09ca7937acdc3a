package cause_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/internal/runtest"
)

// The Job of the first step waits for its user, the one in a queue for Kueue; the second step changes nothing about them.
func TestSuspendedJobs(t *testing.T) {
	const of = ", suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}"
	result := runtest.Run(t, world(
		"  - {apiVersion: batch/v1, kind: Job, metadata: {name: import}, spec: {completions: 3"+of+"\n",
		"  - {apiVersion: batch/v1, kind: Job, metadata: {name: queued, labels: {kueue.x-k8s.io/queue-name: team}}, spec: {completions: 1"+of+"\n"))
	none := result.Initial
	if len(none.Jobs) > 0 {
		none = none.Without(none.Jobs[0], none.Jobs[1])
	}
	want := []string{"job/import has no pods: it is suspended (spec.suspend is true). simulate explain job/import has the command that resumes it."}
	if diff := cmp.Diff(want, cause.SuspendedJobs(none, result.State())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := cause.SuspendedJobs(result.State(), result.State()); again != nil {
		t.Errorf("got %q though the Job waited before", again)
	}
}
