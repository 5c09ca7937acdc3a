package node

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// Nodes fail in each mode, come back, move to other zones, are excluded, tainted, removed and added, pods are added and deleted, and
// sometimes the cluster returns to an earlier state. In every round, controllers with a cache do the same as new ones, and look again at
// the same moment.
func TestControllersThatRememberActAsNewOnes(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := nodesOf(map[string]int{"a": 4 + r.IntN(3), "b": 2 + r.IntN(3), "-": r.IntN(2)})
		s.TerminationSeconds = int64(r.IntN(3) * 20)
		s.Jobs = []*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "default", UID: "job"}}}
		var carried Controllers
		var source *rand.PCG
		if seed%3 == 0 {
			source = rand.NewPCG(seed, 1)
		}
		states := []*cluster.State{s}
		for step := range 80 {
			s = randomEvent(t, r, s)
			if r.IntN(12) == 0 {
				s = states[r.IntN(len(states))]
			}
			var fresh Controllers
			var ours, theirs *rand.Rand
			if source != nil {
				copied := *source
				ours, theirs = rand.New(source), rand.New(&copied)
			}
			got, want := carried.Reconcile(s, ours), fresh.Reconcile(s, theirs)
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("seed %d, step %d: another state (-new +these)\n%s", seed, step, cmp.Diff(want, got))
			}
			if got, want := carried.Next(got), fresh.Next(want); !got.Equal(want) {
				t.Fatalf("seed %d, step %d: looks again at %v, new ones at %v", seed, step, got, want)
			}
			s = got
			if at := carried.Next(s); !at.IsZero() && r.IntN(2) == 0 {
				later := *s
				later.Now = metav1.NewTime(at)
				s = &later
			}
			states = append(states, s)
		}
	}
}

// randomEvent returns the state after a random event.
func randomEvent(t *testing.T, r *rand.Rand, s *cluster.State) *cluster.State {
	t.Helper()
	if len(s.Nodes) == 0 {
		return nodesOf(map[string]int{"a": 3})
	}
	node := s.Nodes[r.IntN(len(s.Nodes))]
	changed := func(change func(*v1.Node)) *cluster.State {
		next := node.DeepCopy()
		change(next)
		return s.With(next)
	}
	var err error
	next := s
	switch r.IntN(16) {
	case 0, 1, 2:
		next, err = Fail(s, []FailureMode{Unreachable, Unreachable, OutOfService, Deleted}[r.IntN(4)], node.Name)
	case 3:
		var names []string
		for _, node := range s.Nodes {
			if r.IntN(2) == 0 {
				names = append(names, node.Name)
			}
		}
		next, err = Fail(s, Unreachable, names...)
	case 4, 5:
		next, err = Restore(s, node.Name)
	case 6:
		next = changed(func(node *v1.Node) { node.Labels[v1.LabelTopologyZone] = []string{"a", "b", "c"}[r.IntN(3)] })
	case 7:
		next = changed(func(node *v1.Node) {
			if node.Labels[excludeDisruption] = ""; r.IntN(2) == 0 {
				delete(node.Labels, excludeDisruption)
			}
		})
	case 8:
		next = changed(func(node *v1.Node) {
			if node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: "mine", Effect: v1.TaintEffectNoExecute, TimeAdded: &s.Now}); r.IntN(2) == 0 {
				node.Spec.Taints = nil
			}
		})
	case 9:
		added := nodesOf(map[string]int{"b": 1}).Nodes[0]
		if added.Name = fmt.Sprint("b-", 1+r.IntN(6)); r.IntN(2) == 0 {
			added.Spec.Taints = []v1.Taint{{Key: "mine", Effect: v1.TaintEffectNoExecute, TimeAdded: &s.Now}}
		}
		next = s.With(added)
	case 10:
		status := []v1.ConditionStatus{v1.ConditionFalse, v1.ConditionUnknown, v1.ConditionTrue}[r.IntN(3)]
		next = changed(func(node *v1.Node) { setReady(node, status, "", "", s.Now) })
	case 11, 12:
		for range 3 {
			if len(next.Pods) > 0 {
				next = admission.Terminate(next, "", next.Pods[r.IntN(len(next.Pods))])
			}
		}
	default: // a pod comes
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", s.Created), Namespace: "default", UID: types.UID(fmt.Sprint(s.Created))}}
		for i, key := range []string{v1.TaintNodeUnreachable, v1.TaintNodeNotReady, "mine"} {
			seconds := int64(100 * r.IntN(3))
			toleration := v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}
			if i == 0 || r.IntN(3) > 0 {
				toleration.TolerationSeconds = &seconds
			}
			if r.IntN(4) > 0 {
				pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration)
			}
		}
		if r.IntN(4) == 0 {
			pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job", Controller: new(true)}}
		}
		on := node.Name
		if r.IntN(4) == 0 {
			on = fmt.Sprint("b-", 1+r.IntN(6)) // which may not be there yet
		}
		pod = cluster.BindPod(pod, on, s.Now.Time)
		if r.IntN(6) == 0 {
			pod = cluster.StopPod(pod, s.Now)
		}
		if r.IntN(8) == 0 { // as in a dump
			pod.Spec.NodeName = ""
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &s.Now, new(int64)
		}
		next = s.With(pod)
	}
	if err != nil {
		t.Fatal(err)
	}
	later := *next
	later.Created++
	later.Now = metav1.NewTime(s.Now.Add(time.Duration(r.IntN(3)) * 5 * time.Second))
	return &later
}
