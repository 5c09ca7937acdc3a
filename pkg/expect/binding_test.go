package expect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// Deployment web has 2 replicas in m1 and 1 in m2, FlinkDeployment shop/a fits no cluster, ConfigMap c is in m1, and no policy selects
// Deployment other.
func TestJudgeBinding(t *testing.T) {
	template := func(kind, namespace, name string) *federation.Template {
		return &federation.Template{Kind: kind, Namespace: namespace, Name: name}
	}
	bindings := []*federation.Binding{
		{Template: template("Deployment", "default", "web"), Targets: []federation.Target{{Cluster: "m2", Replicas: 1}, {Cluster: "m1", Replicas: 2}}, Reason: federation.ReasonSuccess, Message: "Fine."},
		{Template: template("FlinkDeployment", "shop", "a"), Reason: federation.ReasonNoClusterFit, Message: "0/2 clusters are available: 2 full."},
		{Template: template("ConfigMap", "default", "c"), Targets: []federation.Target{{Cluster: "m1"}}, Reason: federation.ReasonSuccess},
	}
	step := &simulation.Step{State: &cluster.State{Federation: &cluster.Federation{Control: &cluster.Control{
		Templates: []*cluster.ResourceTemplate{{Template: template("Deployment", "default", "other")}},
	}}}}
	for _, b := range bindings {
		step.Decisions = append(step.Decisions, world.Decision{Binding: b})
	}
	for name, c := range map[string]struct {
		expect scenario.ExpectedBinding
		want   []Judged
	}{
		"clusters": {scenario.ExpectedBinding{Target: "deploy/web", Clusters: map[string]int{"m1": 2, "m2": 1}, NotScheduled: ptr.To(false), Message: "Fine"}, []Judged{
			{Want: "Deployment default/web in m1 (2), m2 (1)", Got: "in m1 (2), m2 (1)", Met: true, Source: placeOf("bindings", 0, "clusters")},
			{Want: "Deployment default/web scheduled", Got: "in m1 (2), m2 (1)", Met: true, Source: placeOf("bindings", 0, "notScheduled")},
			{Want: `Deployment default/web with a message that contains "Fine"`, Got: `"Fine."`, Met: true, Source: placeOf("bindings", 0, "message")},
		}},
		"other clusters": {scenario.ExpectedBinding{Target: "deployment/web", Clusters: map[string]int{"m1": 3}, NotScheduled: ptr.To(true)}, []Judged{
			{Want: "Deployment default/web in m1 (3)", Got: "in m1 (2), m2 (1)", Source: placeOf("bindings", 0, "clusters")},
			{Want: "Deployment default/web not scheduled", Got: "in m1 (2), m2 (1)", Source: placeOf("bindings", 0, "notScheduled")},
		}},
		"not scheduled": {scenario.ExpectedBinding{Target: "flinkdeployment/a", Namespace: "shop", NotScheduled: ptr.To(true), Message: "2 full"}, []Judged{
			{Want: "FlinkDeployment shop/a not scheduled", Got: "not scheduled", Met: true, Source: placeOf("bindings", 0, "notScheduled")},
			{Want: `FlinkDeployment shop/a with a message that contains "2 full"`, Got: `"0/2 clusters are available: 2 full."`, Met: true, Source: placeOf("bindings", 0, "message")},
		}},
		"nowhere": {scenario.ExpectedBinding{Target: "flinkdeployment/a", Namespace: "shop", Clusters: map[string]int{"m1": 1}, NotScheduled: ptr.To(false)}, []Judged{
			{Want: "FlinkDeployment shop/a in m1 (1)", Got: "in no cluster", Why: "0/2 clusters are available: 2 full", Source: placeOf("bindings", 0, "clusters")},
			{Want: "FlinkDeployment shop/a scheduled", Got: "not scheduled", Why: "0/2 clusters are available: 2 full", Source: placeOf("bindings", 0, "notScheduled")},
		}},
		"without replicas": {scenario.ExpectedBinding{Target: "configmap/c", Clusters: map[string]int{"m1": 0}}, []Judged{
			{Want: "ConfigMap default/c in m1", Got: "in m1", Met: true, Source: placeOf("bindings", 0, "clusters")},
		}},
		"unclaimed": {scenario.ExpectedBinding{Target: "deployment/other", NotScheduled: ptr.To(true)}, []Judged{
			{Want: "deployment/other to be propagated", Got: "no binding", Why: "no policy selects it", Source: placeOf("bindings", 0, "target")},
		}},
		"another namespace": {scenario.ExpectedBinding{Target: "deployment/web", Namespace: "shop", NotScheduled: ptr.To(false)}, []Judged{
			{Want: "deployment/web to be propagated", Got: "no binding", Why: "it is not there at this step", Source: placeOf("bindings", 0, "target")},
		}},
	} {
		var got []Judged
		j := &stepJudge{Expect: &scenario.Expect{Bindings: []scenario.ExpectedBinding{c.expect}}, judged: &got, source: sourceOf}
		j.judgeStep(step)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
