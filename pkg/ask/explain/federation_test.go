package explain

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

const header = "apiVersion: faultline/v1alpha1\nkind: Scenario\n"

// federated returns a scenario of two clusters with the workloads, each cluster of one node of 4 CPUs; m2 repels workloads.
func federated(t *testing.T, besides, workloads string) *scenario.Scenario {
	t.Helper()
	const nodes = "  cluster: [{synthetic: {nodeGroups: [{name: node, count: 1, cpu: 4, memory: 8Gi}]}}]\n"
	file := header + "clusters:\n- name: m1\n" + nodes + "- name: m2\n  taints: [{key: repair, value: now, effect: NoSchedule}]\n" + nodes +
		besides + "workloads:\n- files: [w.yaml]\n"
	s, err := loader.LoadFS(fstest.MapFS{"scenario.yaml": {Data: []byte(file)}, "w.yaml": {Data: []byte(workloads)}}, "scenario.yaml", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func template(name, group string, replicas int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, labels: {group: %s}}
spec:
  replicas: %d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}
---`, name, group, replicas)
}

func policy(placement string) string {
	return `
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: all}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  placement: ` + placement + "\n---"
}

// The changes with which Karmada would accept the refused workload. Each cluster has one node of 4 CPUs, and a replica asks for one.
func TestTakings(t *testing.T) {
	const gate = "federation: {featureGates: {WorkloadAffinity: true}}\n"
	for name, c := range map[string]struct {
		besides, workloads string
		reason             string
		want, tried        []string
	}{
		// a has m1, and m2 repels b: it needs another group or the toleration, and has neither affinity nor spread constraints.
		"a group and a taint": {gate, policy(`{workloadAffinity: {antiAffinity: {groupByLabelKey: group}}}`) + template("a", "x", 1) + template("b", "x", 2), "NoClusterFit",
			[]string{"tolerate repair=now:NoSchedule in its policy → m2 2", `another anti-affinity group: a label group of another value than "x" → m1 2`}, []string{"fewer replicas"}},
		// The policy names a cluster that there is not: m1 is open without it, and m2 is not.
		"an affinity": {"", policy(`{clusterAffinity: {clusterNames: [m3]}}`) + template("b", "x", 1), "NoClusterFit",
			[]string{"no cluster affinity in its policy → m1 1"}, []string{"tolerate repair=now:NoSchedule in its policy"}},
		// m1 has room for 4 replicas and m2 for another 4: with both there is room for 6.
		"no room": {"", policy(`{replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {dynamicWeight: AvailableReplicas}}}`) + template("b", "x", 6), "Unschedulable",
			[]string{"tolerate repair=now:NoSchedule in its policy → m1 3, m2 3", "at most 4 replicas (now 6) → m1 4"}, nil},
		// maxGroups that is left out selects no cluster.
		"a constraint": {"", policy(`{spreadConstraints: [{spreadByField: cluster, minGroups: 1}]}`) + template("b", "x", 1), "SchedulerError",
			[]string{"no spread constraints in its policy → m1 1"}, []string{"tolerate repair=now:NoSchedule in its policy"}},
		"taken": {"", policy(`{}`) + template("b", "x", 1), "Success", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			result, _, _, _ := Pods(t.Context(), federated(t, c.besides, c.workloads), Question{Ref: cluster.Ref{Kind: "Deployment", Name: "b"}}, Options{})
			step, decided := FindDecision(result, Question{Ref: cluster.Ref{Kind: "Deployment", Name: "b"}})
			if decided == nil || decided.Binding.Reason != c.reason {
				t.Fatalf("decided %+v", decided)
			}
			takings, tried, err := FindTakings(t.Context(), result, step, decided)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, taking := range takings {
				var targets []string
				for _, target := range taking.Clusters {
					targets = append(targets, fmt.Sprintf("%s %d", target.Cluster, target.Replicas))
				}
				got = append(got, taking.Change+" → "+strings.Join(targets, ", "))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("takings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.tried, tried); diff != "" {
				t.Errorf("tried (-want +got):\n%s", diff)
			}
		})
	}
}

// The flips of a pod in a member depend on what its own scheduler sees: only the nodes of its cluster, named as they are among all
// clusters.
func TestFlipsInAFederation(t *testing.T) {
	s := federated(t, "", policy(`{clusterAffinity: {clusterNames: [m1]}}`)+template("b", "x", 1))
	more := s.Members[0].Objects[0].DeepCopyObject().(cluster.Object)
	more.SetName("other")
	s.Members[0] = scenario.NewMember(s.Members[0].Cluster, append(s.Members[0].Objects, more))
	_, pods, _, err := Pods(t.Context(), s, Question{Ref: cluster.Ref{Kind: "Deployment", Name: "b"}}, Options{})
	if err != nil || len(pods) != 1 || pods[0].Placed == nil {
		t.Fatalf("%v, pods %+v", err, pods)
	}
	from := pods[0].Placed.Node
	to := map[string]string{"m1/node-1": "m1/other", "m1/other": "m1/node-1"}[from]
	found := map[string]string{}
	for _, flip := range pods[0].Flips {
		if flip.To != "" {
			found[flip.Subject] = flip.Node
		}
	}
	if diff := cmp.Diff(map[string]string{"allocatable CPU of " + from: to, "allocatable memory of " + from: to}, found); diff != "" {
		t.Errorf("flips (-want +got):\n%s", diff)
	}
}

// Karmada gives m1 all five pods of one CPU each, by static weight. m1 has four CPUs, which leave no room for a rollout. The fifth pod is
// on a second node.
func TestFixesInAFederation(t *testing.T) {
	const weights = `{replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {staticWeightList: [{targetCluster: {clusterNames: [m1]}, weight: 1}]}}}`
	s := federated(t, "", policy(weights)+template("b", "x", 5))
	_, pods, _, err := Pods(t.Context(), s, Question{Ref: cluster.Ref{Kind: "Deployment", Name: "b"}, Most: 5}, Options{})
	if err != nil || len(pods) != 5 {
		t.Fatalf("%v, pods %+v", err, pods)
	}
	var got []string
	for _, fix := range pods[0].Fixes {
		got = append(got, fmt.Sprintf("%s: %d, %s", fix.Change, fix.Pending, fix.Node))
	}
	if diff := cmp.Diff([]string{"one more node like m1/node-1: 0, m1/node-1-new-1", "one replica fewer: 4: 0, "}, got); diff != "" {
		t.Errorf("fixes (-want +got):\n%s", diff)
	}
}

// A pod that came with its node is placed again among the nodes of its own cluster, of which node-1 is the only one.
func TestPodsOfAMemberArePlacedAgainInIt(t *testing.T) {
	const file = header + `
clusters:
- name: m1
  cluster:
  - synthetic: {nodeGroups: [{name: node, count: 1}]}
  - objects: [{apiVersion: v1, kind: Pod, metadata: {name: own}, spec: {nodeName: node-1, containers: [{name: c, image: c}]}}]
- name: m2
  cluster: [{synthetic: {nodeGroups: [{name: node, count: 3}]}}]
`
	s, err := loader.LoadFS(fstest.MapFS{"scenario.yaml": {Data: []byte(file)}}, "scenario.yaml", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, pods, _, err := Pods(t.Context(), s, Question{Ref: cluster.Ref{Kind: "Pod", Name: "m1/own"}}, Options{})
	if err != nil || len(pods) != 1 || pods[0].Placed == nil {
		t.Fatalf("%v, pods %+v", err, pods)
	}
	got := pods[0]
	if got.Runs != "m1/node-1" || got.Placed.Node != "m1/node-1" || got.Placed.Cycle.Searched != 1 || got.Placed.Pod.Name != "m1/own" {
		t.Errorf("%s runs on %s, placed on %s of %d nodes", got.Placed.Pod.Name, got.Runs, got.Placed.Node, got.Placed.Cycle.Searched)
	}
}

// The pods that an operator makes are pods of its custom resource, in a federation and in a single cluster.
func TestPodsOfACustomResource(t *testing.T) {
	const widget = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: shop}
spec:
  size: 2
  template:
    metadata: {labels: {app: w}}
    spec: {containers: [{name: c, image: i}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: all, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: example.com/v1, kind: Widget}]
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
`
	const rule = "customResources: [{apiVersion: example.com/v1, kind: Widget, podTemplatePath: spec.template, replicasPath: spec.size}]\n"
	single, err := loader.LoadFS(fstest.MapFS{
		"scenario.yaml": {Data: []byte(header + rule + "cluster: [{synthetic: {nodeGroups: [{count: 1}]}}]\nworkloads: [{files: [w.yaml]}]\n")},
		"w.yaml":        {Data: []byte(strings.Split(widget, "---")[0] + "---" + strings.Split(widget, "---")[2])},
	}, "scenario.yaml", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*scenario.Scenario{"federation": federated(t, rule, widget), "single": single} {
		if diff := cmp.Diff([]cluster.Ref{{Kind: "Widget", Namespace: "shop", Name: "w"}}, Resources(s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		result, pods, _, err := Pods(t.Context(), s, Question{Ref: cluster.Ref{Kind: "Widget", Name: "w"}}, Options{})
		if err != nil || len(pods) != 2 {
			t.Errorf("%s: %v, pods %+v", name, err, pods)
			continue
		}
		if _, decided := FindDecision(result, Question{Ref: cluster.Ref{Kind: "Widget", Name: "w"}}); (decided != nil) != s.Federated() {
			t.Errorf("%s: decided %+v", name, decided)
		}
	}
}
