package controller

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
)

// placeOnTarget places a DaemonSet's pod on the node that its affinity names.
func placeOnTarget(_ *cluster.State, pod *v1.Pod) string {
	node, err := daemonutil.GetTargetNodeName(pod)
	if err != nil {
		return ""
	}
	return node
}

func daemonSet(image, more string) string {
	return `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: ` + image + `}]` + more
}

func TestDaemonSetRunsWhereItFits(t *testing.T) {
	w := newWorld(t, 3, placeOnTarget)
	tainted := w.state.Nodes[1].DeepCopy()
	tainted.Spec.Taints = []v1.Taint{{Key: "gpu", Effect: v1.TaintEffectNoSchedule}}
	w.state = w.state.With(tainted)
	w.apply(daemonSet("a", "}\n"))
	nodes := func() map[string]int {
		on := map[string]int{}
		for _, pod := range w.state.Pods {
			on[pod.Spec.NodeName]++
		}
		return on
	}
	w.check("two of three nodes", nodes(), map[string]int{"n1": 1, "n3": 1})

	var err error
	if w.state, err = node.Cordon(w.state, "n1"); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.check("a cordon is tolerated", nodes(), map[string]int{"n1": 1, "n3": 1})

	w.apply(daemonSet("a", ", nodeSelector: {topology.kubernetes.io/zone: z2}, tolerations: [{operator: Exists}]}\n"))
	w.check("pods on nodes that no longer fit are deleted", nodes(), map[string]int{"n2": 1})
	status := w.state.DaemonSets[0].Status
	w.check("status", []int32{status.DesiredNumberScheduled, status.NumberReady, status.UpdatedNumberScheduled, status.NumberUnavailable}, []int32{1, 1, 1, 0})
}

func TestDaemonSetRollingUpdate(t *testing.T) {
	tests := []struct {
		name, strategy string
		fewest, most   int // pods at the end of a round
	}{
		{"one unavailable", "", 3, 4},
		{"two unavailable", "  updateStrategy: {rollingUpdate: {maxUnavailable: 2}}\n", 2, 4},
		{"two surge", "  updateStrategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 2}}\n", 4, 6},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 4, placeOnTarget)
			w.apply(daemonSet("a", "}\n"+test.strategy))
			fewest, most := 4, 4
			w.round = func(s *cluster.State) { fewest, most = min(fewest, len(s.Pods)), max(most, len(s.Pods)) }
			w.apply(daemonSet("b", "}\n"+test.strategy))
			w.check("fewest and most pods", []int{fewest, most}, []int{test.fewest, test.most})
			for _, pod := range w.state.Pods {
				w.check("image", pod.Spec.Containers[0].Image, "b")
			}
			w.check("complete", Rollouts(w.state)[0].Complete, true)
		})
	}
}

func TestDaemonSetUpdateStopsAtAPodThatDoesNotStart(t *testing.T) {
	w := newWorld(t, 4, placeOnTarget)
	w.apply(daemonSet("a", "}\n"))
	w.place = func(*cluster.State, *v1.Pod) string { return "" }
	w.apply(daemonSet("b", "}\n"))
	unscheduled := w.state.Unscheduled()
	w.check("pending", len(unscheduled), 1)
	w.check("waiting", Rollouts(w.state)[0].Waiting,
		"pod "+unscheduled[0].Name+" (new revision) is Pending; the 3 old pods stay because maxUnavailable is 1")
}

func TestDaemonSetUpdateWaitsForMinReadySeconds(t *testing.T) {
	w := newWorld(t, 2, placeOnTarget)
	w.apply(daemonSet("a", "}\n  minReadySeconds: 30\n"))
	w.check("available at first", w.state.DaemonSets[0].Status.NumberAvailable, int32(0))
	w.wait()
	w.check("after 30 s", w.state.DaemonSets[0].Status.NumberAvailable, int32(2))
	w.apply(daemonSet("b", "}\n  minReadySeconds: 30\n"))
	w.check("one updated", w.state.DaemonSets[0].Status.UpdatedNumberScheduled, int32(1))
	w.wait()
	w.check("then the other", w.state.DaemonSets[0].Status.UpdatedNumberScheduled, int32(2))
}
