package memo

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/testing/defaults"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

type noClasses struct{}

func (noClasses) GetDeviceClass(v1.ResourceName) *resourcev1.DeviceClass { return nil }

// The states that PreFilter and PreScore carry from pod to pod equal the states that upstream's plugins compute for the same pod and
// snapshot. They differ in nothing that Filter, Score and preemption read:
//
//   - if several domains have equally few pods, upstream names two of them in random order;
//   - a sum of 0 in a domain is the same as no sum;
//   - upstream's PreScore lists the domains of feasible nodes, and the feasible nodes that miss a key; here, other nodes may be listed,
//     too;
//   - the pod is another pod of the template.
func TestTheStateIsUpstreams(t *testing.T) {
	metrics.Register()
	kept := map[string]int{}
	for seed := range uint64(100) {
		compareStates(t, seed, kept)
	}
	for _, key := range []string{affinityFilterKey, affinityScoreKey, spreadFilterKey, spreadScoreKey} {
		if kept[key] < 500 {
			t.Errorf("%s was compared %d times, which shows little", key, kept[key])
		}
	}
}

func compareStates(t *testing.T, seed uint64, compared map[string]int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	ctx := t.Context()
	cache, snapshot := internalcache.New(ctx, nil, false, false), internalcache.NewEmptySnapshot()
	factory := informers.NewSharedInformerFactory(fake.NewSimpleClientset(), 0)
	for _, name := range []string{"a", "b"} {
		space := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": name}}}
		if err := factory.Core().V1().Namespaces().Informer().GetIndexer().Add(space); err != nil {
			t.Fatal(err)
		}
	}
	memo := New(snapshot, factory, noClasses{})
	registry := plugins.NewInTreeRegistry()
	build := func(registry frameworkruntime.Registry) framework.Framework {
		both := schedulerapi.PluginSet{Enabled: []schedulerapi.Plugin{{Name: names.InterPodAffinity, Weight: 2}, {Name: names.PodTopologySpread, Weight: 2}}}
		profile := &schedulerapi.KubeSchedulerProfile{SchedulerName: "default-scheduler", PluginConfig: defaults.PluginConfigsV1, Plugins: &schedulerapi.Plugins{
			QueueSort: schedulerapi.PluginSet{Enabled: []schedulerapi.Plugin{{Name: names.PrioritySort}}},
			Bind:      schedulerapi.PluginSet{Enabled: []schedulerapi.Plugin{{Name: names.DefaultBinder}}},
			PreFilter: both, Filter: both, PreScore: both, Score: both,
		}}
		built, err := frameworkruntime.NewFramework(ctx, registry, profile, frameworkruntime.WithInformerFactory(factory), frameworkruntime.WithSnapshotSharedLister(snapshot))
		if err != nil {
			t.Fatal(err)
		}
		return built
	}
	upstream := build(registry)
	keeps := memo.Framework(build(memo.Registry(registry)), func(string) uint32 { return 0 })
	logger := klog.FromContext(ctx)
	for i := range 3 + r.IntN(6) {
		labels := map[string]string{v1.LabelHostname: fmt.Sprint("n", i), v1.LabelTopologyZone: fmt.Sprint("z", r.IntN(4))}
		if r.IntN(6) == 0 {
			delete(labels, v1.LabelTopologyZone)
		}
		cache.AddNode(logger, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: labels}})
	}
	var apps []*v1.Pod
	for range 3 {
		apps = append(apps, newStatePod(r))
	}
	var bound []*v1.Pod
	for i := range 60 {
		app := apps[r.IntN(len(apps))]
		pod := &v1.Pod{ObjectMeta: app.ObjectMeta, Spec: app.Spec}
		pod.Name, pod.UID = fmt.Sprint("p", i), types.UID(fmt.Sprint("p", i))
		if err := cache.UpdateSnapshot(logger, snapshot); err != nil {
			t.Fatal(err)
		}
		nodes, err := snapshot.NodeInfos().List()
		if err != nil {
			t.Fatal(err)
		}
		ours, fresh := framework.NewCycleState(), framework.NewCycleState()
		_, got, _ := keeps.RunPreFilterPlugins(ctx, ours, pod)
		_, want, _ := upstream.RunPreFilterPlugins(ctx, fresh, pod)
		if got.Code() != want.Code() {
			t.Fatalf("world %d, pod %d: PreFilter says %v, upstream's %v", seed, i, got, want)
		}
		var feasible []fwk.NodeInfo
		for _, node := range nodes {
			if keeps.RunFilterPluginsWithNominatedPods(ctx, ours, pod, node).IsSuccess() {
				feasible = append(feasible, node)
			}
		}
		if len(feasible) > 0 {
			keeps.RunPreScorePlugins(ctx, ours, pod, feasible)
			upstream.RunPreScorePlugins(ctx, fresh, pod, feasible)
		}
		if diff := cmp.Diff(fresh.GetSkipFilterPlugins(), ours.GetSkipFilterPlugins(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("world %d, pod %d: skipped filters (-upstream +kept):\n%s", seed, i, diff)
		}
		if diff := cmp.Diff(fresh.GetSkipScorePlugins(), ours.GetSkipScorePlugins(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("world %d, pod %d: skipped scores (-upstream +kept):\n%s", seed, i, diff)
		}
		for _, key := range []fwk.StateKey{affinityFilterKey, affinityScoreKey, spreadFilterKey, spreadScoreKey} {
			a, _ := fresh.Read(key)
			b, _ := ours.Read(key)
			name, scores := strings.CutPrefix(string(key), "PreScore")
			if a == nil || scores && fresh.GetSkipScorePlugins().Has(name) || !scores && fresh.GetSkipFilterPlugins().Has(strings.TrimPrefix(name, "PreFilter")) {
				continue
			}
			if diff := diffStates(a, b, feasible); diff != "" {
				t.Fatalf("world %d, pod %d, %s (-upstream +kept):\n%s", seed, i, key, diff)
			}
			compared[string(key)]++
		}
		if len(feasible) > 0 {
			got, status := keeps.RunScorePlugins(ctx, ours, pod, feasible)
			want, wanted := upstream.RunScorePlugins(ctx, fresh, pod, feasible)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || status.Code() != wanted.Code() {
				t.Fatalf("world %d, pod %d: scores, %v, upstream's %v (-upstream +kept):\n%s", seed, i, status, wanted, diff)
			}
			pod.Spec.NodeName = feasible[r.IntN(len(feasible))].Node().Name
			if err := cache.AddPod(logger, pod); err != nil {
				t.Fatal(err)
			}
			memo.PodAdded(pod)
			bound = append(bound, pod)
		}
		for len(bound) > 0 && r.IntN(3) == 0 {
			at := r.IntN(len(bound))
			if err := cache.RemovePod(logger, bound[at]); err != nil {
				t.Fatal(err)
			}
			memo.PodRemoved(bound[at])
			bound = slices.Delete(bound, at, at+1)
		}
	}
}

// newStatePod returns a pod with rules about few apps, so that some rules of one app are about another app.
func newStatePod(r *rand.Rand) *v1.Pod {
	name := func() string { return []string{"web", "db"}[r.IntN(2)] }
	selector := func() *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name()}}
	}
	key := func() string { return []string{v1.LabelHostname, v1.LabelTopologyZone}[r.IntN(2)] }
	term := func() v1.PodAffinityTerm {
		term := v1.PodAffinityTerm{TopologyKey: key(), LabelSelector: selector()}
		if r.IntN(3) == 0 {
			term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
		}
		return term
	}
	weighted := func() []v1.WeightedPodAffinityTerm {
		return []v1.WeightedPodAffinityTerm{{Weight: 1 + r.Int32N(100), PodAffinityTerm: term()}}
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: []string{"a", "b"}[r.IntN(2)], Labels: map[string]string{"app": name(), "id": fmt.Sprint(r.Uint64())}}}
	pod.Spec = v1.PodSpec{SchedulerName: "default-scheduler", Affinity: &v1.Affinity{}, Containers: []v1.Container{{Name: "c", Image: "i"}}}
	if r.IntN(2) == 0 {
		pod.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted()}
	}
	if r.IntN(3) == 0 {
		pod.Spec.Affinity.PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted()}
	}
	switch r.IntN(4) {
	case 0:
		pod.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term()}}
	case 1:
		pod.Spec.Affinity.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term()}}
	}
	for _, when := range []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway} {
		if r.IntN(3) > 0 {
			pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints,
				v1.TopologySpreadConstraint{MaxSkew: 1 + r.Int32N(3), TopologyKey: key(), WhenUnsatisfiable: when, LabelSelector: selector()})
		}
	}
	return pod
}

// diffStates returns how the states differ, apart from what TestTheStateIsUpstreams names.
func diffStates(upstream, kept fwk.StateData, feasible []fwk.NodeInfo) string {
	if kept == nil {
		return "nothing is kept"
	}
	a, b := reflect.ValueOf(upstream).Elem(), reflect.ValueOf(kept).Elem()
	if counts := a.FieldByName("TopologyValueToPodCounts"); counts.IsValid() {
		return cmp.Diff(readSpreadScore(a, a, feasible), readSpreadScore(b, a, feasible), cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty())
	}
	zero := func(sums map[string]int64) bool {
		for _, sum := range sums {
			if sum != 0 {
				return false
			}
		}
		return true
	}
	return cmp.Diff(upstream, kept, cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty(),
		cmp.FilterPath(func(p cmp.Path) bool {
			last := p.Last().String()
			return last == ".podInfo" || last == ".TopologyValue"
		}, cmp.Ignore()),
		cmpopts.IgnoreMapEntries(func(_ string, sum int64) bool { return sum == 0 }),
		cmpopts.IgnoreMapEntries(func(_ string, sums map[string]int64) bool { return zero(sums) }),
	)
}

type spreadScoreData struct {
	Constraints any
	Ignored     []string
	Counts      []map[string]int64
	Weights     []float64
}

// readSpreadScore reads the state of PodTopologySpread's PreScore: the domains that the other state also has, and the feasible nodes.
func readSpreadScore(state, other reflect.Value, feasible []fwk.NodeInfo) spreadScoreData {
	s := spreadScoreData{Constraints: state.FieldByName("Constraints").Interface(), Weights: state.FieldByName("TopologyNormalizingWeight").Interface().([]float64)}
	ignored := state.FieldByName("IgnoredNodes").Interface().(sets.Set[string])
	for _, node := range feasible {
		if ignored.Has(node.Node().Name) {
			s.Ignored = append(s.Ignored, node.Node().Name)
		}
	}
	domains := other.FieldByName("TopologyValueToPodCounts").Interface().([]map[string]*int64)
	for i, counts := range state.FieldByName("TopologyValueToPodCounts").Interface().([]map[string]*int64) {
		of := map[string]int64{}
		for domain, count := range counts {
			if domains[i][domain] != nil {
				of[domain] = *count
			}
		}
		s.Counts = append(s.Counts, of)
	}
	return s
}
