package metric_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/topology"
)

// Zone a has two pods; b and c have none, and c takes only pods that tolerate its taint. An empty domain counts for the skew if pods could
// be there, and a domain with pods counts regardless of its taints.
func TestCountLeavesOutWhatTakesNone(t *testing.T) {
	node := func(name, zone string, taints ...v1.Taint) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone}}, Spec: v1.NodeSpec{Taints: taints}}
	}
	taint := v1.Taint{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}
	domains, _ := topology.Domains([]*v1.Node{node("a", "a"), node("b", "b"), node("c", "c", taint)}, v1.LabelTopologyZone)
	plain, tolerant := &v1.Pod{}, &v1.Pod{Spec: v1.PodSpec{Tolerations: []v1.Toleration{{Key: "dedicated", Operator: v1.TolerationOpExists}}}}
	spread := func(when v1.UnsatisfiableConstraintAction, more func(*v1.TopologySpreadConstraint)) *v1.Pod {
		c := v1.TopologySpreadConstraint{TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: when, MaxSkew: 1}
		more(&c)
		return &v1.Pod{Spec: v1.PodSpec{NodeSelector: map[string]string{v1.LabelTopologyZone: "a"}, TopologySpreadConstraints: []v1.TopologySpreadConstraint{c}}}
	}
	ignore, honor := v1.NodeInclusionPolicyIgnore, v1.NodeInclusionPolicyHonor
	for name, test := range map[string]struct {
		on     map[string]int
		sample *v1.Pod
		want   []metric.DomainPods
		skew   int
	}{
		"c takes none":           {map[string]int{"a": 2, "b": 1}, plain, []metric.DomainPods{{"a", 2}, {"b", 1}}, 1},
		"c takes them":           {map[string]int{"a": 2, "b": 1}, tolerant, []metric.DomainPods{{"a", 2}, {"b", 1}, {"c", 0}}, 2},
		"nobody knows of taints": {map[string]int{"a": 2, "b": 1}, nil, []metric.DomainPods{{"a", 2}, {"b", 1}, {"c", 0}}, 2},
		"c has one":              {map[string]int{"a": 2, "b": 3, "c": 1}, plain, []metric.DomainPods{{"a", 2}, {"b", 3}, {"c", 1}}, 2},
		"a hard constraint ignores taints": {map[string]int{"a": 1}, spread(v1.DoNotSchedule, func(c *v1.TopologySpreadConstraint) { c.NodeAffinityPolicy = &ignore }),
			[]metric.DomainPods{{"a", 1}, {"b", 0}, {"c", 0}}, 1},
		"a hard constraint honors taints": {map[string]int{"a": 1}, spread(v1.DoNotSchedule, func(c *v1.TopologySpreadConstraint) { c.NodeAffinityPolicy, c.NodeTaintsPolicy = &ignore, &honor }),
			[]metric.DomainPods{{"a", 1}, {"b", 0}}, 1},
		"a hard constraint honors the node selector": {map[string]int{"a": 1}, spread(v1.DoNotSchedule, func(*v1.TopologySpreadConstraint) {}), []metric.DomainPods{{"a", 1}}, 0},
		"a soft constraint":                          {map[string]int{"a": 1}, spread(v1.ScheduleAnyway, func(*v1.TopologySpreadConstraint) {}), []metric.DomainPods{{"a", 1}, {"b", 0}}, 1},
		"b could have one":                           {map[string]int{"a": 2}, plain, []metric.DomainPods{{"a", 2}, {"b", 0}}, 2},
	} {
		counts, skew := metric.CountByDomain(domains, test.on, test.sample)
		if diff := cmp.Diff(test.want, counts); diff != "" || skew != test.skew {
			t.Errorf("%s: skew %d, want %d (-want +got):\n%s", name, skew, test.skew, diff)
		}
	}
}

// There are six places and seven pods of one workload, so one is Pending before anything fails. The failure of a leaves two places, and that
// of b four, so four and two more pods are Pending. A Terminating pod does not count, though it still has its place.
func TestStrandedExcludesPodsPendingBefore(t *testing.T) {
	w, result := runScenario(t, deployment("web", "7", ""))
	state := result.Steps[0].State
	zone := []string{v1.LabelTopologyZone}
	m, err := metric.Measure(t.Context(), w, result.Scenario, state, metric.Options{Levels: zone, Recover: zone})
	if err != nil {
		t.Fatal(err)
	}
	if m.Pods != 7 || m.Pending != 1 {
		t.Errorf("%d pods, %d of them Pending, want 7 and 1", m.Pods, m.Pending)
	}
	want := []metric.FailureMetrics{{Domain: "a", Lost: 4, Stranded: 4}, {Domain: "b", Lost: 2, Stranded: 2}}
	if diff := cmp.Diff(want, m.Level(zone[0]).Failures); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, pod := range state.Pods {
		if pod.Spec.NodeName != "" {
			ending := pod.DeepCopy()
			ending.DeletionTimestamp = &cluster.Epoch
			if m, err = metric.Measure(t.Context(), w, result.Scenario, state.With(ending), metric.Options{Levels: zone}); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if m.Pods != 6 || m.Pending != 1 {
		t.Errorf("with one Terminating %d pods, %d of them Pending, want 6 and 1", m.Pods, m.Pending)
	}
}

// The nodes fail in the mode of the scenario: a pod of a StatefulSet stays on a node that does not answer, and is replaced if its node is
// deleted.
func TestFailuresAreThoseOfTheScenario(t *testing.T) {
	set := deployment("db", "1", selectZoneA)
	set.Raw = []byte(`{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {"replicas": 1, "serviceName": "db",
		"selector": {"matchLabels": {"app": "db"}}, "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}`)
	w, result := runScenario(t, set)
	node := []string{v1.LabelHostname}
	for mode, want := range map[string]int{"": 1, "unreachable": 1, "out-of-service": 0, "deleted": 0} {
		s := *result.Scenario
		s.Failures.Mode = mode
		m, err := metric.Measure(t.Context(), w, &s, result.Steps[0].State, metric.Options{Levels: node, Recover: node})
		if err != nil {
			t.Fatal(err)
		}
		if stranded, _ := m.Level(node[0]).NotBack(); stranded != want {
			t.Errorf("mode %q: %d pods are without a node, want %d", mode, stranded, want)
		}
	}
}
