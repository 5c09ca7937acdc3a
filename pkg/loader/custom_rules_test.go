package loader

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

const customHead = "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster: [{synthetic: {nodeGroups: [{count: 1}]}}]\n"

// A rule of the scenario takes the place of the shipped one.
func TestCustomResourcesByShapes(t *testing.T) {
	const prometheus = "workloads: [{objects: [{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: k8s}, spec: {replicas: 2}}]}]\n"
	for _, tt := range []struct{ name, rules, want string }{
		{"shipped", "", "prometheus-k8s"},
		{"one's own", `customResources:
- apiVersion: monitoring.coreos.com/v1
  kind: Prometheus
  objects:
  - object:
      apiVersion: apps/v1
      kind: StatefulSet
      metadata: {name: 'own-{metadata.name}'}
      spec:
        selector: {matchLabels: {app: '{metadata.name}'}}
        template: {metadata: {labels: {app: '{metadata.name}'}}, spec: {containers: [{name: c, image: c}]}}
    fields: {spec.replicas: spec.replicas}
`, "own-k8s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := LoadFS(fstest.MapFS{FileName: {Data: []byte(customHead + tt.rules + prometheus)}}, FileName, Options{})
			if err != nil {
				t.Fatal(err)
			}
			set, is := s.Workloads[0].(*appsv1.StatefulSet)
			if !is || len(s.Workloads) != 1 || set.Name != tt.want || *set.Spec.Replicas != 2 {
				t.Errorf("%v", s.Workloads)
			}
		})
	}
}

func TestCustomResources(t *testing.T) {
	s, err := LoadFS(fstest.MapFS{
		FileName: {Data: []byte(customHead + "workloads: [{files: [w.yaml]}]\n" +
			"customResources: [{apiVersion: example.com/v1, kind: Widget, podTemplatePath: spec.template, as: StatefulSet}]")},
		"w.yaml": {Data: []byte("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {template: {spec: {containers: [{name: c, image: c}]}}}\n" +
			"---\napiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: g}\n")},
	}, FileName, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Workloads) != 1 || cluster.KindOf(s.Workloads[0]) != "StatefulSet" {
		t.Errorf("%v", s.Workloads)
	}
	if len(s.Ignored) != 1 || s.Ignored[0].Kind != "Gadget" {
		t.Errorf("%v", s.Ignored)
	}
}

func TestCustomResourcesErrors(t *testing.T) {
	_, err := LoadFS(fstest.MapFS{FileName: {Data: []byte(customHead + `customResources:
- {apiVersion: example.com/v1, kind: Widget, podTemplatePath: spec.template}
- {apiVersion: example.com/v2, kind: Widget, podTemplatePath: spec..template}
- {apiVersion: apps/v1, kind: Deployment, podTemplatePath: spec.template}
- {apiVersion: hydrolix.io/v1, kind: HydrolixCluster, podTemplatePath: spec.template}
- {apiVersion: a/b/c, kind: X, podTemplatePath: "", as: Pod}
- {apiVersion: "", kind: X, podTemplatePath: a, replicasPath: b, as: DaemonSet}
- {apiVersion: example.com/v1, kind: Gadget, as: Job, replicasPath: spec.size, objects: [{object: {apiVersion: apps/v2, kind: StatefulSet}}, {object: {apiVersion: v1, kind: Pod}, fields: {spec..a: b}}, {object: {apiVersion: v1, kind: Pod}, cases: [{is: x}]}]}
operators: {hydrolix: {profile: none.yaml}}
workloads: [{objects: [{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: c}]}}]}]
`)}}, FileName, Options{})
	if err == nil {
		t.Fatal("there is no error")
	}
	want := `scenario.yaml: operators.hydrolix.profile: there is no file or folder none.yaml; paths are relative to the folder of the scenario
scenario.yaml: customResources[1]: Widget of example.com/v2 is in customResources[0] already; keep one
scenario.yaml: customResources[1].podTemplatePath: "spec..template" has an empty part; give the fields with dots between them, for example spec.template
scenario.yaml: customResources[2]: Deployment of apps/v1 is built into Kubernetes; leave it out, since workloads are used as they are
scenario.yaml: customResources[3]: HydrolixCluster of hydrolix.io/v1 is expanded already; leave it out
scenario.yaml: customResources[4].apiVersion: "a/b/c" is not of the form group/version
scenario.yaml: customResources[4].podTemplatePath: is missing; give the fields with dots between them, for example spec.template
scenario.yaml: customResources[4].as: "Pod" is not a kind of workload; use Deployment, StatefulSet, DaemonSet or Job
scenario.yaml: customResources[5]: give the apiVersion and the kind of the resources
scenario.yaml: customResources[5].replicasPath: has no effect, since a DaemonSet has a pod on every node; leave it out
scenario.yaml: customResources[6]: objects take the place of podTemplatePath and as; leave those out
scenario.yaml: customResources[6].replicasPath: objects take their replicas by fields, and each cluster of a federation gets the resource whole; leave it out, or give podTemplatePath in place of objects to have Karmada divide the replicas
scenario.yaml: customResources[6].objects[0]: object: unknown kind "StatefulSet" of apiVersion "apps/v2"; give a Kubernetes kind, such as StatefulSet of apps/v1
scenario.yaml: customResources[6].objects[1]: path "spec..a" has an empty part; give the fields with dots between them, for example spec.replicas
scenario.yaml: customResources[6].objects[2]: cases: path: missing; give the fields with dots between them, for example spec.shards`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
