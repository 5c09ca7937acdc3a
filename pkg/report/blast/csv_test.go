package blast

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

func TestLossesCSV(t *testing.T) {
	r := zones()
	level := &r.Steps[0].Levels[0]
	level.Failures[0].Recovery.OfDaemonSets = 1
	level.Failures[0].Recovery.LostWork = []cluster.PodRef{{Namespace: "ml", Name: "etl", Workload: "workflow/etl"}}
	level.Failures = append(level.Failures[:2], blast.Failure{Domains: []string{"a", "d"}, Nodes: []string{"n", "m"}})
	want := [][]string{
		{"step", "topologyKey", "domains", "nodes", "pods", "namespace", "workload", "replicas", "lost", "share", "gone", "quorum", "quorumLost", "brokenBudgets",
			"recovered", "stranded", "notReplaced", "even", "ofDaemonSets", "lostWork"},
		{"all", doc.Zone, "a", "1", "4", "shop", "deployment/solo", "1", "1", "1", "true", "", "", "", "1", "0", "2", "1", "1", "1"},
		{"all", doc.Zone, "a", "1", "4", "data", "statefulset/db", "5", "2", "0.4", "false", "4", "true", "", "1", "0", "2", "2", "1", "1"},
		{"all", doc.Zone, "a", "1", "4", "shop", "deployment/web", "4", "1", "0.25", "false", "", "", "", "1", "0", "2", "2", "1", "1"},
		{"all", doc.Zone, "b", "1", "3", "shop", "deployment/web", "4", "2", "0.5", "false", "", "", "shop/web", "0", "2", "0", "2", "0", "0"},
		{"all", doc.Zone, "b", "1", "3", "data", "statefulset/db", "5", "1", "0.2", "false", "4", "false", "", "0", "2", "0", "2", "0", "0"},
		{"all", doc.Zone, "a+d", "2", "0", "", "", "", "0", "0", "", "", "", "", "", "", "", "", "", ""},
	}
	if diff := cmp.Diff(want, readTable(t, writeBlast(t, r, "csv", report.Options{}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func readTable(t *testing.T, data string) [][]string {
	t.Helper()
	table, err := csv.NewReader(strings.NewReader(data)).ReadAll() // the reader requires the same number of cells in each row
	if err != nil {
		t.Fatal(err)
	}
	return table
}
