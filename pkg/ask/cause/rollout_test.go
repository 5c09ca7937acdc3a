package cause_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/runtest"
)

// A rollout of two pods on w-1 and w-2, which have 4 CPU each, as far as it comes.
func TestRolloutCauses(t *testing.T) {
	for name, test := range map[string]struct {
		kind, cpu, strategy string
		// to is what the new pods ask for.
		to   string
		want string
	}{
		"an old pod holds 3 of 4 CPU": {
			kind: "Deployment", cpu: "3", strategy: "strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}", to: "3",
			want: "1 on w-1, w-1: surge 1, unavailable 0",
		},
		"new pods ask for more than a node has": {
			kind: "Deployment", cpu: "3", strategy: "strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}", to: "5",
		},
		"old pods stop first": {
			kind: "Deployment", cpu: "3", strategy: "strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}", to: "5",
		},
		"the old pod of the node": {
			kind: "DaemonSet", cpu: "3", strategy: "updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}", to: "3",
			want: "1 on w-1, w-1: surge 1, unavailable 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			replicas := "replicas: 2, "
			if test.kind == "DaemonSet" {
				replicas = ""
			}
			web := fmt.Sprintf(`  - {apiVersion: apps/v1, kind: %s, metadata: {name: web}, spec: {%s%s, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},
      spec: {containers: [{name: c, image: c, resources: {requests: {cpu: %s}}}]}}}}
`, test.kind, replicas, test.strategy, test.cpu)
			result := runtest.Run(t, world(web)+fmt.Sprintf(`steps:
- name: release
  patch: {target: %s/web, patch: {spec: {template: {metadata: {annotations: {v: "2"}}, spec: {containers: [{name: c, resources: {requests: {cpu: %s}}}]}}}}}
`, test.kind, test.to))
			found, err := cause.ExplainRun(t.Context(), result)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, p := range result.Steps[1].Pending {
				for _, c := range found[1][cluster.NameOf(p.Pod)] {
					if r := c.Rollout; r != nil {
						got = fmt.Sprintf("%d on %s, %s: surge %d, unavailable %d", len(r.Old), r.Old[0].Node, r.Node, r.MaxSurge, r.MaxUnavailable)
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("rollout (-want +got):\n%s", diff)
			}
		})
	}
}
