package manifest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/faultline/faultline/pkg/list"
)

// In a dump, a text that can only mean a number or a boolean is read as it, with a note. In a manifest it is refused, as by an API server.
func TestTextsInPlaceOfValues(t *testing.T) {
	const object = `{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", %s"generation": "2"}, "spec": {"replicas": %q, "selector": {"matchLabels": {"a": "1"}},
		"template": {"metadata": {"labels": {"a": "1"}}, "spec": {"hostNetwork": "true", "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": "80"}]}]}}}}`
	read, err := Decode("d", fmt.Appendf(nil, object, `"uid": "u", `, "3"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`d: ReplicaSet web: metadata.generation: the text "2" is read as the value`,
		`d: ReplicaSet web: spec.replicas: the text "3" is read as the value`,
		`d: ReplicaSet web: spec.template.spec.containers[0].ports[0].containerPort: the text "80" is read as the value`,
		`d: ReplicaSet web: spec.template.spec.hostNetwork: the text "true" is read as the value`,
	}
	if diff := cmp.Diff(want, list.Map(read.Flaws, Flaw.Error)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rs := read.Objects[0].Object.(*appsv1.ReplicaSet)
	if *rs.Spec.Replicas != 3 || !rs.Spec.Template.Spec.HostNetwork || rs.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort != 80 {
		t.Errorf("read as %+v", rs.Spec)
	}
	for _, replicas := range []string{"three", "3.0", "03", "1e3", ""} {
		read, err := Decode("d", fmt.Appendf(nil, object, `"uid": "u", `, replicas))
		if err != nil || len(read.Objects) != 0 || !read.Flaws[len(read.Flaws)-1].Aside {
			t.Errorf("%q: %v, %v", replicas, read, err)
		}
	}
	if _, err := Decode("d", fmt.Appendf(nil, object, "", "3")); err == nil {
		t.Error("a manifest is not refused")
	}
}
