package explain

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
)

// Two pods came with node n1, and n2 is empty. Each is placed again as if it alone had no node: n2 has more room and no pod of the app. The
// pod's node is in the table, second of two, and the pod stays there.
func TestPodsThatCameWithTheirNodesArePlacedAgain(t *testing.T) {
	const pod = `  - {apiVersion: v1, kind: Pod, metadata: {name: NAME, labels: {app: web}}, spec: {nodeName: n1, containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}]}}
`
	s := simulated(t, "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster:\n- objects:\n"+node("n1", "a", "")+node("n2", "a", "")+
		strings.Replace(pod, "NAME", "one", 1)+strings.Replace(pod, "NAME", "two", 1)).Scenario
	result, pods, more, err := Pods(context.Background(), s, Question{Ref: cluster.Ref{Kind: "Pod", Namespace: "default", Name: "two"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(pods) != 1 || more != 0 || pods[0].Placed == nil {
		t.Fatalf("%d more, pods %+v", more, pods)
	}
	got := pods[0]
	if got.Runs != "n1" || got.Placed.Node != "n2" || len(got.Notes) != 1 {
		t.Errorf("runs on %s, placed on %s, notes %v", got.Runs, got.Placed.Node, got.Notes)
	}
	var table []string
	for _, candidate := range got.Placed.Cycle.Candidates {
		table = append(table, candidate.Node)
	}
	if diff := cmp.Diff([]string{"n2", "n1"}, table); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	for _, pod := range result.Steps[0].State.Pods {
		if pod.Spec.NodeName != "n1" {
			t.Errorf("%s is on %q: the question has moved it", pod.Name, pod.Spec.NodeName)
		}
	}
	var missing *NotFoundError
	if _, _, _, err := Pods(context.Background(), s, Question{Ref: cluster.Ref{Kind: "Pod", Namespace: "default", Name: "three"}}, Options{}); !errors.As(err, &missing) {
		t.Errorf("error %v for a pod that is not there", err)
	}
}

// The pod gets the room of a Terminating pod of the dump, which a finalizer may keep for long.
func TestPlacedPodsNameWhatEndsBeforeThem(t *testing.T) {
	const ending = `  - apiVersion: v1
    kind: Pod
    metadata: {name: old, resourceVersion: "1", creationTimestamp: "2026-11-01T09:00:00Z", deletionTimestamp: "2026-11-01T10:00:30Z", deletionGracePeriodSeconds: 30, finalizers: [example.com/backup]}
    spec: {nodeName: n1, priority: 0, containers: [{name: c, image: c, resources: {requests: {cpu: 3}}}]}
    status: {phase: Running}
`
	s := loaded(t, "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster:\n- objects:\n"+node("n1", "a", "")+ending+"workloads:\n- objects:\n"+workload("Deployment", 1, "cpu: 3", ""))
	_, pods, _, err := Pods(t.Context(), s, Question{Ref: cluster.Ref{Kind: "Deployment", Name: "web"}}, Options{})
	if err != nil || len(pods) != 1 {
		t.Fatal(err, len(pods))
	}
	want := []string{"pod old of the dump is Terminating on n1 since 2026-11-01T10:00:00Z (finalizer example.com/backup); here it ends and its room is free, and until it does the cluster counts it"}
	if diff := cmp.Diff(want, pods[0].Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
