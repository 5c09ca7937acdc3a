package risk_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/stat/distuv"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/risk"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

var approximately = cmpopts.EquateApprox(1e-9, 1e-18)

const zone, region = v1.LabelTopologyZone, v1.LabelTopologyRegion

// nodePods is a node with the number of pods of each workload on it.
type nodePods struct {
	labels map[string]string
	pods   map[string]int
}

func labelsOf(labels ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(labels); i += 2 {
		m[labels[i]] = labels[i+1]
	}
	return m
}

func webPods(n int) map[string]int { return map[string]int{"web": n} }

func clusterOf(places ...nodePods) *cluster.State {
	state := &cluster.State{Now: cluster.Epoch}
	for i, p := range places {
		name := fmt.Sprintf("node-%d", i)
		state.Nodes = append(state.Nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: p.labels}})
		for _, app := range []string{"web", "db", "big"} {
			for j := range p.pods[app] {
				state.Pods = append(state.Pods, cluster.BindPod(pod(app, fmt.Sprintf("%s-%d-%d", app, i, j)), name, cluster.Epoch.Time))
			}
		}
	}
	return state
}

func pod(app, name string) *v1.Pod {
	yes := true
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, Labels: map[string]string{"app": app},
		OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: app, Controller: &yes}},
	}}
}

func owner(name string) cluster.Ref {
	return cluster.Ref{Kind: "StatefulSet", Namespace: "default", Name: name}
}

func budget(name, app string, desired int32) *policyv1.PodDisruptionBudget {
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	pdb.Spec.Selector = &metav1.LabelSelector{}
	if app != "" {
		pdb.Spec.Selector.MatchLabels = map[string]string{"app": app}
	}
	pdb.Status.DesiredHealthy = desired
	return pdb
}

// rateOf returns a rate with that unavailability. A domain is up for 1 - share of the time, so λr = share / (1 - share).
func rateOf(share float64) scenario.Rate {
	return scenario.Rate{Rate: fmt.Sprintf("%.17g/hour", share/(1-share)), Recovery: "1h"}
}

func analyze(t testing.TB, state *cluster.State, rates scenario.Rates, opts risk.Options) *risk.Analysis {
	t.Helper()
	analysis, err := risk.Analyze(context.Background(), state, rates, opts)
	if err != nil {
		t.Fatal(err)
	}
	return analysis
}

// probabilitiesOf returns a workload's probabilities in one list: all up, all down, below quorum, expected down.
func probabilitiesOf(w risk.Workload) []float64 {
	return []float64{w.AllUp.Value, w.AllDown.Value, ptr.Deref(w.BelowQuorum, risk.Probability{}).Value, w.ExpectedDown}
}

// exactProbability returns an exact probability.
func exactProbability(p float64) risk.Probability {
	return risk.Probability{Value: p, HoursPerYear: p * scenario.HoursPerYear}
}

func TestByHand(t *testing.T) {
	const n, z = 0.1, 0.01
	twoZones := clusterOf(
		nodePods{labelsOf(zone, "a"), webPods(1)}, nodePods{labelsOf(zone, "a"), webPods(1)},
		nodePods{labelsOf(zone, "b"), webPods(1)}, nodePods{labelsOf(zone, "b"), webPods(1)},
	)
	// A zone with two nodes: how likely are 0, 1 and 2 pods down.
	none, one, both := (1-z)*0.81, (1-z)*0.18, (1-z)*0.01+z
	for _, test := range []struct {
		name   string
		state  *cluster.State
		rates  scenario.Rates
		quorum int
		want   []float64 // all up, all down, below quorum, expected down
	}{
		{"one node, one pod", clusterOf(nodePods{nil, webPods(1)}), scenario.Rates{"node": rateOf(n)}, 1, []float64{0.9, 0.1, 0.1, 0.1}},
		{"a node takes all its pods", clusterOf(nodePods{nil, webPods(3)}), scenario.Rates{"node": rateOf(n)}, 2, []float64{0.9, 0.1, 0.1, 0.3}},
		{
			"two zones of two nodes", twoZones, scenario.Rates{"node": rateOf(n), "zone": rateOf(z)}, 3,
			// Below 3: two or more down.
			[]float64{none * none, both * both, 1 - none*none - 2*none*one, 4 * (1 - 0.9*0.99)},
		},
		{"two zones, nodes do not fail", twoZones, scenario.Rates{zone: rateOf(z)}, 3, []float64{0.99 * 0.99, z * z, 1 - 0.99*0.99, 4 * z}},
		{
			"all in one zone", clusterOf(nodePods{labelsOf(zone, "a"), webPods(1)}, nodePods{labelsOf(zone, "a"), webPods(1)}), scenario.Rates{"node": rateOf(n), "zone": rateOf(z)}, 1,
			[]float64{none, both, both, 2 * (1 - 0.9*0.99)},
		},
		{
			"a node without a zone", clusterOf(nodePods{labelsOf(zone, "a"), webPods(1)}, nodePods{nil, webPods(2)}), scenario.Rates{"node": rateOf(n), "zone": rateOf(z)}, 2,
			[]float64{0.99 * 0.9 * 0.9, (1 - 0.99*0.9) * 0.1, 0.1, 1 - 0.99*0.9 + 2*0.1},
		},
		{
			"a zone and its region are one", clusterOf(nodePods{labelsOf(zone, "a", region, "r"), webPods(2)}), scenario.Rates{"node": rateOf(n), "zone": rateOf(z), "region": rateOf(0.2)}, 1,
			[]float64{0.9 * 0.99 * 0.8, 1 - 0.9*0.99*0.8, 1 - 0.9*0.99*0.8, 2 * (1 - 0.9*0.99*0.8)},
		},
		{"more wanted than there are", clusterOf(nodePods{nil, webPods(1)}), scenario.Rates{"node": rateOf(n)}, 5, []float64{0.9, 0.1, 1, 0.1}},
		{"never fails", clusterOf(nodePods{nil, webPods(2)}), scenario.Rates{"node": rateOf(0)}, 2, []float64{1, 0, 0, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			opts := risk.Options{Quorum: map[cluster.Ref]int{owner("web"): test.quorum}}
			test.state.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{budget("web", "web", int32(test.quorum))}
			w := analyze(t, test.state, test.rates, opts).Workloads[0]
			if diff := cmp.Diff(test.want, probabilitiesOf(w), approximately); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if w.Method != risk.Exact || w.AllUp.Low != nil || w.AllUp.High != nil {
				t.Errorf("method %s, all up %+v: want exact", w.Method, w.AllUp)
			}
			if w.Budgets[0].Below != ptr.Deref(w.BelowQuorum, w.Budgets[0].Below) {
				t.Errorf("below a budget of the quorum's size %+v, below quorum %+v", w.Budgets[0].Below, w.BelowQuorum)
			}
		})
	}
}

func TestEqualNodesAreBinomial(t *testing.T) {
	const n, share = 25, 0.07
	var places []nodePods
	for range n {
		places = append(places, nodePods{nil, webPods(1)})
	}
	state := clusterOf(places...)
	binomial := distuv.Binomial{N: n, P: share}
	for quorum := 1; quorum <= n; quorum++ {
		w := analyze(t, state, scenario.Rates{"node": rateOf(share)}, risk.Options{Quorum: map[cluster.Ref]int{owner("web"): quorum}}).Workloads[0]
		var below float64
		for down := n - quorum + 1; down <= n; down++ {
			below += binomial.Prob(float64(down))
		}
		want := []float64{binomial.Prob(0), binomial.Prob(n), below, binomial.Mean()}
		if diff := cmp.Diff(want, probabilitiesOf(w), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("quorum %d (-want +got)\n%s", quorum, diff)
		}
	}
}

// component is a domain or a node of a world: everything that fails independently.
type component struct {
	u     float64
	nodes []int
}

// enumerate adds up all subsets of failed components into the probability of each number of pods down.
func enumerate(pods []int, components []component) []float64 {
	total := 0
	for _, n := range pods {
		total += n
	}
	dist := make([]float64, total+1)
	for subset := range 1 << len(components) {
		probability, failed := 1.0, map[int]bool{}
		for i, c := range components {
			if subset&(1<<i) == 0 {
				probability *= 1 - c.u
				continue
			}
			probability *= c.u
			for _, node := range c.nodes {
				failed[node] = true
			}
		}
		down := 0
		for node, n := range pods {
			if failed[node] {
				down += n
			}
		}
		dist[down] += probability
	}
	return dist
}

// randomWorld returns a small world: zones in regions, unless they cross, with some labels missing. It has at most 12 components.
func randomWorld(r *rand.Rand, cross bool) (state *cluster.State, rates scenario.Rates, pods []int, components []component) {
	shares := []float64{0.05 + 0.3*r.Float64(), 0.05 + 0.3*r.Float64(), 0.05 + 0.3*r.Float64()}
	rates = scenario.Rates{"region": rateOf(shares[0]), "zone": rateOf(shares[1]), "node": rateOf(shares[2])}
	of := map[string][]int{}
	var places []nodePods
	for node := range 3 + r.IntN(5) {
		z := r.IntN(3)
		parent := z % 2
		if cross {
			parent = r.IntN(2)
		}
		labels := labelsOf(zone, fmt.Sprint(z), region, fmt.Sprint(parent))
		if node > 0 && r.IntN(6) == 0 {
			delete(labels, zone)
		}
		for key, value := range labels {
			of[key+value] = append(of[key+value], node)
		}
		places = append(places, nodePods{labels, webPods(r.IntN(3))})
		pods = append(pods, places[node].pods["web"])
		components = append(components, component{shares[2], []int{node}})
	}
	for name, nodes := range of {
		share := shares[0]
		if strings.HasPrefix(name, zone) {
			share = shares[1]
		}
		components = append(components, component{share, nodes})
	}
	places[0].pods["web"]++
	pods[0]++
	return clusterOf(places...), rates, pods, components
}

func tailSum(dist []float64, from int) (sum float64) {
	for _, p := range dist[max(0, min(from, len(dist))):] {
		sum += p
	}
	return sum
}

func TestExactAgainstAllSubsets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 200 {
		state, rates, pods, components := randomWorld(r, false)
		dist := enumerate(pods, components)
		total := len(dist) - 1
		var mean float64
		for down, p := range dist {
			mean += float64(down) * p
		}
		for quorum := 1; quorum <= total; quorum++ {
			w := analyze(t, state, rates, risk.Options{Quorum: map[cluster.Ref]int{owner("web"): quorum}}).Workloads[0]
			if w.Method != risk.Exact {
				t.Fatalf("world %d: method %s", i, w.Method)
			}
			want := []float64{dist[0], dist[total], tailSum(dist, total-quorum+1), mean}
			if diff := cmp.Diff(want, probabilitiesOf(w), approximately); diff != "" {
				t.Fatalf("world %d, quorum %d of %d (-want +got)\n%s", i, quorum, total, diff)
			}
		}
	}
}

// In worlds whose zones cross regions, trials come close to the sum over all subsets, and the expected value is still exact.
func TestTrialsWhereDomainsCross(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	checked, hits := 0, 0
	for i := range 60 {
		state, rates, pods, components := randomWorld(r, true)
		w := analyze(t, state, rates, risk.Options{Seed: uint64(i), Trials: 5000}).Workloads[0]
		if w.Method == risk.Exact {
			continue // they happen to nest
		}
		dist := enumerate(pods, components)
		var mean float64
		for down, p := range dist {
			mean += float64(down) * p
		}
		if diff := cmp.Diff(mean, w.ExpectedDown, approximately); diff != "" {
			t.Errorf("world %d: expected down (-want +got)\n%s", i, diff)
		}
		for p, want := range map[risk.Probability]float64{w.AllUp: dist[0], w.AllDown: dist[len(dist)-1]} {
			checked++
			if *p.Low <= want && want <= *p.High {
				hits++
			}
		}
	}
	if checked < 40 || hits*100 < checked*90 {
		t.Errorf("%d of %d intervals hold the true value", hits, checked)
	}
}

func TestIntervalsHoldTheExactValue(t *testing.T) {
	state := clusterOf(
		nodePods{labelsOf(zone, "a"), webPods(2)}, nodePods{labelsOf(zone, "a"), webPods(1)}, nodePods{labelsOf(zone, "b"), webPods(1)}, nodePods{labelsOf(zone, "c"), webPods(1)},
	)
	rates := scenario.Rates{"node": rateOf(0.05), "zone": rateOf(0.02)}
	opts := risk.Options{Quorum: map[cluster.Ref]int{owner("web"): 3}}
	exact := analyze(t, state, rates, opts).Workloads[0]
	opts.TrialsOnly, opts.Trials = true, 2000
	holds := func(p risk.Probability, exact float64) bool {
		return *p.Low <= exact && exact <= *p.High && *p.Low < *p.High
	}
	hits := map[string]int{}
	for opts.Seed = range uint64(100) {
		w := analyze(t, state, rates, opts).Workloads[0]
		if w.Method != risk.Trials {
			t.Fatalf("method %s", w.Method)
		}
		if holds(w.AllUp, exact.AllUp.Value) {
			hits["all up"]++
		}
		if holds(*w.BelowQuorum, exact.BelowQuorum.Value) {
			hits["below quorum"]++
		}
		if w.ExpectedDown != exact.ExpectedDown {
			t.Errorf("expected down %v, want %v", w.ExpectedDown, exact.ExpectedDown)
		}
	}
	if hits["all up"] < 90 || hits["below quorum"] < 90 {
		t.Errorf("of 100 intervals hold the exact value: %v", hits)
	}
}

func TestOneZoneIsItsOwnLimit(t *testing.T) {
	state := clusterOf(nodePods{labelsOf(zone, "a"), webPods(1)}, nodePods{labelsOf(zone, "a"), webPods(1)}, nodePods{labelsOf(zone, "a"), webPods(1)})
	w := analyze(t, state, scenario.Rates{"node": {Rate: "5%/year", Recovery: "4h"}, "zone": {Rate: "0.1%/year", Recovery: "1h"}}, risk.Options{}).Workloads[0]
	zoneDown := 0.001 / 8760 / (1 + 0.001/8760)
	if w.AllDown.Value < zoneDown || w.AllDown.Value > zoneDown*(1+1e-6) {
		t.Errorf("all down %g, want the zone's %g and hardly more", w.AllDown.Value, zoneDown)
	}
	if diff := cmp.Diff(0.001, w.AllDown.HoursPerYear, cmpopts.EquateApprox(1e-4, 0)); diff != "" {
		t.Errorf("hours in a year (-want +got)\n%s", diff)
	}
}

func TestPodsThatAreDownAlready(t *testing.T) {
	state := clusterOf(nodePods{nil, webPods(1)}, nodePods{nil, webPods(1)})
	pending, lost, ended := pod("web", "pending"), cluster.BindPod(pod("web", "lost"), "gone", cluster.Epoch.Time), pod("web", "ended")
	ended.Status.Phase = v1.PodSucceeded
	unready := cluster.BindPod(pod("web", "unready"), "node-0", cluster.Epoch.Time)
	unready.Status.Conditions = nil
	state = state.With(pending, lost, ended, unready)
	analysis := analyze(t, state, scenario.Rates{"node": rateOf(0.1)}, risk.Options{Quorum: map[cluster.Ref]int{owner("web"): 2}})
	want := risk.Workload{
		Ref: owner("web"), Replicas: 5, Down: 3, Method: risk.Exact, Quorum: 2, ExpectedDown: 3.2,
		AllDown: exactProbability(0.01), BelowQuorum: ptr.To(exactProbability(0.19)),
	}
	if diff := cmp.Diff([]risk.Workload{want}, analysis.Workloads, approximately); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if said := strings.Join(analysis.Assumptions, "\n"); !strings.Contains(said, "stay down: 3.") {
		t.Errorf("assumptions do not count them:\n%s", said)
	}
}

// A Deployment's pod that is being deleted has been replaced; a StatefulSet's has not.
func TestTerminatingPods(t *testing.T) {
	state := clusterOf(nodePods{nil, map[string]int{"web": 2, "db": 2}})
	for i, p := range state.Pods {
		if p.Labels["app"] == "web" {
			p.OwnerReferences[0].Kind, p.OwnerReferences[0].UID = "ReplicaSet", "rs"
		}
		if i%2 == 0 {
			p.DeletionTimestamp = &cluster.Epoch
		}
	}
	yes := true
	state.ReplicaSets = []*appsv1.ReplicaSet{{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "default", UID: "rs",
		OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "web", Controller: &yes}},
	}}}
	got := map[string][2]int{}
	for _, w := range analyze(t, state, scenario.Rates{"node": rateOf(0.1)}, risk.Options{}).Workloads {
		got[w.Ref.String()] = [2]int{w.Replicas, w.Down}
	}
	if diff := cmp.Diff(map[string][2]int{"deployment/web": {1, 0}, "statefulset/db": {2, 1}}, got); diff != "" {
		t.Errorf("replicas and down (-want +got)\n%s", diff)
	}
}

func TestBudgetOverTwoWorkloads(t *testing.T) {
	state := clusterOf(nodePods{nil, map[string]int{"web": 1, "db": 1}}, nodePods{nil, webPods(1)})
	state.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{budget("all", "", 2), budget("none", "other", 1), budget("db", "db", 1)}
	state.PodDisruptionBudgets = append(state.PodDisruptionBudgets, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "all"}})
	analysis := analyze(t, state, scenario.Rates{"node": rateOf(0.1)}, risk.Options{})
	// Two of the three pods are down as soon as the first node is.
	all := risk.Budget{Name: "all", Pods: 3, DesiredHealthy: 2, Method: risk.Exact, Below: exactProbability(0.1)}
	db := risk.Budget{Name: "db", Pods: 1, DesiredHealthy: 1, Method: risk.Exact, Below: exactProbability(0.1)}
	got := map[string][]risk.Budget{}
	for _, w := range analysis.Workloads {
		got[w.Name] = w.Budgets
	}
	if diff := cmp.Diff(map[string][]risk.Budget{"web": {all}, "db": {all, db}}, got, approximately); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Budgets that select as many pods as a workload has, but not only its own, and a budget that selects some of its pods.
func TestBudgetOverParts(t *testing.T) {
	state := clusterOf(nodePods{nil, map[string]int{"web": 1, "db": 1}}, nodePods{nil, webPods(1)})
	state.Pods[0].Labels["part"], state.Pods[1].Labels["part"], state.Pods[2].Labels["one"] = "yes", "yes", "yes"
	mixed, one := budget("mixed", "", 1), budget("one", "", 1)
	mixed.Spec.Selector.MatchLabels = map[string]string{"part": "yes"}
	one.Spec.Selector.MatchLabels = map[string]string{"one": "yes"}
	state.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{mixed, one}
	w := analyze(t, state, scenario.Rates{"node": rateOf(0.1)}, risk.Options{}).Workloads[0]
	tenth := exactProbability(0.1)
	want := []risk.Budget{
		{Name: "mixed", Pods: 2, DesiredHealthy: 1, Method: risk.Exact, Below: tenth}, // both on the first node
		{Name: "one", Pods: 1, DesiredHealthy: 1, Method: risk.Exact, Below: tenth},
	}
	if diff := cmp.Diff(want, w.Budgets, approximately); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if want := 0.01; math.Abs(w.AllDown.Value-want) > 1e-9 {
		t.Errorf("all down %v, want %v", w.AllDown.Value, want)
	}
}

func TestQuorumOfAWorkloadWithoutPods(t *testing.T) {
	w := analyze(t, clusterOf(nodePods{}), scenario.Rates{"node": rateOf(0.1)}, risk.Options{Quorum: map[cluster.Ref]int{owner("web"): 2}}).Workloads
	if len(w) != 1 || w[0].Replicas != 0 || w[0].BelowQuorum.Value != 1 {
		t.Errorf("got %+v, want web below its quorum for certain", w)
	}
}

func TestLevelsAndAssumptions(t *testing.T) {
	state := clusterOf(nodePods{labelsOf(zone, "a", "rack", "1"), webPods(1)}, nodePods{labelsOf(zone, "b", "rack", "1"), webPods(1)}, nodePods{labelsOf(zone, "b", "rack", "2"), webPods(1)}, nodePods{})
	rates := scenario.Rates{"rack": {Rate: "1/year", Recovery: "1d"}, "zone": {Rate: "10%/year", Recovery: "1h"}}
	analysis := analyze(t, state, rates, risk.Options{Trials: 1000, Seed: 7})
	want := []risk.Level{
		{TopologyKey: zone, Domains: 2, Unlabelled: 1, FailuresPerYear: 0.1, RecoveryHours: 1, Unavailability: 0.1 / (8760 + 0.1)},
		{TopologyKey: "rack", Domains: 2, Unlabelled: 1, FailuresPerYear: 1, RecoveryHours: 24, Unavailability: 24.0 / (8760 + 24)},
	}
	if diff := cmp.Diff(want, analysis.Levels, approximately); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	said := strings.Join(analysis.Assumptions, "\n")
	for _, text := range []string{
		"upper bounds", "none fails by itself", "without the label rack do not fail at that level: 1 of 4", "1000 trials with seed 7", "95 %",
	} {
		if !strings.Contains(said, text) {
			t.Errorf("no %q in the assumptions:\n%s", text, said)
		}
	}
	// One pod is in one rack of one zone, which nest, although racks and zones of the cluster do not.
	state.Pods = state.Pods[:1]
	if w := analyze(t, state, rates, risk.Options{}).Workloads[0]; w.Method != risk.Exact {
		t.Errorf("one pod: method %s", w.Method)
	}
}

func TestErrors(t *testing.T) {
	_, err := risk.Analyze(context.Background(), clusterOf(nodePods{}), scenario.Rates{"rack": rateOf(0.1)},
		risk.Options{Trials: -1, Quorum: map[cluster.Ref]int{owner("web"): -2}})
	want := strings.Join([]string{
		`rates: Invalid value: "rack": no node has this label, so nothing can fail at this level; drop it, or give a label of the nodes`,
		`trials: Invalid value: -1: must be at least 1, or 0 for the default`,
		`quorum[default/statefulset/web]: Invalid value: -2: must be at least 1, or 0 for none`,
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := risk.Analyze(context.Background(), clusterOf(nodePods{}), nil, risk.Options{}); err == nil {
		t.Error("no rates: no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, trials := range []bool{false, true} {
		_, err := risk.Analyze(ctx, clusterOf(nodePods{nil, webPods(1)}), scenario.Rates{"node": rateOf(0.1)}, risk.Options{TrialsOnly: trials})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("trials only %t: error %v, want %v", trials, err, context.Canceled)
		}
	}
}

func TestSameOnAnyNumberOfCores(t *testing.T) {
	state, rates, _, _ := randomWorld(rand.New(rand.NewPCG(3, 3)), true)
	state.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{budget("web", "web", 2)}
	var want *risk.Analysis
	for _, procs := range []int{1, 8} {
		before := runtime.GOMAXPROCS(procs)
		got := analyze(t, state, rates, risk.Options{TrialsOnly: true, Trials: 3000, Seed: 5})
		runtime.GOMAXPROCS(before)
		if want == nil {
			want = got
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("GOMAXPROCS %d (-want +got)\n%s", procs, cmp.Diff(want, got))
		}
	}
}

// largeCluster returns 500 workloads of 100 pods on 5,000 nodes in 100 racks, 9 zones and 3 regions, each workload with a budget.
func largeCluster(cross bool) (*cluster.State, scenario.Rates, risk.Options) {
	const nodes, workloads, replicas = 5000, 500, 100
	state := &cluster.State{Now: cluster.Epoch}
	for i := range nodes {
		rack := i % 900
		labels := labelsOf(region, fmt.Sprint(rack%3), zone, fmt.Sprint(rack%9), "rack", fmt.Sprint(rack))
		if cross {
			labels["rack"] = fmt.Sprint(i % 8)
		}
		state.Nodes = append(state.Nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i), Labels: labels}})
	}
	opts := risk.Options{Quorum: map[cluster.Ref]int{}}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range workloads {
		name := fmt.Sprint("web-", i)
		for j := range replicas {
			state.Pods = append(state.Pods, cluster.BindPod(pod(name, fmt.Sprint(name, "-", j)), fmt.Sprint("node-", r.IntN(nodes)), cluster.Epoch.Time))
		}
		state.PodDisruptionBudgets = append(state.PodDisruptionBudgets, budget(name, name, replicas-5))
		opts.Quorum[owner(name)] = replicas/2 + 1
	}
	rate := scenario.Rate{Rate: "5%/year", Recovery: "4h"}
	return state, scenario.Rates{"node": rate, "rack": rate, "zone": rate, "region": rate}, opts
}

func BenchmarkExact(b *testing.B) {
	state, rates, opts := largeCluster(false)
	for b.Loop() {
		if w := analyze(b, state, rates, opts).Workloads[0]; w.Method != risk.Exact || math.IsNaN(w.BelowQuorum.Value) {
			b.Fatalf("%+v", w)
		}
	}
}

func BenchmarkTrials(b *testing.B) {
	state, rates, opts := largeCluster(true)
	for b.Loop() {
		if w := analyze(b, state, rates, opts).Workloads[0]; w.Method != risk.Trials {
			b.Fatalf("%+v", w)
		}
	}
}

// BenchmarkDaemonSet analyzes one workload with a pod on each of 5,000 nodes.
func BenchmarkDaemonSet(b *testing.B) {
	var places []nodePods
	for range 5000 {
		places = append(places, nodePods{nil, webPods(1)})
	}
	state := clusterOf(places...)
	for b.Loop() {
		analyze(b, state, scenario.Rates{"node": rateOf(2e-5)}, risk.Options{})
	}
}

// Two workloads with the same name and labels are in two namespaces: the budget of shop covers only the one in shop.
func TestBudgetOfANamespace(t *testing.T) {
	state := clusterOf(nodePods{nil, webPods(1)}, nodePods{nil, webPods(1)})
	state.Pods[1].Namespace = "shop"
	pdb := budget("web", "web", 1)
	pdb.Namespace = "shop"
	state.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{pdb}
	got := map[string]int{}
	for _, w := range analyze(t, state, scenario.Rates{"node": rateOf(0.1)}, risk.Options{}).Workloads {
		for _, b := range w.Budgets {
			got[w.Namespace+" "+b.Name] = b.Pods
		}
	}
	if diff := cmp.Diff(map[string]int{"shop web": 1}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
