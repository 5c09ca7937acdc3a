package run

import (
	"testing"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/world"
)

func TestScaled(t *testing.T) {
	held := "a HorizontalPodAutoscaler allows web 4 of 9 replicas"
	for want, test := range map[string]struct {
		before, after tally
		held          string
	}{
		"Yes: the new pod fits":                                                           {tally{bound: 1}, tally{bound: 2}, ""},
		"Yes: all 3 new pods fit":                                                         {tally{bound: 1}, tally{bound: 4}, ""},
		"No: 1 of 2 new pods does not fit":                                                {tally{bound: 7}, tally{bound: 8, pending: 1}, ""},
		"No: 2 of 4 new pods do not fit":                                                  {tally{bound: 7}, tally{bound: 9, pending: 2}, ""},
		"No: the new pod does not fit (2 others were Pending before)":                     {tally{bound: 7, pending: 2}, tally{bound: 7, pending: 3}, ""},
		"No: 2 more pods are Pending, to make room for 1 new pod":                         {tally{bound: 4}, tally{bound: 3, pending: 2}, ""},
		"No: 1 of 3 new pods does not fit, and 2 new pods are refused by the API server":  {tally{bound: 4}, tally{bound: 4, pending: 1, refused: 2}, ""},
		"2 pods fewer (1 other was Pending before)":                                       {tally{bound: 4, pending: 1}, tally{bound: 3}, ""},
		"No pod more: no workload's replicas change":                                      {tally{bound: 4}, tally{bound: 4}, ""},
		"Only in part: all 3 new pods fit, but " + held + " (1 other was Pending before)": {tally{bound: 1, pending: 1}, tally{bound: 4, pending: 1}, held},
		"No: 1 of 3 new pods does not fit, and " + held:                                   {tally{bound: 1}, tally{bound: 3, pending: 1}, held},
		"No pod more: " + held:                                                            {tally{bound: 4}, tally{bound: 4}, held},
		"2 pods fewer, and " + held:                                                       {tally{bound: 4}, tally{bound: 2}, held},
	} {
		if got := scaled(test.before, test.after, test.held); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What an autoscaler allows more of is not held back.
func TestHeldBack(t *testing.T) {
	web, db, idle := world.Held{Ref: cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}, Replicas: 6, Wanted: 105},
		world.Held{Ref: cluster.Ref{Kind: "StatefulSet", Name: "db"}, Replicas: 1, Wanted: 2}, world.Held{Ref: cluster.Ref{Kind: "Deployment", Name: "idle"}, Replicas: 2, Wanted: 1}
	for want, held := range map[string][]world.Held{
		"": {idle}, "a HorizontalPodAutoscaler allows shop/deployment/web 6 of 105 replicas": {idle, web},
		"HorizontalPodAutoscalers allow 2 workloads 7 of 107 replicas": {web, idle, db},
	} {
		if got := heldBack(held); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRemoved(t *testing.T) {
	for want, test := range map[string]struct {
		after tally
		gone  int
	}{
		"Yes: without 2 nodes no more pods are Pending (1 other was Pending before)":                                                    {tally{bound: 4, pending: 1}, 0},
		"No: without 2 nodes 1 more pod has no node (1 other was Pending before)":                                                       {tally{bound: 3, pending: 2}, 0},
		"No: without 2 nodes 2 more pods have no node, and 1 pod is gone, since no controller replaces it (1 other was Pending before)": {tally{bound: 1, pending: 3}, 1},
	} {
		if got := removed(tally{bound: 4, pending: 1}, test.after, ": without 2 nodes", test.gone); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAdded(t *testing.T) {
	for want, test := range map[string]struct{ before, after tally }{
		"No pod was Pending before, and none is with 1 more node":                         {tally{bound: 4}, tally{bound: 4}},
		"Yes: with 1 more node every pod has a node, 2 of them Pending or refused before": {tally{bound: 4, pending: 2}, tally{bound: 6}},
		"No: with 1 more node 1 pod has no node, of 3 before":                             {tally{bound: 4, pending: 3}, tally{bound: 6, pending: 1}},
	} {
		if got := added(test.before, test.after, 1); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
