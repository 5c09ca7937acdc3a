package loader

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/input/operator/kafscale"
	"github.com/faultline/faultline/pkg/scenario"
)

const withOperator = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster: [{synthetic: {nodeGroups: [{count: 1}]}}]
operators:
  kafscale: {release: file, namespace: kafka, values: values.yaml, valuesInline: {proxy: {enabled: true}}, revision: before}
workloads:
- objects:
  - apiVersion: kafscale.io/v1alpha1
    kind: KafscaleCluster
    metadata: {name: main}
    spec: {brokers: {}, s3: {bucket: b, region: r}}
`

func workloadNames(t *testing.T, opts Options) []string {
	t.Helper()
	s, err := LoadFS(fstest.MapFS{
		"scenario.yaml": {Data: []byte(withOperator)}, "values.yaml": {Data: []byte("{nameOverride: foo, console: {enabled: false}}")},
	}, "scenario.yaml", opts)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, obj := range s.Workloads {
		all = append(all, cluster.RefTo(obj).Describe())
	}
	return all
}

// The objects of the chart come first. A resource that the scenario file itself contains is expanded, too.
func TestOperatorsOfAScenario(t *testing.T) {
	want := []string{
		"Deployment kafka/file-foo-operator", "Deployment kafka/file-foo-proxy",
	}
	got := workloadNames(t, Options{})
	if diff := cmp.Diff(want, got[:2]); diff != "" || len(got) != 6 {
		t.Errorf("%d objects (-want +got):\n%s", len(got), diff)
	}
}

// The release and a value of the flags win; other settings come from the file.
func TestFlagsWinOverOperatorsOfTheFile(t *testing.T) {
	got := workloadNames(t, Options{Operators: OperatorOptions{KafScale: kafscale.Options{
		Release: "flag", Values: []kafscale.Document{{Name: "flag.yaml", Data: []byte("nameOverride: bar")}},
	}}})
	want := []string{
		"Deployment kafka/flag-bar-operator", "Deployment kafka/flag-bar-proxy",
	}
	if diff := cmp.Diff(want, got[:2]); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func TestSourceOfAResource(t *testing.T) {
	s, err := LoadFS(fstest.MapFS{"scenario.yaml": {Data: []byte(withOperator)}, "values.yaml": {Data: []byte("{}")}}, "scenario.yaml", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range s.Workloads {
		if operator.OriginsOf(obj) == nil || cluster.KindOf(obj) != "StatefulSet" {
			continue
		}
		source, found := s.Source(scenario.WorkloadsStep, cluster.RefTo(obj))
		if want := (manifest.Source{File: "scenario.yaml", Path: "workloads[0].objects[0]", Line: 8}); !found || source != want {
			t.Errorf("source is %+v, want %+v", source, want)
		}
	}
}
