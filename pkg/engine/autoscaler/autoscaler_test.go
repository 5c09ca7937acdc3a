package autoscaler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/autoscaler"
	"github.com/faultline/faultline/pkg/engine/sched"
)

func amounts(cpu, memory string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
}

// waiting returns n pods of one controller without a node.
func waiting(n int, owner, cpu, memory string) []*v1.Pod {
	var pods []*v1.Pod
	spec := v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: amounts(cpu, memory)}}}}
	for i := range n {
		name := fmt.Sprint(owner, "-", i)
		pods = append(pods, &v1.Pod{Spec: spec, ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(name), Labels: map[string]string{"app": owner},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: ptr.To(true)}},
		}})
	}
	return pods
}

func groups(names ...string) []autoscaler.Group {
	var all []autoscaler.Group
	for _, name := range names {
		capacity := amounts("1", "5000")
		capacity[v1.ResourcePods] = resource.MustParse("100")
		all = append(all, autoscaler.Group{Name: name, Max: 100000, Template: &v1.Node{Status: v1.NodeStatus{Capacity: capacity, Allocatable: capacity}}})
	}
	return all
}

func newAutoscaler(t testing.TB, ties sched.Ties, flags ...string) *autoscaler.Autoscaler {
	t.Helper()
	config, err := sched.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	var options autoscaler.Options
	if err := options.Flags().Parse(flags); err != nil {
		t.Fatal(err)
	}
	a, err := autoscaler.New(config, options, ties)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// benchmarkPods returns the pods of the autoscaler's own BenchmarkBinpackingEstimate, divided by the divisor: 1,000 large and 50,000 small
// ones. A node takes 10 large pods, which leave room for one small pod, or 20 small pods.
func benchmarkPods(divisor int) []*v1.Pod {
	return append(waiting(50000/divisor, "small", "50m", "100"), waiting(1000/divisor, "large", "95m", "190")...)
}

func TestEstimate(t *testing.T) {
	pods := benchmarkPods(10)
	decision, err := newAutoscaler(t, sched.Ties{}, "--max-nodes-per-scaleup=0").Loop(context.Background(), &cluster.State{Now: cluster.Epoch}, groups("g"), pods)
	if err != nil {
		t.Fatal(err)
	}
	// The 100 large pods need 100/10 = 10 nodes, which also take 10 small pods. The other small pods need (5000-10)/20 nodes, rounded up.
	if option := decision.Options[0]; option.Nodes != 260 || len(option.Pods) != len(pods) {
		t.Errorf("%d nodes for %d of %d pods, want 260 for all", option.Nodes, len(option.Pods), len(pods))
	}
}

func BenchmarkEstimate(b *testing.B) {
	a, pods := newAutoscaler(b, sched.Ties{}, "--max-nodes-per-scaleup=0"), benchmarkPods(1)
	for b.Loop() {
		a.Resume(autoscaler.Mark{})
		decision, err := a.Loop(context.Background(), &cluster.State{Now: cluster.Epoch}, groups("g"), pods)
		if err != nil {
			b.Fatal(err)
		}
		if option := decision.Options[0]; option.Nodes != 2595 || len(option.Pods) != len(pods) {
			b.Fatalf("%d nodes for %d pods, want 2595 for %d", option.Nodes, len(option.Pods), len(pods))
		}
	}
}

// The seed decides what chance decides: each group is taken with some seed, and a seed always takes the same group. Returning to a mark
// restores the memory.
func TestTies(t *testing.T) {
	state := &cluster.State{Now: cluster.Epoch}
	taken := map[string]bool{}
	for seed := range uint64(16) {
		a := newAutoscaler(t, sched.Ties{Random: true, Seed: seed})
		var picks []string
		for range 2 {
			decision, err := a.Loop(context.Background(), state, groups("a", "b", "c"), waiting(3, "web", "500m", "100"))
			if err != nil {
				t.Fatal(err)
			}
			picks = append(picks, decision.Picked)
			a.Resume(autoscaler.Mark{})
		}
		if picks[0] != picks[1] {
			t.Errorf("seed %d takes group %s, then %s", seed, picks[0], picks[1])
		}
		taken[picks[0]] = true
	}
	if len(taken) != 3 {
		t.Errorf("16 seeds take the groups %v, want all of a, b and c", taken)
	}
}

func TestFlags(t *testing.T) {
	for _, test := range []struct{ flag, value, want string }{
		{"expander", "least-nodes,random", ""},
		{"expander", "price", `expander "price" is not one of random, most-pods, least-waste, least-nodes, priority`},
		{"expander", "random,random", `expander "random" is there twice`},
		{"expander", "random,most-pods", `expander "most-pods" comes after random, which leaves one option`},
		{"cores-total", "4:100", ""},
		{"cores-total", "100", `"100" is not a minimum and a maximum, such as 0:100`},
		{"memory-total", "5:4", `"5:4" is not a minimum and a maximum, such as 0:100`},
		{"max-nodes-total", "many", "parse error"},
	} {
		var options autoscaler.Options
		got := ""
		if err := options.Flags().Set(test.flag, test.value); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("--%s=%s (-want +got):\n%s", test.flag, test.value, diff)
		}
	}
}

// A loop whose context has ended decides nothing.
func TestLoopEnds(t *testing.T) {
	ctx, leave := context.WithCancel(context.Background())
	leave()
	decision, err := newAutoscaler(t, sched.Ties{}).Loop(ctx, &cluster.State{Now: cluster.Epoch}, groups("g"), waiting(3, "web", "500m", "100"))
	if !errors.Is(err, context.Canceled) || decision != nil {
		t.Errorf("%v, %+v", err, decision)
	}
}
