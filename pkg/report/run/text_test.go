package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// fixtures returns the stored reports by name.
func fixtures(t testing.TB) map[string]*Report {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no reports in testdata: %v", err)
	}
	reports := map[string]*Report{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Decode(file, data)
		if err != nil {
			t.Fatal(err)
		}
		reports[strings.TrimSuffix(filepath.Base(file), ".json")] = r
	}
	return reports
}

func write(t testing.TB, r *Report, format string, opts report.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Formats.Write(&out, r, format, opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriteGolden(t *testing.T) {
	for name, r := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			reporttest.Golden(t, name+".text", write(t, r, "text", report.Options{}))
			reporttest.Golden(t, name+".wide", write(t, r, "wide", report.Options{All: true}))
			reporttest.Golden(t, name+".quiet", write(t, r, "text", report.Options{Quiet: true}))
			reporttest.Golden(t, name+".name", write(t, r, "name", report.Options{}))
			reporttest.Golden(t, name+".json", write(t, r, "json", report.Options{}))
		})
	}
	r := fixtures(t)["mixed"]
	reporttest.Golden(t, "mixed.yaml", write(t, r, "yaml", report.Options{}))
	reporttest.Golden(t, "mixed.color", write(t, r, "text", report.Options{Color: true}))
}

func TestWriteLarge(t *testing.T) {
	r := large()
	short := write(t, r, "text", report.Options{})
	reporttest.Golden(t, "large.text", short)
	reporttest.Golden(t, "large.quiet", write(t, r, "text", report.Options{Quiet: true}))
	all := write(t, r, "text", report.Options{All: true})
	for _, pod := range r.Steps[0].Pods {
		if !strings.Contains(all, pod.Name+" ") {
			t.Fatalf("--all does not list %s", pod.Name)
		}
	}
	if lines := strings.Count(all, "\n"); lines < 3000 {
		t.Errorf("--all has %d lines, want one for each of 3000 pods", lines)
	}
	if lines := strings.Count(short, "\n"); lines > 80 {
		t.Errorf("%d lines for 3000 pods, want a page", lines)
	}
}

// large returns a report of 3,000 pods: 10 workloads of 300 pods on 300 nodes of 3 zones. Pod i of each workload is on node i; the last 10
// pods of workload 9 wait, and 3 of workload 0 share the node of another.
func large() *Report {
	const nodes, size = 300, 300
	r := &Report{
		Head: report.Head{APIVersion: report.APIVersion, Kind: Kind, Version: "v0.1.0", Scenario: "large", Ties: "upstream",
			Scheduler: report.Scheduler{Version: "v1.37.1", Profiles: []string{"default-scheduler"}},
			Cluster: report.Cluster{Nodes: nodes, Levels: []report.Level{
				{TopologyKey: doc.Region, Domains: 1}, {TopologyKey: doc.Zone, Domains: 3}, {TopologyKey: doc.Hostname, Domains: nodes},
			}},
		}}
	s := Step{
		Name: "all", Action: "kubectl apply -f all.yaml", TopologyKeys: []string{doc.Zone, doc.Hostname},
		Summary: Summary{Pods: 3000, Running: 2990, Pending: 10, Placed: 2990},
	}
	zoneOf := func(node int) string { return "zone-" + string(rune('a'+node%3)) }
	for w := range 10 {
		name := fmt.Sprintf("service-%d", w)
		perZone, perNode := make([]int, 3), make([]int, nodes)
		for i := range size {
			pod := Pod{PodRef: cluster.PodRef{Namespace: "default", Name: fmt.Sprintf("%s-%03d", name, i), Workload: "deployment/" + name}, Ready: "1/1", Status: "Running"}
			node := i
			if w == 0 && i < 3 {
				node = i + 100
			}
			if w == 9 && i >= size-10 {
				pod.Ready, pod.Status, pod.Message = "0/1", "Pending", "0/300 nodes are available: 300 Insufficient cpu."
			} else {
				pod.Node = fmt.Sprintf("node-%03d", node)
				pod.Topology = map[string]string{doc.Zone: zoneOf(node), doc.Hostname: pod.Node}
				perZone[node%3]++
				perNode[node]++
			}
			s.Pods = append(s.Pods, pod)
		}
		workload := Workload{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: name}, Desired: size, Running: size}
		if w == 9 {
			workload.Running, workload.Pending = size-10, 10
		}
		zones, hosts := Distribution{TopologyKey: doc.Zone}, Distribution{TopologyKey: doc.Hostname}
		for i, n := range perZone {
			zones.Counts = append(zones.Counts, Count{Domain: zoneOf(i), Pods: n})
		}
		zones.Skew = max(perZone[0], perZone[1], perZone[2]) - min(perZone[0], perZone[1], perZone[2])
		for i, n := range perNode {
			hosts.Skew = max(hosts.Skew, n)
			if n == 0 {
				hosts.Empty++
			} else {
				hosts.Counts = append(hosts.Counts, Count{Domain: fmt.Sprintf("node-%03d", i), Pods: n})
			}
		}
		if hosts.Empty == 0 {
			hosts.Skew--
		}
		workload.Domains = []Distribution{zones, hosts}
		s.Workloads = append(s.Workloads, workload)
	}
	r.Steps = []Step{s}
	return r
}

// Colour does not move columns, and no control character of a report reaches the terminal.
func TestWriteColor(t *testing.T) {
	sequence := regexp.MustCompile("\x1b\\[[0-9]*m")
	for name, r := range fixtures(t) {
		for _, opts := range []report.Options{{}, {Quiet: true}, {All: true}} {
			for _, format := range []string{"text", "wide"} {
				uncoloured := write(t, r, format, opts)
				if i := strings.IndexFunc(strings.ReplaceAll(uncoloured, "\n", ""), manifest.IsInvisible); i >= 0 {
					t.Errorf("%s %s %+v: control character in the output", name, format, opts)
				}
				colored := opts
				colored.Color = true
				painted := write(t, r, format, colored)
				if diff := cmp.Diff(uncoloured, sequence.ReplaceAllString(painted, "")); diff != "" {
					t.Errorf("%s %s %+v: colour changes the layout:\n%s", name, format, opts, diff)
				}
				if painted == uncoloured && uncoloured != "No steps.\n" {
					t.Errorf("%s %s %+v: no colour", name, format, opts)
				}
			}
		}
	}
}

func TestWriteMessageUnaltered(t *testing.T) {
	message := "0/4 nodes are available: " + strings.Repeat("1 node(s) had untolerated taint(s),   ", 50) + "end."
	r := &Report{Steps: []Step{{Pods: []Pod{{PodRef: cluster.PodRef{Namespace: "default", Name: "a"}, Status: "Pending", Wait: placement.Wait{Message: message}}}}}}
	if out := write(t, r, "text", report.Options{}); !strings.Contains(out, "FailedScheduling  "+message+"\n") {
		t.Errorf("the message was altered:\n%s", out)
	}
}

func TestWriteUnknownFormat(t *testing.T) {
	err := Formats.Write(&bytes.Buffer{}, &Report{}, "xml", report.Options{})
	want := `unknown output format "xml"; use one of text, wide, json, yaml, markdown, html, csv, junit, sarif, github, gitlab, svg, png, name`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWriteKnownFormats(t *testing.T) {
	for _, format := range Formats.Names() {
		if err := Formats.Write(&bytes.Buffer{}, &Report{}, format, report.Options{}); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteReportsTheWritersError(t *testing.T) {
	if err := Formats.Write(brokenWriter{}, &Report{}, "text", report.Options{}); err == nil || err.Error() != "disk full" {
		t.Errorf("got %v, want disk full", err)
	}
}

// Lists without entries are written as empty lists, and the given report is not changed.
func TestWriteNoNull(t *testing.T) {
	r := &Report{Steps: []Step{{Workloads: []Workload{{Domains: []Distribution{{}}}}}}}
	for _, given := range []*Report{r, {}} {
		if out := write(t, given, "json", report.Options{}); strings.Contains(out, "null") {
			t.Errorf("null in\n%s", out)
		}
	}
	if r.Steps[0].Workloads[0].Domains[0].Counts != nil || r.Cluster.Levels != nil {
		t.Error("Write changed the report")
	}
}

func TestConclusion(t *testing.T) {
	running := Step{Name: "run", Pods: []Pod{{}}}
	waiting := func(n int) Step { return Step{Name: "wait", Pods: []Pod{{}}, Summary: Summary{Pending: n}} }
	tests := map[string]struct {
		steps []Step
		want  string
	}{
		"none":      {nil, "No steps.\n"},
		"one":       {[]Step{running}, "0 pods: 0 running, 0 pending; 0 placed in this step\n"},
		"all":       {[]Step{running, running}, "2 steps: every pod running\n"},
		"empty":     {[]Step{{}, running}, "2 steps: 1 with every pod running, 1 without pods\n"},
		"pending":   {[]Step{running, waiting(1), waiting(2)}, "3 steps: 1 with every pod running, 1 pod pending in wait, 2 pods pending in wait\n"},
		"not ready": {[]Step{{Name: "lost", Summary: Summary{NotReady: 1, Pending: 2}}}, "0 pods: 0 running, 2 pending, 1 not ready; 0 placed in this step\n"},
		"stuck":     {[]Step{{Name: "new", Rollouts: []controller.Rollout{{Ref: cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}}}}}, "1 rollout stuck, of shop/deployment/web; 0 pods: 0 running, 0 pending; 0 placed in this step\n"},
		"drains":    {[]Step{running, {Name: "drain", Summary: Summary{Pending: 1}, Drains: []Drain{{Node: "a"}, {Node: "b"}}}}, "2 steps: 1 with every pod running, 1 pod pending and 2 drains do not end in drain\n"},
		"five":      {[]Step{waiting(1), waiting(1), waiting(1), waiting(1), waiting(1)}, "5 steps: " + strings.Repeat("1 pod pending in wait, ", 4) + "1 pod pending in wait\n"},
		"many": {[]Step{waiting(1), waiting(1), waiting(1), waiting(1), waiting(1), waiting(1)}, "6 steps: " +
			strings.Repeat("1 pod pending in wait, ", 5) + "and more in 1 other step\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out := writer{report: &Report{Steps: test.steps}}
			out.conclusion()
			if diff := cmp.Diff(test.want, string(text.Render(&out.Doc, report.Options{}))); diff != "" {
				t.Error(diff)
			}
		})
	}
	out := writer{Doc: doc.Doc{All: true}, report: &Report{Steps: tests["many"].steps}}
	if out.conclusion(); strings.Contains(string(text.Render(&out.Doc, report.Options{})), "other step") {
		t.Errorf("--all does not list every step:\n%s", text.Render(&out.Doc, report.Options{}))
	}
}

func TestSummaryText(t *testing.T) {
	for want, s := range map[string]Summary{
		"0 pods: 0 running, 0 pending; 0 placed in this step":                                                      {},
		"4 pods: 1 running, 1 pending, 2 not ready, and 3 more Terminating; 1 placed and 5 preempted in this step": {Pods: 4, Running: 1, Pending: 1, NotReady: 2, Terminating: 3, Placed: 1, Preempted: 5},
	} {
		if got := s.text(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A few nodes are a level, which the NODE column shows. A level that no pod has needs no column, unless a rule names it.
func TestColumns(t *testing.T) {
	type columns struct {
		Keys, Columns []string
		Namespaced    bool
	}
	zoned := Pod{PodRef: cluster.PodRef{Namespace: "default"}, Topology: map[string]string{doc.Zone: "a"}}
	for name, test := range map[string]struct {
		nodes int
		step  Step
		want  columns
	}{
		"few nodes":              {12, Step{Pods: []Pod{zoned}}, columns{[]string{"rack", doc.Zone, doc.Hostname}, []string{doc.Zone}, false}},
		"many nodes":             {13, Step{Pods: []Pod{zoned}}, columns{[]string{"rack", doc.Zone}, []string{doc.Zone}, false}},
		"a rule":                 {12, Step{Pods: []Pod{zoned}, TopologyKeys: []string{"rack"}}, columns{[]string{"rack"}, []string{"rack"}, false}},
		"another namespace":      {13, Step{Pods: []Pod{zoned, {PodRef: cluster.PodRef{Namespace: "shop"}}}}, columns{[]string{"rack", doc.Zone}, []string{doc.Zone}, true}},
		"a workload without pod": {13, Step{Workloads: []Workload{{Ref: cluster.Ref{Namespace: "shop"}}}}, columns{[]string{"rack", doc.Zone}, nil, true}},
	} {
		r := &Report{Steps: []Step{test.step}}
		r.Cluster.Levels = []report.Level{{TopologyKey: "rack", Domains: 13}, {TopologyKey: doc.Zone, Domains: 2}, {TopologyKey: doc.Hostname, Domains: test.nodes}}
		s := (&writer{report: r}).newStepText(0)
		if diff := cmp.Diff(test.want, columns{s.keys, s.columns, s.namespaced}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// If the pods of a single workload are not listed, a table shows it.
func TestManyPodsOfOneWorkload(t *testing.T) {
	for pods, table := range map[int]bool{doc.MaxPods: false, doc.MaxPods + 1: true} {
		s := Step{Workloads: []Workload{{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}}}}
		for range pods {
			s.Pods = append(s.Pods, Pod{PodRef: cluster.PodRef{Namespace: "default", Workload: "deployment/web"}, Node: "n"})
		}
		out := write(t, &Report{Steps: []Step{s}}, "text", report.Options{})
		if strings.Contains(out, "Use --all") != table || strings.Contains(out, "DESIRED") != table {
			t.Errorf("%d pods; want a table %t:\n%s", pods, table, out)
		}
	}
}

// A stuck rollout names the pods that are not created. Only those of other workloads are named below.
func TestNotCreatedOnce(t *testing.T) {
	of := func(kind, namespace, name string) Workload {
		return Workload{Ref: cluster.Ref{Kind: kind, Namespace: namespace, Name: name}, NotCreated: []string{name + "-1"}}
	}
	s := Step{Rollouts: []controller.Rollout{{Ref: cluster.Ref{Kind: "StatefulSet", Namespace: "shop", Name: "db"}}},
		Workloads: []Workload{of("StatefulSet", "shop", "db"), of("Deployment", "shop", "db"), of("StatefulSet", "other", "db"), of("StatefulSet", "shop", "etcd")}}
	w := &writer{report: &Report{Steps: []Step{s}}}
	w.notCreated(w.newStepText(0))
	want := "Not created: shop/deployment/db: db-1\nNot created: other/statefulset/db: db-1\nNot created: shop/statefulset/etcd: etcd-1\n"
	if diff := cmp.Diff(want, string(text.Render(&w.Doc, report.Options{}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	pods := []Pod{{PodRef: cluster.PodRef{Namespace: "shop", Workload: "deployment/web"}}, {PodRef: cluster.PodRef{Namespace: "shop", Workload: "deployment/web"}}}
	if got := w.newStepText(0).nameWorkloadPods(pods); got != "2 pods of deployment/web in namespace shop" {
		t.Errorf("waiting are %s", got)
	}
}

func TestDetailsShortened(t *testing.T) {
	s := Step{Pods: []Pod{{PodRef: cluster.PodRef{Namespace: "default", Name: "runs", Workload: "deployment/db"}, Node: "node"}}}
	for i := range doc.MaxDetails + 1 {
		name := fmt.Sprintf("web-%d", i)
		s.Pods = append(s.Pods, Pod{PodRef: cluster.PodRef{Namespace: "default", Name: name}, Wait: placement.Wait{Message: name}})
		s.Preempted = append(s.Preempted, Preemption{Victim: "default/" + name, For: "default/runs", Node: "node"})
		if len(s.Workloads) == 0 {
			s.Workloads = []Workload{{Ref: cluster.Ref{Kind: "StatefulSet", Namespace: "default", Name: "db"}}}
		}
		s.Workloads[0].NotCreated = append(s.Workloads[0].NotCreated, fmt.Sprintf("db-%d", i))
	}
	r := &Report{Steps: []Step{s}}
	short, all := write(t, r, "text", report.Options{}), write(t, r, "text", report.Options{All: true})
	for _, want := range []string{"  and 1 more group of pods; use --all to list them\n", "  and 1 more pod; use --all to list them\n", "db-9 and 1 more; use --all to list them\n"} {
		if !strings.Contains(short, want) {
			t.Errorf("%q is missing in\n%s", want, short)
		}
	}
	for _, want := range []string{"FailedScheduling  web-10\n", "web-10 made room on node for runs\n", "db-9, db-10\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in\n%s", want, all)
		}
	}
}
