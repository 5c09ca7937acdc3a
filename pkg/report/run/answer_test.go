package run

import (
	"testing"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/world"
)

func TestScaled(t *testing.T) {
	const held = "a HorizontalPodAutoscaler allows web 4 of 9 replicas"
	db := cluster.Ref{Kind: "StatefulSet", Namespace: "shop", Name: "db"}
	for want, test := range map[string]struct {
		change Change
		fewer  int
		held   string
	}{
		"Yes: the new pod fits":                                       {Change{New: 1}, 0, ""},
		"Yes: 3 of 3 new pods fit":                                    {Change{New: 3}, 0, ""},
		"No: 1 of 2 new pods fits":                                    {Change{New: 2, NewPending: 1}, 0, ""},
		"No: the new pod does not fit (2 others were Pending before)": {Change{New: 1, NewPending: 1, WasPending: 2, StillPending: 2}, 0, ""},
		"Yes: the new pod fits, evicting 2 pods of shop/statefulset/db, which have no node then": {
			Change{New: 1, Pending: 2, Lost: []PodsOf{{db, 2}}, Evicted: []PodsOf{{db, 2}}}, 0, ""},
		"No: 0 of 3 new pods fit, and 2 new pods are refused by the API server":       {Change{New: 3, NewPending: 1, Refused: 2}, 0, ""},
		"2 pods fewer (1 that was Pending before no longer is)":                       {Change{WasPending: 1}, 2, ""},
		"No pod more: no workload's replicas change":                                  {Change{}, 0, ""},
		"Only in part: 3 of 3 new pods fit (1 other was Pending before), but " + held: {Change{New: 3, WasPending: 1, StillPending: 1}, 0, held},
		"No: 2 of 3 new pods fit; " + held:                                            {Change{New: 3, NewPending: 1}, 0, held},
		"No pod more: " + held:                                                        {Change{}, 0, held},
		"2 pods fewer, and " + held:                                                   {Change{}, 2, held},
	} {
		if got := test.change.answerScale(test.fewer, test.held, ""); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// More replicas than wanted are not held back.
func TestHeldBack(t *testing.T) {
	web, db, idle := world.Held{Ref: cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}, Replicas: 6, Wanted: 105},
		world.Held{Ref: cluster.Ref{Kind: "StatefulSet", Name: "db"}, Replicas: 1, Wanted: 2}, world.Held{Ref: cluster.Ref{Kind: "Deployment", Name: "idle"}, Replicas: 2, Wanted: 1}
	for want, held := range map[string][]world.Held{
		"": {idle}, "a HorizontalPodAutoscaler allows shop/deployment/web 6 of 105 replicas": {idle, web},
		"HorizontalPodAutoscalers allow 2 workloads 7 of 107 replicas": {web, idle, db},
	} {
		if got := describeHeld(held); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRemoved(t *testing.T) {
	web := cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}
	for want, c := range map[string]Change{
		"Yes: without 2 nodes every pod that ran has a node (1 other was Pending before)":                                        {WasPending: 1, StillPending: 1},
		"No: without 2 nodes 1 pod of deployment/web that ran has no node (1 that was Pending before no longer is)":              {WasPending: 1, Pending: 1, Lost: []PodsOf{{web, 1}}},
		"No: without 2 nodes 2 pods of deployment/web that ran have no node, and 1 pod is gone, since no controller replaces it": {Pending: 2, Lost: []PodsOf{{web, 2}}, Gone: 1},
	} {
		if got := c.answerRemoval(": without 2 nodes"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAdded(t *testing.T) {
	for want, c := range map[string]Change{
		"No pod was Pending before, and none is with 1 more node":              {},
		"Yes: with 1 more node every pod has a node, 2 of them Pending before": {WasPending: 2},
		"No: with 1 more node 1 pod has no node, of 3 before":                  {WasPending: 3, StillPending: 1},
		"No: with 1 more node 3 pods have no node, as before":                  {WasPending: 3, StillPending: 3},
	} {
		if got := c.answerAddition(1); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
