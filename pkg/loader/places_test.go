package loader

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// The place of a workload is in the source of the last step that applies it. The place of an expectation is its own line.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"scenario.yaml": `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic: {regions: [{name: eu}], zones: [{name: a}], nodeGroups: [{name: node, total: 1, cpu: 8, memory: 16Gi}]}
workloads:
- objects:
  - apiVersion: v1
    kind: Pod
    metadata: {name: bare}
    spec: {containers: [{name: c, image: c}]}
steps:
- name: first
  apply: {files: [web.yaml]}
  expect:
    pending: 0
    domains:
    - topologyKey: topology.kubernetes.io/zone
      min: 0
      max: 9
- name: second
  scale: {target: deployment/web, replicas: 3}
`,
		"web.yaml": `# nothing yet
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c}]}}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Load(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "scenario.yaml")
	place := func(source manifest.Source) manifest.Source {
		return manifest.Source{File: source.File, Line: source.Line}
	}
	web := cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}
	for _, step := range []string{"first", "second"} {
		source, found := s.Source(step, web)
		if want := (manifest.Source{File: filepath.Join(dir, "web.yaml"), Line: 8}); !found || place(source) != want {
			t.Errorf("%s: the Deployment stands at %v (%t), want %v", step, source, found, want)
		}
	}
	source, found := s.Source("first", cluster.Ref{Kind: "Pod", Namespace: "default", Name: "bare"})
	if want := (manifest.Source{File: file, Line: 7}); !found || place(source) != want {
		t.Errorf("the Pod stands at %v (%t), want %v", source, found, want)
	}
	if source, found := s.Source("second", cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "other"}); found {
		t.Errorf("an object that is not there stands at %v", source)
	}
	var lines []int
	for _, field := range [][]any{{"pending"}, {"domains", 0, "min"}, {"domains", 0, "max"}, {"message"}} {
		lines = append(lines, s.Steps[0].Expects.Source()(field...).Line)
	}
	if diff := cmp.Diff([]int{15, 18, 19, 14}, lines); diff != "" {
		t.Errorf("lines of the expectations (-want +got):\n%s", diff)
	}
}
