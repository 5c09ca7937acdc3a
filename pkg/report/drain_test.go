package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/internal/reporttest"
)

func TestWriteDrain(t *testing.T) {
	schema := reporttest.Schema(t, "drain-report")
	pod := func(name string) BlockedPod { return BlockedPod{Namespace: "default", Name: name, Reason: "because"} }
	for name, r := range map[string]*DrainReport{
		"ends": {Ends: true, Nodes: []DrainedNode{
			{Node: "n1", Ends: true, Evicted: []DrainedPod{{Namespace: "default", Name: "web-1"}}, Placed: []RecoveredPod{{Namespace: "default", Name: "web-2", Node: "n3"}}},
			{Node: "n2", Ends: true},
		}},
		"pending": {Ends: true, Nodes: []DrainedNode{
			{Node: "n1", Ends: true, Evicted: []DrainedPod{{Namespace: "shop", Name: "web-1"}}, Pending: []StrandedPod{{Namespace: "shop", Name: "web-2", Message: "no room"}}},
		}},
		"blocked": {Nodes: []DrainedNode{{Node: "n1", Blocked: []BlockedPod{pod("bare")}}, {Node: "n2", Ends: true}}},
		"order": {Searched: true, Nodes: []DrainedNode{{Node: "n1", Refused: []BlockedPod{pod("web-1")}}, {Node: "n2", Ends: true}},
			Order: []DrainedNode{{Node: "n2", Ends: true}, {Node: "n1", Ends: true, Evicted: []DrainedPod{{Namespace: "default", Name: "web-1"}}}}},
		"no-order": {Searched: true, Nodes: []DrainedNode{{Node: "n1", Refused: []BlockedPod{pod("web-1")}}, {Node: "n2", Ends: true}}},
	} {
		r.APIVersion, r.Kind, r.Ties = APIVersion, DrainKind, "upstream"
		for _, format := range DrainFormats.Names() {
			var out bytes.Buffer
			if err := DrainFormats.Write(&out, r, format, Options{}); err != nil {
				t.Fatal(err)
			}
			if format == "json" {
				if err := reporttest.Validate(t, schema, out.String()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			} else if format == "text" {
				reporttest.Golden(t, ""+name+".text", out.String())
			}
		}
	}
}

// aDrain is a drain of two nodes that does not end in the order given, and does in another.
func aDrain() *DrainReport {
	return &DrainReport{
		Head: Head{APIVersion: APIVersion, Kind: DrainKind, Ties: "upstream"}, Searched: true,
		Nodes: []DrainedNode{
			{Node: "n1", Refused: []BlockedPod{{Namespace: "default", Name: "web-1", Reason: "Cannot evict pod as it would violate the pod's disruption budget."}}},
			{Node: "n2", Ends: true, Evicted: []DrainedPod{{Namespace: "default", Name: "db-0", Workload: "statefulset/db"}},
				Placed:  []RecoveredPod{{Namespace: "default", Name: "web-2", Workload: "deployment/web", Node: "n3"}},
				Pending: []StrandedPod{{Namespace: "default", Name: "db-0", Workload: "statefulset/db", Message: "0/3 nodes are available: 3 node(s) were unschedulable."}}},
		},
		Order: []DrainedNode{{Node: "n2", Ends: true}, {Node: "n1", Ends: true, Evicted: []DrainedPod{{Namespace: "default", Name: "web-1"}}}},
	}
}

func TestDrainMarkdown(t *testing.T) {
	reporttest.Golden(t, "drain.markdown", string(drainMarkdown(aDrain())))
}

func hostileDrain() *DrainReport {
	const h = reporttest.Hostile
	node := DrainedNode{Node: h, Evicted: []DrainedPod{{h, h, h}}, Blocked: []BlockedPod{{h, h, h, h}}, Refused: []BlockedPod{{h, h, h, h}},
		Placed: []RecoveredPod{{Namespace: h, Name: h, Workload: h, Node: h}}, Pending: []StrandedPod{{Namespace: h, Name: h, Message: h}}}
	return &DrainReport{Head: Head{Scenario: h}, Nodes: []DrainedNode{node, node}, Order: []DrainedNode{node}}
}

func TestDrainMarkdownHostile(t *testing.T) {
	reporttest.Harmless(t, string(drainMarkdown(hostileDrain())))
}

// However much there is to say, it fits a comment, and what is left out is counted.
func TestDrainMarkdownIsBounded(t *testing.T) {
	r := hostileDrain()
	for len(r.Nodes[0].Evicted) < 5000 {
		r.Nodes[0].Evicted = append(r.Nodes[0].Evicted, r.Nodes[0].Evicted[0])
	}
	for len(r.Nodes) < 500 {
		r.Nodes = append(r.Nodes, r.Nodes[0])
	}
	reporttest.Bounded(t, drainMarkdown(r), "nodes", "lines")
}

// What is written comes back as it was, and is taken for no other report.
func TestDrainRoundTrip(t *testing.T) {
	want := completeDrain(aDrain())
	for _, format := range []string{"json", "yaml"} {
		var out bytes.Buffer
		if err := DrainFormats.Write(&out, want, format, Options{}); err != nil {
			t.Fatal(err)
		}
		got, err := DecodeModel[DrainReport]("r", out.Bytes(), DrainKind)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
		if _, err := DecodeModel[DrainReport]("r", out.Bytes(), "Report"); err == nil || !strings.Contains(err.Error(), "give a report of apiVersion faultline/v1alpha1 and kind Report") {
			t.Errorf("%s is taken for a Report: %v", format, err)
		}
	}
}
