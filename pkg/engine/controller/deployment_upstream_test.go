package controller

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	upstreamdeployment "k8s.io/kubernetes/pkg/controller/deployment"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
	labelsutil "k8s.io/kubernetes/pkg/util/labels"
)

func TestDeploymentSyncIsUpstreams(t *testing.T) {
	u := newUpstream(t)
	factory := informers.NewSharedInformerFactory(u.client, 0)
	deployments, sets, pods := factory.Apps().V1().Deployments(), factory.Apps().V1().ReplicaSets(), factory.Core().V1().Pods()
	controller, err := upstreamdeployment.NewDeploymentController(context.Background(), deployments, sets, pods, u.client)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, 2, placeAnywhere)
	w.admit(decode(t, deployment("web", 1, "a", ""))...)
	for seed := range uint64(*worlds) {
		g := dice{rand.New(rand.NewPCG(seed, 1)), w.state}
		d, owned, all := g.deployment(w.state.Deployments[0], fmt.Sprint("web-", seed))
		s := *w.state.Without(w.state.Deployments[0]).With(d)
		s.ReplicaSets, s.Pods = owned, all
		p := newPass(&s)
		if err := p.syncDeployments(); err != nil {
			t.Fatal(err)
		}
		setStore(t, deployments.Informer(), d)
		setStore(t, sets.Informer(), owned...)
		setStore(t, pods.Informer(), all...)
		want, got := u.sync(controller, d), outcomeOf(p)
		for _, obj := range append(objects(owned), d) {
			want.unchanged(obj)
			got.unchanged(obj)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d (-upstream +here):\n%s\n%s", seed, diff, describe(append(objects(owned), d), all))
		}
	}
}

// deployment returns a Deployment, its ReplicaSets, at most one of which has the Deployment's template, and some of their pods.
func (g dice) deployment(template *appsv1.Deployment, name string) (*appsv1.Deployment, []*appsv1.ReplicaSet, []*v1.Pod) {
	d := template.DeepCopy()
	d.Name, d.UID, d.Generation = name, types.UID(name), 2
	d.Spec.Selector.MatchLabels["app"], d.Spec.Template.Labels["app"] = name, name
	d.Spec.Replicas = new(g.Int32N(8))
	d.Spec.Paused = g.oneIn(8)
	d.Spec.MinReadySeconds = pick[int32](g, 0, 0, 5)
	d.Spec.ProgressDeadlineSeconds = new(int32(math.MaxInt32)) // which is left out here
	d.Spec.RevisionHistoryLimit = pick(g, nil, new(g.Int32N(3)))
	if g.oneIn(4) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	} else {
		amount := func(least int) *intstr.IntOrString {
			if g.oneIn(2) {
				return new(intstr.FromInt32(int32(least + g.IntN(3))))
			}
			return new(intstr.FromString(fmt.Sprintf("%d%%", 20*least+g.IntN(60))))
		}
		surge := g.IntN(2)
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: amount(surge), MaxUnavailable: amount(1 - surge)}
	}
	var sets []*appsv1.ReplicaSet
	var pods []*v1.Pod
	current := g.IntN(6)
	for i := range g.IntN(5) {
		hash := fmt.Sprint("h", i)
		rs := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: d.Namespace, Name: name + "-" + hash, UID: types.UID(name + "-" + hash), CreationTimestamp: secondsAgo(g.state, 100-10*i),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, deploymentKind)}, Annotations: map[string]string{},
			},
			Spec: appsv1.ReplicaSetSpec{
				Replicas: new(pick(g, 0, g.Int32N(8))), Template: *d.Spec.Template.DeepCopy(), MinReadySeconds: pick(g, d.Spec.MinReadySeconds, 5),
				Selector: labelsutil.CloneSelectorAndAddLabel(d.Spec.Selector, appsv1.DefaultDeploymentUniqueLabelKey, hash),
			},
		}
		rs.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
		rs.Labels = rs.Spec.Template.Labels
		if i != current {
			rs.Spec.Template.Spec.Containers[0].Image = hash
		}
		if !g.oneIn(6) {
			rs.Annotations[deploymentutil.RevisionAnnotation] = fmt.Sprint(i + g.IntN(3))
		}
		if !g.oneIn(6) {
			desired := pick(g, *d.Spec.Replicas, *d.Spec.Replicas, *d.Spec.Replicas, g.Int32N(8))
			deploymentutil.SetReplicasAnnotations(rs, desired, desired+deploymentutil.MaxSurge(*d))
		}
		rs.Status.Replicas = pick(g, *rs.Spec.Replicas, g.Int32N(8))
		rs.Status.ReadyReplicas = g.Int32N(rs.Status.Replicas + 1)
		rs.Status.AvailableReplicas = g.Int32N(rs.Status.ReadyReplicas + 1)
		for n := range g.IntN(3) {
			pods = append(pods, &v1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: d.Namespace, Name: fmt.Sprintf("%s-%d", rs.Name, n), UID: types.UID(fmt.Sprintf("%s-%d", rs.Name, n)), Labels: rs.Labels,
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, replicaSetKind)},
				},
				Status: v1.PodStatus{Phase: pick(g, v1.PodPending, v1.PodRunning, v1.PodSucceeded, v1.PodFailed)},
			})
		}
		sets = append(sets, rs)
	}
	return d, sets, pods
}
