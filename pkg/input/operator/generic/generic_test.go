package generic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

var widget = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

func expand(t *testing.T, rule Rule, text string) (*operator.Result, error) {
	t.Helper()
	set, err := manifest.Decode("w.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return operator.Expand([]operator.Operator{New(rule)}, set.Ignored)
}

const (
	head      = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: ns}\n"
	container = "containers: [{name: c, image: c}]"
)

func TestWorkloads(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		rule       Rule
		want       string
	}{
		{"Deployment with labels of its own", head + "spec: {size: 3, template: {metadata: {labels: {a: b}}, spec: {" + container + "}}}",
			Rule{Kind: widget, PodTemplatePath: "spec.template", ReplicasPath: "spec.size", As: "Deployment"}, "Deployment ns/w 3 map[a:b] map[a:b]"},
		{"1 replica, app: name", head + "spec: {template: {spec: {" + container + "}}}",
			Rule{Kind: widget, PodTemplatePath: "spec.template", As: "Deployment"}, "Deployment ns/w 1 map[app:w] map[app:w]"},
		{"StatefulSet, deep", head + "spec: {server: {pod: {spec: {" + container + "}}, count: 0}}",
			Rule{Kind: widget, PodTemplatePath: "spec.server.pod", ReplicasPath: "spec.server.count", As: "StatefulSet"}, "StatefulSet ns/w 0 map[app:w] map[app:w]"},
		{"DaemonSet", head + "spec: {template: {spec: {" + container + "}}}",
			Rule{Kind: widget, PodTemplatePath: "spec.template", As: "DaemonSet"}, "DaemonSet ns/w map[app:w] map[app:w]"},
		{"Job", head + "spec: {runs: 2, template: {spec: {" + container + "}}}",
			Rule{Kind: widget, PodTemplatePath: "spec.template", ReplicasPath: "spec.runs", As: "Job"}, "Job ns/w 2 2 Never"},
		{"Job that says how it restarts", head + "spec: {runs: 2, template: {spec: {restartPolicy: OnFailure, " + container + "}}}",
			Rule{Kind: widget, PodTemplatePath: "spec.template", ReplicasPath: "spec.runs", As: "Job"}, "Job ns/w 2 2 OnFailure"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, err := expand(t, tt.rule, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Objects) != 1 {
				t.Fatalf("%d objects", len(result.Objects))
			}
			obj := result.Objects[0]
			got := obj.GetNamespace() + "/" + obj.GetName() + " "
			switch o := obj.Object.(type) {
			case *appsv1.Deployment:
				got = "Deployment " + got + fmt.Sprint(*o.Spec.Replicas, " ", o.Spec.Selector.MatchLabels, " ", o.Spec.Template.Labels)
			case *appsv1.StatefulSet:
				got = "StatefulSet " + got + fmt.Sprint(*o.Spec.Replicas, " ", o.Spec.Selector.MatchLabels, " ", o.Spec.Template.Labels)
			case *appsv1.DaemonSet:
				got = "DaemonSet " + got + fmt.Sprint(o.Spec.Selector.MatchLabels, " ", o.Spec.Template.Labels)
			case *batchv1.Job:
				got = "Job " + got + fmt.Sprint(*o.Spec.Completions, *o.Spec.Parallelism, " ", o.Spec.Template.Spec.RestartPolicy)
			}
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	rule := Rule{Kind: widget, PodTemplatePath: "spec.pod", ReplicasPath: "spec.size", As: "Deployment"}
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"no such fields", head + "spec: {pods: {}, sise: 1}", []string{
			`spec.size: no such field; spec has pods, sise; did you mean "sise"?`,
			`spec.pod: no such field; spec has pods, sise; did you mean "pods"?`}},
		{"nothing at all", head, []string{
			`spec: no such field; the resource has apiVersion, kind, metadata`, `spec: no such field; the resource has apiVersion, kind, metadata`}},
		{"no object on the way", head + "spec: 3", []string{
			`spec: Invalid value: not an object, so it has no field "size"; correct the path in customResources`,
			`spec: Invalid value: not an object, so it has no field "pod"; correct the path in customResources`}},
		{"no replicas", head + "spec: {size: many, pod: {spec: {" + container + "}}}", []string{"spec.size: Invalid value: many: not a number of replicas; give a whole number of at least 0"}},
		{"negative", head + "spec: {size: -1, pod: {spec: {" + container + "}}}", []string{"spec.size: Invalid value: -1: not a number of replicas; give a whole number of at least 0"}},
		{"a pod's spec", head + "spec: {size: 1, pod: {" + container + "}}", []string{"spec.pod: not a pod template, since it has no spec; it has containers"}},
		{"a list", head + "spec: {size: 1, pod: []}", []string{"spec.pod: Invalid value: not an object, so not a pod template"}},
		{"wrong type", head + "spec: {size: 1, pod: {spec: {containers: 3}}}", []string{"spec.pod.spec.containers: Invalid value: 3: a number where a list is wanted"}},
		{"invalid pod", head + "spec: {size: 1, pod: {spec: {containers: [{name: c, image: c, resources: {requests: {cpu: -1}}}]}}}", []string{
			`spec.pod.spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0`}},
		{"another version", strings.Replace(head, "/v1", "/v2", 1) + "spec: {}", []string{
			"apiVersion: unknown version example.com/v2 of Widget: use example.com/v1, or add it to customResources"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := expand(t, rule, tt.text)
			if err == nil {
				t.Fatal("there is no error")
			}
			var want []string
			for _, line := range tt.want {
				want = append(want, "w.yaml: Widget ns/w: "+line)
			}
			if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownFieldsAreWarnedOf(t *testing.T) {
	result, err := expand(t, Rule{Kind: widget, PodTemplatePath: "spec.pod", As: "Deployment"}, head+"spec: {pod: {spec: {nodeSelektor: {}, "+container+"}}}")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`Widget ns/w: unknown field "spec.pod.spec.nodeSelektor"; did you mean "nodeSelector"?; the API server would leave it out`}
	if diff := cmp.Diff(want, result.Notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
