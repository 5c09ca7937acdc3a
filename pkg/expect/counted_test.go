package expect

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// A pod that is Terminating is not in its domain any more, and of domains that are all gone none has enough.
func TestJudgeCountsWhatRuns(t *testing.T) {
	step := expected()
	for _, pod := range step.State.Pods {
		if pod.Name == "web-3" { // the one in zone b
			pod.DeletionTimestamp = &cluster.Epoch
		}
	}
	for key, want := range map[string]Expectation{
		v1.LabelTopologyZone: {Got: "a 3, b 0, c 0", Met: true},
		"rack":               {Got: "no such domain is left", Met: false},
	} {
		var all []Expectation
		j := &judge{Expect: &scenario.Expect{Domains: []scenario.Domains{{TopologyKey: key, Min: ptr.To(0)}}}, judged: &all}
		j.judgeStep(step)
		if got := all[0]; got.Got != want.Got || got.Met != want.Met {
			t.Errorf("%s: %q, met %v; want %q, %v", key, got.Got, got.Met, want.Got, want.Met)
		}
	}
}
