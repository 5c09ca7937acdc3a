package metrics

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/faultline/faultline/pkg/ask/look"
	"github.com/faultline/faultline/pkg/cluster"
)

func workloadNamed(name string) cluster.WorkloadRef {
	return cluster.WorkloadRef{Namespace: "shop", Workload: "deployment/" + name}
}

func seen() *look.Look {
	ref := func(name string) cluster.Ref { return cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: name} }
	return &look.Look{
		Nodes: 3, Running: 40, Pending: map[string]int{"NodeResourcesFit": 2},
		Levels: []look.Level{{
			Key: "topology.kubernetes.io/zone", Radius: 0.5, Domain: "a", NotBack: 9,
			Workloads: map[cluster.WorkloadRef]int{workloadNamed("web"): 6, workloadNamed("api"): 2, workloadNamed("job"): 1},
		}},
		Peaks:    []look.Peak{{Key: "topology.kubernetes.io/zone", Safe: 0.83, Short: 12}},
		Room:     map[cluster.Ref]int{ref("web"): 0, ref("api"): 7, ref("job"): 4},
		Findings: map[look.Check]int{{ID: "rule-missing", Severity: "note"}: 3}, Unread: []string{"PodDisruptionBudget"}, Choices: 20, Contradictions: 1,
	}
}

func scrape(t *testing.T, e *Exporter) string {
	w := httptest.NewRecorder()
	e.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// One workload, web, has series of its own. For the zone, the others are api and job, whose 2 and 1 add up to 3. For the room, the others are
// job with 4 and api with 7, of which the least is exported.
func TestScrape(t *testing.T) {
	e := New("v1", 1)
	if got := scrape(t, e); strings.Contains(got, "faultline_nodes") {
		t.Errorf("figures before the first look:\n%s", got)
	}
	e.CountFailure()
	e.Set(seen(), time.UnixMilli(1_772_438_400_500), 1500*time.Millisecond)
	want := `faultline_blast_radius_ratio{level="zone"} 0.5
faultline_build_info{version="v1"} 1
faultline_failed_looks_total 1
faultline_failure_pods_not_back{domain="a",level="zone"} 9
faultline_last_look_duration_seconds 1.5
faultline_last_look_timestamp_seconds 1.7724384005e+09
faultline_lint_findings{check="rule-missing",severity="note"} 3
faultline_looks_total 2
faultline_nodes 3
faultline_peak_pods_without_node{level="zone"} 12
faultline_peak_safe_ratio{level="zone"} 0.83
faultline_pods_pending{plugin="NodeResourcesFit"} 2
faultline_pods_running 40
faultline_unread_kinds{kind="PodDisruptionBudget"} 1
faultline_verify_choices 20
faultline_verify_contradictions 1
faultline_workload_pods_not_back{level="zone",namespace="",workload="other"} 3
faultline_workload_pods_not_back{level="zone",namespace="shop",workload="deployment/web"} 6
faultline_workload_room_replicas{namespace="",workload="other"} 4
faultline_workload_room_replicas{namespace="shop",workload="deployment/web"} 0
`
	if diff := cmp.Diff(want, scrape(t, e)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A look that fails keeps the last figures. Series of deleted objects end with the next look that succeeds.
func TestSeriesEnd(t *testing.T) {
	e := New("v1", 5)
	e.Set(seen(), time.Unix(1, 0), time.Second)
	before := scrape(t, e)
	e.CountFailure()
	after := strings.NewReplacer("failed_looks_total 1", "failed_looks_total 0", "faultline_looks_total 2", "faultline_looks_total 1").Replace(scrape(t, e))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("a look that fails changes figures:\n%s", diff)
	}
	e.Set(&look.Look{Nodes: 3}, time.Unix(2, 0), time.Second)
	if got := scrape(t, e); strings.Contains(got, "deployment/web") || strings.Contains(got, "NodeResourcesFit") {
		t.Errorf("series of what is gone:\n%s", got)
	}
}

func TestHealth(t *testing.T) {
	e := New("v1", 1)
	code := func() int {
		w := httptest.NewRecorder()
		e.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		return w.Code
	}
	if got := code(); got != 503 {
		t.Errorf("%d before the first look", got)
	}
	e.Set(seen(), time.Unix(1, 0), time.Second)
	if got := code(); got != 200 {
		t.Errorf("%d after the first look", got)
	}
}

// The rules and the dashboard in deploy only use metrics and labels of a scrape, and every metric has a help text.
func TestRulesAndDashboard(t *testing.T) {
	e := New("v1", 1)
	e.Set(seen(), time.Unix(1, 0), time.Second)
	w := httptest.NewRecorder()
	e.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for name, family := range families {
		if family.GetHelp() == "" {
			t.Errorf("%s has no help", name)
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				labels[name] = append(labels[name], label.GetName())
			}
		}
	}
	selector := regexp.MustCompile(`(faultline_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher := regexp.MustCompile(`([a-z_]+)(?:=|!=|=~|!~)`)
	for file, least := range map[string]int{"prometheusrule.yaml": 8, "dashboard.json": 10} {
		data, err := os.ReadFile("../../../deploy/chart/files/" + file)
		if err != nil {
			t.Fatal(err)
		}
		uses := selector.FindAllStringSubmatch(strings.ReplaceAll(string(data), `\"`, `"`), -1)
		if len(uses) < least {
			t.Errorf("%s uses %d metrics", file, len(uses))
		}
		for _, use := range uses {
			if families[use[1]] == nil {
				t.Errorf("%s: there is no metric %s", file, use[1])
			}
			for _, label := range matcher.FindAllStringSubmatch(use[2], -1) {
				if !slices.Contains(labels[use[1]], label[1]) {
					t.Errorf("%s: %s has no label %s", file, use[1], label[1])
				}
			}
		}
	}
}
