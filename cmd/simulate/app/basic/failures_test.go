package basic

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// The flag decides, then the scenario, then the sum of nodes times pods over the steps.
func TestPageFailuresRecovers(t *testing.T) {
	yes, no := true, false
	state := func(nodes, pods int) simulation.Step {
		return simulation.Step{State: &cluster.State{Nodes: make([]*v1.Node, nodes), Pods: make([]*v1.Pod, pods)}}
	}
	small, large := []simulation.Step{state(1000, 1000), state(1000, 1000)}, []simulation.Step{state(1000, 1000), state(1000, 1001)}
	for name, test := range map[string]struct {
		flag     string
		scenario *bool
		steps    []simulation.Step
		want     bool
	}{
		"small":           {steps: small, want: true},
		"large":           {steps: large, want: false},
		"small, scenario": {scenario: &no, steps: small, want: false},
		"large, scenario": {scenario: &yes, steps: large, want: true},
		"large, flag":     {flag: "recover", scenario: &no, steps: large, want: true},
		"small, flag":     {flag: "lost", scenario: &yes, steps: small, want: false},
		"no step":         {want: true},
	} {
		t.Run(name, func(t *testing.T) {
			result := &simulation.Result{Scenario: &scenario.Scenario{}, Steps: test.steps}
			result.Scenario.Failures.Recover = test.scenario
			if got := (&pageFailures{shown: test.flag}).showsRecoveries(result); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
