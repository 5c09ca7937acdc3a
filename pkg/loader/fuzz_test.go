package loader

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
)

// largeNumber matches numbers with which a few bytes ask for a cluster that takes long to build.
var largeNumber = regexp.MustCompile(`[0-9]{4}|[eE][0-9]`)

// FuzzLoad looks for scenarios that make the loader panic, or that give another result the second time. They can name only files of
// testdata.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	tree := fstest.MapFS{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		tree[strings.TrimPrefix(file, "testdata/")] = &fstest.MapFile{Data: data}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 || largeNumber.MatchString(text) {
			return
		}
		const file = "fuzz/scenario.yaml"
		load := func() (*scenario.Scenario, string) {
			s, err := LoadFS(addFile(tree, file, text), file, Options{})
			if err != nil {
				return s, err.Error()
			}
			return s, ""
		}
		s, problems := load()
		if _, again := load(); again != problems {
			t.Errorf("first\n%s\nthen\n%s", problems, again)
		}
		if (s == nil) != (problems != "") {
			t.Errorf("scenario %v with the problems %q", s, problems)
		}
		for _, line := range strings.Split(problems, "\n") {
			if problems != "" && strings.TrimSpace(line) == "" {
				t.Errorf("an empty line in %q", problems)
			}
		}
	})
}

// addFile returns the tree with one more file.
func addFile(tree fstest.MapFS, file, text string) fstest.MapFS {
	more := fstest.MapFS{file: {Data: []byte(text)}}
	for name, entry := range tree {
		more[name] = entry
	}
	return more
}

// FuzzPatch looks for patches that make an object panic, or that accept more than they should.
func FuzzPatch(f *testing.F) {
	for _, kind := range []string{"strategic", "merge", "json"} {
		f.Add(kind, `{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
		f.Add(kind, `{"$patch":"replace","spec":{"$setElementOrder/containers":3}}`)
		f.Add(kind, `[{"op":"copy","from":"/spec","path":"/metadata/annotations"},{"op":"remove","path":"/spec/template"},{"op":"add","path":"/spec/template/spec/containers/999999999","value":1}]`)
	}
	set, err := manifest.Read(nil, "testdata/docs/web.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, kind, text string) {
		patch := &scenario.Patch{Type: kind, Patch: runtime.RawExtension{Raw: []byte(text)}}
		if patched, err := patch.Apply(set.Objects[0].Object); (patched == nil) != (err != nil) {
			t.Errorf("object %v with the error %v", patched, err)
		}
	})
}
