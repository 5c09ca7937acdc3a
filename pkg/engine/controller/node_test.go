package controller

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/input/admission"
)

// spread places a pod on the node without taints that has the fewest pods, the first of equals, and a DaemonSet's pod on its own node.
func spread(s *cluster.State, pod *v1.Pod) string {
	if node := placeOnTarget(s, pod); node != "" {
		return node
	}
	on := map[string]int{}
	for _, other := range s.Pods {
		on[other.Spec.NodeName]++
	}
	best := ""
	for _, node := range s.Nodes {
		if len(node.Spec.Taints) == 0 && (best == "" || on[node.Name] < on[best]) {
			best = node.Name
		}
	}
	return best
}

func newFailingWorld(t *testing.T) *world {
	w := newWorld(t, 2, spread)
	w.apply(deployment("web", 2, "a", ""))
	w.apply(workload("StatefulSet", "db", 2, "a", "  serviceName: db\n"))
	w.apply(daemonSet("a", "}\n"))
	w.check("start", w.nodesByApp(), map[string]string{"web": "n1 n2", "db": "n1 n2", "agent": "n1 n2"})
	return w
}

// nodesByApp returns the nodes of each app's pods, in order of arrival; "!" marks Terminating pods.
func (w *world) nodesByApp() map[string]string {
	all := map[string]string{}
	for _, pod := range w.state.Pods {
		node := pod.Spec.NodeName
		if pod.DeletionTimestamp != nil {
			node += "!"
		}
		if before, ok := all[pod.Labels["app"]]; ok {
			node = before + " " + node
		}
		all[pod.Labels["app"]] = node
	}
	return all
}

func (w *world) fail(mode node.FailureMode, nodes ...string) {
	w.t.Helper()
	next, err := node.Fail(w.state, mode, nodes...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.state = next
	w.settle()
}

func TestNodeDeleted(t *testing.T) {
	w := newFailingWorld(t)
	lost := w.state.Node("n1")
	w.fail(node.Deleted, "n1")
	w.check("all but the DaemonSet's come back on the other", w.nodesByApp(), map[string]string{"web": "n2 n2", "db": "n2 n2", "agent": "n2"})
	w.admit(lost)
	w.settle()
	w.check("nothing moves back", w.nodesByApp(), map[string]string{"web": "n2 n2", "db": "n2 n2", "agent": "n2 n1"})
}

func TestNodeUnreachable(t *testing.T) {
	w := newFailingWorld(t)
	started := w.state.Now
	w.fail(node.Unreachable, "n1")
	w.check("all stay for five minutes", w.nodesByApp(), map[string]string{"web": "n1 n2", "db": "n1 n2", "agent": "n1 n2"})
	w.check("but are not ready", w.state.ReplicaSets[0].Status.ReadyReplicas, int32(1))
	w.wait()
	if waited := w.state.Now.Sub(started.Time).Seconds(); waited < 300 || waited > 310 {
		t.Errorf("evicted after %v s, want 300", waited)
	}
	w.check("then Deployments replace theirs, StatefulSets wait", w.nodesByApp(), map[string]string{"web": "n1! n2 n2", "db": "n1! n2", "agent": "n1 n2"})
	w.check("waiting", Rollouts(w.state)[1].Waiting, "pod db-0 is Terminating on node n1, which does not answer")
	if at, ok := w.controllers.Next(w.state); ok {
		t.Errorf("something more waits for the clock at %v", at)
	}

	next, err := node.Restore(w.state, "n1")
	if err != nil {
		t.Fatal(err)
	}
	w.state = next
	w.settle()
	w.check("restored", w.nodesByApp(), map[string]string{"web": "n2 n2", "db": "n2 n1", "agent": "n1 n2"})
	w.check("ready again", w.state.DaemonSets[0].Status.NumberReady, int32(2))
	w.check("taints", len(w.state.Node("n1").Spec.Taints), 0)
}

func TestRestoreLeavesPodsWhereTheyAre(t *testing.T) {
	w := newFailingWorld(t)
	before := w.nodesAndCreation()
	w.fail(node.Unreachable, "n1")
	next, err := node.Restore(w.state, "n1")
	if err != nil {
		t.Fatal(err)
	}
	w.state = next
	w.settle()
	w.check("pods", w.nodesAndCreation(), before)
	for _, r := range Rollouts(w.state) {
		w.check(r.Kind+" is complete", r.Complete, true)
	}
	if at, ok := w.controllers.Next(w.state); ok {
		t.Errorf("something still waits for the clock at %v", at)
	}
	w.admit(decode(t, deployment("more", 2, "a", ""))...)
	w.settle()
	w.check("the node takes new pods", w.nodesByApp()["more"], "n1 n2")
}

func TestPodLeavesWhenItsTolerationEnds(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(pod(", tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]"))
	failed := w.state.Now
	w.fail(node.Unreachable, "n1")
	at, ok := w.controllers.Next(w.state)
	w.check("leaves after", []any{at.Sub(failed.Time).Seconds(), ok}, []any{30.0, true})
	w.wait()
	w.check("pods", w.nodesByApp(), map[string]string{"": "n1!"})
}

func TestNodeOutOfService(t *testing.T) {
	w := newFailingWorld(t)
	w.fail(node.OutOfService, "n1")
	// No pod tolerates the taint by default, so all go at once, and no agent comes back.
	w.check("out of service", w.nodesByApp(), map[string]string{"web": "n2 n2", "db": "n2 n2", "agent": "n2"})
}

func TestPodThatToleratesForEverStays(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(pod(", tolerations: [{operator: Exists}]"))
	w.fail(node.Unreachable, "n1")
	if at, ok := w.controllers.Next(w.state); ok || len(w.state.Pods) != 1 {
		t.Errorf("evicted at %v", at)
	}
}

func TestTemplateNamesItsNode(t *testing.T) {
	pinned := func(kind string) string {
		return strings.Replace(workload(kind, "web", 2, "a", ""), "containers:", "nodeName: n1, containers:", 1)
	}
	const waiting = "no pod is created, because node n1, which the template names, does not exist"
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, 2, spread)
			w.apply(pinned(kind))
			nodes := func() (on []string) {
				for _, p := range w.state.Pods {
					on = append(on, p.Spec.NodeName+" "+string(p.Status.Phase))
				}
				return on
			}
			w.check("no scheduler is asked", nodes(), []string{"n1 Running", "n1 Running"})

			gone := w.state.Node("n1")
			w.state = admission.Delete(w.state, gone)
			w.settle()
			w.check("without the node", nodes(), []string(nil))
			says, _, _ := strings.Cut(Rollouts(w.state)[0].Waiting, ";")
			w.check("the rollout", says, waiting)

			w.admit(gone)
			w.settle()
			w.check("the node is back", nodes(), []string{"n1 Running", "n1 Running"})
		})
	}
	t.Run("of an old ReplicaSet", func(t *testing.T) {
		w := newWorld(t, 2, spread)
		w.apply(pinned("Deployment"))
		w.apply(deployment("web", 2, "b", ""))
		dump := w.state.Objects()
		dump = slices.DeleteFunc(dump, func(obj cluster.Object) bool { return obj.GetName() == "n1" || cluster.KindOf(obj) == "Pod" })
		again := newWorld(t, 0, spread)
		again.admit(dump...)
		again.check("ReplicaSets", len(again.state.ReplicaSets), 2)
	})
}
