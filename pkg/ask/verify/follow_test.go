package verify

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/input/recording"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// recordedLine returns a line of a recording, that many milliseconds after eight o'clock.
func recordedLine(ms int, event, resource string) string {
	at := time.Date(2026, 3, 2, 8, 0, 0, ms*int(time.Millisecond), time.UTC)
	return fmt.Sprintf(`{"time":%q,"event":%q,"resource":%s}`, at.Format(time.RFC3339Nano), event, resource)
}

func recordedNode(name, taints string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"resourceVersion":"1","labels":{"kubernetes.io/hostname":%q}},"spec":{"taints":[%s]},
"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"},"capacity":{"cpu":"4","memory":"8Gi","pods":"10"},"conditions":[{"type":"Ready","status":"True"}]}}`, name, name, taints)
}

func recordedPod(name, node, cpu string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"shop","uid":"uid-%s","resourceVersion":"2","creationTimestamp":"2026-03-02T08:00:00Z"},
"spec":{"nodeName":%q,"schedulerName":"default-scheduler","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":%q}}}]},"status":{"phase":"Pending"}}`, name, name, node, cpu)
}

// followedBy judges a recording, window by window.
func followedBy(t *testing.T, lines ...string) []string {
	text := strings.ReplaceAll(strings.Join(lines, "\x00"), "\n", "")
	events, err := recording.Read("r", strings.NewReader(strings.ReplaceAll(text, "\x00", "\n")))
	if err != nil {
		t.Fatal(err)
	}
	s, err := loader.New("test", &scenario.File{Cluster: []scenario.Source{{Files: []string{"testdata/nodes.yaml"}}}})
	if err != nil {
		t.Fatal(err)
	}
	f := NewFollower(s, "recording")
	var said []string
	judge := func() {
		placements, err := f.Judge(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for i := range placements {
			said = append(said, placements[i].Line())
		}
	}
	for _, e := range events {
		if f.Due(e.Time) {
			judge()
		}
		if err := f.Observe("r", e); err != nil {
			t.Fatal(err)
		}
	}
	judge()
	return said
}

// Nodes a and b are empty and equal, so the first pod goes to either. The second pod then belongs to the emptier b. When the first pod is
// gone, a is emptier, and the third pod belongs there.
func TestFollow(t *testing.T) {
	got := followedBy(t,
		recordedLine(0, "Add", recordedNode("a", "")), recordedLine(0, "Add", recordedNode("b", "")),
		recordedLine(10, "Add", recordedPod("one", "", "1")), recordedLine(20, "Update", recordedPod("one", "a", "1")),
		recordedLine(3000, "Add", recordedPod("two", "", "1")), recordedLine(3010, "Update", recordedPod("two", "b", "1")),
		recordedLine(6000, "Delete", recordedPod("one", "a", "1")),
		recordedLine(9000, "Add", recordedPod("three", "", "1")), recordedLine(9010, "Update", recordedPod("three", "a", "1")),
	)
	want := []string{
		"08:00:00 shop/one to a: among equals, one of 2 best nodes",
		"08:00:03 shop/two to b: expected, the best node",
		"08:00:09 shop/three to a: expected, the best node",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The scheduler would have chosen the emptier b. Everything is recorded, so nothing can explain a.
func TestFollowContradiction(t *testing.T) {
	got := followedBy(t,
		recordedLine(0, "Add", recordedNode("a", "")), recordedLine(0, "Add", recordedNode("b", "")), recordedLine(0, "Add", recordedPod("old", "a", "2")),
		recordedLine(10, "Add", recordedPod("one", "", "1")), recordedLine(20, "Update", recordedPod("one", "a", "1")),
	)
	if len(got) != 1 || !strings.HasPrefix(got[0], "08:00:00 shop/one to a: contradiction (") {
		t.Errorf("%q, want a contradiction", got)
	}
}

// A pod of 1 CPU is on a, so the pod that was decided first belongs to b. This was "late", of 2 CPUs, although "early", of half a CPU, was
// recorded first: early then belongs to a. b is tainted when the last pod comes, so only a is left for it.
func TestFollowOrderAndTaints(t *testing.T) {
	got := followedBy(t,
		recordedLine(0, "Add", recordedNode("a", "")), recordedLine(0, "Add", recordedNode("b", "")), recordedLine(0, "Add", recordedPod("old", "a", "1")),
		recordedLine(10, "Add", recordedPod("late", "", "2")), recordedLine(11, "Add", recordedPod("early", "", "500m")),
		recordedLine(20, "Update", recordedPod("early", "a", "500m")), recordedLine(30, "Update", recordedPod("late", "b", "2")),
		recordedLine(5000, "Update", recordedNode("b", `{"key":"x","effect":"NoSchedule"}`)),
		recordedLine(5100, "Add", recordedPod("last", "", "100m")), recordedLine(5200, "Update", recordedPod("last", "a", "100m")),
	)
	want := []string{
		"08:00:00 shop/late to b: expected, the best node",
		"08:00:00 shop/early to a: expected, the best node",
		"08:00:05 shop/last to a: expected, the only node that is feasible",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
