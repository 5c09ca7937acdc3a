package simulation

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/scenario/loader"
)

// Nodes come in the order in which they are named, or by name. One that was deleted and is back is there once, however often.
func TestNodesThatComeBack(t *testing.T) {
	const file = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic: {nodeGroups: [{name: worker, count: 3}]}
workloads:
- objects: [{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}]
steps:
- {name: named, cordon: {names: [worker-3, worker-1]}}
- {name: all, uncordon: {selector: kubernetes.io/os=linux}}
- {name: gone, fail: {names: [worker-2], mode: deleted}}
- {name: back, restore: {names: [worker-2]}}
- {name: gone again, fail: {names: [worker-2, worker-1], mode: deleted}}
- {name: all back, restore: {selector: kubernetes.io/os=linux}}
- {name: nothing is lost, restore: {selector: kubernetes.io/os=linux}}
`
	s, err := loader.LoadFS(fstest.MapFS{"scenario.yaml": {Data: []byte(file)}}, "scenario.yaml", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, step := range runCase(t, s).Steps[1:] {
		said := step.Action + ":"
		for _, node := range step.State.Nodes {
			said += " " + node.Name
		}
		got = append(got, said)
	}
	want := []string{
		"cordon worker-3 worker-1: worker-1 worker-2 worker-3",
		"uncordon worker-1 worker-2 worker-3: worker-1 worker-2 worker-3",
		"deleted: worker-2: worker-1 worker-3",
		"restore worker-2: worker-1 worker-3 worker-2",
		"deleted: worker-2 worker-1: worker-3",
		"restore worker-1 worker-2 worker-3: worker-3 worker-1 worker-2",
		"restore worker-1 worker-2 worker-3: worker-3 worker-1 worker-2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what was done, and the nodes after it (-want +got):\n%s", diff)
	}
}

// Pods that a selector selects come as the API server lists them, by namespace and name, whichever arrived first.
func TestSelectedPodsAreInOrder(t *testing.T) {
	state := &cluster.State{}
	for _, name := range []string{"b/a", "a/b", "a/c", "a/a"} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name[:1], Name: name[2:], Labels: map[string]string{"app": "web"}}}
		if name == "a/c" {
			pod.Labels["app"] = "db"
		}
		state.Pods = append(state.Pods, pod)
	}
	for namespace, want := range map[string][]string{"": {"a/a", "a/b", "b/a"}, "a": {"a/a", "a/b"}} {
		pods, err := selectPods(state, namespace, &scenario.Pods{Selector: "app=web"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, pod := range pods {
			got = append(got, pod.Namespace+"/"+pod.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("of namespace %q (-want +got):\n%s", namespace, diff)
		}
	}
}

// kubectl set image finds a container among the init containers, too, and says which it does not find.
func TestSetImages(t *testing.T) {
	spec := &v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: "app:1"}}, InitContainers: []v1.Container{{Name: "init", Image: "init:1"}}}
	if err := setImages(spec, map[string]string{"app": "app:2", "init": "init:2"}); err != nil {
		t.Fatal(err)
	}
	if spec.Containers[0].Image != "app:2" || spec.InitContainers[0].Image != "init:2" {
		t.Errorf("images %s and %s, want app:2 and init:2", spec.Containers[0].Image, spec.InitContainers[0].Image)
	}
	if err := setImages(spec, map[string]string{"other": "x", "another": "x"}); err == nil || err.Error() != "there is no container another, other" {
		t.Errorf("of containers that are not there: %v", err)
	}
}
