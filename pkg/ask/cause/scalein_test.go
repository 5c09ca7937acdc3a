package cause_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/runtest"
)

// scaleInStates returns the states before and after a scale-in: a ReplicaSet with a pod p0, p1 … for each function, which changes the pod, and
// then with two replicas and without the pods that went.
func scaleInStates(pods []func(*v1.Pod), went ...string) (before, after *cluster.State) {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web"}, Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(int32(len(pods)))}}
	before = new(cluster.State).With(rs)
	before.Now = metav1.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for i, change := range pods {
		name := fmt.Sprint("p", i)
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
			Spec: v1.PodSpec{NodeName: fmt.Sprint("n", i)}, Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}}
		change(pod)
		before = before.With(pod)
	}
	fewer := rs.DeepCopy()
	fewer.Spec.Replicas = ptr.To(int32(len(pods) - len(went)))
	after = before.With(fewer)
	for _, pod := range before.Pods {
		for _, name := range went {
			if pod.Name == name {
				after = after.Without(pod)
			}
		}
	}
	return before, after
}

// TestScaleIns compares sentences with what upstream's order says of pods that were made by hand.
func TestScaleIns(t *testing.T) {
	plain := func(*v1.Pod) {}
	on := func(node string) func(*v1.Pod) { return func(pod *v1.Pod) { pod.Spec.NodeName = node } }
	at := func(hour int) metav1.Time { return metav1.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	ready := func(hour int) func(*v1.Pod) {
		return func(pod *v1.Pod) { pod.Status.Conditions[0].LastTransitionTime = at(hour) }
	}
	created := func(hour int) func(*v1.Pod) { return func(pod *v1.Pod) { pod.CreationTimestamp = at(hour) } }
	cost := func(pod *v1.Pod) { pod.Annotations = map[string]string{v1.PodDeletionCost: "-1"} }
	notReady := func(pod *v1.Pod) { pod.Status.Conditions[0].Status = v1.ConditionFalse }
	pending := func(pod *v1.Pod) { pod.Spec.NodeName, pod.Status = "", v1.PodStatus{Phase: v1.PodPending} }
	for name, test := range map[string]struct {
		pods []func(*v1.Pod)
		went []string
		want string // "" for no statement
	}{
		"one without a node, one not Ready": {[]func(*v1.Pod){plain, notReady, pending}, []string{"p1", "p2"},
			"replicaset/web: of its 3 pods, p2 and p1 went: 1 had no node; 1 was not Ready."},
		"a cost goes before the node": {[]func(*v1.Pod){on("a"), on("a"), cost}, []string{"p2"}, "replicaset/web: of its 3 pods, p2 went: 1 has a lower annotation controller.kubernetes.io/pod-deletion-cost than p0."},
		"two on a node, of which one stays": {[]func(*v1.Pod){on("a"), on("a"), on("b")}, []string{"p1"},
			"replicaset/web: of its 3 pods, p1 went: 1 shared a node with more pods of it (a 2) than p2 does (b 1); nothing that the order looks at tells p0 from the last to go."},
		"Ready since noon and since 23:00":   {[]func(*v1.Pod){ready(0), ready(12), ready(23)}, []string{"p2"}, "replicaset/web: of its 3 pods, p2 went: 1 became Ready later than p1."},
		"made at 23:00":                      {[]func(*v1.Pod){created(0), created(23)}, []string{"p1"}, "replicaset/web: of its 2 pods, p1 went: 1 was created later than p0."},
		"a pod that the order keeps is gone": {[]func(*v1.Pod){on("a"), on("a"), on("b")}, []string{"p2"}, ""},
		"all go":                             {[]func(*v1.Pod){plain, plain}, []string{"p0", "p1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			for _, s := range cause.ExplainScaleIns(scaleInStates(test.pods, test.went...)) {
				got += s.Sentence
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A scale-in removes a Deployment's pods by node, which can leave a zone without any; a StatefulSet's by ordinal. A rollout is no scale-in.
func TestScaleInsOfSteps(t *testing.T) {
	const spec = "selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c}]}}"
	result := runtest.Run(t, `
apiVersion: faultline/v1alpha1
kind: Scenario
cluster: [{synthetic: {zones: [{name: a}, {name: b}], nodeGroups: [{name: worker, total: 3, cpu: 4, memory: 8Gi}]}}]
steps:
- name: up
  apply:
    objects:
    - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 5, `+spec+`}}
    - {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 4, serviceName: db, `+spec+`}}
- {name: web, scale: {target: deployment/web, replicas: 2}}
- {name: db, scale: {target: statefulset/db, replicas: 2}}
- {name: restart, rollout: {target: deployment/web, restart: true}}
`)
	var got []string
	before := result.Initial
	for _, step := range result.Steps {
		for _, s := range cause.ExplainScaleIns(before, step.State) {
			got = append(got, s.Sentence)
		}
		before = step.State
	}
	want := []string{
		"deployment/web: of its 5 pods, web-65bcb9dfcd-mss9v, web-65bcb9dfcd-rf5m6 and web-65bcb9dfcd-tpqcr went: 3 shared a node with more pods of it (a-worker-1 2 and b-worker-1 2) than web-65bcb9dfcd-p5gxj does (a-worker-2 1); " +
			"nothing that the order looks at tells web-65bcb9dfcd-kj7kb from the last to go; the order does not look at zones, and the pods that stay are in a.",
		"statefulset/db: of its 4 pods, db-3 and db-2 went: a StatefulSet removes its highest ordinals first.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
