package expect_test

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/internal/runtest"
	"github.com/faultline/faultline/pkg/scenario"
)

// Two nodes of 4 cores, each with two pods of web of 1 core. db waits for a node with 8 cores.
const twoNodes = `apiVersion: faultline/v1alpha1
kind: Scenario
expect: {pending: 0}
cluster:
- synthetic: {nodeGroups: [{name: w, count: 2, cpu: 4, memory: 16Gi, labels: {pool: general}}]}
workloads:
- objects:
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 4, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},
      spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}}}
  - {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop}, spec: {replicas: 1, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}},
      spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "8"}}}]}}}}
`

// Each expectation holds if it is right, and is refuted if it is wrong. The scenario's own expectations do not count.
func TestProve(t *testing.T) {
	scale := scenario.Step{Name: "scale", Scale: &scenario.Scale{Target: scenario.Target{Target: "deployment/web"}, Replicas: 10}}
	drain := scenario.Step{Name: "drain", Drain: &scenario.Drain{Nodes: scenario.Nodes{Names: []string{"w-1"}}}}
	remove := scenario.Step{Name: "remove", RemoveNodes: &scenario.RemoveNodes{Nodes: scenario.Nodes{Names: []string{"w-1"}}}}
	web := func(of scenario.WorkloadPods) *scenario.Expect {
		of.Workload = "default/deployment/web"
		return &scenario.Expect{Workloads: []scenario.WorkloadPods{of}}
	}
	newly := func(pods map[string]int) *scenario.Expect {
		return &scenario.Expect{NewlyPending: &scenario.NewlyPending{Pods: pods}}
	}
	for _, test := range []struct {
		name   string
		step   scenario.Step
		expect *scenario.Expect
		failed string // "" if it holds
	}{
		{"running", scale, web(scenario.WorkloadPods{Running: ptr.To(8), Pending: ptr.To(2), AtLeast: ptr.To(8), AtMost: ptr.To(8)}), ""},
		{"wrong running", scale, web(scenario.WorkloadPods{Running: ptr.To(9)}), "scale: want deployment/web: 9 running, got 8: web-"},
		{"wrong pending", scale, web(scenario.WorkloadPods{Pending: ptr.To(1)}), "scale: want deployment/web: 1 Pending, got 2: web-"},
		{"too few", scale, web(scenario.WorkloadPods{AtLeast: ptr.To(9)}), "scale: want deployment/web: at least 9 running, got 8: web-"},
		{"too many", scale, web(scenario.WorkloadPods{AtMost: ptr.To(7)}), "scale: want deployment/web: at most 7 running, got 8: web-"},
		// db was Pending before.
		{"newly Pending", scale, newly(map[string]int{"deployment/web": 2}), ""},
		{"none newly Pending", scale, newly(nil), "scale: want no pod newly Pending, got 2 of deployment/web: web-"},
		{"another number", scale, newly(map[string]int{"deployment/web": 1}), "scale: want newly Pending 1 of deployment/web, got 2 of deployment/web: web-"},
		{"another workload, too", scale, newly(map[string]int{"deployment/web": 2, "shop/statefulset/db": 1}), "scale: want newly Pending 2 of deployment/web and 1 of shop/statefulset/db, got 2"},
		{"another workload", scale, newly(map[string]int{"shop/statefulset/db": 1}), "scale: want newly Pending 1 of shop/statefulset/db, got 2 of deployment/web"},
		{"at least", scale, &scenario.Expect{NewlyPending: &scenario.NewlyPending{AtLeast: ptr.To(2)}}, ""},
		{"at least more", scale, &scenario.Expect{NewlyPending: &scenario.NewlyPending{AtLeast: ptr.To(3)}}, "scale: want at least 3 pods newly Pending, got 2"},
		{"drained", drain, &scenario.Expect{Drained: ptr.To(true), DrainLeaves: []string{}, NewlyPending: &scenario.NewlyPending{}}, ""},
		{"not drained", drain, &scenario.Expect{DrainLeaves: []string{"default/web-x"}}, "drain: want web-x left by the drain, got no pod is left"},
		{"gone", remove, &scenario.Expect{NodesGone: []string{"w-1"}, NodeCounts: map[string]int{"pool=general": 1}}, ""},
		{"still there", remove, &scenario.Expect{NodesGone: []string{"w-2"}}, "remove: want w-2 gone, got w-2 still there"},
		{"another count", remove, &scenario.Expect{NodeCounts: map[string]int{"pool=general": 2}}, "remove: want 2 nodes with pool=general, got 1"},
		{"nothing", scale, nil, "it expects nothing"},
		{"what cannot be done", scenario.Step{Name: "drain", Drain: &scenario.Drain{Nodes: scenario.Nodes{Names: []string{"w-9"}}}}, newly(nil), `claim: steps[0].drain.names[0]: there is no Node w-9`},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.step.Expect = test.expect
			s := runtest.Run(t, twoNodes).Scenario
			proved, err := expect.Prove(t.Context(), s, []claim.Claim{{Says: test.name, Steps: []scenario.Step{test.step}}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if failed := strings.Join(proved[0].Failed, "\n"); proved[0].Holds != (test.failed == "") || !strings.HasPrefix(failed, test.failed) || test.failed == "" && failed != "" {
				t.Errorf("holds: %t, want %q, got %q", proved[0].Holds, test.failed, failed)
			}
		})
	}
}

// A StatefulSet's pod counts by its name. Pods of other workloads are interchangeable, but not with pods of another workload.
func TestNewlyPendingByWorkload(t *testing.T) {
	// big takes the node, and small waits for room. When the pod of big is deleted, small gets the node first. No sum of Pending pods changes.
	const swap = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic: {nodeGroups: [{name: w, count: 1, cpu: 4, memory: 16Gi}]}
workloads:
- objects:
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: big}, spec: {replicas: 1, selector: {matchLabels: {app: big}}, template: {metadata: {labels: {app: big}},
      spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}}}}
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: small}, spec: {replicas: 1, selector: {matchLabels: {app: small}}, template: {metadata: {labels: {app: small}},
      spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}}}}
steps:
- name: swap
  delete: {pods: {selector: app=big}}
`
	result := runtest.Run(t, swap)
	if pending := len(result.Steps[0].Pending) - len(result.Steps[1].Pending); pending != 0 {
		t.Errorf("%d pods more are Pending", -pending)
	}
	result.Scenario.Steps[0].Expect = &scenario.Expect{NewlyPending: &scenario.NewlyPending{Pods: map[string]int{"deployment/big": 1}}}
	judged, err := expect.Judge(t.Context(), result, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := judged[1][0]; !got.Met {
		t.Errorf("%s", got)
	}
}
