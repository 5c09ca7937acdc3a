// Package metrics has the figures of a look at a cluster, as metrics for Prometheus.
package metrics

import (
	"cmp"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/faultline/faultline/pkg/ask/look"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report/doc"
)

func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("faultline_"+name, help, labels, nil)
}

var (
	buildDesc           = newDesc("build_info", "Faultline's version; the value is always 1.", "version")
	nodesDesc           = newDesc("nodes", "Nodes of the cluster.")
	runningDesc         = newDesc("pods_running", "Pods that have a node.")
	pendingDesc         = newDesc("pods_pending", "Pods that have no node, by the plugin of the scheduler that keeps them from most nodes.", "plugin")
	radiusDesc          = newDesc("blast_radius_ratio", "The largest share of a workload of several replicas that the failure of one domain of the level takes.", "level")
	notBackDesc         = newDesc("failure_pods_not_back", "Pods that would not come back if the level's worst domain failed.", "level", "domain")
	workloadNotBackDesc = newDesc("workload_pods_not_back", "Pods of the workload that would not come back in the level's worst failure for it; of the workload \"other\", the sum of all that are not listed.", "level", "namespace", "workload")
	peakSafeDesc        = newDesc("peak_safe_ratio", "The share of the way from the present replicas to those with every HorizontalPodAutoscaler at its maximum at which each pod has a node, also after the loss of any domain of the level.", "level")
	peakShortDesc       = newDesc("peak_pods_without_node", "Pods without a node if every HorizontalPodAutoscaler is at its maximum, after the level's worst loss.", "level")
	roomDesc            = newDesc("workload_room_replicas", "How many more replicas of the workload fit, as far as was looked; of the workload \"other\", the least of all that are not listed.", "namespace", "workload")
	findingsDesc        = newDesc("lint_findings", "Findings of simulate lint.", "check", "severity")
	unreadDesc          = newDesc("unread_kinds", "Kinds of objects that may not be read; the value is always 1. Checks of lint that need them are left out, and other figures are as if there were none.", "kind")
	choicesDesc         = newDesc("verify_choices", "Placements that had more than one feasible node.")
	contradictionsDesc  = newDesc("verify_contradictions", "Placements among them that no possible past explains: a scheduler with another configuration, a pod bound by hand, or an error of Faultline.")
	lookTimeDesc        = newDesc("last_look_timestamp_seconds", "When the last look that succeeded was begun, as Unix time.")
	lookDurationDesc    = newDesc("last_look_duration_seconds", "How long it took.")
	looksDesc           = newDesc("looks_total", "Looks at the cluster, those that failed included.")
	failedLooksDesc     = newDesc("failed_looks_total", "Looks at the cluster that failed. The figures stay those of the last one that succeeded.")
)

type workload = cluster.WorkloadRef

// Exporter serves the figures of the last look that succeeded.
type Exporter struct {
	version string
	worst   int // how many workloads have a series of their own

	mu            sync.Mutex
	last          *look.Look
	at            time.Time
	took          time.Duration
	looks, failed int
}

// New returns an exporter without figures. worst is how many workloads have a series of their own; the worst ones do.
func New(version string, worst int) *Exporter { return &Exporter{version: version, worst: worst} }

// Set replaces the figures by those of a look.
func (e *Exporter) Set(l *look.Look, at time.Time, took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last, e.at, e.took = l, at, took
	e.looks++
}

// CountFailure counts a look that failed.
func (e *Exporter) CountFailure() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.looks++
	e.failed++
}

// Handler serves /metrics and /healthz. The latter answers ok as soon as there are figures.
func (e *Exporter) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(e)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.last == nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "no look has succeeded yet\n")
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	return mux
}

// Describe implements prometheus.Collector.
func (e *Exporter) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{buildDesc, nodesDesc, runningDesc, pendingDesc, radiusDesc, notBackDesc, workloadNotBackDesc, peakSafeDesc, peakShortDesc, roomDesc, findingsDesc, unreadDesc, choicesDesc, contradictionsDesc, lookTimeDesc, lookDurationDesc, looksDesc, failedLooksDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector. It makes all series anew each time, so that series of deleted objects end.
func (e *Exporter) Collect(to chan<- prometheus.Metric) {
	e.mu.Lock()
	defer e.mu.Unlock()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(buildDesc, 1, e.version)
	to <- prometheus.MustNewConstMetric(looksDesc, prometheus.CounterValue, float64(e.looks))
	to <- prometheus.MustNewConstMetric(failedLooksDesc, prometheus.CounterValue, float64(e.failed))
	l := e.last
	if l == nil {
		return
	}
	gauge(lookTimeDesc, float64(e.at.UnixMilli())/1000)
	gauge(lookDurationDesc, e.took.Seconds())
	gauge(nodesDesc, float64(l.Nodes))
	gauge(runningDesc, float64(l.Running))
	for plugin, n := range l.Pending {
		gauge(pendingDesc, float64(n), plugin)
	}
	for _, level := range l.Levels {
		name := doc.LevelName(level.Key)
		gauge(radiusDesc, level.Radius, name)
		gauge(notBackDesc, float64(level.NotBack), name, level.Domain)
		listed, rest := e.splitByRank(level.Workloads, func(w workload) int { return -level.Workloads[w] })
		for _, w := range listed {
			gauge(workloadNotBackDesc, float64(level.Workloads[w]), name, w.Namespace, w.Workload)
		}
		if sum := 0; len(rest) > 0 {
			for _, w := range rest {
				sum += level.Workloads[w]
			}
			gauge(workloadNotBackDesc, float64(sum), name, "", otherWorkload)
		}
	}
	for _, p := range l.Peaks {
		gauge(peakSafeDesc, p.Safe, doc.LevelName(p.Key))
		gauge(peakShortDesc, float64(p.Short), doc.LevelName(p.Key))
	}
	of := map[workload]int{}
	for ref, n := range l.Room {
		of[ref.Workload()] = n
	}
	listed, rest := e.splitByRank(of, func(w workload) int { return of[w] })
	for _, w := range listed {
		gauge(roomDesc, float64(of[w]), w.Namespace, w.Workload)
	}
	if len(rest) > 0 {
		gauge(roomDesc, float64(of[rest[0]]), "", otherWorkload)
	}
	for check, n := range l.Findings {
		gauge(findingsDesc, float64(n), check.ID, check.Severity)
	}
	for _, kind := range l.Unread {
		gauge(unreadDesc, 1, kind)
	}
	gauge(choicesDesc, float64(l.Choices))
	gauge(contradictionsDesc, float64(l.Contradictions))
}

// otherWorkload is the name of the workload that stands for those without a series of their own.
const otherWorkload = "other"

// splitByRank returns the workloads with the lowest ranks, and the others, both sorted by rank.
func (e *Exporter) splitByRank(of map[workload]int, rank func(workload) int) (listed, rest []workload) {
	all := slices.SortedFunc(maps.Keys(of), func(a, b workload) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), a.Compare(b)) })
	at := min(e.worst, len(all))
	return all[:at], all[at:]
}
