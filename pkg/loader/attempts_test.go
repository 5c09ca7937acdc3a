package loader

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// waitingDump has waiting pods, and an Event for each pod except the last one: an Event of v1, one of events.k8s.io/v1, one with another
// reason, and one that is earlier than the time in the pod's condition.
const waitingDump = `{"apiVersion": "v1", "kind": "List", "items": [
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "9"}}},
%s
{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "a.1", "namespace": "default"}, "reason": "FailedScheduling",
 "involvedObject": {"kind": "Pod", "namespace": "default", "name": "a", "uid": "a"}, "firstTimestamp": "2026-01-01T10:01:00Z", "lastTimestamp": "2026-01-01T10:07:00Z"},
{"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "b.1", "namespace": "default"}, "reason": "FailedScheduling",
 "regarding": {"kind": "Pod", "namespace": "default", "name": "b", "uid": "b"}, "eventTime": "2026-01-01T10:01:00.500000Z", "series": {"count": 3, "lastObservedTime": "2026-01-01T10:06:00.250000Z"}},
{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "c.1", "namespace": "default"}, "reason": "Pulled",
 "involvedObject": {"kind": "Pod", "namespace": "default", "name": "c", "uid": "c"}, "lastTimestamp": "2026-01-01T10:09:00Z"},
{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "d.1", "namespace": "default"}, "reason": "FailedScheduling",
 "involvedObject": {"kind": "Pod", "namespace": "default", "name": "d", "uid": "d"}, "lastTimestamp": "2026-01-01T09:00:00Z"}]}`

func TestEventsSayWhenPodsWereLastTried(t *testing.T) {
	var pods string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		pods += fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %[1]q, "namespace": "default", "uid": %[1]q, "resourceVersion": "1", "creationTimestamp": "2026-01-01T10:00:00Z"},
 "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}]},
 "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no", "lastTransitionTime": "2026-01-01T10:00:30Z"}]}},
`, name)
	}
	s, err := LoadFS(fstest.MapFS{
		"dump.json":     {Data: fmt.Appendf(nil, waitingDump, pods)},
		"scenario.yaml": {Data: []byte("apiVersion: faultline/v1alpha1\nkind: Scenario\nmetadata: {name: s}\ncluster: [{files: [dump.json]}]\n")},
	}, "scenario.yaml", Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, obj := range s.Cluster {
		if pod, is := obj.(*v1.Pod); is {
			got[pod.Name] = cluster.LastTried(pod).UTC().Format("15:04:05.99") + " " + pod.Status.Conditions[0].Message
		}
	}
	want := map[string]string{"a": "10:07:00 no", "b": "10:06:00.25 no", "c": "10:00:30 no", "d": "10:00:30 no", "e": "10:00:30 no"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if now := s.EmptyState().Now.UTC().Format("15:04:05"); now != "10:07:00" {
		t.Errorf("the clock starts at %s, want the time of the latest attempt", now)
	}
}
