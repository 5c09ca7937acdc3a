package world

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// A step that ends after maxLoops may leave a node that the autoscaler asked for and the cloud has not started yet. The node arrives in the
// next step, whose record does not mention the autoscaler before.
func TestNodeOfAnEarlierStepArrives(t *testing.T) {
	one := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1", Labels: map[string]string{"pool": "web"}},
		Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
	state := (&cluster.State{Now: cluster.Epoch}).With(one)
	s := &scaler{
		Autoscaler: &scenario.Autoscaler{NodeGroups: []scenario.AutoscaledGroup{{Name: "web", From: "pool=web", Max: 3}}},
		cloud:      cloud{requested: []requestedNode{{group: "web", at: cluster.Epoch.Time}}},
	}
	var to Record
	next, err := s.startRequestedNodes(&Cluster{}, state, &to)
	if err != nil {
		t.Fatal(err)
	}
	if len(next.Nodes) != 2 || len(s.requested) != 0 || to.Autoscaling == nil || !slices.Equal(to.Autoscaling.Added, []string{"n1-new-1"}) {
		t.Errorf("nodes %d, still to come %d, record %+v", len(next.Nodes), len(s.requested), to.Autoscaling)
	}
}
