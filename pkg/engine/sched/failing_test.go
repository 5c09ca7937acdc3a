package sched

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// failingPlugin fails at a given point for pods whose name ends in -1, and refuses no pod. At the point "full", it refuses these pods when their
// node is reserved.
type failingPlugin struct {
	At string `json:"at"`
}

func (failingPlugin) Name() string { return "Failing" }

func (p *failingPlugin) on(point string, pod *v1.Pod) *fwk.Status {
	if p.At != point || !strings.HasSuffix(pod.Name, "-1") {
		return nil
	}
	return fwk.AsStatus(errors.New("no luck with " + pod.Name))
}

func (p *failingPlugin) PreFilter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, p.on("PreFilter", pod)
}

func (*failingPlugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

func (p *failingPlugin) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ fwk.NodeInfo) *fwk.Status {
	return p.on("Filter", pod)
}

func (p *failingPlugin) PreScore(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	return p.on("PreScore", pod)
}

func (p *failingPlugin) Score(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ fwk.NodeInfo) (int64, *fwk.Status) {
	return 0, p.on("Score", pod)
}

func (*failingPlugin) ScoreExtensions() fwk.ScoreExtensions { return nil }

func (p *failingPlugin) Reserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	if p.At == "full" && strings.HasSuffix(pod.Name, "-1") {
		return fwk.NewStatus(fwk.Unschedulable, "the rack is full")
	}
	return p.on("Reserve", pod)
}

func (*failingPlugin) Unreserve(context.Context, fwk.CycleState, *v1.Pod, string) {}

func failingAt(t *testing.T, point string) *Config {
	t.Helper()
	config, err := LoadConfig(ConfigOptions{Plugins: frameworkruntime.Registry{
		"Failing": func(_ context.Context, args runtime.Object, _ fwk.Handle) (fwk.Plugin, error) {
			p := &failingPlugin{}
			return p, frameworkruntime.DecodeInto(args, p)
		},
	}}, "test.yaml", []byte(head+"profiles: [{plugins: {multiPoint: {enabled: [{name: Failing}]}}, pluginConfig: [{name: Failing, args: {at: "+point+"}}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// pendingReason says why a pod got no node, and whether a plugin failed on it.
type pendingReason struct {
	Message string
	Failed  bool
}

// A plugin that fails keeps one pod Pending, with the message that kube-scheduler writes into its condition, and the other pods get their
// nodes. Pods of one template are tried one after the other, so if the engine kept the failure, the next pod would get it, too.
func TestPluginThatFails(t *testing.T) {
	for point, want := range map[string]pendingReason{
		"PreFilter": {`running PreFilter plugin "Failing": no luck with web-1`, true},
		"Filter":    {`running "Failing" filter plugin: no luck with web-1`, true},
		"PreScore":  {`running PreScore plugin "Failing": no luck with web-1`, true},
		"Score":     {`running Score plugins: plugin "Failing" failed with: no luck with web-1`, true},
		"Reserve":   {`running Reserve plugin "Failing": no luck with web-1`, true},
		"full":      {"0/1 nodes are available: 1 the rack is full.", false},
	} {
		t.Run(point, func(t *testing.T) {
			engine, err := NewEngine(failingAt(t, point), Ties{})
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			set, pods := replicas("web", 3, nil)
			pods = append(pods, pods[1].DeepCopy())
			pods[3].Name, pods[3].UID = "other-1", "other-1"
			state := walkthrough().With(set).With(objects(pods)...)
			for range 2 { // the second time, the engine has to forget its decisions
				result, err := engine.Place(t.Context(), state, pods)
				if err != nil {
					t.Fatal(err)
				}
				got := map[string]pendingReason{}
				for _, p := range result.Pending {
					got[p.Pod.Name] = pendingReason{p.Message, p.Failed}
				}
				other := want
				other.Message = strings.Replace(want.Message, "web-1", "other-1", 1)
				if diff := cmp.Diff(map[string]pendingReason{"web-1": want, "other-1": other}, got); diff != "" || len(result.Placed) != 2 {
					t.Errorf("%d placed, want 2; Pending (-want +got):\n%s", len(result.Placed), diff)
				}
				engine.Reset()
			}
		})
	}
}

// If a plugin fails on one pod of a group, upstream tries no pod after it, and reports so for each.
func TestPluginThatFailsInPodGroup(t *testing.T) {
	withPodGroups(t)
	engine, err := NewEngine(failingAt(t, "Filter"), Ties{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	state := walkthrough().With(newGang("a", 3, 0)).With(objects(members("a", 3, 0), members("b", 1, 0))...)
	state = state.With(newGang("b", 1, 0))
	result, err := engine.Place(t.Context(), state, state.Unscheduled())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]pendingReason{}
	for _, p := range result.Pending {
		got[p.Pod.Name] = pendingReason{p.Message, p.Failed}
	}
	const failed = `running "Failing" filter plugin: no luck with a-1`
	want := map[string]pendingReason{
		"a-0": {"failed to schedule other pod from a pod group: " + failed, true}, "a-1": {failed, true}, "a-2": {"failed to schedule other pod from a pod group: " + failed, true},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(result.Placed) != 1 {
		t.Errorf("%d placed, want 1; Pending (-want +got):\n%s", len(result.Placed), diff)
	}
}

// A pod that the scheduler no longer tries keeps the condition that its last attempt left.
func TestUntriedPodKeepsItsMessage(t *testing.T) {
	claim := "gone"
	pod := newAppPod("web", "web-0", func(pod *v1.Pod) {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: "said before"}}
	})
	result, err := newEngine(t, Ties{}).Place(t.Context(), walkthrough().With(pod), []*v1.Pod{pod})
	if err != nil {
		t.Fatal(err)
	}
	if p := result.Pending[0]; p.Message != "said before" || p.Untried != `could not find ResourceClaim "default/gone"` {
		t.Errorf("message %q, untried %q", p.Message, p.Untried)
	}
}
