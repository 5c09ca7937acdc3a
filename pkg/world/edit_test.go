package world

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
)

// kubectl set image finds init containers, too, and reports the containers that it does not find.
func TestSetImages(t *testing.T) {
	web := &appsv1.Deployment{}
	web.Name = "web"
	spec := &web.Spec.Template.Spec
	spec.Containers, spec.InitContainers = []v1.Container{{Name: "app", Image: "app:1"}}, []v1.Container{{Name: "init", Image: "init:1"}}
	if err := setImages(web, map[string]string{"app": "app:2", "init": "init:2"}); err != nil {
		t.Fatal(err)
	}
	if spec.Containers[0].Image != "app:2" || spec.InitContainers[0].Image != "init:2" {
		t.Errorf("images %s and %s, want app:2 and init:2", spec.Containers[0].Image, spec.InitContainers[0].Image)
	}
	problems := Problems(setImages(web, map[string]string{"other": "x", "another": "x"}))
	for i, want := range []string{
		`rollout.images[another]: Deployment web has no container "another"; there are app, init`,
		`rollout.images[other]: Deployment web has no container "other"; there are app, init`,
	} {
		if got := problems[i].Field.String() + ": " + problems[i].Error(); got != want {
			t.Errorf("of a container that is not there: %s, want %s", got, want)
		}
	}
}
