package sched

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// stateStep derives a state from the state before. The waiting pods of that state are then placed.
type stateStep func(*cluster.State) *cluster.State

// withObjects returns a moment that adds or replaces objects.
func withObjects(objs ...cluster.Object) stateStep {
	return func(state *cluster.State) *cluster.State { return state.With(objs...) }
}

// withoutObjects returns a moment that removes objects.
func withoutObjects(objs ...cluster.Object) stateStep {
	return func(state *cluster.State) *cluster.State { return state.Without(objs...) }
}

// placeBothWays lets an engine with a memo and one without place the waiting pods at each moment. It compares every score (some scores for a pod
// named brief), and returns each pod's last node.
func placeBothWays(t *testing.T, config *Config, moments ...stateStep) map[string]string {
	t.Helper()
	var all [2][]*placement.Result
	for i, config := range []*Config{config.Plain(), config} {
		engine, err := NewEngine(config, Ties{})
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		engine.Record = func(pod *v1.Pod) *placement.Depth {
			if pod.Name == "brief" {
				return &placement.Depth{Nodes: 1}
			}
			return &placement.Depth{}
		}
		state := &cluster.State{Now: cluster.Epoch}
		for _, next := range moments {
			state = next(state)
			result, err := engine.Place(t.Context(), state, state.Unscheduled())
			if err != nil {
				t.Fatal(err)
			}
			all[i] = append(all[i], result)
			state = stateAfter(state, result)
		}
	}
	found := map[string]string{}
	for i := range moments {
		if diff := diffResults(all[0][i], all[1][i]); diff != "" {
			t.Fatalf("moment %d (-plain +kept):\n%s", i, diff)
		}
		maps.Copy(found, outcome(all[1][i]))
	}
	return found
}

// newAppPod returns a pod of an app with small requests.
func newAppPod(app, name string, differs ...func(*v1.Pod)) *v1.Pod {
	pod := pod(name, "100m", 0)
	pod.Labels = map[string]string{"app": app}
	for _, differ := range differs {
		differ(pod)
	}
	return pod
}

func labeled(key, value string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Labels = maps.Clone(pod.Labels)
		pod.Labels[key] = value
	}
}

func withAffinity(affinity *v1.Affinity) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Affinity = affinity }
}

// spreadOver adds a constraint on the pods with the labels.
func spreadOver(key string, when v1.UnsatisfiableConstraintAction, labels map[string]string, differs ...func(*v1.TopologySpreadConstraint)) func(*v1.Pod) {
	c := v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: when, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}
	for _, differ := range differs {
		differ(&c)
	}
	return func(pod *v1.Pod) { pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, c) }
}

func honoringTaints(c *v1.TopologySpreadConstraint) {
	c.NodeTaintsPolicy = new(v1.NodeInclusionPolicyHonor)
}
func byVersion(c *v1.TopologySpreadConstraint) { c.MatchLabelKeys = []string{"version"} }

func selectLacking(key string) func(*v1.TopologySpreadConstraint) {
	return func(c *v1.TopologySpreadConstraint) { c.LabelSelector = selectorWithout(key) }
}

// selectorWithout selects the pods that lack the label.
func selectorWithout(key string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpDoesNotExist}}}
}

func nodeInZone(zoneName, name string, differs ...func(*v1.Node)) *v1.Node {
	n := node(name, map[string]string{zone: zoneName})
	for _, differ := range differs {
		differ(n)
	}
	return n
}

func tainted(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "spot", Effect: v1.TaintEffectNoSchedule}} }
func avoided(n *v1.Node) {
	n.Spec.Taints = []v1.Taint{{Key: "spot", Effect: v1.TaintEffectPreferNoSchedule}}
}
func cordoned(n *v1.Node) { n.Spec.Unschedulable = true }
func racked(n *v1.Node)   { n.Labels[rack] = n.Name }
func storing(n *v1.Node) {
	n.Status.Images = []v1.ContainerImage{{Names: []string{"model:1"}, SizeBytes: 900 << 20}}
}

// Cases in which an answer that was kept for the previous pod no longer holds, because of one difference.
func TestPlainCases(t *testing.T) {
	standard, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	light, err := LoadConfig(ConfigOptions{}, "light", []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+
		"profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 0}}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	app := map[string]string{"app": "a"}
	hardly, softly := v1.DoNotSchedule, v1.ScheduleAnyway
	zones := withObjects(nodeInZone("z1", "n1"), nodeInZone("z2", "n2"))
	three := withObjects(nodeInZone("z1", "n1"), nodeInZone("z2", "n2"), nodeInZone("z3", "n3"))
	racks := withObjects(nodeInZone("z1", "n1", racked), nodeInZone("z2", "n2", racked), nodeInZone("z1", "bare"))
	onRacks := withAffinity(&v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: rack, Operator: v1.NodeSelectorOpExists}}}}}}})
	onBare := withObjects(running(newAppPod("a", "b1"), "bare"), running(newAppPod("a", "b2"), "bare"), running(newAppPod("a", "b3"), "bare"))
	soft := spreadOver(zone, softly, app)
	set := func(name, key string) *appsv1.ReplicaSet {
		set, _ := replicas(name, 0, nil)
		set.UID, set.Spec.Selector = "same", &metav1.LabelSelector{MatchLabels: map[string]string{key: "a"}}
		return set
	}
	of := func(name string, set *appsv1.ReplicaSet) *v1.Pod {
		pod := newAppPod("a", name, labeled("tier", "a"))
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		return pod
	}
	shy := nominated(newAppPod("shy", "shy"), "n1")
	shy.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		TopologyKey: hostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"loud": "yes"}}}}}}
	ruled := withAffinity(hard("nobody", hostname)) // InterPodAffinity is skipped for pods without rules, and does not see nominated pods then
	join := withAffinity(&v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{apart("a", zone)}}})
	like := running(newAppPod("b", "like", withAffinity(preferZoneOf("a"))), "n1")
	lonely := hard("", hostname)
	lonely.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = selectorWithout("late")
	itself := &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		TopologyKey: zone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"self": "a"}}}}}}
	follow := &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{apart("ghost", zone)}}}
	team := hard("b", hostname)
	team.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	namespace := func(name, team string) *v1.Namespace {
		return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
	}
	inEast := func(pod *v1.Pod) { pod.Namespace = "east" }
	alone := withAffinity(hard("a", hostname))
	var crowd []cluster.Object
	for i := range 5000 {
		crowd = append(crowd, running(newAppPod("b", fmt.Sprint("crowd", i)), "gone"))
	}
	image := func(name string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: name}}}}
		}
	}
	many := func(when v1.UnsatisfiableConstraintAction, n int) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			for i := range n - 1 {
				spreadOver(fmt.Sprint("key", i), when, map[string]string{"app": "nobody"})(pod)
			}
			spreadOver(fmt.Sprint("key", n-1), when, app)(pod)
		}
	}
	wide := func(n *v1.Node) {
		for i := range 65 {
			n.Labels[fmt.Sprint("key", i)] = n.Name
		}
	}
	keen := func(pod *v1.Pod) { // on the nodes of z2: 700 times 100, of which 16 bits keep 4464
		term := v1.PreferredSchedulingTerm{Weight: 100, Preference: v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: zone, Operator: v1.NodeSelectorOpIn, Values: []string{"z2"}}}}}
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: slices.Repeat([]v1.PreferredSchedulingTerm{term}, 700)}}
	}
	on := func(node string) func(*v1.Pod) {
		return func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{rack: node} }
	}
	cases := map[string]struct {
		config  *Config
		moments []stateStep
		want    map[string]string
	}{
		"a label that matchLabelKeys name, and the first pod does not have": {standard,
			[]stateStep{zones, withObjects(running(newAppPod("a", "old"), "n1")),
				withObjects(newAppPod("a", "without", spreadOver(zone, hardly, app, byVersion))), withObjects(newAppPod("a", "too", spreadOver(zone, hardly, app, byVersion))),
				withObjects(newAppPod("a", "with", spreadOver(zone, hardly, app, byVersion), labeled("version", "2")))},
			map[string]string{"without": "n2", "too": "n1", "with": "n1"}},
		"a key that no pod has, which the first pod is counted by": {standard,
			[]stateStep{zones, withObjects(newAppPod("a", "p1", spreadOver(zone, hardly, nil, selectLacking("late")))), withObjects(newAppPod("a", "p2", spreadOver(zone, hardly, nil, selectLacking("late"))))},
			map[string]string{"p1": "n1", "p2": "n2"}},
		"a rule about a key that no pod has": {standard,
			[]stateStep{zones, withObjects(newAppPod("a", "p1", on("nowhere"))), withObjects(running(newAppPod("b", "away", withAffinity(lonely)), "n1"), newAppPod("a", "p2"))},
			map[string]string{"p1": "pending ", "p2": "n2"}},
		"a label that only a pod with a nominated node reads": {standard,
			[]stateStep{zones, withObjects(newAppPod("a", "loud", ruled, labeled("loud", "yes")), newAppPod("a", "quiet", ruled, labeled("loud", "no")), shy)},
			map[string]string{"loud": "n2", "quiet": "n1", "shy": "n1"}},
		"owners of one UID": {standard,
			[]stateStep{zones, withObjects(set("a", "app"), set("b", "tier"), running(newAppPod("a", "o1"), "n1"), running(newAppPod("a", "o2"), "n1"), running(newAppPod("a", "o3"), "n1")),
				withObjects(of("a1", set("a", "app"))), withObjects(of("a2", set("a", "app"))), withObjects(of("b1", set("b", "tier")))},
			map[string]string{"a1": "n2", "a2": "n2", "b1": "n1"}},
		"more soft constraints than a set of bits has room for": {standard,
			[]stateStep{withObjects(nodeInZone("z", "n1", wide), nodeInZone("z", "n2", wide), nodeInZone("z", "n3", wide)), withObjects(newAppPod("a", "p1", many(softly, 65))), withObjects(newAppPod("a", "p2", many(softly, 65))), withObjects(newAppPod("a", "p3", many(softly, 65)))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n3"}},
		"more hard constraints than a set of bits has room for": {standard,
			[]stateStep{withObjects(nodeInZone("z", "n1", wide), nodeInZone("z", "n2", wide), nodeInZone("z", "n3", wide)), withObjects(newAppPod("a", "p1", many(hardly, 65))), withObjects(newAppPod("a", "p2", many(hardly, 65))), withObjects(newAppPod("a", "p3", many(hardly, 65)))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n3"}},
		"domains in many combinations": {standard,
			[]stateStep{withObjects(nodeInZone("z", "n1", wide), nodeInZone("z", "n2", wide), nodeInZone("z", "n3", wide)), withObjects(newAppPod("a", "p1", many(softly, 9))), withObjects(newAppPod("a", "p2", many(softly, 9))), withObjects(newAppPod("a", "p3", many(softly, 9)))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n3"}},
		"a pod that counts, with a rule about a key that no pod has": {standard,
			[]stateStep{zones, withObjects(newAppPod("a", "p1", spreadOver(zone, hardly, app), withAffinity(follow))), withObjects(running(newAppPod("a", "away", withAffinity(lonely)), "n1"))},
			map[string]string{"p1": "pending "}},
		"a key that told no pods apart yet": {standard,
			[]stateStep{zones, withObjects(running(newAppPod("a", "o1", labeled("tier", "x")), "n1"), running(newAppPod("a", "o2", labeled("tier", "y")), "n2")),
				withObjects(newAppPod("a", "p1", spreadOver(zone, hardly, map[string]string{"tier": "x"}), labeled("tier", "x")))},
			map[string]string{"p1": "n2"}},
		"a taint takes the least domain from a hard constraint": {standard,
			[]stateStep{three, withObjects(newAppPod("a", "p1", spreadOver(zone, hardly, app, honoringTaints))), withObjects(newAppPod("a", "p2", spreadOver(zone, hardly, app, honoringTaints))),
				withObjects(nodeInZone("z3", "n3", tainted)), withObjects(newAppPod("a", "p3", spreadOver(zone, hardly, app, honoringTaints)))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n1"}},
		"a taint takes a node's pods from a soft constraint": {standard,
			[]stateStep{withObjects(nodeInZone("z1", "n1"), nodeInZone("z2", "n2"), nodeInZone("z2", "n3")), withObjects(running(newAppPod("a", "o1"), "n3"), running(newAppPod("a", "o2"), "n3")),
				withObjects(newAppPod("a", "p1", spreadOver(zone, softly, app, honoringTaints))), withObjects(newAppPod("a", "p2", spreadOver(zone, softly, app, honoringTaints))),
				withObjects(nodeInZone("z2", "n3", tainted)), withObjects(newAppPod("a", "p3", spreadOver(zone, softly, app, honoringTaints)))},
			map[string]string{"p1": "n1", "p2": "n1", "p3": "n2"}},
		"an image comes to another node": {standard,
			[]stateStep{withObjects(nodeInZone("z1", "n1", storing, avoided), nodeInZone("z2", "n2"), nodeInZone("z3", "n3")), withObjects(newAppPod("a", "p1", image("model:1"))), withObjects(nodeInZone("z3", "n3", storing)), withObjects(newAppPod("a", "p2", image("model:1")))},
			map[string]string{"p1": "n2", "p2": "n3"}},
		"another image volume": {standard,
			[]stateStep{withObjects(nodeInZone("z1", "n1"), nodeInZone("z2", "n2", storing)), withObjects(newAppPod("a", "p1", image("web"))), withObjects(newAppPod("b", "p2", image("model:1")))},
			map[string]string{"p1": "n1", "p2": "n2"}},
		"an empty selector beside another": {standard,
			[]stateStep{withObjects(nodeInZone("z1", "n1"), nodeInZone("z1", "n2"), nodeInZone("z1", "n3"), nodeInZone("z2", "n4", cordoned)), withObjects(newAppPod("a", "p1", spreadOver(zone, hardly, nil), spreadOver(hostname, hardly, app))),
				withObjects(newAppPod("a", "p2", spreadOver(zone, hardly, nil), spreadOver(hostname, hardly, app))), withObjects(newAppPod("a", "p3", spreadOver(zone, hardly, nil), spreadOver(hostname, hardly, app)))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n3"}},
		"pods come to a node without a key": {standard,
			[]stateStep{racks, withObjects(newAppPod("a", "p1", soft, spreadOver(rack, softly, app))), withObjects(newAppPod("a", "p2", soft, spreadOver(rack, softly, app))), onBare, withObjects(newAppPod("a", "p3", soft, spreadOver(rack, softly, app)))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n1"}},
		"a feasible node without a key": {standard,
			[]stateStep{racks, withObjects(running(newAppPod("a", "o1"), "n1"), running(newAppPod("a", "o2"), "n1"), running(newAppPod("a", "o3"), "n1")),
				withObjects(newAppPod("a", "p1", spreadOver(hostname, softly, app), spreadOver(rack, softly, app))), withObjects(newAppPod("a", "p2", spreadOver(hostname, softly, app), spreadOver(rack, softly, app)))},
			map[string]string{"p1": "n2", "p2": "n2"}},
		"pods come to a node that the pod may not use": {standard,
			[]stateStep{racks, withObjects(newAppPod("a", "p1", soft, onRacks)), withObjects(newAppPod("a", "p2", soft, onRacks)), onBare, withObjects(newAppPod("a", "p3", soft, onRacks))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n1"}},
		"a namespace that a rule of the pod's own selects": {standard,
			[]stateStep{zones, withObjects(namespace("default", "b"), namespace("east", "b")), withObjects(running(newAppPod("b", "away", inEast), "n1")),
				withObjects(newAppPod("a", "p1", withAffinity(team))), withObjects(namespace("east", "a")), withObjects(newAppPod("a", "p2", withAffinity(team)))},
			map[string]string{"p1": "n2", "p2": "n2"}},
		"a namespace that a rule of another pod selects": {standard,
			[]stateStep{zones, withObjects(namespace("default", "b"), namespace("east", "b")), withObjects(running(newAppPod("b", "away", inEast, withAffinity(team)), "n1")),
				withObjects(newAppPod("b", "p1"), newAppPod("b", "p2")), withObjects(namespace("default", "a")), withObjects(newAppPod("b", "p3"))},
			map[string]string{"p1": "n2", "p2": "n1", "p3": "n2"}},
		"a label that only the pod's own rule reads": {standard,
			[]stateStep{zones, withObjects(newAppPod("a", "p1", labeled("self", "a"), withAffinity(itself), on("nowhere"))), withObjects(newAppPod("a", "p2", withAffinity(itself)))},
			map[string]string{"p1": "pending ", "p2": "pending "}},
		"a score beyond what is kept of one": {standard,
			[]stateStep{withObjects(nodeInZone("z1", "n1"), nodeInZone("z2", "n2"), nodeInZone("z2", "n3")), withObjects(newAppPod("a", "p1", keen)), withObjects(newAppPod("a", "p2", keen))},
			map[string]string{"p1": "n2", "p2": "n3"}},
		"a claim": {standard,
			[]stateStep{zones, withObjects(class("kubernetes.io/no-provisioner"), claim("c"), localVolume("pv1", "n1", "1Gi"), localVolume("pv2", "n2", "4Gi")),
				withObjects(newAppPod("a", "p1")), withObjects(claims(newAppPod("a", "p2"), "c"))},
			map[string]string{"p1": "n1", "p2": "n2"}},
		"thousands of pods come and go": {standard,
			[]stateStep{zones, withObjects(newAppPod("a", "p1", spreadOver(zone, hardly, app), alone)), withObjects(newAppPod("a", "p2", spreadOver(zone, hardly, app), alone)),
				withObjects(crowd...), withoutObjects(crowd...), withObjects(newAppPod("a", "p3", spreadOver(zone, hardly, app), alone))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "pending "}},
		"required affinity that counts for nothing outlives preferred": {light,
			[]stateStep{zones, withObjects(like), withObjects(newAppPod("a", "p1", labeled("x", "1"))), withObjects(running(newAppPod("a", "joins", join), "n2")), withoutObjects(like), withObjects(newAppPod("a", "p2"))},
			map[string]string{"p1": "n1", "p2": "n1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, placeBothWays(t, c.config, c.moments...)); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

// preferZoneOf returns a preferred affinity to the app's pods in the zone.
func preferZoneOf(app string) *v1.Affinity {
	return &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: apart(app, zone)}}}}
}

// One of four zones has a pod, and the next pod goes to the second zone. If that was one of the two zones known to have the fewest pods,
// another zone must replace it: upstream reads the two zones for nodes with nominated pods. It finds them in random order.
func TestPlainFindsTheTwoLeastDomains(t *testing.T) {
	config, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	spread := spreadOver(zone, v1.DoNotSchedule, map[string]string{"app": "a"})
	want := map[string]string{"p1": "n1", "p2": "n2", "p3": "n1", "q3": "n3", "q4": "n4"}
	for range 20 {
		got := placeBothWays(t, config, withObjects(nodeInZone("z1", "n1"), nodeInZone("z2", "n2"), nodeInZone("z3", "n3"), nodeInZone("z4", "n4")), withObjects(newAppPod("a", "p1", spread)), withObjects(newAppPod("a", "p2", spread)),
			withObjects(newAppPod("a", "p3", spread), nominated(newAppPod("a", "q3"), "n3"), nominated(newAppPod("a", "q4"), "n4")))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("nodes (-want +got):\n%s", diff)
		}
	}
}
