//go:build !js

package run

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/chart"
	"github.com/faultline/faultline/pkg/words"
)

func draw(r *Report, format string) ([]byte, error) { return newChart(r).Draw(format) }

// newChart returns a chart with a plot for each step: the pods in each failure domain of each level, by workload, and the Pending pods.
func newChart(r *Report) *chart.Chart {
	s := &chart.Stacks{Title: chart.Title(r.Head, "pods by failure domain after each step"), Levels: stackLevels(r)}
	series := newPodSeries(r.Steps)
	s.Series, s.Pending = series.list, series.pending >= 0
	topologies := nodeTopologies(r)
	for i := range r.Steps {
		s.Steps = append(s.Steps, chart.StackStep{Name: r.Steps[i].Name, Values: series.countPods(&r.Steps[i], s.Levels, topologies[i])})
	}
	return s.Chart()
}

// stackLevels returns the levels whose domains have bars, widest first.
func stackLevels(r *Report) []chart.StackLevel {
	var keys []string
	for _, step := range r.Steps {
		for _, w := range step.Workloads {
			for _, d := range w.Domains {
				if !slices.Contains(keys, d.TopologyKey) {
					keys = append(keys, d.TopologyKey)
				}
			}
		}
	}
	rank := func(key string) int {
		i := slices.IndexFunc(r.Cluster.Levels, func(l report.Level) bool { return l.TopologyKey == key })
		if i < 0 {
			return len(r.Cluster.Levels)
		}
		return i
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	var levels []chart.StackLevel
	for i, short := range doc.ShortKeys(keys) {
		levels = append(levels, chart.StackLevel{Key: keys[i], Noun: doc.DomainNoun(keys[i], short), Domains: listDomains(r, keys[i])})
	}
	return levels
}

// listDomains returns the sorted values of the key on nodes that repel no ordinary pod, and on nodes that have pods. The value "" stands for
// nodes without the label.
func listDomains(r *Report, key string) []string {
	found := map[string]bool{}
	add := func(nodes []report.Node) {
		for _, node := range nodes {
			repels := slices.ContainsFunc(node.Taints, func(t string) bool { return !strings.HasSuffix(t, ":PreferNoSchedule") })
			if value, labelled := node.Topology[key]; labelled && !repels {
				found[value] = true
			}
		}
	}
	add(r.Nodes)
	topologies := nodeTopologies(r)
	for i, step := range r.Steps {
		add(step.Nodes)
		for _, pod := range step.Pods {
			if domain, known := podDomain(pod, key, topologies[i]); known {
				found[domain] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// podSeries are the parts of which a bar consists: the largest workloads, all other workloads, pods that are not ready, Pending pods.
type podSeries struct {
	list     []chart.StackSeries
	position map[[2]string]int // by namespace and workload; others has the workloads that are not here
	others   int
	notReady int
	pending  int
}

func newPodSeries(steps []Step) *podSeries {
	const absent = -1
	s := &podSeries{position: map[[2]string]int{}, others: absent, notReady: absent, pending: absent}
	var order [][2]string
	pods := map[[2]string]int{}
	var notReady, pending, namespaced bool
	for i := range steps {
		for _, pod := range steps[i].Pods {
			of := [2]string{pod.Namespace, pod.Workload}
			if pods[of]++; pods[of] == 1 {
				order = append(order, of)
			}
			pending = pending || pod.Node == ""
			notReady = notReady || pod.Node != "" && pod.Status != "Running"
			namespaced = namespaced || pod.Namespace != "default"
		}
	}
	slices.SortStableFunc(order, func(a, b [2]string) int { return cmp.Compare(pods[b], pods[a]) })
	add := func(name string, role chart.Role) int {
		s.list = append(s.list, chart.StackSeries{Name: name, Role: role})
		return len(s.list) - 1
	}
	for i, of := range order {
		if i == chart.MaxColours {
			s.others = add(words.Count(len(order)-i, "other workload"), chart.OtherWorkloads)
			break
		}
		name := cmp.Or(of[1], "pods without owner")
		if namespaced {
			name = of[0] + "/" + name
		}
		s.position[of] = add(name, chart.OneWorkload)
	}
	if notReady {
		s.notReady = add("not ready", chart.NotReady)
	}
	if pending {
		s.pending = add("Pending", chart.Pending)
	}
	return s
}

// countPods returns the number of pods of the step for each series and bar.
func (s *podSeries) countPods(step *Step, levels []chart.StackLevel, topologies map[string]map[string]string) [][]float64 {
	places := make([]map[string]int, len(levels)) // the bar of each domain, by level
	pending := 0
	for i, level := range levels {
		places[i] = make(map[string]int, len(level.Domains))
		for _, domain := range level.Domains {
			places[i][domain] = pending
			pending++
		}
	}
	values := make([][]float64, len(s.list))
	for k := range values {
		values[k] = make([]float64, pending+1)
	}
	for _, pod := range step.Pods {
		k, known := s.position[[2]string{pod.Namespace, pod.Workload}]
		switch {
		case pod.Node == "":
			k = s.pending
			values[k][pending]++
		case pod.Status != "Running":
			k = s.notReady
		case !known:
			k = s.others
		}
		for i, level := range levels {
			if domain, known := podDomain(pod, level.Key, topologies); known {
				values[k][places[i][domain]]++
			}
		}
	}
	return values
}
