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
	spread := func(constraints int) string {
		constraint := `{"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "ScheduleAnyway"}`
		return `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [{"name": "c", "image": "c"}], "topologySpreadConstraints": [` + strings.TrimSuffix(strings.Repeat(constraint+",", constraints), ",") + `]}}`
	}
	const path = "spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].matchExpressions"
	for name, test := range map[string]struct{ object, want string }{
		"as many as are legal":  {deployment(5_000, `"b"`), "<nil>"},
		"many values":           {deployment(1, strings.Repeat(`"v", `, 100_000)+`"b"`), "<nil>"},
		"one more in a List":    {`{"apiVersion": "v1", "kind": "List", "items": [` + deployment(5_001, `"b"`) + `]}`, "file.json: items[0]: Deployment default/web: " + path + ": has 5001 expressions; at most 5000 are legal here, since the scheduler needs minutes for more: give one expression with many values"},
		"spread over many keys": {strings.Replace(spread(1_001), `, "uid": "u"`, "", 1), "file.json: Pod default/p: spec.topologySpreadConstraints: has 1001 constraints; at most 1000 are legal here, since the scheduler needs minutes for more: leave out those that others imply"},
		"one more":              {deployment(5_001, `"b"`), "file.json: Deployment default/web: " + path + ": has 5001 expressions; at most 5000 are legal here, since the scheduler needs minutes for more: give one expression with many values"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode("file.json", []byte(test.object)); fmt.Sprint(err) != test.want {
				t.Errorf("got  %.400v\nwant %s", err, test.want)
			}
		})
	}
}
