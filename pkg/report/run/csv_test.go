package run

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

func readCSV(t *testing.T, data string) [][]string {
	t.Helper()
	table, err := csv.NewReader(strings.NewReader(data)).ReadAll() // the reader requires the same number of cells in each row
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestPodsCSV(t *testing.T) {
	r := sourced()
	r.Steps[0].Pods = r.Steps[0].Pods[:2]
	r.Steps[0].Pods[0].Decision = &placement.Decision{Feasible: 3, Scored: 2, Ties: 1, Margin: 40, Deciders: []string{"ImageLocality", "PodTopologySpread"}}
	r.Steps[0].Pods[1].Message = "0/1 nodes are available: 1 \"quoted\", 1 other.\nEnd"
	moved := Step{Name: "=moved", Nodes: []report.Node{{Name: "n1", Topology: map[string]string{doc.Zone: "b"}}}, Pods: []Pod{{PodRef: cluster.PodRef{Namespace: "shop", Name: "web-1"}, Node: "n1", Status: "Running"}}}
	r.Steps = append(r.Steps, moved, Step{Name: "later", Pods: []Pod{{PodRef: cluster.PodRef{Name: "web-1"}, Node: "n1"}, {PodRef: cluster.PodRef{Name: "x"}, Node: "gone", Topology: map[string]string{doc.Zone: "c"}}}})
	want := [][]string{
		{"step", "namespace", "pod", "workload", "status", "node", doc.Zone, "feasible", "scored", "ties", "margin", "deciders", "message"},
		{"new-image", "shop", "web-1", "deployment/web", "Running", "n1", "a", "3", "2", "1", "40", "ImageLocality;PodTopologySpread", ""},
		{"new-image", "shop", "web-2", "deployment/web", "Pending", "", "", "", "", "", "", "", `0/1 nodes are available: 1 "quoted", 1 other.\nEnd`},
		{"'=moved", "shop", "web-1", "", "Running", "n1", "b", "", "", "", "", "", ""},
		{"later", "", "web-1", "", "", "n1", "b", "", "", "", "", "", ""},
		{"later", "", "x", "", "", "gone", "c", "", "", "", "", "", ""},
	}
	if diff := cmp.Diff(want, readCSV(t, write(t, r, "csv", report.Options{}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
