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

// moment derives a state from the state before. The waiting pods of that state are then placed.
type moment func(*cluster.State) *cluster.State

// then returns a moment that adds or replaces objects.
func then(objs ...cluster.Object) moment {
	return func(state *cluster.State) *cluster.State { return state.With(objs...) }
}

// except returns a moment that removes objects.
func except(objs ...cluster.Object) moment {
	return func(state *cluster.State) *cluster.State { return state.Without(objs...) }
}

// both lets an engine with a memo and one without place the waiting pods at each moment. It compares every score (some scores for a pod
// named brief), and returns each pod's last node.
func both(t *testing.T, config *Config, moments ...moment) map[string]string {
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
			state = after(state, result)
		}
	}
	found := map[string]string{}
	for i := range moments {
		if diff := differ(all[0][i], all[1][i]); diff != "" {
			t.Fatalf("moment %d (-plain +kept):\n%s", i, diff)
		}
		maps.Copy(found, outcome(all[1][i]))
	}
	return found
}

// an returns a pod of an app with small requests.
func an(app, name string, differs ...func(*v1.Pod)) *v1.Pod {
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

func affine(affinity *v1.Affinity) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Affinity = affinity }
}

// over adds a constraint on the pods with the labels.
func over(key string, when v1.UnsatisfiableConstraintAction, labels map[string]string, differs ...func(*v1.TopologySpreadConstraint)) func(*v1.Pod) {
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

func lacking(key string) func(*v1.TopologySpreadConstraint) {
	return func(c *v1.TopologySpreadConstraint) { c.LabelSelector = without(key) }
}

// without selects the pods that lack the label.
func without(key string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpDoesNotExist}}}
}

func in(zoneName, name string, differs ...func(*v1.Node)) *v1.Node {
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
	zones := then(in("z1", "n1"), in("z2", "n2"))
	three := then(in("z1", "n1"), in("z2", "n2"), in("z3", "n3"))
	racks := then(in("z1", "n1", racked), in("z2", "n2", racked), in("z1", "bare"))
	onRacks := affine(&v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: rack, Operator: v1.NodeSelectorOpExists}}}}}}})
	onBare := then(running(an("a", "b1"), "bare"), running(an("a", "b2"), "bare"), running(an("a", "b3"), "bare"))
	soft := over(zone, softly, app)
	set := func(name, key string) *appsv1.ReplicaSet {
		set, _ := replicas(name, 0, nil)
		set.UID, set.Spec.Selector = "same", &metav1.LabelSelector{MatchLabels: map[string]string{key: "a"}}
		return set
	}
	of := func(name string, set *appsv1.ReplicaSet) *v1.Pod {
		pod := an("a", name, labeled("tier", "a"))
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		return pod
	}
	shy := nominated(an("shy", "shy"), "n1")
	shy.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		TopologyKey: hostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"loud": "yes"}}}}}}
	ruled := affine(hard("nobody", hostname)) // InterPodAffinity is skipped for pods without rules, and does not see nominated pods then
	join := affine(&v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{apart("a", zone)}}})
	like := running(an("b", "like", affine(fond("a"))), "n1")
	lonely := hard("", hostname)
	lonely.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = without("late")
	itself := &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		TopologyKey: zone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"self": "a"}}}}}}
	follow := &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{apart("ghost", zone)}}}
	team := hard("b", hostname)
	team.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	namespace := func(name, team string) *v1.Namespace {
		return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
	}
	inEast := func(pod *v1.Pod) { pod.Namespace = "east" }
	alone := affine(hard("a", hostname))
	var crowd []cluster.Object
	for i := range 5000 {
		crowd = append(crowd, running(an("b", fmt.Sprint("crowd", i)), "gone"))
	}
	image := func(name string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: name}}}}
		}
	}
	many := func(when v1.UnsatisfiableConstraintAction, n int) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			for i := range n - 1 {
				over(fmt.Sprint("key", i), when, map[string]string{"app": "nobody"})(pod)
			}
			over(fmt.Sprint("key", n-1), when, app)(pod)
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
		moments []moment
		want    map[string]string
	}{
		"a label that matchLabelKeys name, and the first pod does not have": {standard,
			[]moment{zones, then(running(an("a", "old"), "n1")),
				then(an("a", "without", over(zone, hardly, app, byVersion))), then(an("a", "too", over(zone, hardly, app, byVersion))),
				then(an("a", "with", over(zone, hardly, app, byVersion), labeled("version", "2")))},
			map[string]string{"without": "n2", "too": "n1", "with": "n1"}},
		"a key that no pod has, which the first pod is counted by": {standard,
			[]moment{zones, then(an("a", "p1", over(zone, hardly, nil, lacking("late")))), then(an("a", "p2", over(zone, hardly, nil, lacking("late"))))},
			map[string]string{"p1": "n1", "p2": "n2"}},
		"a rule about a key that no pod has": {standard,
			[]moment{zones, then(an("a", "p1", on("nowhere"))), then(running(an("b", "away", affine(lonely)), "n1"), an("a", "p2"))},
			map[string]string{"p1": "pending ", "p2": "n2"}},
		"a label that only a pod with a nominated node reads": {standard,
			[]moment{zones, then(an("a", "loud", ruled, labeled("loud", "yes")), an("a", "quiet", ruled, labeled("loud", "no")), shy)},
			map[string]string{"loud": "n2", "quiet": "n1", "shy": "n1"}},
		"owners of one UID": {standard,
			[]moment{zones, then(set("a", "app"), set("b", "tier"), running(an("a", "o1"), "n1"), running(an("a", "o2"), "n1"), running(an("a", "o3"), "n1")),
				then(of("a1", set("a", "app"))), then(of("a2", set("a", "app"))), then(of("b1", set("b", "tier")))},
			map[string]string{"a1": "n2", "a2": "n2", "b1": "n1"}},
		"more soft constraints than a set of bits has room for": {standard,
			[]moment{then(in("z", "n1", wide), in("z", "n2", wide), in("z", "n3", wide)), then(an("a", "p1", many(softly, 65))), then(an("a", "p2", many(softly, 65))), then(an("a", "p3", many(softly, 65)))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n3"}},
		"more hard constraints than a set of bits has room for": {standard,
			[]moment{then(in("z", "n1", wide), in("z", "n2", wide), in("z", "n3", wide)), then(an("a", "p1", many(hardly, 65))), then(an("a", "p2", many(hardly, 65))), then(an("a", "p3", many(hardly, 65)))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n3"}},
		"domains in many combinations": {standard,
			[]moment{then(in("z", "n1", wide), in("z", "n2", wide), in("z", "n3", wide)), then(an("a", "p1", many(softly, 9))), then(an("a", "p2", many(softly, 9))), then(an("a", "p3", many(softly, 9)))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n3"}},
		"a pod that counts, with a rule about a key that no pod has": {standard,
			[]moment{zones, then(an("a", "p1", over(zone, hardly, app), affine(follow))), then(running(an("a", "away", affine(lonely)), "n1"))},
			map[string]string{"p1": "pending "}},
		"a key that told no pods apart yet": {standard,
			[]moment{zones, then(running(an("a", "o1", labeled("tier", "x")), "n1"), running(an("a", "o2", labeled("tier", "y")), "n2")),
				then(an("a", "p1", over(zone, hardly, map[string]string{"tier": "x"}), labeled("tier", "x")))},
			map[string]string{"p1": "n2"}},
		"a taint takes the least domain from a hard constraint": {standard,
			[]moment{three, then(an("a", "p1", over(zone, hardly, app, honoringTaints))), then(an("a", "p2", over(zone, hardly, app, honoringTaints))),
				then(in("z3", "n3", tainted)), then(an("a", "p3", over(zone, hardly, app, honoringTaints)))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n1"}},
		"a taint takes a node's pods from a soft constraint": {standard,
			[]moment{then(in("z1", "n1"), in("z2", "n2"), in("z2", "n3")), then(running(an("a", "o1"), "n3"), running(an("a", "o2"), "n3")),
				then(an("a", "p1", over(zone, softly, app, honoringTaints))), then(an("a", "p2", over(zone, softly, app, honoringTaints))),
				then(in("z2", "n3", tainted)), then(an("a", "p3", over(zone, softly, app, honoringTaints)))},
			map[string]string{"p1": "n1", "p2": "n1", "p3": "n2"}},
		"an image comes to another node": {standard,
			[]moment{then(in("z1", "n1", storing, avoided), in("z2", "n2"), in("z3", "n3")), then(an("a", "p1", image("model:1"))), then(in("z3", "n3", storing)), then(an("a", "p2", image("model:1")))},
			map[string]string{"p1": "n2", "p2": "n3"}},
		"another image volume": {standard,
			[]moment{then(in("z1", "n1"), in("z2", "n2", storing)), then(an("a", "p1", image("web"))), then(an("b", "p2", image("model:1")))},
			map[string]string{"p1": "n1", "p2": "n2"}},
		"an empty selector beside another": {standard,
			[]moment{then(in("z1", "n1"), in("z1", "n2"), in("z1", "n3"), in("z2", "n4", cordoned)), then(an("a", "p1", over(zone, hardly, nil), over(hostname, hardly, app))),
				then(an("a", "p2", over(zone, hardly, nil), over(hostname, hardly, app))), then(an("a", "p3", over(zone, hardly, nil), over(hostname, hardly, app)))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n3"}},
		"pods come to a node without a key": {standard,
			[]moment{racks, then(an("a", "p1", soft, over(rack, softly, app))), then(an("a", "p2", soft, over(rack, softly, app))), onBare, then(an("a", "p3", soft, over(rack, softly, app)))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n1"}},
		"a feasible node without a key": {standard,
			[]moment{racks, then(running(an("a", "o1"), "n1"), running(an("a", "o2"), "n1"), running(an("a", "o3"), "n1")),
				then(an("a", "p1", over(hostname, softly, app), over(rack, softly, app))), then(an("a", "p2", over(hostname, softly, app), over(rack, softly, app)))},
			map[string]string{"p1": "n2", "p2": "n2"}},
		"pods come to a node that the pod may not use": {standard,
			[]moment{racks, then(an("a", "p1", soft, onRacks)), then(an("a", "p2", soft, onRacks)), onBare, then(an("a", "p3", soft, onRacks))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "n1"}},
		"a namespace that a rule of the pod's own selects": {standard,
			[]moment{zones, then(namespace("default", "b"), namespace("east", "b")), then(running(an("b", "away", inEast), "n1")),
				then(an("a", "p1", affine(team))), then(namespace("east", "a")), then(an("a", "p2", affine(team)))},
			map[string]string{"p1": "n2", "p2": "n2"}},
		"a namespace that a rule of another pod selects": {standard,
			[]moment{zones, then(namespace("default", "b"), namespace("east", "b")), then(running(an("b", "away", inEast, affine(team)), "n1")),
				then(an("b", "p1"), an("b", "p2")), then(namespace("default", "a")), then(an("b", "p3"))},
			map[string]string{"p1": "n2", "p2": "n1", "p3": "n2"}},
		"a label that only the pod's own rule reads": {standard,
			[]moment{zones, then(an("a", "p1", labeled("self", "a"), affine(itself), on("nowhere"))), then(an("a", "p2", affine(itself)))},
			map[string]string{"p1": "pending ", "p2": "pending "}},
		"a score beyond what is kept of one": {standard,
			[]moment{then(in("z1", "n1"), in("z2", "n2"), in("z2", "n3")), then(an("a", "p1", keen)), then(an("a", "p2", keen))},
			map[string]string{"p1": "n2", "p2": "n3"}},
		"a claim": {standard,
			[]moment{zones, then(class("kubernetes.io/no-provisioner"), claim("c"), local("pv1", "n1", "1Gi"), local("pv2", "n2", "4Gi")),
				then(an("a", "p1")), then(claims(an("a", "p2"), "c"))},
			map[string]string{"p1": "n1", "p2": "n2"}},
		"thousands of pods come and go": {standard,
			[]moment{zones, then(an("a", "p1", over(zone, hardly, app), alone)), then(an("a", "p2", over(zone, hardly, app), alone)),
				then(crowd...), except(crowd...), then(an("a", "p3", over(zone, hardly, app), alone))},
			map[string]string{"p1": "n1", "p2": "n2", "p3": "pending "}},
		"required affinity that counts for nothing outlives preferred": {light,
			[]moment{zones, then(like), then(an("a", "p1", labeled("x", "1"))), then(running(an("a", "joins", join), "n2")), except(like), then(an("a", "p2"))},
			map[string]string{"p1": "n1", "p2": "n1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, both(t, c.config, c.moments...)); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

// fond returns a preferred affinity to the app's pods in the zone.
func fond(app string) *v1.Affinity {
	return &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: apart(app, zone)}}}}
}

// One of four zones has a pod, and the next pod goes to the second zone. If that was one of the two zones known to have the fewest pods,
// another zone must replace it: upstream reads the two zones for nodes with nominated pods. It finds them in random order.
func TestPlainFindsTheTwoLeastDomains(t *testing.T) {
	config, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	spread := over(zone, v1.DoNotSchedule, map[string]string{"app": "a"})
	want := map[string]string{"p1": "n1", "p2": "n2", "p3": "n1", "q3": "n3", "q4": "n4"}
	for range 20 {
		got := both(t, config, then(in("z1", "n1"), in("z2", "n2"), in("z3", "n3"), in("z4", "n4")), then(an("a", "p1", spread)), then(an("a", "p2", spread)),
			then(an("a", "p3", spread), nominated(an("a", "q3"), "n3"), nominated(an("a", "q4"), "n4")))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("nodes (-want +got):\n%s", diff)
		}
	}
}
