package run

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/chart"
)

// The figures behind the bars of the walkthrough's fourth step: three pods on three nodes, and a fourth that waits.
func TestPodSeries(t *testing.T) {
	r := fixtures(t)["walkthrough"]
	levels := stackLevels(r)
	var domains [][]string
	for _, level := range levels {
		domains = append(domains, level.Domains)
	}
	want := [][]string{{"east", "west"}, {"east-1b", "west-1a", "west-1c"}, {"affinity-worker", "affinity-worker2", "affinity-worker3"}}
	if diff := cmp.Diff(want, domains); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	series := newPodSeries(r.Steps)
	if diff := cmp.Diff([]chart.StackSeries{{Name: "deployment/lorem-ipsum-deployment", Role: chart.OneWorkload}, {Name: "Pending", Role: chart.Pending}}, series.list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := series.countPods(&r.Steps[3], levels, nodeTopologies(r)[3])
	if diff := cmp.Diff([][]float64{{1, 2, 1, 1, 1, 1, 1, 1, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 1}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Workloads beyond the palette are one series, and pods that are not ready have a series of their own.
func TestPodSeriesOfMany(t *testing.T) {
	var want []chart.StackSeries
	for i := range 6 {
		want = append(want, chart.StackSeries{Name: fmt.Sprintf("shop/deployment/service-%d", i), Role: chart.OneWorkload})
	}
	want = append(want, chart.StackSeries{Name: "3 other workloads", Role: chart.OtherWorkloads}, chart.StackSeries{Name: "not ready", Role: chart.NotReady}, chart.StackSeries{Name: "Pending", Role: chart.Pending})
	if diff := cmp.Diff(want, newPodSeries(racks().Steps).list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Pods of the workloads beyond the palette are counted together.
func TestCountOthers(t *testing.T) {
	r := racks()
	levels, series, want := stackLevels(r), newPodSeries(r.Steps), 0.0
	for _, pod := range r.Steps[0].Pods {
		if _, own := series.position[[2]string{pod.Namespace, pod.Workload}]; !own && pod.Status == "Running" {
			want++
		}
	}
	others := series.countPods(&r.Steps[0], levels, nodeTopologies(r)[0])[series.others]
	if region := others[0]; region != want || want == 0 {
		t.Errorf("%v pods of other workloads in the region, want %v", region, want)
	}
}

// A node that repels ordinary pods adds no empty domain, and the nodes are those after the step.
func TestDomainsOf(t *testing.T) {
	node := func(name, zone string, taints ...string) report.Node {
		return report.Node{Name: name, Topology: map[string]string{doc.Zone: zone}, Taints: taints}
	}
	r := &Report{Nodes: []report.Node{node("n1", "a"), node("n2", "b", "x:NoSchedule"), node("n3", "c", "x:PreferNoSchedule"), {Name: "n4"}},
		Steps: []Step{{}, {Nodes: []report.Node{node("n1", "d")}}}}
	if diff := cmp.Diff([]string{"a", "c", "d"}, listDomains(r, doc.Zone)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for step, want := range []string{"a", "d"} {
		if got := nodeTopologies(r)[step]["n1"][doc.Zone]; got != want {
			t.Errorf("n1 is in %s after step %d, want %s", got, step, want)
		}
	}
}

// racks returns a report of 38 nodes with long names in 9 racks of 3 zones, and of 9 workloads; one pod waits, and one is not ready.
func racks() *Report {
	keys := []string{doc.Region, doc.Zone, "example.com/rack", doc.Hostname}
	r := &Report{Head: report.Head{Scenario: "racks"}}
	s := Step{Name: "all", Workloads: []Workload{{}}}
	for _, key := range keys {
		r.Cluster.Levels = append(r.Cluster.Levels, report.Level{TopologyKey: key})
		s.Workloads[0].Domains = append(s.Workloads[0].Domains, Distribution{TopologyKey: key})
	}
	for i := range 38 {
		name := fmt.Sprintf("ip-10-0-%d-%d.eu-central-1.compute.internal", i/8, i*7)
		r.Nodes = append(r.Nodes, report.Node{Name: name, Topology: map[string]string{
			doc.Region: "eu-central-1", doc.Zone: fmt.Sprintf("eu-central-1%c", 'a'+i%3), "example.com/rack": fmt.Sprintf("r%d", i%9), doc.Hostname: name,
		}})
		for j := range i % 5 {
			s.Pods = append(s.Pods, Pod{PodRef: cluster.PodRef{Namespace: "shop", Name: fmt.Sprint(i, j), Workload: fmt.Sprintf("deployment/service-%d", (i+j)%9)}, Node: name, Status: "Running"})
		}
	}
	s.Pods = append(s.Pods, Pod{PodRef: cluster.PodRef{Namespace: "shop", Name: "x", Workload: "deployment/service-0"}},
		Pod{PodRef: cluster.PodRef{Namespace: "shop", Name: "y", Workload: "deployment/service-0"}, Node: r.Nodes[3].Name, Status: "NotReady"})
	r.Steps = []Step{s}
	return r
}
