package scenario

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const customHead = "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster: [{synthetic: {nodeGroups: [{count: 1}]}}]\n"

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
	if len(s.Workloads) != 1 || KindOf(s.Workloads[0]) != "StatefulSet" {
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
operators: {hydrolix: {profile: none.yaml}}
workloads: [{objects: [{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: c}]}}]}]
`)}}, FileName, Options{})
	if err == nil {
		t.Fatal("there is no error")
	}
	want := `scenario.yaml: operators.hydrolix.profile: there is no file or folder none.yaml; paths are relative to the folder of the scenario
scenario.yaml: customResources[1]: Widget of example.com/v2 is in customResources[0] already; keep one
scenario.yaml: customResources[1].podTemplatePath: "spec..template" has an empty part; give the fields with dots between them, for example spec.template
scenario.yaml: customResources[2]: Deployment of apps/v1 is Kubernetes' own; leave it out, since a workload is taken as it is
scenario.yaml: customResources[3]: HydrolixCluster of hydrolix.io/v1 is expanded already; leave it out
scenario.yaml: customResources[4].apiVersion: "a/b/c" is not of the form group/version
scenario.yaml: customResources[4].podTemplatePath: is missing; give the fields with dots between them, for example spec.template
scenario.yaml: customResources[4].as: "Pod" is none of Deployment, StatefulSet, DaemonSet, Job
scenario.yaml: customResources[5]: give the apiVersion and the kind of the resources
scenario.yaml: customResources[5].replicasPath: has no effect, since a DaemonSet has a pod on every node; leave it out`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The profile that the scenario names holds, and is one of its files.
func TestHydrolixProfile(t *testing.T) {
	s, err := LoadFS(fstest.MapFS{
		FileName:       {Data: []byte(customHead + "workloads: [{files: [h.yaml]}]\noperators: {hydrolix: {profile: profile.yaml}}")},
		"profile.yaml": {Data: []byte("{label: app, weight: 1, scaleProfiles: [eval], services: {ui: {kind: Deployment, replicas: {eval: 4}}}}")},
		"h.yaml":       {Data: []byte("apiVersion: hydrolix.io/v1\nkind: HydrolixCluster\nmetadata: {name: h}\nspec: {}\n")},
	}, FileName, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, obj := range s.Workloads {
		if KindOf(obj) != "PriorityClass" {
			names = append(names, obj.GetName())
		}
	}
	if diff := cmp.Diff([]string{"ui"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if files, err := s.Files(); err != nil || !slices.Contains(files, "profile.yaml") {
		t.Errorf("%v, %v", files, err)
	}
}
