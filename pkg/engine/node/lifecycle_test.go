package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"

	"github.com/faultline/faultline/pkg/cluster"
)

// nodesOf returns ready nodes in zones: {"a": 3} is a-1, a-2, a-3 in zone a. The zone "-" means no zone.
func nodesOf(zones map[string]int) *cluster.State {
	s := &cluster.State{Now: cluster.Epoch}
	for _, zone := range slices.Sorted(func(yield func(string) bool) {
		for zone := range zones {
			if !yield(zone) {
				return
			}
		}
	}) {
		for i := range zones[zone] {
			node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", zone, i+1), Labels: map[string]string{}}}
			if zone != "-" {
				node.Labels[v1.LabelTopologyZone] = zone
			}
			setReady(node, v1.ConditionTrue, "KubeletReady", "", s.Now)
			s.Nodes = append(s.Nodes, node)
		}
	}
	return s
}

// loseNodes returns the state with the first n nodes of the zone unreachable.
func loseNodes(t *testing.T, s *cluster.State, zone string, n int) *cluster.State {
	t.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d", zone, i+1))
	}
	next, err := Fail(s, Unreachable, names...)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// tainted lets the controller work until nothing waits for the clock. It returns the nodes with a NoExecute taint, each with the seconds
// after which it got the taint: "a-1 0, a-2 10".
func tainted(t *testing.T, s *cluster.State) (string, *cluster.State) {
	t.Helper()
	var controllers Controllers
	start := s.Now
	for range 1000 {
		if next := controllers.taintByConditions(s, nil); next != s {
			s = next
			continue
		}
		at := controllers.nextNoExecute(s)
		if at.IsZero() {
			break
		}
		later := *s
		later.Now = metav1.NewTime(at)
		s = &later
	}
	var all []string
	for _, node := range s.Nodes {
		for _, taint := range node.Spec.Taints {
			if taint.Effect == v1.TaintEffectNoExecute {
				all = append(all, fmt.Sprintf("%s %.0f", node.Name, taint.TimeAdded.Sub(start.Time).Seconds()))
			}
		}
	}
	return strings.Join(all, ", "), s
}

// The nodes of a zone are tainted one every ten seconds. If at least three nodes and 55 % of a zone are down, a zone of up to 50 nodes gets
// no taint after the first, and a larger one gets one every hundred seconds. A zone without a ready node gets taints at the usual rate, as
// long as another zone has one.
func TestNoExecuteTaintsComeAtTheRateOfTheZone(t *testing.T) {
	for name, test := range map[string]struct {
		zones map[string]int
		lost  map[string]int
		want  string
	}{
		"one after the other":           {map[string]int{"a": 6, "b": 1}, map[string]int{"a": 3}, "a-1 0, a-2 10, a-3 20"},
		"each zone by itself":           {map[string]int{"a": 6, "b": 6, "c": 1}, map[string]int{"a": 2, "b": 2}, "a-1 0, a-2 10, b-1 0, b-2 10"},
		"two nodes are no disruption":   {map[string]int{"a": 3, "b": 1}, map[string]int{"a": 2}, "a-1 0, a-2 10"},
		"three of six are none either":  {map[string]int{"a": 6, "b": 1}, map[string]int{"a": 3}, "a-1 0, a-2 10, a-3 20"},
		"four of six are":               {map[string]int{"a": 6, "b": 1}, map[string]int{"a": 4}, "a-1 0"},
		"nodes without a zone are one":  {map[string]int{"-": 6}, map[string]int{"-": 4}, "--1 0"},
		"a whole zone goes on":          {map[string]int{"a": 4, "b": 1}, map[string]int{"a": 4}, "a-1 0, a-2 10, a-3 20, a-4 30"},
		"all zones stop everything":     {map[string]int{"a": 2, "b": 2}, map[string]int{"a": 2, "b": 2}, "a-1 0"},
		"fifty nodes are a small zone":  {map[string]int{"a": 50, "b": 1}, map[string]int{"a": 28}, "a-1 0"},
		"fifty-one go on, more slowly":  {map[string]int{"a": 51, "b": 1}, map[string]int{"a": 29}, slow(29)},
		"what is left does not matter ": {map[string]int{"a": 60, "b": 1}, map[string]int{"a": 3}, "a-1 0, a-2 10, a-3 20"},
	} {
		t.Run(name, func(t *testing.T) {
			s := nodesOf(test.zones)
			for zone, n := range test.lost {
				s = loseNodes(t, s, zone, n)
			}
			got, s := tainted(t, s)
			if got != test.want {
				t.Errorf("tainted\n got %s\nwant %s", got, test.want)
			}
			for _, node := range s.Nodes {
				noSchedule := slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == v1.TaintNodeUnreachable && t.Effect == v1.TaintEffectNoSchedule })
				if noSchedule == cluster.KubeletResponds(node) {
					t.Errorf("node %s answers %v and has taints %v", node.Name, cluster.KubeletResponds(node), node.Spec.Taints)
				}
			}
		})
	}
}

func slow(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("a-%d %d", i+1, i*100))
	}
	return strings.Join(all, ", ")
}

// When the last zone goes down, upstream removes the taints of the earlier zones, and adds none until a node is back.
func TestFullDisruptionTakesTaintsBack(t *testing.T) {
	got, s := tainted(t, loseNodes(t, nodesOf(map[string]int{"a": 2, "b": 2}), "a", 2))
	if got != "a-1 0, a-2 10" {
		t.Fatalf("zone a: %s", got)
	}
	later := *s
	later.Now = metav1.NewTime(s.Now.Add(time.Hour))
	got, s = tainted(t, loseNodes(t, &later, "b", 2))
	if got != "b-1 0" {
		t.Errorf("then zone b: %s, want only the node that was found first", got)
	}
	if d := Disruptions(s); len(d) != 1 || !d[0].All || !slices.Equal(d[0].Nodes, []string{"a-1", "a-2", "b-2"}) {
		t.Errorf("disruptions %+v", d)
	}
	back, err := Restore(s, "a-1")
	if err != nil {
		t.Fatal(err)
	}
	if got, s = tainted(t, back); got != "a-2 0, b-1 0, b-2 10" {
		t.Errorf("with a-1 back: %s", got)
	}
	if d := Disruptions(s); len(d) != 0 {
		t.Errorf("disruptions %+v", d)
	}
}

// The state of a zone, and its rate, equal those of upstream's controller.
func TestZoneStatesAreUpstreams(t *testing.T) {
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	upstream, err := nodelifecycle.NewNodeLifecycleController(t.Context(), factory.Coordination().V1().Leases(), factory.Core().V1().Pods(), factory.Core().V1().Nodes(),
		factory.Apps().V1().DaemonSets(), client, 5*time.Second, time.Minute, NodeMonitorGracePeriod, 0.1, 0.01, largeZone, unhealthyShare)
	if err != nil {
		t.Fatal(err)
	}
	for ready := range 60 {
		for down := range 60 {
			if ready+down == 0 {
				continue
			}
			var conditions []*v1.NodeCondition
			for i := range ready + down {
				status := v1.ConditionTrue
				if i >= ready {
					status = v1.ConditionUnknown
				}
				conditions = append(conditions, &v1.NodeCondition{Type: v1.NodeReady, Status: status})
			}
			want := upstream.HealthyQPSFunc(ready + down)
			if _, state := upstream.ComputeZoneState(conditions); state == "PartialDisruption" {
				want = upstream.ReducedQPSFunc(ready + down)
			}
			z := &zones{inOrder: []*zone{{ready: ready, down: down, size: ready + down}, {ready: 1, size: 1}}}
			interval, goes := z.taintInterval(z.inOrder[0])
			got := float32(1 / interval.Seconds())
			if !goes {
				got = 0
			}
			if got != want {
				t.Fatalf("%d ready and %d down: %v nodes a second, upstream %v", ready, down, got, want)
			}
		}
	}
}

// Conditions of a node in the input cause their taints. A ready node has none of them.
func TestConditionsBringTaints(t *testing.T) {
	condition := func(kind v1.NodeConditionType, status v1.ConditionStatus) v1.NodeCondition {
		return v1.NodeCondition{Type: kind, Status: status}
	}
	for name, test := range map[string]struct {
		conditions []v1.NodeCondition
		taints     []v1.Taint
		want       string
	}{
		"not ready":        {[]v1.NodeCondition{condition(v1.NodeReady, v1.ConditionFalse)}, nil, "not-ready:NoSchedule not-ready:NoExecute"},
		"under pressure":   {[]v1.NodeCondition{condition(v1.NodeReady, v1.ConditionTrue), condition(v1.NodeDiskPressure, v1.ConditionTrue)}, nil, "disk-pressure:NoSchedule"},
		"ready again":      {[]v1.NodeCondition{condition(v1.NodeReady, v1.ConditionTrue)}, []v1.Taint{{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}}, ""},
		"silent since":     {[]v1.NodeCondition{condition(v1.NodeReady, v1.ConditionUnknown)}, []v1.Taint{{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}}, "unreachable:NoSchedule unreachable:NoExecute"},
		"nothing is known": {nil, []v1.Taint{{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule}}, "not-ready:NoSchedule"},
	} {
		t.Run(name, func(t *testing.T) {
			s := nodesOf(map[string]int{"b": 3})
			s.Nodes = append(s.Nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: v1.NodeSpec{Taints: test.taints}, Status: v1.NodeStatus{Conditions: test.conditions}})
			_, s = tainted(t, s)
			var got []string
			for _, taint := range s.Node("n").Spec.Taints {
				got = append(got, strings.TrimPrefix(taint.Key, "node.kubernetes.io/")+":"+string(taint.Effect))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("taints %q, want %q", got, test.want)
			}
		})
	}
}

// Controllers that see a state again act as they did before.
func TestTheSameStateAgain(t *testing.T) {
	var controllers Controllers
	down := loseNodes(t, nodesOf(map[string]int{"a": 5, "b": 5}), "a", 2)
	first := controllers.Reconcile(down, nil)
	if diff := cmp.Diff(first.Nodes, controllers.Reconcile(down, nil).Nodes); diff != "" {
		t.Errorf("nodes that went down (-first +again)\n%s", diff)
	}
	later := *first
	later.Now = metav1.NewTime(first.Now.Add(evictionInterval))
	if diff := cmp.Diff(controllers.Reconcile(&later, nil).Nodes, controllers.Reconcile(&later, nil).Nodes); diff != "" {
		t.Errorf("the next node of the zone (-first +again)\n%s", diff)
	}
}
