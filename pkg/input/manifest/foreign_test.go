package manifest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// In a folder, a file that cannot be an object of Kubernetes is left out and listed. A file that looks like an object and is wrong is an
// error, and so is any such file that somebody names.
func TestFilesThatHoldNoObject(t *testing.T) {
	for _, test := range []struct{ name, text, folder, file string }{
		{"array", `[{"verbs": ["get"]}]`, "skipped", "dir/x.json: [0]: no apiVersion and no kind, so this is no Kubernetes object; leave the file out, or add both"},
		{"errors", `{"default": "not found"}`, "skipped", "dir/x.json: no apiVersion and no kind, so this is no Kubernetes object; leave the file out, or add both"},
		{"numbers", "[1, 2]", "skipped", "dir/x.json: [0]: a number where an object with apiVersion and kind is wanted\ndir/x.json: [1]: a number where an object with apiVersion and kind is wanted"},
		{"text", "Error from server: not found", "skipped", `dir/x.json: line 1: kubectl says "Error from server: not found", so that objects are missing here; mend that, and write the file anew`},
		{"unreadable text", "timeout: after: 3s", "skipped", "dir/x.json: line 1: not valid YAML: mapping values are not allowed in this context"},
		{"Latin-1", "caf\xe9", "skipped", "dir/x.json: not valid UTF-8; save the file as UTF-8"},
		{"an error of the API server", `{"kind": "Status", "apiVersion": "v1", "status": "Failure"}`, "skipped",
			"dir/x.json: Status of v1 is an answer of the API server that holds no object; give what kubectl get -o json or -o yaml prints"},
		{"a table", `{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []}`,
			"dir/x.json: Table of meta.k8s.io/v1 is for kubectl to print, and lacks most of its objects; use -o json, as kubectl get -o json does", "as in the folder"},
		{"a forgotten kind", "apiVersion: v1\nmetadata: {name: x}\n", "dir/x.json: an object of v1 without a kind; every object has both", "as in the folder"},
		{"a wrong kind", "apiVersion: v1\nkind: Nod\nmetadata: {name: x}\n", `dir/x.json: no kind "Nod" in apiVersion v1; did you mean "Node"?`, "as in the folder"},
		{"an object cut off", `{"kind": "Pod", "metadata": {`, "dir/x.json: line 1: not valid JSON: unexpected EOF", "as in the folder"},
		{"objects and others", `[{"verbs": ["get"]}, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}]`,
			"dir/x.json: [0]: no apiVersion and no kind, so this is no Kubernetes object; leave the file out, or add both", "as in the folder"},
	} {
		t.Run(test.name, func(t *testing.T) {
			writeFiles(t, map[string]string{"dir/a.yaml": namespace("a"), "dir/x.json": test.text})
			set, err := Read(nil, "dir")
			got := fmt.Sprint(err)
			if err == nil {
				got = "nothing"
				if diff := cmp.Diff("dir/a.yaml (line 1): Namespace a\n", describe(set)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if len(set.Skipped) == 1 && set.Skipped[0].File == "dir/x.json" && set.Strict() != nil {
					got = "skipped"
				}
			}
			if diff := cmp.Diff(test.folder, got); diff != "" {
				t.Errorf("in a folder (-want +got):\n%s", diff)
			}
			want := test.file
			if want == "as in the folder" {
				want = test.folder
			}
			_, err = Read(nil, "dir/x.json")
			if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
				t.Errorf("by name (-want +got):\n%s", diff)
			}
		})
	}
}

// Files of a folder that gzip has compressed are read, too.
func TestCompressedFilesInAFolder(t *testing.T) {
	writeFiles(t, map[string]string{"dir/a.yaml": namespace("a"), "dir/b.yaml.gz": string(gzipText(t, namespace("b"))), "dir/c.JSON.GZ": string(gzipText(t, namespaceJSON)), "dir/d.log.gz": "not read"})
	set, err := Read(nil, "dir")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("dir/a.yaml (line 1): Namespace a\ndir/b.yaml.gz (line 1): Namespace b\n", describe(set)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
