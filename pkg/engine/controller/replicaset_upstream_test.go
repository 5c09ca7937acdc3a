package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	upstreamreplicaset "k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/utils/clock"

	"github.com/faultline/faultline/pkg/cluster"
)

// Upstream counts the pods before it creates or deletes any, and so do the two syncs here. It takes the ages of pods from the machine's
// clock, in powers of two, so all ages here lie between such powers.
func TestReplicaSetSyncIsUpstreams(t *testing.T) {
	u := newUpstream(t)
	factory := informers.NewSharedInformerFactory(u.client, 0)
	sets, pods := factory.Apps().V1().ReplicaSets(), factory.Core().V1().Pods()
	controller := upstreamreplicaset.NewReplicaSetController(context.Background(), sets, pods, u.client, upstreamreplicaset.BurstReplicas)
	u.compareReplicated(controller, pods, func(s *cluster.State) replicaController {
		setStore(t, sets.Informer(), s.ReplicaSets...)
		return replicaController{s.ReplicaSets[0], s.ReplicaSets[0], replicaSetKind}
	})
}

func TestReplicationControllerSyncIsUpstreams(t *testing.T) {
	u := newUpstream(t)
	factory := informers.NewSharedInformerFactory(u.client, 0)
	controllers, pods := factory.Core().V1().ReplicationControllers(), factory.Core().V1().Pods()
	controller := replication.NewReplicationManager(context.Background(), pods, controllers, u.client, replication.BurstReplicas)
	u.compareReplicated(controller, pods, func(s *cluster.State) replicaController {
		for _, rs := range s.ReplicaSets {
			s.ReplicationControllers = append(s.ReplicationControllers, &v1.ReplicationController{ObjectMeta: rs.ObjectMeta, Spec: v1.ReplicationControllerSpec{
				Replicas: rs.Spec.Replicas, MinReadySeconds: rs.Spec.MinReadySeconds, Selector: rs.Spec.Selector.MatchLabels, Template: &rs.Spec.Template,
			}})
		}
		s.ReplicaSets = nil
		for _, pod := range s.Pods {
			for i := range pod.OwnerReferences {
				pod.OwnerReferences[i].APIVersion, pod.OwnerReferences[i].Kind = replicationControllerKind.ToAPIVersionAndKind()
			}
		}
		setStore(t, controllers.Informer(), s.ReplicationControllers...)
		rc := s.ReplicationControllers[0]
		return replicaController{new(Controllers).replicaSetOf(rc), rc, replicationControllerKind}
	})
}

// compareReplicated generates worlds, and returns the object to sync in each. The function prepare gives the object to upstream's
// controller.
func (u *upstream) compareReplicated(controller any, pods coreinformers.PodInformer, prepare func(*cluster.State) replicaController) {
	w := newWorld(u.t, 2, placeAnywhere)
	*field[clock.PassiveClock](controller, "clock") = u.clock
	w.admit(decode(u.t, replicaSet(1))...)
	for seed := range uint64(*worlds) {
		w.state.Now = metav1.Now()
		u.clock.SetTime(w.state.Now.Time)
		g := dice{rand.New(rand.NewPCG(seed, 1)), w.state}
		rs, all := g.replicaSet(w.state.ReplicaSets[0], fmt.Sprint("web-", seed))
		s := *w.state.Without(w.state.ReplicaSets[0]).With(rs...)
		s.Pods = all
		of := prepare(&s)
		p := newPass(&s)
		if err := p.syncReplicaSetStatus(of); err != nil {
			u.t.Fatal(err)
		}
		if err := p.manageReplicas(of); err != nil {
			u.t.Fatal(err)
		}
		setStore(u.t, pods.Informer(), all...)
		want, got := u.sync(controller, of.object).unchanged(of.object), outcomeOf(p).unchanged(of.object)
		if diff := cmp.Diff(want, got); diff != "" {
			u.t.Errorf("seed %d (-upstream +here):\n%s\n%s", seed, diff, describe(rs, all))
		}
	}
}

// replicaSet returns a ReplicaSet of a Deployment, another ReplicaSet that may be of the same Deployment, and pods of both and of none.
// Among the pods that are deleted first no two are equal.
func (g dice) replicaSet(template *appsv1.ReplicaSet, name string) ([]cluster.Object, []*v1.Pod) {
	rs := template.DeepCopy()
	rs.Name, rs.UID, rs.Generation = name, types.UID(name), 2
	rs.Spec.Replicas, rs.Spec.MinReadySeconds = new(g.Int32N(6)), pick[int32](g, 0, 0, 30)
	rs.Spec.Selector.MatchLabels["app"], rs.Spec.Template.Labels["app"] = name, name
	rs.Spec.Template.Labels["more"] = "yes"
	sibling := rs.DeepCopy()
	sibling.Name, sibling.UID = name+"-old", types.UID(name+"-old")
	sibling.Spec.Selector.MatchLabels["app"] = name + "-old"
	owner := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: rs.Namespace, UID: types.UID(name + "-deployment")}}
	rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, deploymentKind)}
	if g.oneIn(2) {
		sibling.OwnerReferences = rs.OwnerReferences
	}
	var pods []*v1.Pod
	for i := range g.IntN(9) {
		pod := &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: rs.Namespace, Name: fmt.Sprintf("%s-%d", name, i), UID: types.UID(fmt.Sprintf("%s-%d", name, i)), CreationTimestamp: secondsAgo(g.state, 6<<i),
				Labels: map[string]string{"app": name}, Annotations: map[string]string{},
			},
			Spec:   v1.PodSpec{NodeName: pick(g, "", "n1", "n2")},
			Status: v1.PodStatus{Phase: pick(g, v1.PodPending, v1.PodRunning, v1.PodRunning, v1.PodRunning, v1.PodFailed)},
		}
		if g.oneIn(2) {
			pod.Labels["more"] = "yes"
		}
		switch g.IntN(6) {
		case 0: // an orphan
		case 1:
			pod.Labels["app"] = name + "-old"
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(sibling, replicaSetKind)}
		default:
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, replicaSetKind)}
			if g.oneIn(8) {
				pod.Labels["app"] = "other" // to be released
			}
		}
		if g.oneIn(6) {
			pod.DeletionTimestamp = new(secondsAgo(g.state, 10))
		}
		if g.oneIn(4) {
			pod.Annotations[v1.PodDeletionCost] = fmt.Sprint(g.IntN(3))
		}
		if pod.Status.Phase == v1.PodRunning && !g.oneIn(4) {
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: secondsAgo(g.state, 6<<g.IntN(5))}}
		}
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", RestartCount: g.Int32N(2)}}
		pods = append(pods, pod)
	}
	return []cluster.Object{rs, sibling}, pods
}
