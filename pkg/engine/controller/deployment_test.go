package controller

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// sizes returns the replicas of the ReplicaSets, old ones first, as "3+1".
func sizes(s *cluster.State) string {
	var all []string
	for _, rs := range s.ReplicaSets {
		all = append(all, fmt.Sprint(*rs.Spec.Replicas))
	}
	return strings.Join(all, "+")
}

func rollingStrategy(surge, unavailable string) string {
	return fmt.Sprintf("  strategy: {rollingUpdate: {maxSurge: %s, maxUnavailable: %s}}\n", surge, unavailable)
}

func TestRollingUpdate(t *testing.T) {
	never := func(*cluster.State, *v1.Pod) string { return "" }
	tests := []struct {
		name               string
		replicas, nodes    int
		surge, unavailable string
		place              func(*cluster.State, *v1.Pod) string
		// trace lists the sizes that the ReplicaSets had, as old+new.
		trace   []string
		pending int
		waiting string
	}{{
		// With 4 replicas there may be one pod more and one fewer: the first sync creates a new pod and deletes an old one.
		name: "25% and 25% with room", replicas: 4, nodes: 1, surge: "25%", unavailable: "25%", place: placeAnywhere,
		trace: []string{"4", "3+1", "3+2", "1+2", "1+4", "0+4"},
	}, {
		// The deleted pod makes room for the new one.
		name: "25% and 25%, one pod a node", replicas: 4, nodes: 4, surge: "25%", unavailable: "25%", place: onePerNode,
		trace: []string{"4", "3+1", "3+2", "2+2", "2+3", "1+3", "1+4", "0+4"},
	}, {
		name: "0 and 1, one pod a node", replicas: 4, nodes: 4, surge: "0", unavailable: "1", place: onePerNode,
		trace: []string{"4", "3+0", "3+1", "2+1", "2+2", "1+2", "1+3", "0+3", "0+4"},
	}, {
		name: "25% and 0, one pod a node, no node free", replicas: 4, nodes: 4, surge: "25%", unavailable: "0", place: onePerNode,
		trace: []string{"4", "4+1"}, pending: 1,
		waiting: "pod NEW (new revision) is Pending; the 4 old pods stay because maxUnavailable is 0",
	}, {
		name: "25% and 0, one pod a node, a node free", replicas: 3, nodes: 4, surge: "25%", unavailable: "0", place: onePerNode,
		trace: []string{"3", "3+1", "2+1", "2+2", "1+2", "1+3", "0+3"},
	}, {
		// The example in upstream's rolling.go: 10 replicas, 3 more and 2 fewer, and new pods that never become available.
		name: "3 and 2, new pods fit nowhere", replicas: 10, nodes: 1, surge: "3", unavailable: "2", place: never,
		trace: []string{"10", "8+3", "8+5"}, pending: 5,
		waiting: "pod NEW (new revision) is Pending, as are 4 more; the 8 old pods stay because maxUnavailable is 2",
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.nodes, placeAnywhere)
			if test.nodes > 1 {
				w.place = onePerNode
			}
			var trace []string
			w.round = func(s *cluster.State) {
				if size := sizes(s); len(trace) == 0 || trace[len(trace)-1] != size {
					trace = append(trace, size)
				}
			}
			w.apply(deployment("web", test.replicas, "a", rollingStrategy(test.surge, test.unavailable)))
			w.place = test.place
			w.apply(deployment("web", test.replicas, "b", rollingStrategy(test.surge, test.unavailable)))

			w.check("sizes", trace, test.trace)
			unscheduled := w.state.Unscheduled()
			w.check("pending", len(unscheduled), test.pending)
			rollout := Rollouts(w.state)[0]
			w.check("complete", rollout.Complete, test.pending == 0)
			if test.waiting != "" {
				w.check("waiting", rollout.Waiting, strings.Replace(test.waiting, "NEW", unscheduled[0].Name, 1))
			}
		})
	}
}

func TestProportionalScaling(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(deployment("web", 10, "a", rollingStrategy("3", "2")))
	w.place = func(*cluster.State, *v1.Pod) string { return "" }
	w.apply(deployment("web", 10, "b", rollingStrategy("3", "2")))
	w.check("before", sizes(w.state), "8+5")
	w.round = func(s *cluster.State) {
		if w.round = nil; sizes(s) != "11+7" {
			t.Errorf("after the first sync: %s; want 11+7: 5 more in the proportion 8 to 5, as the documentation works out", sizes(s))
		}
	}
	w.apply(deployment("web", 15, "b", rollingStrategy("3", "2")))
}

func TestRecreate(t *testing.T) {
	w := newWorld(t, 4, onePerNode)
	const strategy = "  strategy: {type: Recreate}\n"
	w.apply(deployment("web", 4, "a", strategy))
	var running []int
	w.round = func(s *cluster.State) {
		if len(running) == 0 || running[len(running)-1] != len(s.Pods) {
			running = append(running, len(s.Pods))
		}
	}
	w.apply(deployment("web", 4, "b", strategy))
	w.check("pods", running, []int{0, 4}) // first all are gone, then all are new
	w.check("sizes", sizes(w.state), "0+4")
	w.check("status", w.state.Deployments[0].Status.AvailableReplicas, int32(4))
}

func TestRecreateWaitsForAPodThatTerminates(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	const strategy = "  strategy: {type: Recreate}\n"
	w.apply(deployment("web", 1, "a", strategy))
	ending := w.state.Pods[0]
	w.state.TerminationSeconds = 60
	w.state = admission.Delete(w.state, ending)
	w.apply(deployment("web", 1, "b", strategy))
	w.check("while it is there", images(w.state), ending.Name+"=a")
	w.wait()
	if got := images(w.state); !strings.HasSuffix(got, "=b") || strings.Contains(got, " ") {
		t.Errorf("when it is gone: %q, want one pod with image b", got)
	}
}

// An old ReplicaSet has to delete a pod that it still counts. Until it does not count the pod any more, no old ReplicaSet shrinks.
func TestARolloutWaitsForTheCount(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(deployment("web", 4, "a", rollingStrategy("0", "1")))
	w.admit(decode(t, deployment("web", 4, "b", rollingStrategy("0", "1")))...)
	for available, want := range map[int32]int32{4: 3, 3: 2, 2: 2} {
		p := newPass(w.state)
		old := *w.state.ReplicaSets[0]
		old.Spec.Replicas, old.Status.AvailableReplicas = new(int32(3)), available
		current := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(1))}, Status: appsv1.ReplicaSetStatus{AvailableReplicas: 1}}
		r := deploymentSync{pass: p, deployment: w.state.Deployments[0], sets: []*appsv1.ReplicaSet{&old, current}}
		r.shrinkOld(r.sets, r.sets[:1], current)
		w.check(fmt.Sprint(available, " available"), *r.sets[0].Spec.Replicas, want)
	}
}

func TestPausedDeploymentScalesButDoesNotRoll(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(deployment("web", 2, "a", ""))
	w.apply(deployment("web", 3, "b", "  paused: true\n"))
	w.check("sizes", sizes(w.state), "3")
	w.check("waiting", Rollouts(w.state)[0].Waiting, "the Deployment is paused")
	w.apply(deployment("web", 3, "b", ""))
	w.check("sizes", sizes(w.state), "0+3")
}

// A ReplicaSet has the Deployment's two replicas, but its annotation says that it was scaled for three. Upstream takes this for a scaling
// event, finds that the size is right, and stops: nothing is updated, whatever maxUnavailable is. Scaling to another size and back writes
// the annotation, and the update continues.
func TestScalingEventWithoutEnd(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(deployment("web", 2, "a", ""))
	stale := w.state.ReplicaSets[0].DeepCopy()
	stale.Annotations["deployment.kubernetes.io/desired-replicas"] = "3"
	w.state = w.state.With(stale)
	w.apply(deployment("web", 2, "b", ""))
	w.check("sizes", sizes(w.state), "2")
	rollout := Rollouts(w.state)[0]
	w.check("complete", rollout.Complete, false)
	w.check("only scales", rollout.OnlyScales, true)
	w.check("waiting", rollout.Waiting, "the controller only scales, and updates nothing, since the annotation deployment.kubernetes.io/desired-replicas of replicaset/"+stale.Name+" is 3, not 2")
	w.apply(deployment("web", 4, "b", ""))
	w.apply(deployment("web", 2, "b", ""))
	w.check("sizes", sizes(w.state), "0+2")
}

func TestRollbackReusesTheReplicaSet(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	for _, image := range []string{"a", "b", "a"} {
		w.apply(deployment("web", 2, image, ""))
	}
	w.check("sizes", sizes(w.state), "2+0")
	w.check("revision", w.state.Deployments[0].Annotations["deployment.kubernetes.io/revision"], "3")
}

func TestMinReadySecondsWaitForTheClock(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	const more = "  minReadySeconds: 30\n"
	w.apply(deployment("web", 2, "a", more))
	if r := Rollouts(w.state)[0]; r.Complete || r.Ready != 2 || r.Unavailable != 2 || !strings.Contains(r.Waiting, "30 seconds of minReadySeconds") {
		t.Errorf("before 30 s: %+v", r)
	}
	ready := w.state.Pods[0].Status.Conditions[3].LastTransitionTime
	w.wait()
	if r := Rollouts(w.state)[0]; !r.Complete {
		t.Errorf("after 30 s: %+v", r)
	}
	if waited := w.state.Now.Sub(ready.Time).Seconds(); waited < 30 || waited > 35 {
		t.Errorf("the clock went on %v s, want about 30", waited)
	}
}

func TestReplicaSetNamesAreUpstreams(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(deployment("web", 1, "a", ""))
	rs := w.state.ReplicaSets[0]
	hash := rs.Labels["pod-template-hash"]
	w.check("name", rs.Name, "web-"+hash)
	w.check("pod labels", w.state.Pods[0].Labels, map[string]string{"app": "web", "pod-template-hash": hash})
	w.check("selector", rs.Spec.Selector.MatchLabels, map[string]string{"app": "web", "pod-template-hash": hash})
	if name := w.state.Pods[0].Name; len(name) != len(rs.Name)+6 || !strings.HasPrefix(name, rs.Name+"-") {
		t.Errorf("pod name %s is not %s- and five characters", name, rs.Name)
	}
}

func TestNewReplicaSetAdoptsItsPods(t *testing.T) {
	// The snapshot has two bound pods with their labels, without owners or workloads.
	w := newWorld(t, 3, spread)
	w.apply(deployment("web", 2, "a", ""))
	var snapshot []cluster.Object
	for _, p := range w.state.Pods {
		p = p.DeepCopy()
		p.OwnerReferences, p.UID = nil, ""
		snapshot = append(snapshot, p)
	}
	other := snapshot[0].DeepCopyObject().(*v1.Pod)
	other.Name, other.Labels["pod-template-hash"] = "other", "foreign"
	snapshot = append(snapshot, other)
	before := w.pods()

	again := newWorld(t, 3, spread)
	again.admit(snapshot...)
	again.apply(deployment("web", 3, "a", ""))
	owned := 0
	for _, p := range again.state.Pods {
		if len(p.OwnerReferences) > 0 {
			owned++
		}
	}
	again.check("all and owned", []int{len(again.state.Pods), owned}, []int{4, 3})
	for name, node := range before {
		again.check(name, again.pods()[name], node)
	}
}
