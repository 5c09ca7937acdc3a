package loader_test

import (
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/loader"
)

// The files of a scenario are those that the scenario itself, its variants and its points name, by folders, patterns and paths that go up.
func TestFiles(t *testing.T) {
	text := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	node := text("apiVersion: v1\nkind: Node\nmetadata: {name: node}\n")
	pod := func(name string) *fstest.MapFile {
		return text("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{name: c, image: i}]}\n")
	}
	config := text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
	fsys := fstest.MapFS{
		"dir/my.yaml": text(`apiVersion: faultline/v1alpha1
kind: Scenario
cluster: [{files: [../nodes.yaml]}]
workloads: [{files: [folder, folder/a.yaml]}]
steps:
- {name: apply, apply: {files: ["pattern-*.yaml"]}}
- {name: delete, delete: {files: ["pattern-1.yaml"]}}
scheduler: {config: scheduler.yaml}
variants:
- {name: other, cluster: [{files: [variant.yaml]}]}
sweep:
  parameters: [{name: size, values: [small, large]}]
  variant: {scheduler: {config: sweep-$(size).yaml}}
`),
		"nodes.yaml": node, "dir/variant.yaml": node,
		"dir/folder/a.yaml": pod("a"), "dir/folder/deep/b.json": pod("b"), "dir/folder/notes.txt": text("not read"),
		"dir/pattern-1.yaml": pod("one"), "dir/pattern-2.yaml": pod("two"), "dir/not.yaml": pod("not"),
		"dir/scheduler.yaml": config, "dir/sweep-small.yaml": config, "dir/sweep-large.yaml": config,
	}
	s, err := loader.LoadFS(fsys, "dir/my.yaml", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := loader.Files(fsys, s)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, file := range []string{"../nodes.yaml", "folder/a.yaml", "folder/deep/b.json", "my.yaml", "pattern-1.yaml", "pattern-2.yaml",
		"scheduler.yaml", "sweep-large.yaml", "sweep-small.yaml", "variant.yaml"} {
		want = append(want, filepath.FromSlash(file))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if s.File != "dir/my.yaml" {
		t.Errorf("file %s", s.File)
	}
}
