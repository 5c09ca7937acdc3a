package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
	"github.com/faultline/faultline/pkg/world/fleet"
)

// These are parts of the worlds below. Nodes have enough memory and room for pods, so that only CPU matters.
const (
	divided    = "replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}"
	dynamic    = "replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {dynamicWeight: AvailableReplicas}}"
	aggregated = "replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}"
	onlyIn     = "clusterAffinity: {clusterNames: [%s]}"
	apart      = "workloadAffinity: {antiAffinity: {groupByLabelKey: group}}, spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]"
	onePerNode = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: %s}}}]}}, "
)

// member returns a cluster of equal nodes.
func member(name string, nodes, cpu int) string {
	return fmt.Sprintf("{name: %s, cluster: [{synthetic: {nodeGroups: [{count: %d, cpu: %d, memory: 8Gi}]}}]}", name, nodes, cpu)
}

// policy returns a policy that selects the Deployment or Job of its name.
func policy(name, placement string, more ...string) string {
	return fmt.Sprintf("{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: %s}, spec: {resourceSelectors: "+
		"[{apiVersion: apps/v1, kind: Deployment, name: %[1]s}, {apiVersion: batch/v1, kind: Job, name: %[1]s}], placement: {%[2]s}%[3]s}}", name, placement, strings.Join(more, ""))
}

// deployment returns a Deployment whose pods request so much CPU, and may have a rule.
func deployment(name string, replicas, cpu int, rule ...string) string {
	for i := range rule {
		rule[i] = fmt.Sprintf(rule[i], name)
	}
	return fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, labels: {group: g}}, spec: {replicas: %d, selector: {matchLabels: {app: %[1]s}}, "+
		"template: {metadata: {labels: {app: %[1]s}}, spec: {%[3]s containers: [{name: c, image: c, resources: {requests: {cpu: %[4]d}}}]}}}}", name, replicas, strings.Join(rule, ""), cpu)
}

// federationOf loads a scenario of the members, the options of its federation, the objects of its workloads, and its steps: all YAML.
func federationOf(t testing.TB, members []string, options string, workloads []string, steps ...string) *scenario.Scenario {
	t.Helper()
	list := func(of []string) string { return "\n- " + strings.Join(of, "\n- ") + "\n" }
	text := "apiVersion: faultline/v1alpha1\nkind: Scenario\nclusters:" + list(members) + "federation: {" + options + "}\n"
	if len(workloads) > 0 {
		text += "workloads:\n- objects:" + strings.ReplaceAll(list(workloads), "\n", "\n  ") + "\n"
	}
	if len(steps) > 0 {
		text += "steps:\n"
	}
	for i, step := range steps {
		text += fmt.Sprintf("- {name: step %d, %s}\n", i+1, step)
	}
	s, err := loader.LoadFS(fstest.MapFS{"scenario.yaml": {Data: []byte(text)}}, "scenario.yaml", loader.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// apply returns a step that applies the objects.
func apply(objects ...string) string {
	return "apply: {objects: [" + strings.Join(objects, ", ") + "]}"
}

// outcome describes the result of a step. It has the clusters of each binding with the replicas that Karmada assigned and, if they differ,
// the number that run: "web m1:2(1)". Then it has the number of pods in each cluster that are on nodes that answer.
func outcome(step *simulation.Step) string {
	var parts []string
	for _, d := range step.Decisions {
		text := d.Binding.Template.Name
		for _, share := range d.Shares {
			text += fmt.Sprintf(" %s:%d", share.Cluster, share.Assigned)
			if share.Running != share.Assigned {
				text += fmt.Sprintf("(%d)", share.Running)
			}
		}
		if !d.Binding.Scheduled() {
			text += " " + d.Binding.Reason
		}
		parts = append(parts, text)
	}
	nodes := step.State.NodesByName()
	for _, m := range step.State.Federation.Members {
		n := 0
		for _, pod := range step.State.Pods {
			if on := nodes[pod.Spec.NodeName]; pod.Labels[cluster.MemberLabel] == m.Name && on != nil && cluster.KubeletResponds(on) {
				n++
			}
		}
		parts = append(parts, fmt.Sprintf("%s %d", m.Name, n))
	}
	return strings.Join(parts, ", ")
}

func runFederation(t *testing.T, s *scenario.Scenario) *simulation.Result {
	t.Helper()
	result, err := simulation.Run(t.Context(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Each world is small enough to be worked out by hand. The quotients are those of Webster's method: the room over 1, 3, 5...
func TestTwoLevels(t *testing.T) {
	tenAndFive := []string{member("m1", 1, 10), member("m2", 1, 5)}
	alike := []string{member("m1", 1, 10), member("m2", 1, 10)}
	big, web := fmt.Sprintf(onlyIn, "m1"), policy("web", dynamic)
	gate := "featureGates: {WorkloadAffinity: true}"
	duplicatedWeb := []string{policy("web", ""), deployment("web", 2, 1)}
	dividedWeb := []string{policy("web", divided), deployment("web", 4, 1)}
	for _, test := range []struct {
		name      string
		members   []string
		options   string
		workloads []string
		steps     []string
		want      []string
	}{
		// 10 and 5: m1 has the quotients 10, 3.3, 2, 1.4, and m2 5, 1.7.
		{"dynamic weights are the room", tenAndFive, "", []string{web, deployment("web", 6, 1)}, nil, []string{"web m1:4 m2:2, m1 4, m2 2"}},
		// Bindings that are applied together see the room before: 4 and 2 again, although m1 has 2 left.
		{"the room is stale within a step", tenAndFive, "", []string{policy("big", big), deployment("big", 8, 1), web, deployment("web", 6, 1)}, nil,
			[]string{"big m1:8, web m1:4(2) m2:2, m1 10, m2 2"}},
		// 2 and 5: m1 has 2, 0.67, and m2 5, 1.7, 1, 0.71.
		{"and fresh in the next", tenAndFive, "", []string{policy("big", big), deployment("big", 8, 1)}, []string{apply(web, deployment("web", 6, 1))},
			[]string{"big m1:8, m1 8, m2 0", "big m1:8, web m1:2 m2:4, m1 10, m2 4"}},
		// One of three pods of 3 CPU runs. The two Pending pods count as well: 1 of 10 is left.
		{"Pending pods take room", tenAndFive, "", []string{policy("big", big), deployment("big", 3, 3, onePerNode)}, []string{apply(web, deployment("web", 6, 1))},
			[]string{"big m1:3(1), m1 1, m2 0", "big m1:3(1), web m1:1 m2:5, m1 2, m2 5"}},
		// 50 and 80: m1 has 50, 16.7, and m2 80, 26.7, 16, 11.4. Two nodes take two of the pods.
		{"Karmada knows no rules", []string{member("m1", 5, 10), member("m2", 2, 40)}, "estimate: karmada", []string{web, deployment("web", 6, 1, onePerNode)}, nil,
			[]string{"web m1:2 m2:4(2), m1 2, m2 2"}},
		{"a cluster's scheduler does", []string{member("m1", 5, 10), member("m2", 2, 40)}, "estimate: scheduler", []string{web, deployment("web", 6, 1, onePerNode)}, nil,
			[]string{"web m1:4 m2:2, m1 4, m2 2"}},
		{"replicas overridden in one cluster", alike, "", append([]string{"{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: o}, spec: {overrideRules: " +
			"[{targetCluster: {clusterNames: [m2]}, overriders: {plaintext: [{path: /spec/replicas, operator: replace, value: 1}]}}]}}"}, duplicatedWeb...), nil,
			[]string{"web m1:2 m2:2(1), m1 2, m2 1"}},
		{"no fit is not tried again when a peer goes, but when a cluster changes", []string{member("m1", 1, 10)}, gate,
			[]string{policy("a", apart), policy("b", apart), deployment("a", 1, 1), deployment("b", 1, 1)},
			[]string{"delete: {targets: [deployment/a]}", "patch: {target: cluster/m1, patch: {metadata: {labels: {a: b}}}}"},
			[]string{"a m1:1, b NoClusterFit, m1 1", "b NoClusterFit, m1 0", "b m1:1, m1 1"}},
		{"no room is tried again", []string{member("m1", 1, 2)}, "", []string{policy("big", aggregated), deployment("big", 2, 1)},
			[]string{apply(policy("web", aggregated), deployment("web", 1, 1)), "delete: {targets: [deployment/big]}"},
			[]string{"big m1:2, m1 2", "big m1:2, web Unschedulable, m1 2", "web m1:1, m1 1"}},
		{"a template is deleted while another waits for room", []string{member("m1", 1, 2)}, "",
			[]string{policy("a", aggregated), deployment("a", 1, 1), policy("web", aggregated), deployment("web", 5, 1)}, []string{"delete: {targets: [deployment/a]}"},
			[]string{"a m1:1, web Unschedulable, m1 1", "web Unschedulable, m1 0"}},
		{"a policy is deleted", alike, "", dividedWeb, []string{"delete: {targets: [propagationpolicy/web]}", "scale: {target: deployment/web, replicas: 8}"},
			[]string{"web m1:2 m2:2, m1 2, m2 2", "web m1:2 m2:2, m1 2, m2 2", "web m1:2 m2:2, m1 2, m2 2"}},
		{"a policy is changed", alike, "", dividedWeb, []string{apply(policy("web", divided+", "+fmt.Sprintf(onlyIn, "m2")))},
			[]string{"web m1:2 m2:2, m1 2, m2 2", "web m2:4, m1 0, m2 4"}},
		// The replicas shrink in proportion to 4 and 2, and grow by the room of 8 and 4: 8, 2.7 and 4.
		{"as little as possible is moved", tenAndFive, "", []string{web, deployment("web", 6, 1)},
			[]string{"scale: {target: deployment/web, replicas: 3}", "scale: {target: deployment/web, replicas: 6}", "delete: {targets: [deployment/web]}"},
			[]string{"web m1:4 m2:2, m1 4, m2 2", "web m1:2 m2:1, m1 2, m2 1", "web m1:4 m2:2, m1 4, m2 2", "m1 0, m2 0"}},
		{"a cluster joins", alike, "", append([]string{policy("all", ""), deployment("all", 1, 1)}, dividedWeb...), []string{"join: " + member("m3", 1, 10)},
			[]string{"all m1:1 m2:1, web m1:2 m2:2, m1 3, m2 3", "all m1:1 m2:1 m3:1, web m1:2 m2:2, m1 3, m2 3, m3 1"}},
		{"a cluster leaves", alike, "", dividedWeb, []string{"delete: {targets: [cluster/m2]}"}, []string{"web m1:2 m2:2, m1 2, m2 2", "web m1:4, m1 4"}},
		// A cluster that a binding already has is not refused for its taints, so the new replicas are divided among both.
		{"a lost cluster comes back and learns what has changed", alike, "", dividedWeb,
			[]string{"fail: {clusters: [m2]}", "scale: {target: deployment/web, replicas: 2}", "restore: {clusters: [m2]}"},
			[]string{"web m1:2 m2:2, m1 2, m2 2", "web m1:2 m2:2(0), m1 2, m2 0", "web m1:1 m2:1(0), m1 1, m2 0", "web m1:1 m2:1, m1 1, m2 1"}},
		{"what has moved is not there twice", alike, "failover: {enabled: true}", dividedWeb, []string{"fail: {clusters: [m2]}", "restore: {clusters: [m2]}"},
			[]string{"web m1:2 m2:2, m1 2, m2 2", "web m1:4, m1 4, m2 0", "web m1:4, m1 4, m2 0"}},
		// The second pod finds no node once its own has failed, and the other cluster does not know about it.
		{"a node of a member fails", []string{member("m1", 2, 1), member("m2", 2, 1)}, "", duplicatedWeb, []string{"fail: {names: [m1/node-1]}", "restore: {names: [m1/node-1]}"},
			[]string{"web m1:2 m2:2, m1 2, m2 2", "web m1:2(1) m2:2, m1 1, m2 2", "web m1:2 m2:2, m1 2, m2 2"}},
		{"the highest priority comes first", []string{member("m1", 1, 10)}, gate, []string{
			"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 10}", policy("a", apart),
			policy("b", apart, ", schedulePriority: {priorityClassSource: KubePriorityClass, priorityClassName: high}"), deployment("a", 1, 1), deployment("b", 1, 1)}, nil,
			[]string{"a NoClusterFit, b m1:1, m1 1"}},
		{"a missing PriorityClass holds a template back", alike, "", []string{
			policy("web", divided, ", schedulePriority: {priorityClassSource: KubePriorityClass, priorityClassName: high}"), deployment("web", 4, 1)},
			[]string{apply("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 10}")},
			[]string{"m1 0, m2 0", "web m1:2 m2:2, m1 2, m2 2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := runFederation(t, federationOf(t, test.members, test.options, test.workloads, test.steps...))
			var got []string
			for i := range result.Steps {
				got = append(got, outcome(&result.Steps[i]))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// The completions of a Job are divided like its parallelism.
func TestCompletionsAreDivided(t *testing.T) {
	job := "{apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {parallelism: 4, completions: 10, template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}"
	result := runFederation(t, federationOf(t, []string{member("m1", 1, 4), member("m2", 1, 4)}, "", []string{policy("train", divided), job}))
	for _, name := range []string{"m1", "m2"} {
		spec := result.Steps[0].State.Federation.Member(name).State.Jobs[0].Spec
		if *spec.Parallelism != 2 || *spec.Completions != 5 {
			t.Errorf("%s runs %d at a time of %d; want 2 of 5", name, *spec.Parallelism, *spec.Completions)
		}
	}
}

// Karmada brings namespaces into every cluster, also into one that joins later, except namespaces that are excluded.
func TestNamespacesAreEverywhere(t *testing.T) {
	s := federationOf(t, []string{member("m1", 1, 4), member("m2", 1, 4)}, "", []string{
		"{apiVersion: v1, kind: Namespace, metadata: {name: batch, labels: {team: blue}}}",
		"{apiVersion: v1, kind: Namespace, metadata: {name: alone, labels: {namespace.karmada.io/skip-auto-propagation: 'true'}}}",
		policy("web", fmt.Sprintf(onlyIn, "m1")), deployment("web", 1, 1)}, "join: "+member("m3", 1, 4))
	result := runFederation(t, s)
	for _, m := range result.Steps[1].State.Federation.Members {
		var names []string
		for _, namespace := range m.State.Namespaces {
			if namespace.Labels["team"] == "blue" || namespace.Name == "alone" {
				names = append(names, namespace.Name)
			}
		}
		if diff := cmp.Diff([]string{"batch"}, names); diff != "" {
			t.Errorf("%s: -want +got\n%s", m.Name, diff)
		}
	}
}

// A workload leaves a cluster that a user has tainted. With purge mode Gracefully, the old copy stays until the new one runs, at most 10
// minutes.
func TestTaintedCluster(t *testing.T) {
	taint := "patch: {target: cluster/m1, patch: {spec: {taints: [{key: broken, effect: NoExecute}]}}}"
	tolerant := func(seconds int) string {
		return fmt.Sprintf("%s, clusterTolerations: [{key: broken, operator: Exists, effect: NoExecute, tolerationSeconds: %d}]", aggregated, seconds)
	}
	for _, test := range []struct {
		name, options string
		nodes         int // of m2
		workloads     []string
		want          string
		least, most   time.Duration
	}{
		{"off", "", 2, []string{policy("web", aggregated), deployment("web", 2, 1)}, "web m1:2, m1 2, m2 0", 0, 0},
		{"gracefully", "failover: {enabled: true}", 2, []string{policy("web", aggregated), deployment("web", 2, 1, onePerNode)}, "web m2:2, m1 0, m2 2", 0, time.Minute},
		{"gracefully in vain", "failover: {enabled: true}", 1, []string{policy("web", aggregated), deployment("web", 2, 1, onePerNode)}, "web m2:2(1), m1 0, m2 1", 10 * time.Minute, 11 * time.Minute},
		{"directly", "failover: {enabled: true, purgeMode: Directly}", 1, []string{policy("web", aggregated), deployment("web", 2, 1, onePerNode)}, "web m2:2(1), m1 0, m2 1", 10 * time.Minute, 11 * time.Minute},
		// The default toleration is only for the taints of a failed cluster.
		{"tainted by a user", "failover: {enabled: true, tolerationSeconds: 300}", 2, []string{policy("web", aggregated), deployment("web", 2, 1)}, "web m2:2, m1 0, m2 2", 0, time.Minute},
		// The two that tolerate the taint leave after 5 minutes, 2 seconds apart. The one that does not leaves at once.
		{"tolerated for a while", "failover: {enabled: true}", 2, []string{policy("web", tolerant(300)), deployment("web", 2, 1), policy("api", tolerant(300)), deployment("api", 2, 1),
			policy("db", aggregated), deployment("db", 2, 1)}, "web m2:2, api m2:2, db m2:2, m1 0, m2 6", 5 * time.Minute, 6 * time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := federationOf(t, []string{member("m1", 2, 10), member("m2", test.nodes, 10)}, test.options, test.workloads, taint)
			result := runFederation(t, s)
			before, after := result.Steps[0].State.Now.Time, &result.Steps[1]
			if got := outcome(after); got != test.want {
				t.Errorf("%s; want %s", got, test.want)
			}
			if took := after.State.Now.Sub(before); took < test.least || took > test.most {
				t.Errorf("took %s; want %s to %s", took, test.least, test.most)
			}
		})
	}
}

// The PriorityClass of its policies is missing: the notes say why the workload is not scheduled.
func TestMissingPriorityClassIsNoted(t *testing.T) {
	s := federationOf(t, []string{member("m1", 1, 1)}, "", []string{policy("web", "", ", schedulePriority: {priorityClassSource: KubePriorityClass, priorityClassName: high}"), deployment("web", 1, 1)})
	want := []string{"PropagationPolicy default/web names PriorityClass high, which Karmada's control plane does not have: what it selects is not scheduled."}
	if diff := cmp.Diff(want, runFederation(t, s).Steps[0].Notes); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A run that is interrupted has the steps that were finished.
func TestInterruptedFederation(t *testing.T) {
	s := federationOf(t, []string{member("m1", 1, 10), member("m2", 1, 10)}, "", []string{policy("web", ""), deployment("web", 2, 1)},
		"scale: {target: deployment/web, replicas: 3}", "scale: {target: deployment/web, replicas: 4}")
	whole := runFederation(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result, err := simulation.Run(ctx, s, simulation.Options{Progress: func(step string, _, _ int) {
		if step == "step 2" {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || result == nil || len(result.Steps) != 2 {
		t.Fatalf("%v, %v; want two steps", result, err)
	}
	for i := range result.Steps {
		if diff := cmp.Diff(outcome(&whole.Steps[i]), outcome(&result.Steps[i])); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
}

// Replicas that Karmada has moved away from a lost cluster are neither desired nor running there any more. Replicas that it leaves there
// are desired and do not run. The cluster's own workloads stay as they are.
func TestCopiesInLostClusters(t *testing.T) {
	withOwn := strings.TrimSuffix(member("m1", 2, 10), "]}") + ", {objects: [" + deployment("own", 1, 1) + "]}]}"
	for _, test := range []struct {
		name, options, placement string
		want                     []string // before, after the loss, and once the cluster is back
	}{
		{"left there", "", divided, []string{"web 4 wanted, 4 of 4 ready; own 1", "web 4 wanted, 2 of 4 ready; own 1", "web 4 wanted, 4 of 4 ready; own 1"}},
		// Two of four replicas are lost, and replaced in m2.
		{"divided anew", "failover: {enabled: true}", divided,
			[]string{"web 4 wanted, 4 of 4 ready; own 1", "web 4 wanted, 4 of 4 ready; own 1", "web 4 wanted, 4 of 4 ready; own 1"}},
		// Each cluster has four replicas. The four in m2 remain, and Karmada does not move back.
		{"duplicated", "failover: {enabled: true}", fmt.Sprintf(onlyIn, "m1, m2"),
			[]string{"web 8 wanted, 8 of 8 ready; own 1", "web 4 wanted, 4 of 4 ready; own 1", "web 8 wanted, 8 of 8 ready; own 1"}},
		{"nowhere else", "failover: {enabled: true}", fmt.Sprintf(onlyIn, "m1"),
			[]string{"web 4 wanted, 4 of 4 ready; own 1", "web 0 wanted, 0 of 0 ready; own 1", "web 4 wanted, 4 of 4 ready; own 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := federationOf(t, []string{withOwn, member("m2", 2, 10)}, test.options, []string{policy("web", test.placement), deployment("web", 4, 1)},
				"fail: {clusters: [m1]}", "restore: {clusters: [m1]}")
			var got []string
			for _, step := range runFederation(t, s).Steps {
				web, ready, pods := cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}, 0, 0
				owner := step.State.Owners()
				for _, pod := range step.State.Pods {
					if owner(pod) == web {
						pods++
						if podutil.IsPodReady(pod) {
							ready++
						}
					}
				}
				wanted := step.State.Desired()
				for _, rollout := range step.Rollouts {
					if rollout.Ref == web && (rollout.Desired != wanted[web] || rollout.Ready != ready) {
						t.Errorf("step %s: the rollout wants %d, of which %d are ready", step.Name, rollout.Desired, rollout.Ready)
					}
				}
				got = append(got, fmt.Sprintf("web %d wanted, %d of %d ready; own %d", wanted[web], ready, pods, wanted[cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "m1/own"}]))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// Each cluster has its own API server, which says why there is less than Karmada gave.
func TestRefusedInMembers(t *testing.T) {
	quota := "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: default}, spec: {hard: {pods: 1}}}"
	withQuota := strings.TrimSuffix(member("m1", 1, 10), "]}") + ", {objects: [" + quota + "]}]}"
	bare := "{apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {runtimeClassName: gvisor, containers: [{name: c, image: c}]}}"
	pods := "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: pods}, spec: {resourceSelectors: [{apiVersion: v1, kind: Pod}], placement: {" +
		fmt.Sprintf(onlyIn, "m2") + "}}}"
	step := runFederation(t, federationOf(t, []string{withQuota, member("m2", 1, 10)}, "", []string{policy("web", ""), deployment("web", 3, 1), pods, bare})).Steps[0]
	quotaSays := `Error creating: pods "web-NAME-" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`
	classSays := `pods "bare" is forbidden: pod rejected: RuntimeClass "gvisor" not found`
	hash := regexp.MustCompile(`web-[0-9a-f]+-`)
	var got []string
	for _, r := range step.State.Refused {
		got = append(got, fmt.Sprintf("%d of %s: %s", r.Pods, r.Ref, hash.ReplaceAllString(r.Message, "web-NAME-")))
	}
	if diff := cmp.Diff([]string{"2 of deployment/web: " + quotaSays + ", in cluster m1", "1 of pod/m2/bare: " + classSays + ", in cluster m2"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	var shares []world.Share
	for _, d := range step.Decisions {
		for _, share := range d.Shares {
			share.Message = hash.ReplaceAllString(share.Message, "web-NAME-")
			shares = append(shares, share)
		}
	}
	want := []world.Share{{Cluster: "m1", Assigned: 3, Running: 1, Message: quotaSays}, {Cluster: "m2", Assigned: 3, Running: 3}, {Cluster: "m2", Assigned: 1, Message: classSays}}
	if diff := cmp.Diff(want, shares); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Notes of a member's API server about the objects that Karmada brings appear once.
func TestNotesOfMembers(t *testing.T) {
	s := federationOf(t, []string{member("m1", 1, 10), member("m2", 1, 10)}, "", []string{policy("web", ""), strings.Replace(deployment("web", 1, 1), "name: web,", "name: web, namespace: shop,", 1),
		strings.Replace(policy("web", ""), "{name: web}", "{name: web, namespace: shop}", 1)})
	want := []string{"Cluster m1: Namespace shop did not exist and was created", "Cluster m2: Namespace shop did not exist and was created"}
	if diff := cmp.Diff(want, runFederation(t, s).Steps[0].Notes); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Deleted nodes are found by the labels that they have in the federation.
func TestRestoreByLabels(t *testing.T) {
	for _, selector := range []string{"topology.kubernetes.io/region=eu", "faultline.dev/cluster=m1"} {
		east := strings.Replace(member("m1", 1, 10), "name: m1,", "name: m1, region: eu,", 1)
		s := federationOf(t, []string{east, member("m2", 1, 10)}, "", []string{policy("web", ""), deployment("web", 1, 1)},
			"fail: {clusters: [m1], mode: deleted}", "restore: {selector: '"+selector+"'}")
		last := runFederation(t, s).Steps[2]
		if got := outcome(&last); last.Action != "restore m1/node-1" || got != "web m1:1 m2:1, m1 1, m2 1" {
			t.Errorf("%s: %s: %s", selector, last.Action, got)
		}
	}
}

// Two clusters have their own workload of the same name; these are two workloads.
func TestRolloutsOfOwnWorkloads(t *testing.T) {
	fed := &cluster.Federation{Control: &cluster.Control{}}
	for _, name := range []string{"m1", "m2"} {
		own := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "default", UID: "db"}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](1)}}
		fed = fed.With(cluster.Member{Name: name, State: new(cluster.State).With(own)})
	}
	var got []string
	var to world.Record
	fleet.New(nil, sched.Ties{}).Conclude(fed.Join(), nil, &to)
	for _, rollout := range to.Rollouts {
		got = append(got, fmt.Sprint(rollout.Name, " ", rollout.Desired))
	}
	if diff := cmp.Diff([]string{"m1/db 1", "m2/db 1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each of the two pods takes one cycle of its own member's scheduler.
func TestCyclesOfMembers(t *testing.T) {
	s := federationOf(t, []string{member("m1", 1, 10), member("m2", 1, 10)}, "", []string{policy("web", ""), deployment("web", 1, 1)})
	if cycles := runFederation(t, s).Cycles; cycles.Kept+cycles.Plain != 2 {
		t.Errorf("%+v, want 2 cycles", cycles)
	}
}
