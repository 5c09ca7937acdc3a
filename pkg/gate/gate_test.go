package gate

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// oneNode is one node and one pod.
const oneNode = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic: {zones: [{name: a}], nodeGroups: [{name: w, count: 1}]}
workloads:
- objects:
  - {apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: c}]}}
`

func load(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := loader.LoadFS(fstest.MapFS{loader.FileName: {Data: []byte(text)}}, loader.FileName, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Scenarios with the same gates run together, and the outcomes are in the order of the cases.
func TestTest(t *testing.T) {
	const gate = "scheduler: {featureGates: {InterPodAffinityHostnameFastPath: true}}\n"
	var cases []Case
	for _, text := range []string{oneNode, oneNode + gate, oneNode + "expect: {pending: 0}\n", oneNode + gate + "expect: {pending: 1}\n", oneNode} {
		cases = append(cases, Case{Scenario: load(t, text)})
	}
	if diff := cmp.Diff([][]int{{0, 2, 4}, {1, 3}}, groupByRelease(cases)); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	var done, begun []int
	var seconds atomic.Int64 // of a clock that goes on by one whenever somebody looks at it
	now := func() time.Time { return time.Unix(seconds.Add(1), 0) }
	outcomes := Test(context.Background(), cases, now, func(last, n int) { begun, done = append(begun, last), append(done, n) })
	slices.Sort(begun)
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, slices.Compact(begun)); diff != "" {
		t.Errorf("begun (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5}, slices.Compact(done)); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	var got [][2]int
	for i := range outcomes {
		if outcomes[i].Err != nil || outcomes[i].Result.Scenario != cases[i].Scenario {
			t.Errorf("case %d: %v", i, outcomes[i].Err)
			continue
		}
		if took := outcomes[i].Took; took < time.Second || took > 10*time.Second {
			t.Errorf("case %d took %s", i, took)
		}
		all, unmet := outcomes[i].Counts()
		got = append(got, [2]int{all, unmet})
	}
	if diff := cmp.Diff([][2]int{{0, 0}, {0, 0}, {1, 0}, {1, 1}, {0, 0}}, got); diff != "" {
		t.Errorf("expectations (-want +got):\n%s", diff)
	}
	if gates := sched.FeatureGates(); !slices.Equal(gates, []string{"InterPodAffinityHostnameFastPath=true"}) {
		t.Errorf("the last group ran with %v", gates)
	}
}
