package sched

import (
	"context"
	"errors"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/faultline/faultline/pkg/cluster"
)

// slowFilter is a filter that takes as long as its hook. It admits a pod only to nodes without other pods.
type slowFilter struct{ hook func() }

func (*slowFilter) Name() string { return "Slow" }

func (s *slowFilter) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	s.hook()
	if len(node.GetPods()) > 0 {
		return fwk.NewStatus(fwk.Unschedulable, "not alone")
	}
	return nil
}

func (s *slowFilter) config(t *testing.T) *Config {
	t.Helper()
	config, err := LoadConfig(ConfigOptions{Plugins: frameworkruntime.Registry{
		"Slow": func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return s, nil },
	}}, "test.yaml", []byte(head+"profiles: [{plugins: {multiPoint: {enabled: [{name: Slow}]}}}]"))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// A pod's search over the nodes, and its search for victims, end once the caller cancels.
func TestPlaceEndsAmongNodes(t *testing.T) {
	const nodes = 50
	for _, test := range []struct {
		name  string
		taken bool // by pods that may be preempted
		at    int  // the call of the filter during which everybody leaves
		most  int  // calls by then: those on one node whose pods may make room are two
	}{
		{"filter", false, 3, 3},
		{"preemption", true, nodes + 3, nodes + 4},
	} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, plain %t", test.name, plain), func(t *testing.T) {
				ctx, leave := context.WithCancel(context.Background())
				calls, at := 0, test.at
				filter := &slowFilter{func() {
					if calls++; calls == at {
						leave()
					}
				}}
				config := filter.config(t)
				if plain {
					config = config.Plain()
				}
				engine, err := NewEngine(config, Ties{})
				if err != nil {
					t.Fatal(err)
				}
				defer engine.Close()
				pod := highPriorityPod("1")
				state := (&cluster.State{Now: cluster.Epoch}).With(pod)
				for i := range nodes {
					name := fmt.Sprintf("n%d", i)
					state = state.With(node(name, nil))
					if test.taken {
						state = state.With(cluster.BindPod(newAppPod("low", "low-"+name), name, cluster.Epoch.Time))
					}
				}
				if _, err := engine.Place(ctx, state, []*v1.Pod{pod}); !errors.Is(err, context.Canceled) {
					t.Errorf("Place returns %v", err)
				}
				if calls < test.at || calls > test.most {
					t.Errorf("%d calls of the filter, want %d to %d", calls, test.at, test.most)
				}
				// The same engine answers whoever comes next.
				calls, at = 0, 0
				result, err := engine.Place(context.Background(), state, []*v1.Pod{pod})
				if err != nil || len(result.Placed) != 1 || calls < nodes {
					t.Errorf("then: %v, %+v, %d calls", err, result, calls)
				}
			})
		}
	}
}

// The autoscaler checks no further node once its caller cancels.
func TestSnapshotEndsAmongNodes(t *testing.T) {
	ctx, leave := context.WithCancel(context.Background())
	calls := 0
	filter := &slowFilter{func() {
		if calls++; calls == 3 {
			leave()
		}
	}}
	s, err := NewSnapshot(filter.config(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var nodes []*v1.Node
	var pods []*v1.Pod
	for i := range 50 {
		name := fmt.Sprintf("n%d", i)
		nodes, pods = append(nodes, node(name, nil)), append(pods, cluster.BindPod(newAppPod("low", "low-"+name), name, cluster.Epoch.Time))
	}
	if err := s.Fill(ctx, &cluster.State{Now: cluster.Epoch}, nodes, pods); err != nil {
		t.Fatal(err)
	}
	if node := s.Find(highPriorityPod("1"), func(string) bool { return true }); node != "" || calls != 3 {
		t.Errorf("found %q after %d calls of the filter, want none after 3", node, calls)
	}
	if _, placed := s.Place(highPriorityPod("1"), "n0"); placed || calls != 3 {
		t.Errorf("placed: %t, after %d calls of the filter", placed, calls)
	}
}
