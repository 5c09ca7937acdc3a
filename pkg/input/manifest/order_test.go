package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
)

// A dump of several documents is sorted in kubectl's order. Manifests and a single List stay as they are.
func TestOrderOfDumps(t *testing.T) {
	object := func(kind, namespace, name, version string) string {
		spec := ""
		if kind == "Pod" {
			spec = `, "spec": {"containers": [{"name": "c", "image": "i"}]}`
		}
		return fmt.Sprintf(`{"apiVersion": "v1", "kind": %q, "metadata": {"namespace": %q, "name": %q, "resourceVersion": %q}%s}`, kind, namespace, name, version, spec)
	}
	given := func(version string) []string {
		return []string{
			object("Service", "a", "s", version), object("Pod", "a", "p", version), object("Pod", "a-b", "q", version), object("Node", "", "n2", version), object("Node", "", "n1", version),
		}
	}
	for _, test := range []struct{ name, text, want string }{
		{"several Lists", `{"apiVersion": "v1", "kind": "List", "items": [` + strings.Join(given("7")[:3], ",") + "]}" + strings.Join(given("7")[3:], ""), "Node n1, Node n2, Pod a-b/q, Pod a/p, Service a/s"},
		{"a List", `{"apiVersion": "v1", "kind": "List", "items": [` + strings.Join(given("7"), ",") + "]}", "Service a/s, Pod a/p, Pod a-b/q, Node n2, Node n1"},
		{"objects one by one", strings.Join(given("7"), "\n"), "Service a/s, Pod a/p, Pod a-b/q, Node n2, Node n1"},
		{"manifests", strings.Join(given(""), "\n"), "Service a/s, Pod a/p, Pod a-b/q, Node n2, Node n1"},
	} {
		set, err := Decode("f", []byte(strings.ReplaceAll(strings.ReplaceAll(test.text, `"kind": "Service", `, `"kind": "Service", "spec": {"ports": [{"port": 80}]}, `), `"namespace": "", `, "")))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, obj := range set.Objects {
			got = append(got, cluster.RefTo(obj.Object).Describe())
		}
		if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
