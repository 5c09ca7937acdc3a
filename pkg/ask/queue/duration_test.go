package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// Jobs and the pods of Jobs that run get the duration; what says its own, other pods and done pods stay as they are.
func TestWithJobDuration(t *testing.T) {
	own := map[string]string{cluster.CompletesAfterAnnotation: "5m0s"}
	job := func(name string, annotations map[string]string) *batchv1.Job {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}}
		j.Spec.Template.Annotations = annotations
		return j
	}
	pod := func(name, kind string, phase v1.PodPhase) *v1.Pod {
		controller := true
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: "o", Controller: &controller}}}, Status: v1.PodStatus{Phase: phase}}
	}
	s := &scenario.Scenario{
		Cluster: []cluster.Object{job("dumped", nil), pod("runs", "Job", v1.PodRunning), pod("done", "Job", v1.PodSucceeded), pod("web", "ReplicaSet", v1.PodRunning)},
		Steps:   []scenario.LoadedStep{{Objects: []cluster.Object{job("new", nil), job("own", own)}}},
	}
	got := map[string]string{}
	with := WithJobDuration(s, 40*time.Minute)
	for _, obj := range append(with.Cluster, with.Steps[0].Objects...) {
		annotations := obj.GetAnnotations()
		if j, is := obj.(*batchv1.Job); is {
			annotations = j.Spec.Template.Annotations
		}
		got[obj.GetName()] = annotations[cluster.CompletesAfterAnnotation]
	}
	want := map[string]string{"dumped": "40m0s", "runs": "40m0s", "done": "", "web": "", "new": "40m0s", "own": "5m0s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.Cluster[0].(*batchv1.Job).Spec.Template.Annotations != nil {
		t.Error("the given scenario has changed")
	}
}
