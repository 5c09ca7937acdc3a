package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func pod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
}

func names(s *State) []string {
	var all []string
	for _, pod := range s.Pods {
		all = append(all, pod.Name+pod.Spec.NodeName)
	}
	return all
}

func TestStatesAreDerived(t *testing.T) {
	first := (&State{}).With(pod("a"), pod("b"), pod("c"))
	moved := pod("b")
	moved.Spec.NodeName = "@n1"
	second := first.With(moved, pod("d")).Without(pod("a"), pod("never-there"))
	for name, c := range map[string]struct{ got, want []string }{
		"the first state is as it was":                    {names(first), []string{"a", "b", "c"}},
		"what is there keeps its place, what is new ends": {names(second), []string{"b@n1", "c", "d"}},
		"nothing given, nothing changed":                  {names(second.With()), []string{"b@n1", "c", "d"}},
		"given twice, the last one counts":                {names(first.With(pod("b"), moved)), []string{"a", "b@n1", "c"}},
		"new and given twice":                             {names(first.With(pod("e"), pod("e"))), []string{"a", "b", "c", "e"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if &first.With(&v1.Node{}).Pods[0] != &first.Pods[0] {
		t.Error("a state with another node does not share its pods with the one before")
	}
	if Supports(&v1.Secret{}) || !Supports(&v1.Pod{}) {
		t.Error("a state supports Pods and no Secrets")
	}
}

func TestUnscheduledPodsKeepTheirOrder(t *testing.T) {
	bound, ended := pod("bound"), pod("ended")
	bound.Spec.NodeName = "n1"
	ended.Status.Phase = v1.PodFailed
	s := (&State{}).With(pod("z"), bound, ended, pod("a"))
	var got []string
	for _, pod := range s.Unscheduled() {
		got = append(got, pod.Name)
	}
	if diff := cmp.Diff([]string{"z", "a"}, got); diff != "" {
		t.Errorf("unscheduled (-want +got):\n%s", diff)
	}
}

func TestOwnersAreTheOutermost(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "d"}}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1", UID: "rs",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}}}
	owned, orphan, foreign := pod("web-1-a"), pod("bare"), pod("foreign")
	owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	foreign.OwnerReferences = []metav1.OwnerReference{{Kind: "Widget", Name: "w", UID: "w", Controller: new(true)}}
	owner := (&State{}).With(deployment, set, owned, orphan, foreign).Owners()
	got := []string{owner(owned).String(), owner(orphan).String(), owner(foreign).String()}
	if diff := cmp.Diff([]string{"deployment/web", "pod/bare", "widget/w"}, got); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

func TestBoundPodRunsAndIsReady(t *testing.T) {
	waiting := pod("a")
	started := Epoch.Add(1500 * time.Millisecond)
	bound := BindPod(waiting, "n1", started)
	if waiting.Spec.NodeName != "" || waiting.Status.Phase != "" {
		t.Error("binding changed the pod itself")
	}
	if bound.Spec.NodeName != "n1" || bound.Status.Phase != v1.PodRunning || !bound.Status.StartTime.Time.Equal(started) {
		t.Errorf("bound pod is on %q, %s since %s", bound.Spec.NodeName, bound.Status.Phase, bound.Status.StartTime)
	}
	ready := bound.Status.Conditions[len(bound.Status.Conditions)-1]
	if ready.Type != v1.PodReady || ready.Status != v1.ConditionTrue || !ready.LastTransitionTime.Time.Equal(Epoch.Add(time.Second)) {
		t.Errorf("last condition is %+v, want Ready since a whole second", ready)
	}
}

func TestRepels(t *testing.T) {
	node := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "dedicated", Value: "db", Effect: v1.TaintEffectNoSchedule}}}}
	soft := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectPreferNoSchedule}}}}
	tolerant := pod("db")
	tolerant.Spec.Tolerations = []v1.Toleration{{Key: "dedicated", Operator: v1.TolerationOpEqual, Value: "db"}}
	if !Repels(node, pod("web")) || Repels(node, tolerant) || Repels(soft, pod("web")) {
		t.Error("a hard taint repels what does not tolerate it, and a soft one repels nothing")
	}
}

func TestLabelKeysAreMergedIntoCopies(t *testing.T) {
	selector := func() *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	}
	shared := &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
		{LabelSelector: selector(), TopologyKey: v1.LabelHostname, MatchLabelKeys: []string{"rev", "absent"}, MismatchLabelKeys: []string{"tenant"}}}}}
	p := pod("web")
	p.Labels = map[string]string{"app": "web", "rev": "7", "tenant": "a"}
	p.Spec.Affinity = shared
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{LabelSelector: selector(), MatchLabelKeys: []string{"rev"}}}
	MergeLabelKeys(p)
	MergeLabelKeys(p) // what is already merged stays
	in := metav1.LabelSelectorRequirement{Key: "rev", Operator: metav1.LabelSelectorOpIn, Values: []string{"7"}}
	notIn := metav1.LabelSelectorRequirement{Key: "tenant", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"a"}}
	term := p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	if diff := cmp.Diff([]metav1.LabelSelectorRequirement{in, notIn}, term.LabelSelector.MatchExpressions); diff != "" {
		t.Errorf("affinity term (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]metav1.LabelSelectorRequirement{in}, p.Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions); diff != "" {
		t.Errorf("spread constraint (-want +got):\n%s", diff)
	}
	if len(shared.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector.MatchExpressions) > 0 {
		t.Error("the affinity that other pods share has changed")
	}
}
