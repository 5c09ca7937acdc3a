package playground

import (
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/loader"
)

// A support bundle also has lists of permissions and error messages. A folder may have such files; a file that is named may not be one.
func TestComposeFolder(t *testing.T) {
	fsys := fstest.MapFS{
		"bundle/nodes.json":       {Data: []byte(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"w"}}`)},
		"bundle/permissions.json": {Data: []byte(`[{"verbs":["get"]}]`)},
		"bundle/errors.json":      {Data: []byte(`["not allowed"]`)},
		"bundle/nameless.yaml":    {Data: []byte("metadata: {name: web}\n")}, // somebody forgot the kind
	}
	for _, test := range []struct {
		name  string
		paths []string
		want  []string
	}{
		{"folder", []string{"bundle"}, []string{"nameless.yaml", "nodes.json", "scenario.yaml"}},
		{"file", []string{"bundle/permissions.json"}, []string{"permissions.json", "scenario.yaml"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in, err := Compose(fsys, nil, test.paths, nil, &loader.Nodes{}, "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, slices.Sorted(maps.Keys(in.Files))); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}
