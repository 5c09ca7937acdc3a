package capacity

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Workloads that are tried together have the same answers as each alone: thirteen that survive with as many more as the search looks for,
// one that does not and makes its group fail, and a StatefulSet and a hard spread, which are tried alone. Of four, a quota, or the loss of a zone
// with the pods of "edge", leaves room for fewer. Only the number of tries differs.
func TestTogether(t *testing.T) {
	var objects []runtime.RawExtension
	add := func(kind, name, cpu, spec string) {
		objects = append(objects, runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion": "apps/v1", "kind": %q, "metadata": {"name": %q}, "spec": {"replicas": 1,
			"selector": {"matchLabels": {"app": %[2]q}}, "template": {"metadata": {"labels": {"app": %[2]q}},
			"spec": {%s"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": %q}}}]}}}}`, kind, name, spec, cpu)})
	}
	for i := range 13 {
		add("Deployment", fmt.Sprintf("app-%02d", i), "10m", "")
	}
	add("Deployment", "pinned", "8", `"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
		{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a", "b"]}]}]}}}, `)
	add("StatefulSet", "db", "10m", "")
	add("Deployment", "web", "10m", `"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
		"whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}], `)
	for i := range 3 {
		add("Deployment", fmt.Sprintf("quota-%d", i), "10m", "")
		object := &objects[len(objects)-1]
		object.Raw = []byte(strings.Replace(string(object.Raw), `"metadata": {`, fmt.Sprintf(`"metadata": {"namespace": "team-%d", `, i), 1))
		objects = append(objects, runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods", "namespace": "team-%d"},
			"spec": {"hard": {"pods": "%d"}}}`, i, 5+i)})
	}
	add("Deployment", "edge", "20", "")
	var world scenario.Source
	if err := json.Unmarshal([]byte(`{"synthetic": {"zones": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
		"nodeGroups": [{"count": 1, "cpu": 100, "memory": "64Gi", "pods": 2000}]}}`), &world); err != nil {
		t.Fatal(err)
	}
	s, err := loader.New("test", &scenario.File{Cluster: []scenario.Source{world}, Workloads: []scenario.Source{{Objects: objects}}})
	if err != nil {
		t.Fatal(err)
	}
	base, err := simulation.Run(t.Context(), Base(s, ""), simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mixes, err := Mixes(base.State(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	answers := func(together bool) []Mix {
		f := newFinder(base, mixes, Options{Survive: []string{v1.LabelTopologyZone}, Mode: node.Unreachable, UpTo: 15})
		f.large = together
		if err := f.findAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		return f.answers
	}
	got := answers(true)
	if diff := cmp.Diff(answers(false), got, cmpopts.IgnoreFields(Limit{}, "Probes"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-each alone +together)\n%s", diff)
	}
	tries := map[string]int{}
	for _, answer := range got {
		tries[answer.Name] = answer.Survive[0].Probes
	}
	for name, want := range map[string]bool{"app-00": true, "app-10": true, "pinned": false, "web": false} {
		if (tries["deployment/"+name] == 1) != want {
			t.Errorf("%s was tried %d times; with others: %t", name, tries["deployment/"+name], want)
		}
	}
}
