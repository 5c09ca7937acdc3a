package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A watch sees a and b come, a change, and b go: a is left, as it was at the end.
func TestEndOfWatch(t *testing.T) {
	const (
		a       = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "uid": "1", "resourceVersion": "1"}}`
		changed = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "uid": "1", "resourceVersion": "3", "labels": {"x": "y"}}}`
		b       = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "uid": "2", "resourceVersion": "2"}}`
	)
	events := []string{
		`{"type": "ADDED", "object": ` + a + `}`, `{"type": "ADDED", "object": ` + b + `}`, `{"type": "MODIFIED", "object": ` + changed + `}`,
		`{"type": "DELETED", "object": ` + b + `}`, `{"type": "BOOKMARK", "object": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"resourceVersion": "9"}}}`,
	}
	for name, text := range map[string]string{"lines": strings.Join(events, "\n"), "a list": "[" + strings.Join(events, ",") + "]"} {
		t.Run(name, func(t *testing.T) {
			writeFiles(t, map[string]string{"watch.json": text})
			set, err := Read(nil, "watch.json")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, obj := range set.Objects {
				got = append(got, obj.GetName()+" "+obj.GetLabels()["x"])
			}
			if diff := cmp.Diff([]string{"a y"}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	writeFiles(t, map[string]string{"ended.json": `{"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "code": 410}}`})
	if _, err := Read(nil, "ended.json"); err == nil || !strings.Contains(err.Error(), "Status of v1 is an answer of the API server that holds no object") {
		t.Errorf("error %v", err)
	}
}
