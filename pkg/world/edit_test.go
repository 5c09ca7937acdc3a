package world

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

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
