package manifest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What kubectl prints for people, and what it says beside its output.
func TestMisprints(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"kubectl describe", "Name:               n1\nRoles:              <none>\n", "x.yaml: this is what kubectl describe prints, which lacks most of each object; give what kubectl get -o json or -o yaml prints"},
		{"kubectl get", "NAME   STATUS   ROLES    AGE\nn1     Ready    <none>   10d\n", "x.yaml: this is a table of kubectl get, which lacks most of each object; give what kubectl get -o json or -o yaml prints"},
		{"of all namespaces", "NAMESPACE   NAME   READY\na           b      1/1\n", "x.yaml: this is a table of kubectl get, which lacks most of each object; give what kubectl get -o json or -o yaml prints"},
		{"a prompt", "\n$ kubectl get ns -o yaml\n" + namespace("a"), "x.yaml: line 2: a command stands before its output; remove the line"},
		{"Markdown", "```yaml\n" + namespace("a") + "```\n", "x.yaml: line 1: a fence of Markdown stands before the objects; remove it, and the one after them"},
		{"an error after the objects", namespace("a") + "Error from server (Forbidden): pods is forbidden\n",
			fmt.Sprintf("x.yaml: line %d: kubectl says %q, so that objects are missing here; mend that, and write the file anew", len(linesOf(namespace("a")))+1, "Error from server (Forbidden): pods is forbidden")},
		{"a zip archive", "PK\x03\x04\x14\x00", "x.yaml: is a zip archive, which is not read; unpack it, and name the folder"},
		{"metadata alone", `{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "items": [{"metadata": {"name": "a"}}]}`,
			"x.yaml: items[0]: PartialObjectMetadata of meta.k8s.io/v1 has only the metadata of an object; give what kubectl get -o json or -o yaml prints"},
		{"a warning before the objects", "Warning: v1 ComponentStatus is deprecated in v1.19+\n" + namespace("a"), "<nil>"},
		{"compressed by xz", "\xfd7zXZ\x00\x00", "x.yaml: is compressed by xz, which is not read; unpack it, or compress it by gzip"},
		{"compressed by bzip2", "BZh91AY&SY", "x.yaml: is compressed by bzip2, which is not read; unpack it, or compress it by gzip"},
		{"compressed by zstd", "\x28\xb5\x2f\xfd\x00\x00", "x.yaml: is compressed by zstd, which is not read; unpack it, or compress it by gzip"},
		{"compressed by gzip twice", string(gzipText(t, string(gzipText(t, namespace("a"))))), "<nil>"},
		{"an error that ends the output", namespace("a") + "Unable to connect to the server: net/http: TLS handshake timeout\n",
			fmt.Sprintf("x.yaml: line %d: kubectl says %q, so that objects are missing here; mend that, and write the file anew", len(linesOf(namespace("a")))+1, "Unable to connect to the server: net/http: TLS handshake timeout")},
		{"messages around the objects", "E0102 03:04:05.000001    1234 memcache.go:287] couldn't get resource list for metrics.k8s.io/v1beta1: the server is currently unable to handle the request\n" +
			"Warning: v1 ComponentStatus is deprecated in v1.19+\n" + namespaceJSON + "\nNo resources found in default namespace.\n", "<nil>"},
		{"nothing but a message", "No resources found\n", "x.yaml: no Kubernetes object in it; give a file that has at least one"},
		{"words of an object", `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "annotations": {"x": "Error from server: no"}}}`, "<nil>"},
	} {
		t.Run(test.name, func(t *testing.T) {
			writeFiles(t, map[string]string{"x.yaml": test.text})
			_, err := Read(nil, "x.yaml")
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func linesOf(text string) (lines []int) {
	for i, r := range text {
		if r == '\n' {
			lines = append(lines, i)
		}
	}
	return lines
}
