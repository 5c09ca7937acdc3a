package sched

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/internal/golden"
)

// The default feature gates of each release. For a new release of Kubernetes, this test shows what it changes.
func TestGatesOfReleases(t *testing.T) {
	gate := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	columns := map[string][]string{}
	for i, kubernetes := range Releases() {
		release := Release{Kubernetes: kubernetes}
		if err := setGateValues(gate, release, nil); err != nil {
			t.Fatal(err)
		}
		for name, spec := range gate.GetAll() {
			if columns[string(name)] == nil {
				columns[string(name)] = slices.Repeat([]string{"-"}, len(Releases()))
			}
			if spec.PreRelease == featuregate.PreAlpha {
				continue
			}
			state := map[bool]string{true: "on", false: "off"}[gate.Enabled(name)]
			switch {
			case release.isPreview() && slices.Contains(removedGates, string(name)):
				state = "removed"
			case spec.LockToDefault || release.isPreview() && slices.Contains(lockedGates, string(name)):
				state += ",locked"
			}
			columns[string(name)][i] = state
		}
	}
	lines := []string{strings.Join(append([]string{"gate"}, Releases()...), "\t")}
	for name, states := range columns {
		lines = append(lines, strings.Join(append([]string{name}, states...), "\t"))
	}
	slices.Sort(lines[1:])
	golden.Compare(t, "testdata/gates.tsv", strings.Join(lines, "\n")+"\n")
}

func TestSetReleaseAsAnEarlierOne(t *testing.T) {
	t.Cleanup(func() { setRelease(t, Release{}) })
	for release, want := range map[Release]string{
		{Kubernetes: "1.33"}: "Kubernetes 1.33 cannot be simulated; give 1.34, 1.35, 1.36, 1.37 or 1.38",
		{Kubernetes: "1.35", FeatureGates: "InterPodAffinityHostnameFastPath=true"}: `kube-scheduler 1.35 has no feature gate "InterPodAffinityHostnameFastPath"`,
		{Kubernetes: "1.36", FeatureGates: "ImageVolume=false"}:                     "cannot set feature gate ImageVolume to false, feature is locked to true",
	} {
		if err := SetRelease(release); err == nil || err.Error() != want {
			t.Errorf("%v:\n got %v\nwant %s", release, err, want)
		}
	}
	for _, c := range []struct {
		release Release
		on      bool // ImageVolume, which is on since 1.35
		changed string
	}{
		{Release{Kubernetes: "1.34"}, false, "[]"},
		{Release{Kubernetes: "1.34", FeatureGates: "ImageVolume=true"}, true, "[ImageVolume=true]"},
		{Release{Kubernetes: "1.35", FeatureGates: "ImageVolume=true"}, true, "[]"},
		{Release{Kubernetes: "1.37"}, true, "[]"},
		{Release{}, true, "[]"},
	} {
		setRelease(t, c.release)
		if on, changed := utilfeature.DefaultFeatureGate.Enabled("ImageVolume"), fmt.Sprint(FeatureGates()); on != c.on || changed != c.changed {
			t.Errorf("%v: ImageVolume is %t, changed are %s; want %t and %s", c.release, on, changed, c.on, c.changed)
		}
	}
}

// engineAsRelease returns an engine that behaves as the release, and records everything.
func engineAsRelease(t *testing.T, kubernetes string) *Engine {
	t.Helper()
	setRelease(t, Release{Kubernetes: kubernetes})
	t.Cleanup(func() { setRelease(t, Release{}) })
	engine := newEngine(t, Ties{})
	engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{} }
	return engine
}

// rawScores returns the plugin's raw scores for the only waiting pod, by node.
func rawScores(t *testing.T, engine *Engine, state *cluster.State, plugin string) map[string]int64 {
	t.Helper()
	result, err := engine.Place(t.Context(), state, state.Unscheduled())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, candidate := range result.Placed[0].Cycle.Candidates {
		for _, score := range candidate.Scores {
			if score.Plugin == plugin {
				found[candidate.Node] = score.Raw
			}
		}
	}
	return found
}

// The pod requests 4 of 8 CPUs and 4 of 16 GiB. Alone on a node it uses 0.5 and 0.25: they deviate by 0.125 from their mean, which is worth 87
// points. The other node has a pod of 4 CPUs and 12 GiB: it goes from 0.5 and 0.75, 87 points, to 1 and 1, 100 points. Since 1.36 the score is
// 50 + (50 + with - without)/2: 50 + (50+87-100)/2 = 68, and 50 + (50+100-87)/2 = 81.
func TestBalanceBefore136(t *testing.T) {
	sized := func(name, memory string) *v1.Pod {
		p := pod(name, "4", 0)
		p.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = resource.MustParse(memory)
		return p
	}
	state := (&cluster.State{Now: cluster.Epoch}).With(node("empty", nil), node("half", nil), running(sized("runs", "12Gi"), "half"), sized("new", "4Gi"))
	for kubernetes, want := range map[string]map[string]int64{
		"1.34": {"empty": 87, "half": 100}, "1.35": {"empty": 87, "half": 100}, "1.36": {"empty": 68, "half": 81}, "1.37": {"empty": 68, "half": 81},
	} {
		if diff := cmp.Diff(want, rawScores(t, engineAsRelease(t, kubernetes), state, names.NodeResourcesBalancedAllocation)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kubernetes, diff)
		}
	}
	// 1, 0.5 and 0: the squares of the distances from 0.5 are 0.25, 0 and 0.25, and the root of a third of 0.5 is 0.408. What a node lacks does
	// not count, and more than all of it is all of it.
	for _, c := range []struct {
		requested, allocatable []int64
		want                   int64
	}{{[]int64{4, 2, 0}, []int64{4, 4, 4}, 59}, {[]int64{1, 2}, []int64{4, 0}, 100}, {[]int64{9, 4}, []int64{4, 4}, 100}, {nil, nil, 100}} {
		if got := earlierBalance(c.requested, nil, c.allocatable); got != c.want {
			t.Errorf("%v of %v is worth %d, want %d", c.requested, c.allocatable, got, c.want)
		}
	}
}

// One of two nodes has the volume's image of 500 MiB, which counts half, 250. Between 23 and 1000 MiB for each image, 1.37 gives 100 *
// (250-23)/(2000-23) points for two images, and 1.36 gives 100 * (250-23)/(1000-23), as if there were only the container's image.
func TestImageVolumesBefore137(t *testing.T) {
	has := node("has", nil)
	has.Status.Images = []v1.ContainerImage{{Names: []string{"model:latest"}, SizeBytes: 500 << 20}}
	p := pod("new", "1", 0)
	p.Spec.Volumes = []v1.Volume{{Name: "model", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "model"}}}}
	state := (&cluster.State{Now: cluster.Epoch}).With(has, node("lacks", nil), p)
	for kubernetes, want := range map[string]int64{"1.35": 0, "1.36": 23, "1.37": 11} {
		if diff := cmp.Diff(map[string]int64{"has": want, "lacks": 0}, rawScores(t, engineAsRelease(t, kubernetes), state, names.ImageLocality)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kubernetes, diff)
		}
	}
}

// Before 1.37, DynamicResources adds a message for every pod that fits no node, and preemption adds none if it finds a node.
func TestMessagesBefore137(t *testing.T) {
	name := "ours"
	lacking := pod("lacking", "1", 0)
	lacking.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "devices", ResourceClaimName: &name}}
	empty := (&cluster.State{Now: cluster.Epoch, TerminationSeconds: 1}).With(node("n", nil))
	for _, c := range []struct {
		state         *cluster.State
		earlier, last string
	}{{
		empty.With(pod("large", "9", 0)),
		"0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
		"0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
	}, {
		empty.With(lacking, deviceClaim("default", name), &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "devices"}}),
		"0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
		"0/1 nodes are available: 1 cannot allocate all claims. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
	}, {
		empty.With(running(pod("victim", "8", 1), "n"), pod("important", "8", 2)),
		"0/1 nodes are available: 1 Insufficient cpu.",
		"0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n, preempting 1 victims",
	}} {
		for kubernetes, want := range map[string]string{"1.34": c.earlier, "1.35": c.earlier, "1.36": c.earlier, "1.37": c.last} {
			result, err := engineAsRelease(t, kubernetes).Place(t.Context(), c.state, c.state.Unscheduled())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, result.Pending[0].Message); diff != "" {
				t.Errorf("%s (-want +got):\n%s", kubernetes, diff)
			}
		}
	}
}

// The pod must not be with pods of namespaces whose team is not a. Before 1.37, the selector means all namespaces, since it matches a
// namespace without labels; this includes the namespace of the only other pod.
func TestNamespaceSelectorBefore137(t *testing.T) {
	others := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"a"}}}}
	term := v1.PodAffinityTerm{TopologyKey: hostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, NamespaceSelector: others}
	apart := &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
	state := (&cluster.State{Now: cluster.Epoch, TerminationSeconds: 1}).With(node("n", nil),
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "east", Labels: map[string]string{"team": "a"}}},
		running(newAppPod("web", "runs", func(pod *v1.Pod) { pod.Namespace = "east" }), "n"), newAppPod("new", "new", withAffinity(apart)))
	t.Cleanup(func() { setRelease(t, Release{}) })
	for kubernetes, want := range map[string]int{"1.34": 0, "1.36": 0, "1.37": 1} {
		setRelease(t, Release{Kubernetes: kubernetes})
		kept, err := DefaultConfig()
		if err != nil {
			t.Fatal(err)
		}
		for _, config := range []*Config{kept, kept.Plain()} {
			engine, err := NewEngine(config, Ties{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(engine.Close)
			result, err := engine.Place(t.Context(), state, state.Unscheduled())
			if err != nil {
				t.Fatal(err)
			}
			if got := len(result.Placed); got != want || config.cachesAnswers() == (engine.plainCycles > 0) {
				t.Errorf("%s, with answers kept %t: %d pods get a node, want %d", kubernetes, config.cachesAnswers(), got, want)
			}
		}
	}
}

// The pod wants two devices, or else one. Of eight possible alternatives, the first is worth 8 points and the second 7.
func TestScoreOfDevicesSince135(t *testing.T) {
	slice := func(node string, devices ...resourcev1.Device) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "devices", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}, Devices: devices}}
	}
	claim := deviceClaim("default", "ours")
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "d", FirstAvailable: []resourcev1.DeviceSubRequest{
		{Name: "first", DeviceClassName: "devices", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2},
		{Name: "second", DeviceClassName: "devices", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
	}}}
	p := pod("new", "1", 0)
	p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "devices", ResourceClaimName: &claim.Name}}
	state := (&cluster.State{Now: cluster.Epoch}).With(node("one", nil), node("two", nil), slice("one", resourcev1.Device{Name: "a"}),
		slice("two", resourcev1.Device{Name: "a"}, resourcev1.Device{Name: "b"}), claim, p, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "devices"}})
	for kubernetes, want := range map[string]map[string]int64{"1.34": {"one": 0, "two": 0}, "1.35": {"one": 7, "two": 8}, "1.37": {"one": 7, "two": 8}} {
		if diff := cmp.Diff(want, rawScores(t, engineAsRelease(t, kubernetes), state, names.DynamicResources)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kubernetes, diff)
		}
	}
}

func TestOrderOfFiltersBefore137(t *testing.T) {
	for kubernetes, want := range map[string][]string{
		"1.36": {names.NodeUnschedulable, names.NodeName, names.TaintToleration}, "1.37": {names.NodeName, names.NodeUnschedulable, names.TaintToleration},
	} {
		var got []string
		for _, plugin := range engineAsRelease(t, kubernetes).profiles[v1.DefaultSchedulerName].plugins.Filter.Enabled[:3] {
			got = append(got, plugin.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kubernetes, diff)
		}
	}
}
