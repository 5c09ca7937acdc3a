package variant_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/internal/runtest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/variant"
)

func pod(name, kind, node string, phase v1.PodPhase) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{NodeName: node}, Status: v1.PodStatus{Phase: phase}}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "web", Controller: new(true)}}
	}
	return p
}

// The bound and the Pending pod are placed again, but not the ended pod, nor pods that follow their node, nor a pod of another scheduler.
func TestAfresh(t *testing.T) {
	config, err := sched.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	bound, waiting, foreign, own := pod("bound", "ReplicaSet", "n", v1.PodRunning), pod("waiting", "", "", v1.PodPending), pod("foreign", "", "n", v1.PodRunning), pod("own", "", "", v1.PodPending)
	waiting.Spec.SchedulerName, foreign.Spec.SchedulerName, own.Spec.SchedulerName = "default-scheduler", "volcano", "volcano"
	foreign.ResourceVersion, waiting.ResourceVersion = "1", "1"
	bound.Spec.SchedulerName = "default-scheduler"
	s := &scenario.Scenario{Config: config}
	var got []string
	s.Cluster = []cluster.Object{&v1.Node{}, bound, waiting, foreign, own, pod("ended", "Job", "n", v1.PodSucceeded),
		pod("agent", "DaemonSet", "n", v1.PodRunning), pod("static", "Node", "n", v1.PodRunning), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}}
	next, unbound, foreignPods := variant.UnbindAllPods(s)
	for _, obj := range next.Cluster {
		if p, ok := obj.(*v1.Pod); ok && p.Spec.NodeName != "" {
			t.Errorf("%s is still on %s", p.Name, p.Spec.NodeName)
		}
		got = append(got, obj.GetName())
	}
	if diff := cmp.Diff([]string{"bound", "waiting", "own", "shop"}, got); diff != "" || unbound != 1 || foreignPods != 1 {
		t.Errorf("%d unbound, %d foreign, want 1 and 1; left (-want +got):\n%s", unbound, foreignPods, diff)
	}
}

const sizedScenario = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- objects:
  - {apiVersion: v1, kind: Node, metadata: {name: a, labels: {kubernetes.io/hostname: a, node.kubernetes.io/instance-type: small}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
  - {apiVersion: v1, kind: Node, metadata: {name: b, labels: {kubernetes.io/hostname: b, rack: two}}, status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}}
  - {apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: b}, spec: {drivers: [{name: d, nodeID: b, topologyKeys: []}]}}
  - {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: a, containers: [{name: c, image: i}]}}
`

// New nodes copy the existing nodes in turn, or have a given type. The pods are placed anew, and variants with the same nodes share all
// objects.
func TestNodes(t *testing.T) {
	base := runtest.Run(t, sizedScenario).Scenario
	large := &topology.NodeType{Name: "large", CPU: "8", Memory: "16Gi", PricePerHour: new(1.0)}
	vary := func(nodes ...scenario.NodesLike) *scenario.Scenario {
		t.Helper()
		varied, err := variant.NewMaker(base).Vary(&scenario.Variant{Name: "v", Nodes: nodes}, "test")
		if err != nil {
			t.Fatal(err)
		}
		return varied.Scenario
	}
	for _, test := range []struct {
		name  string
		nodes []scenario.NodesLike
		want  []string
	}{
		{"fewer", []scenario.NodesLike{{Count: 1, Like: []string{"a", "b"}}}, []string{"Node a 4", "CSINode b", "Pod p on "}},
		{"more, in turn", []scenario.NodesLike{{Count: 4, Like: []string{"a", "b"}, Name: "worker"}},
			[]string{"Node a 4", "Node b 2 two", "Node worker-new-3 4", "Node worker-new-4 2 two", "CSINode worker-new-4", "CSINode b", "Pod p on "}},
		{"of a type", []scenario.NodesLike{{Count: 1, Like: []string{"b"}, Type: large}, {Count: 0, Like: []string{"a"}}},
			[]string{"Node b-new-1 8 two large", "CSINode b-new-1", "CSINode b", "Pod p on "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, obj := range vary(test.nodes...).Cluster {
				line := cluster.RefTo(obj).Kind + " " + obj.GetName()
				switch o := obj.(type) {
				case *v1.Node:
					line += " " + o.Status.Allocatable.Cpu().String()
					if o.Labels["rack"] != "" {
						line += " " + o.Labels["rack"]
					}
					if o.Labels[v1.LabelInstanceTypeStable] == large.Name {
						line += " " + large.Name
					}
					if o.Labels[v1.LabelHostname] != o.Name {
						t.Errorf("%s has the hostname %s", o.Name, o.Labels[v1.LabelHostname])
					}
				case *v1.Pod:
					line += " on " + o.Spec.NodeName
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	maker := variant.NewMaker(base)
	two := &scenario.Variant{Name: "two", Nodes: []scenario.NodesLike{{Count: 2, Like: []string{"b"}}}}
	first, _ := maker.Vary(two, "test")
	second, _ := maker.Vary(two, "test")
	if n, same := scenario.CommonSteps(first.Scenario, second.Scenario); !same || first.Scenario.Cluster[0] != second.Scenario.Cluster[0] {
		t.Errorf("variants of the same nodes share %d steps, %t", n, same)
	}
	_, err := maker.Vary(&scenario.Variant{Name: "v", Nodes: []scenario.NodesLike{{Count: 1, Like: []string{"a", "z"}}}}, "test")
	if want := `test: nodes[0].like[1]: the cluster has no node "z"; there are a, b`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
