package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	discoveryfake "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/informers"
	scalefake "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/controller/disruption"

	"github.com/faultline/faultline/pkg/cluster"
)

var cloneSetKind = schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "CloneSet"}

func TestBudgetSyncIsUpstreams(t *testing.T) {
	u := newUpstream(t)
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{replicaSetKind, replicationControllerKind, statefulSetKind, daemonSetKind, jobKind, cloneSetKind} {
		mapper.Add(kind, meta.RESTScopeNamespace)
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		served := []metav1.APIResource{{Name: resource.Resource}}
		if kind != daemonSetKind && kind != jobKind {
			served = append(served, metav1.APIResource{Name: resource.Resource + "/scale", Group: "autoscaling", Version: "v1", Kind: "Scale"})
		}
		u.client.Resources = append(u.client.Resources, &metav1.APIResourceList{GroupVersion: kind.GroupVersion().String(), APIResources: served})
	}
	var s *cluster.State
	scales := &scalefake.FakeScaleClient{}
	scales.AddReactor("get", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		get := action.(clienttesting.GetAction)
		for _, owner := range s.UnknownOwners {
			if owner.Name == get.GetName() {
				return true, &autoscalingv1.Scale{ObjectMeta: owner.ObjectMeta, Spec: autoscalingv1.ScaleSpec{Replicas: *owner.Spec.Replicas}}, nil
			}
		}
		return true, nil, apierrors.NewNotFound(get.GetResource().GroupResource(), get.GetName())
	})
	factory := informers.NewSharedInformerFactory(u.client, 0)
	pods, budgets, rcs := factory.Core().V1().Pods(), factory.Policy().V1().PodDisruptionBudgets(), factory.Core().V1().ReplicationControllers()
	sets, deployments, statefuls := factory.Apps().V1().ReplicaSets(), factory.Apps().V1().Deployments(), factory.Apps().V1().StatefulSets()
	w := newWorld(t, 1, placeAnywhere)
	u.clock.SetTime(w.state.Now.Time)
	if deletionTimeout != disruption.DeletionTimeout {
		t.Errorf("the timeout is %v, upstream's %v", deletionTimeout, disruption.DeletionTimeout)
	}
	controller := disruption.NewDisruptionControllerInternal(context.Background(), pods, budgets, rcs, sets, deployments, statefuls,
		u.client, mapper, scales, &discoveryfake.FakeDiscovery{Fake: &u.client.Fake}, u.clock, 0)
	written := make(chan *policyv1.PodDisruptionBudget)
	u.client.PrependReactor("update", "poddisruptionbudgets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		budget := action.(clienttesting.UpdateAction).GetObject().(*policyv1.PodDisruptionBudget)
		written <- budget
		return true, budget, nil
	})
	enqueue := u.run(controller, controller.Run, "podListerSynced", "pdbListerSynced", "rcListerSynced", "rsListerSynced", "dListerSynced", "ssListerSynced")
	for seed := range uint64(*worlds) {
		g := dice{rand.New(rand.NewPCG(seed, 1)), w.state}
		pdb := g.budget(fmt.Sprint("web-", seed))
		s = g.guarded(pdb)
		p := newPass(s)
		if err := p.syncBudgets(); err != nil {
			t.Fatal(err)
		}
		setStore(t, pods.Informer(), s.Pods...)
		setStore(t, budgets.Informer(), pdb)
		setStore(t, rcs.Informer(), s.ReplicationControllers...)
		setStore(t, sets.Informer(), s.ReplicaSets...)
		setStore(t, deployments.Informer(), s.Deployments...)
		setStore(t, statefuls.Informer(), s.StatefulSets...)
		enqueue(pdb)
		want, got := (<-written).Status, p.changed[0].(*policyv1.PodDisruptionBudget).Status
		for _, status := range []*policyv1.PodDisruptionBudgetStatus{&want, &got} {
			for i := range status.Conditions {
				status.Conditions[i].LastTransitionTime = metav1.Time{} // upstream's is of the machine's clock
			}
			if len(status.DisruptedPods) == 0 {
				status.DisruptedPods = nil
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d (-upstream +here):\n%s\n%s", seed, diff, describe(append(objects(s.ReplicaSets), s.Deployments[0], s.ReplicationControllers[0], s.StatefulSets[0], s.UnknownOwners[0], pdb), s.Pods))
		}
	}
}

// budget returns a budget whose status is of an earlier generation, so that each sync writes the status.
func (g dice) budget(name string) *policyv1.PodDisruptionBudget {
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Generation: 2},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
		Status:     policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: g.Int32N(3), ExpectedPods: g.Int32N(9)},
	}
	if g.oneIn(4) {
		pdb.Status.Conditions = []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue, Reason: policyv1.SufficientPodsReason}}
	}
	limit := new(pick(g, intstr.FromInt32(g.Int32N(6)), intstr.FromString(fmt.Sprintf("%d%%", g.IntN(101)))))
	switch g.IntN(12) {
	case 0: // neither
	case 1, 2, 3, 4, 5:
		pdb.Spec.MaxUnavailable = limit
	default:
		pdb.Spec.MinAvailable = limit
	}
	return pdb
}

// guarded returns controllers of all kinds with pods, most of which the budget guards. At most one pod has a controller without a scale,
// since the message names one such controller.
func (g dice) guarded(pdb *policyv1.PodDisruptionBudget) *cluster.State {
	s := *g.state
	named := func(suffix string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: pdb.Name + suffix, UID: types.UID(pdb.Name + suffix)}
	}
	count := func() *int32 { return new(g.Int32N(6)) }
	d := &appsv1.Deployment{ObjectMeta: named("-d"), Spec: appsv1.DeploymentSpec{Replicas: count()}}
	ofDeployment := named("-d-1")
	ofDeployment.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, deploymentKind)}
	if g.oneIn(3) {
		clones := named("-clones")
		ofDeployment.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&clones, cloneSetKind)}
	}
	older := ofDeployment
	older.Name, older.UID = older.Name+"-old", older.UID+"-old"
	for _, of := range []metav1.ObjectMeta{ofDeployment, older, named("-rs")} {
		s.ReplicaSets = append(s.ReplicaSets, &appsv1.ReplicaSet{ObjectMeta: of, Spec: appsv1.ReplicaSetSpec{Replicas: count()}})
	}
	s.Deployments = []*appsv1.Deployment{d}
	rc := &v1.ReplicationController{ObjectMeta: named("-rc"), Spec: v1.ReplicationControllerSpec{Replicas: count(), Template: &v1.PodTemplateSpec{}}}
	set := &appsv1.StatefulSet{ObjectMeta: named("-ss"), Spec: appsv1.StatefulSetSpec{Replicas: count()}}
	clones := &cluster.UnknownOwner{ObjectMeta: named("-cs"), Spec: cluster.UnknownOwnerSpec{Replicas: count()}}
	s.ReplicationControllers, s.StatefulSets, s.UnknownOwners = []*v1.ReplicationController{rc}, []*appsv1.StatefulSet{set}, []*cluster.UnknownOwner{clones}
	refs := []*metav1.OwnerReference{nil, metav1.NewControllerRef(rc, replicationControllerKind), metav1.NewControllerRef(set, statefulSetKind), metav1.NewControllerRef(clones, cloneSetKind)}
	for _, rs := range s.ReplicaSets {
		refs = append(refs, metav1.NewControllerRef(rs, replicaSetKind))
	}
	bad := -1
	if g.oneIn(4) {
		bad = g.IntN(8)
	}
	for i := range g.IntN(9) {
		pod := &v1.Pod{ObjectMeta: named(fmt.Sprint("-", i)), Status: v1.PodStatus{Phase: v1.PodRunning}}
		pod.Labels = map[string]string{"app": pdb.Name}
		if g.oneIn(8) {
			pod.Labels["app"] = "other"
		}
		if ref := pick(g, refs...); ref != nil {
			pod.OwnerReferences = []metav1.OwnerReference{*ref}
		}
		if i == bad {
			gone := &batchv1.Job{ObjectMeta: named("-gone")}
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(gone, pick(g, jobKind, daemonSetKind, replicaSetKind))}
		}
		if g.oneIn(6) {
			pod.DeletionTimestamp = new(secondsAgo(&s, -20))
		}
		if !g.oneIn(4) {
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		}
		if g.oneIn(6) { // the API server has granted its eviction
			if pdb.Status.DisruptedPods == nil {
				pdb.Status.DisruptedPods = map[string]metav1.Time{"gone": s.Now}
			}
			pdb.Status.DisruptedPods[pod.Name] = secondsAgo(&s, g.IntN(240))
		}
		s.Pods = append(s.Pods, pod)
	}
	s.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{pdb}
	return &s
}
