package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
)

// An object that names manifests elsewhere has the command that renders them.
func TestRenderCommand(t *testing.T) {
	for name, c := range map[string]struct{ object, want string }{
		"Argo CD, a folder": {`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: web}, spec: {source: {path: deploy/web}}}`, "kustomize build deploy/web"},
		"Argo CD, a chart":  {`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: web}, spec: {source: {chart: nginx, repoURL: https://example.com}}}`, "helm template web nginx"},
		"Argo CD, a chart in a folder": {`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: web}, spec: {sources: [{path: charts/web, helm: {releaseName: web}}]}}`,
			"helm template web charts/web"},
		"Argo CD, several":  {`{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: web}, spec: {}}`, "kustomize build FOLDER"},
		"Argo's workflows":  {`{apiVersion: argoproj.io/v1alpha1, kind: Workflow, metadata: {name: web}, spec: {}}`, ""},
		"Flux, a chart":     {`{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: web}, spec: {chart: {spec: {chart: ./chart}}}}`, "helm template web ./chart"},
		"Flux, a folder":    {`{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: apps}, spec: {path: ./apps}}`, "kustomize build ./apps"},
		"kustomize":         {`{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization, resources: [web.yaml]}`, "kustomize build overlays/prod"},
		"kustomize, a part": {`{apiVersion: kustomize.config.k8s.io/v1alpha1, kind: Component, resources: [web.yaml]}`, "kustomize build overlays/prod"},
		"something else":    {`{apiVersion: example.com/v1, kind: Application, metadata: {name: web}, spec: {source: {path: deploy/web}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := manifest.Decode("overlays/prod/kustomization.yaml", []byte(c.object))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.want}, list.Map(set.Ignored, manifest.RenderCommand)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Lists and objects of objects, as Jsonnet writes them, hold the objects in them.
func TestTrees(t *testing.T) {
	named := func(name string) string {
		return `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "` + name + `"}}`
	}
	dumped := func(name string) string {
		return strings.Replace(named(name), `"metadata": {`, `"metadata": {"uid": "u", `, 1)
	}
	for name, c := range map[string]struct {
		text  string
		want  []string // source and name
		wrong string
	}{
		"a list":             {text: `[` + named("a") + `, ` + named("b") + `]`, want: []string{"t.json: [0] a", "t.json: [1] b"}},
		"an object":          {text: `{"b.yaml": ` + named("b") + `, "a.yaml": ` + named("a") + `}`, want: []string{"t.json: a.yaml a", "t.json: b.yaml b"}},
		"an object of lists": {text: `{"x": [` + named("a") + `], "y": {"z": ` + named("b") + `}}`, want: []string{"t.json: x[0] a", "t.json: y.z b"}},
		"a list of lists":    {text: `[[` + named("a") + `], ` + named("b") + `]`, want: []string{"t.json: [0][0] a", "t.json: [1] b"}},
		"with another value": {text: `{"a": ` + named("a") + `, "replicas": 3}`, wrong: "t.json: no apiVersion and no kind, so this is no Kubernetes object; leave the file out, or add both"},
		"with an empty list": {text: `{"a": ` + named("a") + `, "b": []}`, wrong: "t.json: no apiVersion and no kind, so this is no Kubernetes object; leave the file out, or add both"},
		"a script's dump": {text: `{"cluster": "prod", "jobs": [], "namespaces": [` + dumped("a") + `], "nodes": {"kind": "NodeList", "apiVersion": "v1", "items": []}, "took": 1.5}`,
			want: []string{"t.json: namespaces[0] a"}},
		"a script's dump with other objects": {text: `{"cluster": {"name": "prod"}, "namespaces": [` + dumped("a") + `]}`,
			wrong: "t.json: snapshot: unknown field \"cluster\""},
		"statistics of a kubelet": {text: `{"node": {"nodeName": "n1"}, "pods": [{"podRef": {"name": "p"}, "containers": []}]}`,
			wrong: "t.json: no apiVersion and no kind, so this is no Kubernetes object; leave the file out, or add both"},
		"with an invalid object":  {text: `{"a": {"apiVersion": "v1", "kind": "Pods", "metadata": {"name": "a"}}}`, wrong: "t.json: a: no kind \"Pods\" in apiVersion v1; did you mean \"Pod\"?"},
		"an object is not a tree": {text: named("a"), want: []string{"t.json a"}},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := manifest.Decode("t.json", []byte(c.text))
			got, wrong := []string(nil), ""
			if err != nil {
				wrong = err.Error()
			} else {
				got = list.Map(set.Objects, func(o manifest.Object) string { return o.Source.String() + " " + o.GetName() })
			}
			if diff := cmp.Diff(c.want, got) + cmp.Diff(c.wrong, wrong); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A block of SOPS is left out with a flaw that says so.
func TestSOPS(t *testing.T) {
	set, err := manifest.Decode("web.yaml", []byte(`{apiVersion: v1, kind: Namespace, metadata: {name: web}, sops: {mac: "ENC[x]"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"web.yaml: Namespace web: encrypted by SOPS, whose block sops is left out; its encrypted values are taken as they are"}
	if diff := cmp.Diff(want, list.Map(set.Flaws, manifest.Flaw.Error)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err = manifest.Decode("web.yaml", []byte(`{apiVersion: v1, kind: Namespace, metadata: {name: web}, sop: {}}`)); err == nil {
		t.Error("another unknown field is accepted")
	}
}
