package whatif_test

import (
	"encoding/json"
	"testing"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// largeSweep is a sweep of 200 points on 1,000 nodes, where 2,000 pods run before the varying pods are placed.
const largeSweep = `{"cluster": [{"synthetic": {"zones": [{"count": 5}], "nodeGroups": [{"total": 1000, "cpu": 8, "memory": "32Gi"}]}}],
"workloads": [{"objects": [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "base"},
	"spec": {"replicas": 2000, "selector": {"matchLabels": {"app": "base"}}, "template": {"metadata": {"labels": {"app": "base"}},
	"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": 1}}}]}}}}]}],
"steps": [{"name": "web", "apply": {"objects": [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
	"spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
	"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": 1}}}]}}}}]}}],
"sweep": {"parameters": [{"name": "rule", "values": ["none", "soft", "hard", "spread"]}, {"name": "replicas", "range": {"from": 1, "to": 50}}],
	"variant": {"replicas": {"deployment/web": "$(replicas)"}, "rules": [{"rule": "$(rule)", "workload": "deployment/web"}]}}}`

func loadLarge(b *testing.B) (*scenario.Scenario, whatif.Options) {
	b.Helper()
	var file scenario.File
	if err := json.Unmarshal([]byte(largeSweep), &file); err != nil {
		b.Fatal(err)
	}
	s, err := loader.New("large", &file)
	if err != nil {
		b.Fatal(err)
	}
	return s, whatif.Options{Metric: metric.Options{Workloads: s.Points[0].Workloads}}
}

// BenchmarkSweep runs the 200 points, on all cores and on one. Compare its ns/point with that of BenchmarkNaive.
func BenchmarkSweep(b *testing.B) {
	s, opts := loadLarge(b)
	for name, workers := range map[string]int{"all-cores": 0, "one-core": 1} {
		b.Run(name, func(b *testing.B) {
			opts := opts
			opts.Workers = workers
			for b.Loop() {
				base, err := whatif.RunBase(b.Context(), s, opts)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := whatif.Run(b.Context(), base, sweepVersions(s), opts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(s.Points)), "ns/point")
		})
	}
}

// BenchmarkNaive runs one point from the beginning, as a loop over scenarios would run each point.
func BenchmarkNaive(b *testing.B) {
	s, opts := loadLarge(b)
	for b.Loop() {
		if _, err := whatif.RunBase(b.Context(), s.Points[100].Scenario, opts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/point")
}
