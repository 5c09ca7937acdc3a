package blast

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/internal/dumptest"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// storedBlast returns the failures in three steps of the walkthrough: one in which a pod waits, one with a hard rule, and one with a soft
// rule.
func storedBlast(t testing.TB) *Report {
	t.Helper()
	data, err := os.ReadFile("testdata/walkthrough.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Decode("walkthrough.json", data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func writeBlast(t testing.TB, r *Report, format string, opts report.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Formats.Write(&out, r, format, opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriteBlastGolden(t *testing.T) {
	schema := reporttest.Schema(t, "blast-report")
	for name, opts := range map[string]blast.Options{
		"one": {Simultaneous: 1, Mode: node.Unreachable},
		"two": {Simultaneous: 2, Mode: node.Deleted, Levels: []string{doc.Zone}},
	} {
		r := blasted(t, "testdata/world.yaml", opts)
		reporttest.Golden(t, ""+name+".text", writeBlast(t, r, "text", report.Options{}))
		reporttest.Golden(t, ""+name+".wide", writeBlast(t, r, "wide", report.Options{All: true}))
		reporttest.Golden(t, ""+name+".quiet", writeBlast(t, r, "text", report.Options{Quiet: true}))
		written := writeBlast(t, r, "json", report.Options{})
		reporttest.Golden(t, ""+name+".json", written)
		if err := reporttest.Validate(t, schema, written); err != nil {
			t.Error(err)
		}
	}
}

// many returns a report of n nodes that fail one by one. The first 3 hold all pods of a workload, the next 7 half of one, 90 a tenth of
// one, and the others none. Each failure that takes something has the recovery of the first.
func many(n int) *Report {
	level := blast.Level{TopologyKey: doc.Hostname, Domains: n, Mean: new(float64), Shares: []blast.Share{{Share: 0, Failures: n - 100}, {Share: 0.1, Failures: 90}, {Share: 0.5, Failures: 7}, {Share: 1, Failures: 3}}}
	for i := range n {
		f := blast.Failure{Domains: []string{fmt.Sprintf("node-%04d", i)}, Nodes: []string{fmt.Sprintf("node-%04d", i)}, Pods: 1}
		lose := func(lost, replicas int) {
			f.Workloads = []blast.Loss{{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: fmt.Sprintf("app-%d", i)}, Lost: lost, Even: 1, Replicas: replicas, Gone: lost == replicas}}
			f.LikeDomains = []string{"node-0000"}
		}
		switch {
		case i < 3:
			lose(2, 2)
		case i < 10:
			lose(1, 2)
		case i < 100:
			lose(1, 10)
		}
		level.Failures = append(level.Failures, f)
	}
	level.Failures[0].LikeDomains = nil
	level.Failures[0].Recovery = &blast.Recovery{Lost: 1, Stranded: []placement.StrandedPod{{PodRef: cluster.PodRef{Namespace: "default", Name: "new", Workload: "deployment/app-0"}, Wait: placement.Wait{Message: "no room"}}}}
	level.Radius = blast.Radius{Share: 1, Namespace: "default", Workload: "deployment/app-0", Lost: 2, Replicas: 2, Domains: []string{"node-0000"}}
	level.Replicated = level.Radius
	return &Report{
		Head: report.Head{APIVersion: report.APIVersion, Kind: Kind, Ties: "upstream"}, Mode: "unreachable", Simultaneous: 1, Recover: true,
		Steps: []Step{{Name: "all", Running: n, Analysis: blast.Analysis{Levels: []blast.Level{level}}}},
	}
}

func TestWriteBlastMany(t *testing.T) {
	r := many(5000)
	short := writeBlast(t, r, "text", report.Options{})
	reporttest.Golden(t, "many.text", short)
	for _, want := range []string{"3 × 100%, 7 × 50%, 90 × 10%, 4900 × nothing", "The 3 worst of 5000", "with the loss of node node-0000, node node-0001 or node node-0002"} {
		if !strings.Contains(short, want) {
			t.Errorf("no %q in\n%s", want, short)
		}
	}
	if lines := strings.Count(writeBlast(t, r, "text", report.Options{All: true}), "\n"); lines < 5000 {
		t.Errorf("--all has %d lines, want one for each of 5000 failures", lines)
	}
	written := writeBlast(t, r, "json", report.Options{})
	if err := reporttest.Validate(t, reporttest.Schema(t, "blast-report"), written); err != nil {
		t.Error(err)
	}
	if len(written) > 2<<20 {
		t.Errorf("%d bytes of JSON for 5000 failures", len(written))
	}
}

// For the dump of a real cluster, the report fits a screen: the worst failure comes first, workloads of one replica are named once, there
// is no pod of a DaemonSet, and no cell is cut.
func TestWriteBlastOfADump(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dump.json")
	if err := os.WriteFile(file, dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 24}), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := loader.FromFiles(nil, nil, []string{file}, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := reported(t, s, blast.Options{Simultaneous: 1, Mode: node.Unreachable, Worst: 4})
	r.Notes = nil // the notes name the file
	got := writeBlast(t, r, "text", report.Options{Width: 100})
	reporttest.Golden(t, "dump.text", got)
	if lines := strings.Count(got, "\n"); lines > 45 {
		t.Errorf("%d lines are more than a screen", lines)
	}
	for _, daemon := range []string{"cni-", "kube-proxy-", "node-exporter-"} {
		if strings.Contains(got, daemon) {
			t.Errorf("%s in\n%s", daemon, got)
		}
	}
}

// Equal names in two namespaces, and of two kinds, are distinguished; control characters are not written.
func TestWriteBlastNames(t *testing.T) {
	r := many(100)
	r.Steps[0].Levels[0].Failures[0].Workloads = []blast.Loss{
		{Ref: cluster.Ref{Kind: "Deployment", Namespace: "a", Name: "db"}, Lost: 1, Replicas: 2}, {Ref: cluster.Ref{Kind: "StatefulSet", Namespace: "a", Name: "db"}, Lost: 1, Replicas: 2},
		{Ref: cluster.Ref{Kind: "StatefulSet", Namespace: "b", Name: "db\x1b[31m"}, Lost: 1, Replicas: 2}, {Ref: cluster.Ref{Kind: "StatefulSet", Namespace: "b", Name: "one"}, Lost: 1, Replicas: 1},
	}
	got := writeBlast(t, r, "text", report.Options{All: true})
	if want := "a/deployment/db 1/2, a/statefulset/db 1/2, b/db\\x1b[31m 1/2, b/one 1/1\n"; !strings.Contains(got, want) {
		t.Errorf("no %s in\n%s", want, got)
	}
}

func TestBlastUnknownFormat(t *testing.T) {
	if err := Formats.Write(new(bytes.Buffer), many(100), "xml", report.Options{}); err == nil || err.Error() != `unknown output format "xml"; use one of text, wide, json, yaml, markdown, html, csv, junit, sarif, github, gitlab, svg, png` {
		t.Errorf("%v", err)
	}
}
