package controller

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/util/flowcontrol"
	podcontroller "k8s.io/kubernetes/pkg/controller"
	upstreamdaemon "k8s.io/kubernetes/pkg/controller/daemon"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/faultline/faultline/pkg/input/admission"
)

// Upstream walks nodes in the order of a map. If a rollout may update only some of several nodes, upstream picks any of them, so the choice
// here must be one of upstream's possible choices.
func TestDaemonSetSyncIsUpstreams(t *testing.T) {
	u := newUpstream(t)
	factory := informers.NewSharedInformerFactory(u.client, 0)
	sets, revisions, pods, nodes := factory.Apps().V1().DaemonSets(), factory.Apps().V1().ControllerRevisions(), factory.Core().V1().Pods(), factory.Core().V1().Nodes()
	controller, err := upstreamdaemon.NewDaemonSetsController(context.Background(), sets, revisions, pods, nodes, u.client, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, 4, placeAnywhere)
	u.clock.SetTime(w.state.Now.Time)
	w.admit(decode(t, daemonSet("a", "}\n"))...)
	for seed := range uint64(*worlds) {
		g := dice{rand.New(rand.NewPCG(seed, 1)), w.state}
		ds, history := g.daemonSet(t, w.state.DaemonSets[0], fmt.Sprint("agent-", seed))
		s := *w.state.Without(w.state.DaemonSets[0]).With(ds)
		s.Nodes, s.ControllerRevisions, s.Pods = g.nodesOf(w.state.Nodes), history, g.daemonPods(ds, history)
		p := newPass(&s)
		if err := p.syncDaemonSet(ds); err != nil {
			t.Fatal(err)
		}
		setStore(t, sets.Informer(), ds)
		setStore(t, revisions.Informer(), history...)
		setStore(t, pods.Informer(), s.Pods...)
		setStore(t, nodes.Informer(), s.Nodes...)
		got, diff := outcomeOf(p).unchanged(ds), "-"
		for range 50 {
			if diff == "" {
				break
			}
			*field[*flowcontrol.Backoff](controller, "failedPodsBackoff") = flowcontrol.NewFakeBackOff(0, 0, u.clock)
			*field[podcontroller.ControllerExpectationsInterface](controller, "expectations") = podcontroller.NewControllerExpectations()
			diff = cmp.Diff(u.sync(controller, ds).unchanged(ds), got)
		}
		if diff != "" {
			t.Errorf("seed %d (-upstream +here):\n%s\n%s", seed, diff, describe(append(append(objects(s.Nodes), objects(history)...), ds), s.Pods))
		}
	}
}

// nodesOf taints some of the nodes.
func (g dice) nodesOf(nodes []*v1.Node) []*v1.Node {
	var all []*v1.Node
	for _, node := range nodes {
		node = node.DeepCopy()
		if g.oneIn(4) {
			node.Spec.Taints = []v1.Taint{pick(g,
				v1.Taint{Key: "gpu", Effect: v1.TaintEffectNoSchedule}, v1.Taint{Key: "gpu", Effect: v1.TaintEffectNoExecute},
				v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}, v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute})}
		}
		all = append(all, node)
	}
	return all
}

// daemonSet returns a DaemonSet and its revisions; one of them may have the DaemonSet's template.
func (g dice) daemonSet(t *testing.T, template *appsv1.DaemonSet, name string) (*appsv1.DaemonSet, []*appsv1.ControllerRevision) {
	ds := template.DeepCopy()
	ds.Name, ds.UID, ds.Generation = name, types.UID(name), 2
	spec := &ds.Spec
	spec.Selector.MatchLabels["app"], spec.Template.Labels["app"] = name, name
	spec.MinReadySeconds = pick[int32](g, 0, 0, 30)
	if g.oneIn(4) {
		spec.Template.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: "z1"}
	}
	if g.oneIn(4) {
		spec.Template.Spec.Tolerations = []v1.Toleration{{Key: "gpu", Operator: v1.TolerationOpExists, Effect: pick(g, "", v1.TaintEffectNoSchedule)}}
	}
	amount := func() *intstr.IntOrString {
		return new(pick(g, intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("30%")))
	}
	switch g.IntN(4) {
	case 0:
		spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	case 1, 2:
		spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: amount(), MaxSurge: new(intstr.FromInt32(0))}
	default:
		spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: amount()}
	}
	ds.Status.ObservedGeneration = pick[int64](g, 1, 2)
	var revisions []*appsv1.ControllerRevision
	current := g.IntN(4)
	for i := range g.IntN(4) {
		of, hash := ds.DeepCopy(), fmt.Sprint("h", i)
		if i != current {
			of.Spec.Template.Spec.Containers[0].Image = hash
		}
		patch, err := admission.TemplatePatch(of)
		if err != nil {
			t.Fatal(err)
		}
		revision := &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ds.Namespace, Name: name + "-" + hash, UID: types.UID(name + "-" + hash), Labels: maps.Clone(spec.Template.Labels),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ds, daemonSetKind)},
			},
			Data: runtime.RawExtension{Raw: patch}, Revision: int64(i + 1),
		}
		revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
		if g.oneIn(8) {
			revision.OwnerReferences = nil // an orphan
		}
		revisions = append(revisions, revision)
	}
	return ds, revisions
}

// daemonPods returns pods of the DaemonSet, of any of its revisions. They are on nodes, or wait for a node, which may not exist any more.
// No two pods have the same age.
func (g dice) daemonPods(ds *appsv1.DaemonSet, revisions []*appsv1.ControllerRevision) []*v1.Pod {
	var all []*v1.Pod
	for i := range g.IntN(8) {
		node := pick(g, "n1", "n2", "n3", "n4")
		name := fmt.Sprintf("%s-p%d", ds.Name, i)
		pod := &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ds.Namespace, Name: name, UID: types.UID(name), CreationTimestamp: secondsAgo(g.state, 200-i), Labels: maps.Clone(ds.Spec.Template.Labels),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ds, daemonSetKind)},
			},
			Spec:   *ds.Spec.Template.Spec.DeepCopy(),
			Status: v1.PodStatus{Phase: v1.PodPending},
		}
		pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = fmt.Sprint("h", g.IntN(len(revisions)+1))
		if g.oneIn(4) {
			node = pick(g, node, "gone")
			pod.Spec.Affinity = daemonutil.ReplaceDaemonSetPodNodeNameNodeAffinity(nil, node)
		} else {
			pod.Spec.NodeName, pod.Status.Phase = node, pick(g, v1.PodPending, v1.PodRunning, v1.PodRunning, v1.PodRunning, v1.PodRunning, v1.PodSucceeded, v1.PodFailed)
		}
		switch g.IntN(12) {
		case 0:
			pod.OwnerReferences = nil // an orphan
		case 1:
			pod.Labels["app"] = "other" // to be released
		}
		if g.oneIn(8) {
			pod.DeletionTimestamp = new(secondsAgo(g.state, -20))
		}
		if pod.Status.Phase == v1.PodRunning && !g.oneIn(4) {
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: secondsAgo(g.state, pick(g, 10, 100))}}
		}
		all = append(all, pod)
	}
	return all
}
