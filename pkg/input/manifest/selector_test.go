package manifest

import (
	"fmt"
	"strings"
	"testing"
)

// A selector may have many values, and as many expressions as upstream can sort in a short time.
func TestLongSelector(t *testing.T) {
	deployment := func(expressions int, values string) string {
		expression := `{"key": "a", "operator": "In", "values": [` + values + `]}`
		all := strings.TrimSuffix(strings.Repeat(expression+",", expressions), ",")
		return `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
			"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [` + expression + `]}, {"matchExpressions": [` + all + `]}]}}},
			"containers": [{"name": "c", "image": "c"}]}}}}`
	}
	const path = "spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].matchExpressions"
	for name, test := range map[string]struct{ object, want string }{
		"as many as are legal": {deployment(maxExpressions, `"b"`), "<nil>"},
		"many values":          {deployment(1, strings.Repeat(`"v", `, 100_000)+`"b"`), "<nil>"},
		"one more in a List":   {`{"apiVersion": "v1", "kind": "List", "items": [` + deployment(maxExpressions+1, `"b"`) + `]}`, "file.json: items[0]: Deployment default/web: " + path + ": has 5001 expressions; at most 5000 are legal here, since the scheduler needs minutes for more: give one expression with many values"},
		"one more":             {deployment(maxExpressions+1, `"b"`), "file.json: Deployment default/web: " + path + ": has 5001 expressions; at most 5000 are legal here, since the scheduler needs minutes for more: give one expression with many values"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode("file.json", []byte(test.object)); fmt.Sprint(err) != test.want {
				t.Errorf("got  %.400v\nwant %s", err, test.want)
			}
		})
	}
}
