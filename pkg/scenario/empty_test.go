package scenario_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// A dump continues from the last time in it, including times of its pods in the first step: the change of a condition, or a deletion, which
// was requested a grace period before its timestamp. Without timestamps the clock starts at the epoch.
func TestADumpGoesOnFromWhenItWasMade(t *testing.T) {
	at := func(minutes int) metav1.Time {
		return metav1.NewTime(cluster.Epoch.Add(time.Duration(minutes) * time.Minute))
	}
	ends, grace := at(30), int64(120)
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(1)}, Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{LastTransitionTime: at(2)}}}}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(3)}, Status: v1.PodStatus{Conditions: []v1.PodCondition{{LastTransitionTime: at(4)}}}}
	ending := &v1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(3), DeletionTimestamp: &ends, DeletionGracePeriodSeconds: &grace}}
	old := &v1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(-60)}}
	steps := func(objects ...cluster.Object) []scenario.LoadedStep {
		return []scenario.LoadedStep{{Objects: objects}}
	}
	for name, test := range map[string]struct {
		scenario *scenario.Scenario
		want     metav1.Time
	}{
		"nothing":            {&scenario.Scenario{}, at(0)},
		"older":              {&scenario.Scenario{Cluster: []cluster.Object{old}}, at(0)},
		"nodes":              {&scenario.Scenario{Cluster: []cluster.Object{node}}, at(2)},
		"pods in the step":   {&scenario.Scenario{Cluster: []cluster.Object{node}, Steps: steps(pod, old)}, at(4)},
		"pods before it":     {&scenario.Scenario{Cluster: []cluster.Object{node}, Workloads: []cluster.Object{pod}}, at(4)},
		"one that is ending": {&scenario.Scenario{Steps: steps(ending, pod)}, at(28)},
	} {
		if got := test.scenario.EmptyState().Now; !got.Equal(&test.want) {
			t.Errorf("%s: begins at %v, want %v", name, got, test.want)
		}
	}
}
