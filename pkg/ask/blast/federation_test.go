package blast

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

// federated returns the settled state of a scenario of two clusters, m1 in the west and m2 in the east, each of two nodes of 2 CPUs, with
// the given options and workloads.
func federated(t *testing.T, options, workloads string) *cluster.State {
	t.Helper()
	nodes := `
  cluster:
  - objects:
    - {apiVersion: v1, kind: Node, metadata: {name: a, labels: {kubernetes.io/hostname: a, topology.kubernetes.io/region: %s, topology.kubernetes.io/zone: %s-1}}, status: {capacity: {cpu: 2, memory: 8Gi, pods: 20}}}
    - {apiVersion: v1, kind: Node, metadata: {name: b, labels: {kubernetes.io/hostname: b, topology.kubernetes.io/region: %s, topology.kubernetes.io/zone: %s-2}}, status: {capacity: {cpu: 2, memory: 8Gi, pods: 20}}}
`
	in := func(region string) string { return strings.ReplaceAll(nodes, "%s", region) }
	file := "apiVersion: faultline/v1alpha1\nkind: Scenario\nclusters:\n- name: m1" + in("west") + "- name: m2" + in("east") + options + "workloads:\n- files: [w.yaml]\n"
	s, err := loader.LoadFS(fstest.MapFS{"scenario.yaml": {Data: []byte(file)}, "w.yaml": {Data: []byte(workloads)}}, "scenario.yaml", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := simulation.Run(t.Context(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result.Steps[0].State
}

// halves is a policy that divides the replicas of everything that makes pods by equal weights, and brings the budgets along.
const halves = `
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: halves}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment}
  - {apiVersion: apps/v1, kind: StatefulSet}
  placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: budgets}
spec:
  resourceSelectors: [{apiVersion: policy/v1, kind: PodDisruptionBudget}]
---
`

// one is a policy that gives each workload a single cluster, and keeps a group apart.
const one = `
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: one}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}, {apiVersion: v1, kind: Pod}]
  placement:
    spreadConstraints: [{spreadByField: cluster, maxGroups: 1}]
    workloadAffinity: {antiAffinity: {groupByLabelKey: group}}
---
`

const failover = "federation: {failover: {enabled: true}}\n"

// The loss of a cluster takes its pods; a budget covers the pods of its own cluster.
func TestLostClusters(t *testing.T) {
	budget := "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}\n---\n"
	state := federated(t, "", halves+budget+pods("Deployment", "web", 4, "500m", ""))
	analysis, err := Lost(state, Options{Simultaneous: 1})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, level := range analysis.Levels {
		keys = append(keys, level.TopologyKey)
	}
	if diff := cmp.Diff([]string{topology.LabelCluster, v1.LabelTopologyRegion, v1.LabelTopologyZone, v1.LabelHostname}, keys); diff != "" {
		t.Error(diff)
	}
	clusters := analysis.Levels[0]
	want := Radius{Share: 0.5, Namespace: "default", Workload: "deployment/web", Domains: []string{"m1"}, Lost: 2, Replicas: 4}
	if diff := cmp.Diff(want, clusters.Radius); diff != "" {
		t.Errorf("radius (-want +got)\n%s", diff)
	}
	if clusters.Excess != nil {
		t.Errorf("two of four is what an even spread loses, too: %v", clusters.Excess)
	}
	for i, budget := range []string{"default/m1/web", "default/m2/web"} {
		if diff := cmp.Diff([]string{budget}, clusters.Failures[i].BrokenBudgets); diff != "" {
			t.Errorf("budgets (-want +got)\n%s", diff)
		}
	}
	if got := analysis.Levels[3].Failures[0]; got.Domains[0] != "m1/a" || got.Pods != 1 {
		t.Errorf("node %v takes %d pods; want m1/a, and 1", got.Domains, got.Pods)
	}
}

// A policy that allows one cluster leaves no other cluster to spread over.
func TestEvenSpreadWithinThePolicy(t *testing.T) {
	policy := "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: west}\n" +
		"spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {clusterAffinity: {clusterNames: [m1]}}}\n---\n"
	state := federated(t, "", policy+pods("Deployment", "web", 4, "500m", ""))
	analysis, err := Lost(state, Options{Simultaneous: 1, Levels: []string{"cluster", "zone"}})
	if err != nil {
		t.Fatal(err)
	}
	even := map[string]int{}
	for _, level := range analysis.Levels {
		for _, failure := range level.Failures {
			for _, loss := range failure.Workloads {
				even[failure.Domains[0]] = loss.Even
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"m1": 4, "west-1": 2, "west-2": 2}, even); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRecoveryInAFederation(t *testing.T) {
	grouped := func(name string, n int) string {
		return strings.ReplaceAll(pods("Deployment", name, n, "500m", ""), "metadata: {name: "+name+"}", "metadata: {name: "+name+", labels: {group: g}}")
	}
	gate := "federation: {featureGates: {WorkloadAffinity: true}, failover: {enabled: true}}\n"
	for _, test := range []struct {
		name, options, workloads, level string
		mode                            node.FailureMode
		domain                          string
		want                            outcome
		nodes                           []string      // of the recovered, in any order
		last, evicted                   time.Duration // of the moves, and of the pods on nodes of clusters that are there
	}{
		{name: "nothing fails over by default", workloads: halves + pods("Deployment", "web", 4, "1", ""), level: "cluster", domain: "m1",
			want: outcome{Lost: 2, NotReplaced: 2}},
		{name: "nor do the clusters of a region", workloads: halves + pods("Deployment", "web", 4, "1", ""), level: "region", domain: "east",
			want: outcome{Lost: 2, NotReplaced: 2}},
		{name: "a node is made up for by its own cluster", workloads: halves + pods("Deployment", "web", 4, "500m", ""), level: "node", domain: "m1/a",
			want: outcome{Lost: 1, Recovered: 1}, nodes: []string{"m1/b"}, evicted: 5 * time.Minute},
		{name: "a zone is, too, even if Karmada would move workloads", options: failover, workloads: halves + pods("Deployment", "web", 4, "500m", ""), level: "zone", domain: "west-1",
			want: outcome{Lost: 1, Recovered: 1}, nodes: []string{"m1/b"}, evicted: 5 * time.Minute},
		{name: "failover moves all of it", options: failover, workloads: halves + pods("Deployment", "web", 4, "1", ""), level: "cluster", domain: "m1",
			want: outcome{Lost: 2, Recovered: 2}, nodes: []string{"m2/a", "m2/b"}},
		{name: "from a region", options: failover, workloads: halves + pods("Deployment", "web", 4, "1", ""), level: "region", domain: "west",
			want: outcome{Lost: 2, Recovered: 2}, nodes: []string{"m2/a", "m2/b"}},
		{name: "at once, and of deleted nodes", options: "federation: {failover: {enabled: true, purgeMode: Directly}}\n", workloads: halves + pods("Deployment", "web", 4, "1", ""),
			level: "cluster", domain: "m1", mode: node.Deleted, want: outcome{Lost: 2, Recovered: 2}, nodes: []string{"m2/a", "m2/b"}},
		{name: "a second workload two seconds later", options: failover, workloads: halves + pods("Deployment", "web", 2, "1", "") + "\n---\n" + pods("Deployment", "api", 2, "1", ""),
			level: "cluster", domain: "m1", want: outcome{Lost: 2, Recovered: 2}, nodes: []string{"m2/a", "m2/b"}, last: 2 * time.Second},
		{name: "tolerated for a minute, then ten a second", options: "federation: {failover: {enabled: true, tolerationSeconds: 60, evictionRate: 10}}\n",
			workloads: halves + pods("Deployment", "web", 2, "1", "") + "\n---\n" + pods("Deployment", "api", 2, "1", ""),
			level:     "cluster", domain: "m1", want: outcome{Lost: 2, Recovered: 2}, nodes: []string{"m2/a", "m2/b"}, last: time.Minute + 100*time.Millisecond},
		{name: "what does not fit is stranded", options: failover, workloads: halves + pods("Deployment", "web", 6, "1", ""), level: "cluster", domain: "m1",
			want: outcome{Lost: 3, Recovered: 1, Stranded: 2}, nodes: []string{"m2/b"}},
		{name: "to a cluster without its group", options: gate, workloads: one + grouped("web", 2), level: "cluster", domain: "m1",
			want: outcome{Lost: 2, Recovered: 2}, nodes: []string{"m2/a", "m2/b"}},
		{name: "and not to one with it", options: gate, workloads: one + grouped("web", 2) + "\n---\n" + grouped("api", 2), level: "cluster", domain: "m1",
			want: outcome{Lost: 2, NotReplaced: 2}},
		{name: "a bare pod", options: failover, workloads: one + "{apiVersion: v1, kind: Pod, metadata: {name: solo}, spec: {containers: [{name: c, image: c}]}}", level: "cluster", domain: "m1",
			want: outcome{Lost: 1, Recovered: 1}, nodes: []string{"m2/a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			state := federated(t, test.options, test.workloads)
			mode := test.mode
			if mode == "" {
				mode = node.Unreachable
			}
			for _, failure := range recovered(t, state, Options{Levels: []string{test.level}, Mode: mode}).Levels[0].Failures {
				if failure.Domains[0] != test.domain {
					continue
				}
				r := failure.Recovery
				if diff := cmp.Diff(test.want, countOutcome(r)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				nodes := map[string]int{}
				for _, placed := range r.Recovered {
					nodes[placed.Node]++
				}
				for _, name := range test.nodes {
					if nodes[name]--; nodes[name] < 0 {
						t.Errorf("none is on %s", name)
					}
				}
				after := func(found, later time.Duration) float64 {
					if later == 0 {
						return 0
					}
					return (found + later).Seconds()
				}
				if r.LastMove != after(federation.FailureThreshold, test.last) || r.LastEviction != after(node.NodeMonitorGracePeriod, test.evicted) {
					t.Errorf("the last one moved after %v s, and the last pod was evicted after %v s, want %s and %s later than found", r.LastMove, r.LastEviction, test.last, test.evicted)
				}
				return
			}
			t.Fatalf("no failure of %s", test.domain)
		})
	}
}

// Nodes that are alike stand for each other only within their own cluster: m2 has no room besides its own pods.
func TestNodesOfTwoClustersAreNotAlike(t *testing.T) {
	only := func(name string) string {
		return "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: " + name + "}\n" +
			"spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: " + name + "}], placement: {clusterAffinity: {clusterNames: [" + name + "]}}}\n---\n"
	}
	state := federated(t, "", only("m1")+only("m2")+pods("Deployment", "m1", 2, "1", "")+"\n---\n"+pods("Deployment", "m2", 2, "1500m", ""))
	got := map[string]outcome{}
	for _, failure := range recovered(t, state, Options{Levels: []string{"node"}, Mode: node.Unreachable}).Levels[0].Failures {
		got[failure.Domains[0]] = countOutcome(failure.Recovery)
	}
	want := map[string]outcome{
		"m1/a": {Lost: 1, Recovered: 1}, "m1/b": {Lost: 1, Recovered: 1}, "m2/a": {Lost: 1, Stranded: 1}, "m2/b": {Lost: 1, Stranded: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// If Karmada duplicates a workload, each copy votes by itself; if it divides the replicas, they vote together.
func TestQuorumInAFederation(t *testing.T) {
	duplicated := "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: all}\n" +
		"spec: {resourceSelectors: [{apiVersion: apps/v1, kind: StatefulSet}]}\n---\n"
	for name, c := range map[string]struct {
		policy                string
		replicas, quorum, bad int // bad is how many pods a node must take with it to take the quorum
	}{
		"two members of three in a cluster": {duplicated, 3, 2, 2},
		"six in two clusters":               {halves, 6, 4, 3},
	} {
		state := federated(t, "", c.policy+pods("StatefulSet", "db", c.replicas, "500m", ""))
		analysis, err := Lost(state, Options{Simultaneous: 1, Levels: []string{"node"}, Quorum: []string{"statefulset/db"}})
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for _, failure := range analysis.Levels[0].Failures {
			loss := failure.Workloads[0]
			most = max(most, loss.Lost)
			if loss.Quorum != c.quorum || loss.QuorumLost != (loss.Lost >= c.bad) {
				t.Errorf("%s: the loss of %d pods on %s takes the quorum of %d: %v", name, loss.Lost, failure.Domains[0], loss.Quorum, loss.QuorumLost)
			}
		}
		if most != 2 {
			t.Errorf("%s: a node takes %d pods, want 2", name, most)
		}
	}
}
