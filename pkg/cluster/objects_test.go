package cluster

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A State adds, lists and removes an object of every kind that it has a list for.
func TestEveryKindIsHeld(t *testing.T) {
	fields := reflect.TypeFor[State]()
	held := 0
	for i := range fields.NumField() {
		list := fields.Field(i)
		if list.Type.Kind() != reflect.Slice || list.Type.Elem().Kind() != reflect.Pointer {
			continue
		}
		held++
		obj := reflect.New(list.Type.Elem().Elem()).Interface().(Object)
		obj.SetName("it")
		with := (&State{}).With(obj)
		if all := with.Objects(); !Supports(obj) || len(all) != 1 || all[0] != obj {
			t.Errorf("a state with one of %s lists %v", list.Name, all)
		}
		if all := with.Without(obj).Objects(); len(all) != 0 {
			t.Errorf("a state without it lists %v of %s", all, list.Name)
		}
	}
	if held != 35 {
		t.Errorf("a state has %d lists, want 35", held)
	}
}

// Latest returns the time of the last event. A deletion was requested 30 s before the end of its grace period. Fractions of a second are
// dropped.
func TestLatest(t *testing.T) {
	at := func(seconds float64) metav1.Time {
		return metav1.NewTime(Epoch.Add(time.Duration(seconds * float64(time.Second))))
	}
	created, ran, deleted := pod("created"), pod("ran"), pod("deleted")
	created.CreationTimestamp = at(1)
	ran.Status.Conditions = []v1.PodCondition{{LastTransitionTime: at(2.5)}}
	end, grace := at(33), int64(30)
	deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &end, &grace
	node := &v1.Node{Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{LastTransitionTime: at(4)}}}}
	ended := pod("ended")
	ended.Status.ContainerStatuses = []v1.ContainerStatus{{}, {State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{FinishedAt: at(5)}}}}
	objs := []Object{created, ran, deleted, node, ended}
	for n, want := range []metav1.Time{{}, at(1), at(2), at(3), at(4), at(5)} {
		given := slices.Clone(objs[:n])
		slices.Reverse(given) // the latest time counts in any order
		if got := Latest(given); !got.Equal(&want) {
			t.Errorf("the latest of %d objects is %v, want %v", n, got, want)
		}
	}
}

// A Job's pod belongs to the CronJob that created the Job, or to the Job if there is none.
func TestOwnersOfJobs(t *testing.T) {
	cron := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly", UID: "cron"}}
	var s State
	owned := func(name string, above ...metav1.OwnerReference) *v1.Pod {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), OwnerReferences: above}}
		s = *s.With(job)
		p := pod(name + "-x")
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
		return p
	}
	scheduled := owned("nightly-1", *metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob")))
	alone := owned("once")
	owner := s.Owners()
	if got := []string{owner(scheduled).String(), owner(alone).String()}; !slices.Equal(got, []string{"cronjob/nightly", "job/once"}) {
		t.Errorf("owners %v, want cronjob/nightly and job/once", got)
	}
}

// Objects are listed by namespace, then kind, then name.
func TestRefsAreOrdered(t *testing.T) {
	want := []Ref{{"StatefulSet", "a", "z"}, {"Deployment", "b", "b"}, {"Deployment", "b", "c"}, {"StatefulSet", "b", "a"}}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, Ref.Compare)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A kubelet that reports its node as not ready still works; a silent kubelet does not.
func TestAnswers(t *testing.T) {
	for status, want := range map[v1.ConditionStatus]bool{v1.ConditionTrue: true, v1.ConditionFalse: true, v1.ConditionUnknown: false, "": true} {
		node := &v1.Node{}
		if status != "" {
			node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: status}}
		}
		if got := KubeletResponds(node); got != want {
			t.Errorf("a node that is ready: %q answers: %v, want %v", status, got, want)
		}
	}
}

// Label keys are merged into every kind of term, preferred ones too.
func TestLabelKeysOfEveryTerm(t *testing.T) {
	term := func() v1.PodAffinityTerm {
		return v1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{}, MatchLabelKeys: []string{"rev"}}
	}
	p := pod("web")
	p.Labels = map[string]string{"rev": "7"}
	p.Spec.Affinity = &v1.Affinity{
		PodAffinity: &v1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{term()},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{PodAffinityTerm: term()}},
		},
		PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{term()},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{PodAffinityTerm: term()}},
		},
	}
	MergeLabelKeys(p)
	near, apart := p.Spec.Affinity.PodAffinity, p.Spec.Affinity.PodAntiAffinity
	for name, got := range map[string]*metav1.LabelSelector{
		"required affinity":       near.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector,
		"preferred affinity":      near.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector,
		"required anti-affinity":  apart.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector,
		"preferred anti-affinity": apart.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector,
	} {
		want := []metav1.LabelSelectorRequirement{{Key: "rev", Operator: metav1.LabelSelectorOpIn, Values: []string{"7"}}}
		if diff := cmp.Diff(want, got.MatchExpressions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
