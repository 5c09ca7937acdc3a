package cluster

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Job arrives before two Deployments. Later changes do not affect the order, and neither does the ReplicaSet of a Deployment, which has
// the Deployment's place. A ReplicaSet without a Deployment has its own place, and so has a new Job with the name of a deleted one.
func TestArrival(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, UID: "uid-" + types.UID(name)}
	}
	job, web, api := &batchv1.Job{ObjectMeta: meta("job")}, &appsv1.Deployment{ObjectMeta: meta("web")}, &appsv1.Deployment{ObjectMeta: meta("api")}
	bare, owned := &appsv1.ReplicaSet{ObjectMeta: meta("bare")}, &appsv1.ReplicaSet{ObjectMeta: meta("web-1")}
	owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(web, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	again := &batchv1.Job{ObjectMeta: meta("job")}
	again.UID = "another"

	first := (&State{}).With(&v1.Pod{ObjectMeta: meta("pod")}, job, web)
	s := first.With(api).With(web, owned, bare).Without(job).With(again)
	for _, pair := range [][2]Object{{job, web}, {web, api}, {owned, api}, {api, bare}, {bare, again}} {
		if a, b := s.Arrival(pair[0]), s.Arrival(pair[1]); a >= b {
			t.Errorf("%s came at %d and %s at %d, want it to be earlier", RefTo(pair[0]), a, RefTo(pair[1]), b)
		}
	}
	if at := first.Arrival(api); at != 0 {
		t.Errorf("a later state has changed this one: api came at %d", at)
	}
}
