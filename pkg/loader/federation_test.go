package loader

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/scenario"
)

// A federation is loaded with its clusters, and with the resources of Karmada that each step brings.
func TestFederation(t *testing.T) {
	s, err := Load("testdata/ok/federation.yaml", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	say := func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }
	karmada := func(k *scenario.Karmada) {
		for _, p := range k.Policies {
			say("  %s", p)
			if a := p.Spec.Placement.ClusterAffinity; a != nil {
				say("    to %v", a.ClusterNames)
			}
		}
		for _, o := range k.Overrides {
			say("  %s", o)
		}
		for _, r := range k.Resources {
			say("  %s %v: %d replicas of %s CPU and %s", r.Template, r.Labels, r.Replicas, r.Requests.Cpu(), r.Requests.Memory())
			for _, obj := range r.Objects {
				say("    %s, %d", obj.GetName(), countReplicas(obj))
			}
		}
		if k.Joined != nil {
			say("  %s with %d objects", k.Joined.Name, len(k.Joined.Objects))
		}
	}
	for _, m := range s.Members {
		say("%s %v in %s, %v, %d APIs, %d objects, the first is %s", m.Name, m.Labels, m.Spec.Region, m.Spec.Taints, len(m.Status.APIEnablements), len(m.Objects), m.Shown[0].GetName())
	}
	say("workloads: %d", len(s.Workloads))
	karmada(&s.Karmada)
	for i := range s.Steps {
		step := &s.Steps[i]
		say("%s: %s", step.Name, step.Action)
		karmada(&step.Karmada)
	}
	for _, note := range s.Notes {
		say("note: %s", note)
	}
	for _, ignored := range s.Ignored {
		say("ignored: %s %s", ignored.Kind, ignored.Name)
	}
	want := []string{
		"m1 map[tier:gold] in west, [], 3 APIs, 3 objects, the first is m1/worker-1",
		"m2 map[] in , [{cluster.karmada.io/maintenance  NoSchedule <nil>}], 0 APIs, 4 objects, the first is m2/affinity-control-plane",
		"workloads: 1",
		"  PropagationPolicy flink/flink",
		"    to [m1 m2 m3]",
		"  ClusterPropagationPolicy everywhere",
		"  OverridePolicy default/fewer",
		"  FlinkDeployment flink/job-a map[app.group:ha]: 4 replicas of 2 CPU and 4Gi",
		"    job-a, 1",
		"    job-a-taskmanager, 3",
		"a cluster joins: ",
		"  m3 with 1 objects",
		"maintenance of m3: ",
		`another placement: patch pp/flink -n flink -p '{"spec":{"placement":{"clusterAffinity":{"clusterNames":["m1"]}}}}'`,
		"  PropagationPolicy flink/flink",
		"    to [m1]",
		`a job is larger: patch flinkdeployment/job-a -n flink -p '{"spec":{"job":{"parallelism":10}}}'`,
		"  FlinkDeployment flink/job-a map[app.group:ha]: 6 replicas of 2 CPU and 4Gi",
		"    job-a, 1",
		"    job-a-taskmanager, 5",
		"a workload is larger: ",
		"a cluster fails: ",
		"and is back: ",
		"a node fails: ",
		"what goes: ",
		"  ClusterPropagationPolicy everywhere",
		"  FlinkDeployment flink/job-a map[app.group:ha]: 6 replicas of 2 CPU and 4Gi",
		"    job-a, 1",
		"    job-a-taskmanager, 5",
		"and the web: ",
		"note: PropagationPolicy flink/flink has workload affinity in the form of Karmada's proposal; it was read as groupByLabelKey, which the release has.",
		`note: ClusterPropagationPolicy everywhere: unknown field "spec.colour"; the API server would leave it out.`,
		"note: FederatedResourceQuota flink/quota is not simulated: clusters are chosen whatever quota there is.",
		"ignored: FederatedResourceQuota quota",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const oneCluster = `
apiVersion: faultline/v1alpha1
kind: Scenario
clusters:
- {name: m1, cluster: [{synthetic: {nodeGroups: [{name: worker, count: 1}]}}]}
customResources:
- {apiVersion: example.com/v1, kind: Widget, podTemplatePath: spec.template, replicasPath: spec.size}
workloads:
- objects:
  - apiVersion: policy.karmada.io/v1alpha1
    kind: PropagationPolicy
    metadata: {name: widgets}
    spec:
      resourceSelectors: [{apiVersion: example.com/v1, kind: Widget}]
      placement: {workloadAffinity: {affinity: {groupByLabelKey: team}}}
  - apiVersion: example.com/v1
    kind: Widget
    metadata: {name: w, uid: 5c1a, labels: {team: red}}
    spec:
      size: 7
      template:
        metadata: {labels: {app: w}}
        spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 250m}}}]}
variants:
- name: elsewhere
  patches:
  - {target: pp/widgets, patch: {spec: {placement: {clusterAffinity: {clusterNames: [m2]}}}}}
  - {target: widget/w, patch: {spec: {size: 9}}}
`

// If a rule of the scenario names the replicas of a custom resource, Karmada divides them. The template then has limits for missing
// requests, and the resource's UID if it has one. A variant patches the resource, and its policy.
func TestFederationVariant(t *testing.T) {
	s, err := LoadFS(fstest.MapFS{"s.yaml": {Data: []byte(oneCluster)}}, "s.yaml", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if note := "PropagationPolicy default/widgets: workloadAffinity has no effect: the feature gate WorkloadAffinity is alpha and off; switch it on with federation.featureGates."; !slices.Contains(s.Notes, note) {
		t.Errorf("notes %q", s.Notes)
	}
	size := func(s *scenario.Scenario) string {
		r := s.Karmada.Resources[0]
		return fmt.Sprintf("%d of %s, %s, %v", r.Replicas, r.Requests.Cpu(), r.UID, s.Karmada.Policies[0].Spec.Placement.ClusterAffinity)
	}
	varied := s.Variants[0].Scenario
	if got := size(s); got != "7 of 250m, 5c1a, <nil>" {
		t.Errorf("%s", got)
	}
	if got := size(varied); got != "9 of 250m, 5c1a, &{nil <nil> [m2] []}" {
		t.Errorf("varied, %s", got)
	}
	if _, common := scenario.CommonSteps(s, varied); common {
		t.Error("they begin alike")
	}
}

// federationFiles returns a federation of two clusters and one that joins, with the patches of a variant.
func federationFiles(patches string) fstest.MapFS {
	return fstest.MapFS{"s.yaml": {Data: []byte(`apiVersion: faultline/v1alpha1
kind: Scenario
clusters:
- {name: m1, region: west, labels: {tier: gold}, apis: [apps/v1/Deployment], cluster: &nodes [{synthetic: {nodeGroups: [{name: worker, count: 2}]}}]}
- {name: m2, cluster: *nodes}
workloads:
- objects:
  - {apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: web}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {}}}
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c}]}}}}
steps:
- {name: a cluster joins, join: {name: m3, cluster: *nodes}}
variants:
- name: otherwise
  patches:
` + patches)}}
}

// A variant can patch clusters, also joining ones, their nodes, and policies.
func TestVariantOfMembers(t *testing.T) {
	_, err := LoadFS(federationFiles(`
  - {target: cluster/m1, patch: {metadata: {labels: {tier: null, cost: low}}, spec: {region: east, taints: [{key: down, effect: NoSchedule}]}, status: {apiEnablements: null}}}
  - {target: clusters.cluster.karmada.io/m3, type: json, patch: [{op: add, path: /spec/provider, value: aws}]}
  - {target: node/m2/worker-1, patch: {spec: {unschedulable: true}}}
  - {target: clusterpropagationpolicy/web, patch: {spec: {}}}
  - {target: pp/web, patch: {spec: {placement: {clusterAffinity: {clusterNames: [m2]}}}}}
`), "s.yaml", Options{})
	want := `s.yaml: variants[0]: patches[3].target: there is no ClusterPropagationPolicy web in the scenario; there are none`
	if err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	s, err := LoadFS(federationFiles(`
  - {target: cluster/m1, patch: {metadata: {labels: {tier: null, cost: low}}, spec: {region: east, taints: [{key: down, effect: NoSchedule}]}, status: {apiEnablements: null}}}
  - {target: clusters.cluster.karmada.io/m3, type: json, patch: [{op: add, path: /spec/provider, value: aws}]}
  - {target: node/m2/worker-1, patch: {spec: {unschedulable: true}}}
  - {target: pp/web, patch: {spec: {placement: {clusterAffinity: {clusterNames: [m2]}}}}}
`), "s.yaml", Options{})
	if err != nil {
		t.Fatal(err)
	}
	say := func(s *scenario.Scenario) (all []string) {
		for _, m := range s.AllMembers() {
			all = append(all, fmt.Sprintf("%s %v in %q of %q, %v, %d APIs", m.Name, m.Labels, m.Spec.Region, m.Spec.Provider, m.Spec.Taints, len(m.Status.APIEnablements)))
			for _, obj := range m.Shown {
				node := obj.(*v1.Node)
				all = append(all, fmt.Sprintf("  %s in %q, %t", node.Name, node.Labels[v1.LabelTopologyRegion], node.Spec.Unschedulable))
			}
		}
		return append(all, fmt.Sprint(s.Karmada.Policies[0].Spec.Placement.ClusterAffinity))
	}
	wanted := []string{
		`m1 map[tier:gold] in "west" of "", [], 1 APIs`, `  m1/worker-1 in "west", false`, `  m1/worker-2 in "west", false`,
		`m2 map[] in "" of "", [], 0 APIs`, `  m2/worker-1 in "", false`, `  m2/worker-2 in "", false`,
		`m3 map[] in "" of "", [], 0 APIs`, `  m3/worker-1 in "", false`, `  m3/worker-2 in "", false`, "<nil>",
	}
	if diff := cmp.Diff(wanted, say(s)); diff != "" {
		t.Errorf("the scenario itself (-want +got):\n%s", diff)
	}
	wanted = []string{
		`m1 map[cost:low] in "east" of "", [{down  NoSchedule <nil>}], 0 APIs`, `  m1/worker-1 in "east", false`, `  m1/worker-2 in "east", false`,
		`m2 map[] in "" of "", [], 0 APIs`, `  m2/worker-1 in "", true`, `  m2/worker-2 in "", false`,
		`m3 map[] in "" of "aws", [], 0 APIs`, `  m3/worker-1 in "", false`, `  m3/worker-2 in "", false`, "&{nil <nil> [m2] []}",
	}
	if diff := cmp.Diff(wanted, say(s.Variants[0].Scenario)); diff != "" {
		t.Errorf("the variant (-want +got):\n%s", diff)
	}
}

func TestWrongVariantOfMembers(t *testing.T) {
	for _, test := range []struct{ patch, want string }{
		{"{target: cluster/m4, patch: {spec: {region: a}}}", `target: there is no cluster "m4"; there are m1, m2, m3`},
		{"{target: pp/wbe, patch: {spec: {}}}", `target: there is no PropagationPolicy default/wbe in the scenario; there is web`},
		{"{target: node/m1/worker-9, patch: {spec: {}}}", `target: there is no Node m1/worker-9 in the scenario; there are m1/worker-1, m1/worker-2, m2/worker-1, m2/worker-2, m3/worker-1, m3/worker-2`},
		{"{target: node/m3/worker-1, patch: {spec: {}}}", `target: Node worker-1 is in cluster m3, which joins later; change it in the step that lets it join`},
		{"{target: cluster/m1, patch: {metadata: {name: m9}}}", `patch: the patch changes the kind, namespace or name of cluster m1, which cannot change`},
		{"{target: cluster/m1, patch: {spec: {taints: [{key: a, effect: Never}]}}}", `patch: spec.taints[0]: Invalid value: "a:Never": invalid taint effect: Never, unsupported taint effect`},
		{"{target: cluster/m1, patch: {spec: {taints: 3}}}", `patch: spec.taints: Invalid value: 3: a number where a list is wanted`},
	} {
		_, err := LoadFS(federationFiles("  - "+test.patch+"\n"), "s.yaml", Options{})
		if want := "s.yaml: variants[0]: patches[0]." + test.want; err == nil || err.Error() != want {
			t.Errorf("%s:\n%v\nwant\n%s", test.patch, err, want)
		}
	}
}
