package manifest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A page of a list is not the list: the objects of the other pages would vanish.
func TestPages(t *testing.T) {
	page := func(kind, version, next, name string) string {
		return fmt.Sprintf(`{"kind": %q, "apiVersion": "v1", "metadata": {"resourceVersion": %q, "continue": %q}, "items": [{"metadata": {"name": %q, "uid": %[4]q}}]}`, kind, version, next, name)
	}
	refused := "dump.json: %sNamespaceList is one page of a longer list, whose next page metadata.continue names; give all Namespaces, as kubectl get -o json writes them"
	for _, test := range []struct{ name, text, want string }{
		{"a whole list", page("NamespaceList", "5", "", "a"), "<nil>"},
		{"one page", page("NamespaceList", "5", "next", "a"), fmt.Sprintf(refused, "")},
		{"all pages", page("NamespaceList", "5", "next", "a") + page("NamespaceList", "5", "next", "b") + page("NamespaceList", "5", "", "c"), "<nil>"},
		{"the last page is missing", page("NamespaceList", "5", "next", "a") + page("NamespaceList", "5", "next", "b"), fmt.Sprintf(refused, "document 1: ")},
		{"the end of another list", page("NamespaceList", "5", "next", "a") + page("NamespaceList", "6", "", "b"), fmt.Sprintf(refused, "document 1: ")},
		{"in a List", `{"kind": "List", "apiVersion": "v1", "items": [` + page("NamespaceList", "5", "next", "a") + `]}`, fmt.Sprintf(refused, "items[0]: ")},
		{"in an array", `[` + page("NamespaceList", "5", "next", "a") + `]`, fmt.Sprintf(refused, "[0]: ")},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Decode("dump.json", []byte(test.text))
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
