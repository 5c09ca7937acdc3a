package world

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// Pods that a selector selects are in the API server's order, by namespace and name, whichever arrived first.
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
