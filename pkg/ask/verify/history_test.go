package verify

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

func gunzip(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// loadRecorded returns a recorded history: the dump, and the paths of its other files.
func loadRecorded(t *testing.T, history string, others ...string) (s *scenario.Scenario, paths []string) {
	t.Helper()
	file := func(name string) []byte { return gunzip(t, filepath.Join("testdata", history, name+".gz")) }
	s, err := loader.FromFiles(bytes.NewReader(file("dump.json")), []string{"-"}, nil, loader.Options{Dump: true})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range others {
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), file(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s, paths
}

// A real control plane v1.37.1 created, scaled, restarted and deleted 40 workloads on 60 nodes, one after another. The dump alone leaves
// nearly half of the placements open; the recorded Events explain all of them.
func TestRecordedHistory(t *testing.T) {
	s, events := loadRecorded(t, "history", "events.json")
	alone, err := Run(t.Context(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c := alone.Count(); c.Explained != 118 || c.Choices != 217 {
		t.Errorf("the dump alone explains %d of %d choices, want 118 of 217", c.Explained, c.Choices)
	}
	history, err := ReadHistory(Sources{Events: events})
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), s, Options{History: history})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range verdictLines(result) {
		t.Error(line)
	}
	var assumed []string
	for _, a := range result.Assumed {
		assumed = append(assumed, fmt.Sprintf("%s: %d pods, %d without an end", a.Workload, a.Pods, a.Endless))
	}
	want := []string{"w00: 36 pods, 12 without an end", "w01: 8 pods, 8 without an end", "w04: 15 pods, 15 without an end", "w12: 3 pods, 3 without an end", "w33: 3 pods, 3 without an end"}
	if diff := cmp.Diff(want, assumed); diff != "" {
		t.Errorf("what was deleted as a whole, of which there are no events (-want +got):\n%s", diff)
	}
	if c := result.Count(); c.Explained*100 < 97*c.Choices || c.Choices != 217 {
		t.Errorf("with its events %d of %d choices are explained", c.Explained, c.Choices)
	}
}

// A real control plane v1.37.1 did 200 operations on 49 workloads and 40 nodes: among them 7 drains, 8 taints, 5 cordons and 7 failures of
// nodes. Its audit log has nodes at level Metadata. With fewer sources more placements are open, but none is a contradiction.
func TestRecordedHistoryOfNodes(t *testing.T) {
	s, paths := loadRecorded(t, "history-nodes", "events.json", "audit.log")
	events, audit := paths[:1], paths[1:]
	for name, c := range map[string]struct {
		Sources
		choices, proved, explained, open int // at most so many are open, at least so many the others
	}{
		"the dump":             {Sources{}, 187, 30, 30, 157},
		"events":               {Sources{Events: events}, 180, 101, 111, 69},
		"audit log":            {Sources{Audit: audit}, 187, 40, 184, 3},
		"events and audit log": {Sources{Events: events, Audit: audit}, 177, 169, 176, 1},
	} {
		history, err := ReadHistory(c.Sources)
		if err != nil {
			t.Fatal(err)
		}
		result, err := Run(t.Context(), s, Options{History: history})
		if err != nil {
			t.Fatal(err)
		}
		of := result.Count()
		if of.Choices < c.choices || of.Proved < c.proved || of.Explained < c.explained || of.Open > c.open || of.Contradictions > 0 {
			t.Errorf("%s: of %d choices, %d are proved, %d explained, %d open and %d contradictions; want %d choices, %d proved and %d explained or more, %d open or fewer, and no contradiction",
				name, of.Choices, of.Proved, of.Explained, of.Open, of.Contradictions, c.choices, c.proved, c.explained, c.open)
		}
	}
}

// The fit does not explain arbitrary placements: it finds pods that are reported on another node than their real one, and few other pods.
// The moved pods are among the last that came, since each leaves room on its real node.
func TestMovedPodsOfAHistoryAreFound(t *testing.T) {
	s, events := loadRecorded(t, "history", "events.json")
	data, err := os.ReadFile(events[0])
	if err != nil {
		t.Fatal(err)
	}
	moved := map[string]bool{}
	for i, obj := range s.Cluster {
		pod, ok := obj.(*v1.Pod)
		if !ok || len(moved) == 10 || pod.Name < "w36" || pod.Spec.NodeName == "node-59" {
			continue
		}
		moved[pod.Name] = true
		data = bytes.Replace(data, []byte(pod.Name+" to "+pod.Spec.NodeName), []byte(pod.Name+" to node-59"), 1)
		pod = pod.DeepCopy()
		pod.Spec.NodeName = "node-59"
		s.Cluster[i] = pod
	}
	if err := os.WriteFile(events[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	history, err := ReadHistory(Sources{Events: events})
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), s, Options{History: history})
	if err != nil {
		t.Fatal(err)
	}
	found, others := 0, 0
	for _, p := range result.Placements {
		switch {
		case p.Divergence == nil:
		case moved[p.Pod.Name]:
			found++
		default:
			others++
		}
	}
	if len(moved) < 10 || found < len(moved)-1 || others > 3 {
		t.Errorf("%d of %d moved pods are found, and %d others", found, len(moved), others)
	}
}

// A pod of which only the node is known is ordered among the pods of its half second, even where they diverge.
func TestUnknownPodAmongDivergences(t *testing.T) {
	s := readDump(t, nodeYAML("n1", "", fourCPUs)+nodeYAML("n2", "", fourCPUs)+podYAML("a", "n1", 2, "", "")+
		strings.ReplaceAll(podYAML("large", "n1", 2, "", ""), `cpu: "1"`, `cpu: "5"`))
	at := time.Date(2025, time.March, 1, 10, 0, 2, 0, time.UTC)
	var facts []fact
	for i, name := range []string{"large", "gone-7d9f8b6c4-x2x4x", "a"} {
		facts = append(facts, fact{
			kind: podScheduled, at: at.Add(time.Duration(i) * time.Millisecond), exact: true,
			pod: types.NamespacedName{Namespace: "default", Name: name}, uid: types.UID(name), node: []string{"n1", "n2", "n1"}[i],
		})
	}
	result, err := Run(t.Context(), s, Options{History: &History{facts: facts}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"large on n1, best , rank 0, behind 0: unexplained"}
	if diff := cmp.Diff(want, verdictLines(result)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(result.Assumed) != 1 || result.Assumed[0].Workload != "gone" {
		t.Errorf("assumed: %v", result.Assumed)
	}
}

func TestEventFacts(t *testing.T) {
	const pod = `"involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web-1", "uid": "u"}, `
	const set = `"involvedObject": {"kind": "ReplicaSet", "namespace": "shop", "name": "web"}, `
	for event, want := range map[string]string{
		pod + `"eventTime": "2025-03-01T10:00:10.000100Z", "reason": "Scheduled", "message": "Successfully assigned shop/web-1 to n1"`:           "2 10:00:10.0001 true shop/web-1 n1 0",
		pod + `"firstTimestamp": "2025-03-01T10:00:10Z", "reason": "Scheduled", "message": "Successfully assigned shop/web-1 to n1"`:             "2 10:00:10 false shop/web-1 n1 0",
		pod + `"firstTimestamp": "2025-03-01T10:00:10Z", "reason": "Preempted", "message": "Preempted by pod x on node n1"`:                      "3 10:00:10 false shop/web-1  0",
		pod + `"firstTimestamp": "2025-03-01T10:00:10Z", "reason": "Killing", "message": "Stopping container c"`:                                 "3 10:00:10 false shop/web-1  0",
		pod + `"firstTimestamp": "2025-03-01T10:00:10Z", "reason": "Killing", "message": "Container c failed liveness probe, will be restarted"`: "",
		pod + `"firstTimestamp": "2025-03-01T10:00:10Z", "reason": "Pulled", "message": "x"`:                                                     "",
		// The name contains the nanoseconds: 0x1828a57cae730d00 is 2025-03-01T10:00:10.9Z.
		set + `"metadata": {"name": "web.1828a57cae730d00"}, "firstTimestamp": "2025-03-01T10:00:10Z", "reason": "SuccessfulDelete", "message": "Deleted pod: web-1"`:                                        "3 10:00:10.9 true shop/web-1  0",
		set + `"metadata": {"name": "web.1"}, "firstTimestamp": "2025-03-01T10:00:10Z", "reason": "SuccessfulDelete", "message": "Deleted pod: web-1"`:                                                       "3 10:00:10 false shop/web-1  0",
		set + `"firstTimestamp": "2025-03-01T10:00:10Z", "lastTimestamp": "2025-03-01T10:00:14Z", "count": 3, "reason": "SuccessfulDelete", "message": "(combined from similar events): Deleted pod: web-1"`: "3 10:00:14 false shop/web-1  3",
		set + `"firstTimestamp": "2025-03-01T10:00:10Z", "lastTimestamp": "2025-03-01T10:00:14Z", "count": 2, "reason": "SuccessfulCreate", "message": "create Pod web-1 in StatefulSet web successful"`:     "0 10:00:10 false shop/web-1  0, 0 10:00:14 false shop/web-1  0",
	} {
		facts, err := decodeEvents("e", []byte(`{"kind": "Event", "apiVersion": "v1", `+event+`}`))
		if err != nil {
			t.Errorf("%s: %v", event, err)
		}
		var got []string
		for _, f := range facts {
			got = append(got, fmt.Sprintf("%d %s %t %s %s %d", f.kind, f.at.UTC().Format("15:04:05.999999999"), f.exact, f.pod, f.node, f.podCount))
		}
		if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", event, diff)
		}
	}
}

// A Terminating pod still holds its room, and anti-affinity still counts it; spreading no longer does.
func TestTerminatingPods(t *testing.T) {
	const apart = `, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: disk, labelSelector: {matchLabels: {app: web}}}]}}`
	const spread = `, topologySpreadConstraints: [{maxSkew: 1, topologyKey: disk, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]`
	pair := nodeYAML("n1", "", fourCPUs) + nodeYAML("n2", "", fourCPUs)
	// a is deleted from n1 in second 3 with 30 seconds of grace, b comes in the next.
	leaving := func(on string, rule string) string {
		return pair + podYAML("a", "n1", 1, `, deletionTimestamp: "2025-03-01T10:00:33Z", deletionGracePeriodSeconds: 30`, "") + podYAML("b", on, 4, "", rule)
	}
	for name, c := range map[string]struct {
		world string
		want  int
	}{
		"apart from it":                 {leaving("n2", apart), 0},
		"not beside it":                 {leaving("n1", apart), 1},
		"spread as if it was not there": {leaving("n1", spread+", nodeSelector: {disk: n1}"), 0},
	} {
		if got := verdictLines(verified(t, readDump(t, c.world))); len(got) != c.want {
			t.Errorf("%s: %v, want %d", name, got, c.want)
		}
	}
}

func FuzzDecodeEvents(f *testing.F) {
	f.Add([]byte(`{"kind": "List", "items": [{"kind": "Event", "reason": "Scheduled", "message": "Successfully assigned a/b to n", "involvedObject": {"kind": "Pod"}}]}`))
	f.Add([]byte(`{"kind": "Event", "reason": "SuccessfulDelete", "count": 3, "message": "(combined from similar events): Deleted pod: x", "regarding": {"kind": "ReplicaSet"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := decodeEvents("e", data); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("more than a line: %v", err)
		}
	})
}

func FuzzDecodeAudit(f *testing.F) {
	f.Add([]byte(`{"kind": "Event", "stage": "ResponseComplete", "verb": "delete", "objectRef": {"resource": "pods", "name": "a"}, "responseObject": {"kind": "Pod", "metadata": {"uid": "u"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := decodeAudit("a", bytes.NewReader(data)); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("more than a line: %v", err)
		}
	})
}
