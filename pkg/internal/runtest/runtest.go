// Package runtest runs scenarios that tests contain as text.
package runtest

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Run runs the scenario in the text, a file in YAML, and returns its result.
func Run(t *testing.T, text string) *simulation.Result {
	t.Helper()
	s, err := loader.LoadFS(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return runLoaded(t, s)
}

func runLoaded(t *testing.T, s *scenario.Scenario) *simulation.Result {
	t.Helper()
	result, err := simulation.Run(t.Context(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// CheckSteps runs the scenario of the result with further steps. It fails the test if a pod is not on the node that it has in the state, and
// returns the last step.
func CheckSteps(t *testing.T, result *simulation.Result, steps []scenario.Step, state *cluster.State) *simulation.Step {
	t.Helper()
	whole := runLoaded(t, result.Scenario.AppendQuestion(steps...))
	last := whole.Last()
	if diff := cmp.Diff(nodesByPod(state), nodesByPod(last.State)); diff != "" {
		t.Errorf("the steps end elsewhere (-answer +steps):\n%s", diff)
	}
	return last
}

// nodesByPod returns the node of each pod.
func nodesByPod(state *cluster.State) map[string]string {
	on := map[string]string{}
	for _, pod := range state.Pods {
		on[pod.Namespace+"/"+pod.Name] = pod.Spec.NodeName
	}
	return on
}
