package memo

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The log drops its oldest changes, but keeps more changes than there are pods. A reader at an older position learns that changes are
// missing.
func TestTheLogForgetsTheOldest(t *testing.T) {
	p := newPodIndex()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1.PodSpec{NodeName: "n"}}
	for i := range 20000 {
		if i%2 == 0 {
			p.addPod(pod)
		} else {
			p.removePod(pod)
		}
		if len(p.log) > 10000 {
			t.Fatalf("after %d changes the log has %d", i+1, len(p.log))
		}
	}
	if _, known := p.changesSince(0); known {
		t.Error("the first change is still known")
	}
	changes, known := p.changesSince(p.endPosition() - 3)
	if !known || len(changes) != 3 || changes[0].delta != -1 || changes[1].delta != 1 || changes[2].delta != -1 {
		t.Errorf("the last three changes are %v, known %t", changes, known)
	}
}

// Pods come and go, each with an affinity and a class of its own. The index keeps no more of them than [podIndex.maxEntries] allows, and the class of
// a pod that stays survives.
func TestTheAffinitiesForgetWhatIsGone(t *testing.T) {
	p := newPodIndex()
	pod := func(i int) *v1.Pod {
		term := v1.PodAffinityTerm{TopologyKey: fmt.Sprint("key-", i), LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}}
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Labels: map[string]string{"app": "a"}}, Spec: v1.PodSpec{
			NodeName: "n", Affinity: &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}},
		}}
	}
	stays := pod(0)
	p.addPod(stays)
	p.refreshClasses()
	before := p.traitsOf(stays)
	for i := 1; i <= 20_000; i++ {
		gone := pod(i)
		p.addPod(gone)
		p.refreshClasses()
		p.removePod(gone)
		if most := 2*2 + 1<<10; len(p.affinities) > most || len(p.parsed) > most || len(p.classList) > most+1 || len(p.classes) > most+1 {
			t.Fatalf("after %d pods there are %d affinities, %d parsed ones, %d classes", i, len(p.affinities), len(p.parsed), len(p.classList))
		}
	}
	if after := p.traitsOf(stays); after != before || p.classes[after] == nil || p.classes[after].nodes["n"] != 1 {
		t.Errorf("the pod that stays looks like %v, before %v; its class is %v", after, before, p.classes[after])
	}
}

// Pods come and go, each with a selector of its own. The index keeps only some more label keys than are in use, among them the key that the
// remaining pod reads.
func TestTheKeysForgetWhatIsGone(t *testing.T) {
	p := newPodIndex()
	pod := func(i int) *v1.Pod {
		term := v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{fmt.Sprint("app-", i): "a"}}}
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Labels: map[string]string{"app-0": "a", "of": "a"}}, Spec: v1.PodSpec{
			NodeName: "n", Affinity: &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}},
		}}
	}
	services := []*v1.Service{{Spec: v1.ServiceSpec{Selector: map[string]string{"of": "a"}}}}
	stays := pod(0)
	p.addPod(stays)
	p.trackServices(services)
	p.refreshClasses()
	before := p.traitsOf(stays)
	for i := 1; i <= 5_000; i++ {
		gone := pod(i)
		p.addPod(gone)
		p.refreshClasses()
		p.removePod(gone)
		p.dropUnusedKeys(services)
		if most := 2*2 + 2*2 + 1<<10; len(p.keys) > most {
			t.Fatalf("after %d pods %d keys are known", i, len(p.keys))
		}
	}
	p.refreshClasses()
	if after := p.traitsOf(stays); after != before || p.classes[after] == nil || p.classes[after].nodes["n"] != 1 {
		t.Errorf("the pod that stays looks like %v, before %v; its class is %v", after, before, p.classes[after])
	}
}

// findLeast finds the two domains with the fewest pods, although the map yields the domains in another order each time.
func TestFindLeast(t *testing.T) {
	for range 100 {
		f := spreadFilter{pods: []map[string]int{{"a": 1, "b": 2, "c": 5, "d": 7}, {"a": 3}}, least: []*leastTwo{{}, {}}}
		f.findLeast(0)
		f.findLeast(1)
		want := []*leastTwo{{{"a", 1}, {"b", 2}}, {{"a", 3}, {"", math.MaxInt32}}}
		if diff := cmp.Diff(want, f.least); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// The most recently used templates stay.
func TestTheTemplatesForgetTheOldest(t *testing.T) {
	all := templates{byKey: map[templateKey][]*template{}}
	for i := range 10 {
		key := templateKey{scheduler: []string{"a", "b"}[i%2]}
		all.byKey[key] = append(all.byKey[key], &template{used: i, base: &templateBase{spec: &v1.PodSpec{}}})
		all.count++
	}
	all.dropOlderHalf()
	for _, templates := range all.byKey {
		for _, template := range templates {
			if template.used < 6 {
				t.Errorf("the template that was used in cycle %d is still there", template.used)
			}
		}
	}
	if len(all.basesByContainer[firstContainer{}]) != 4 {
		t.Errorf("answers are left of %d templates, want 4", len(all.basesByContainer[firstContainer{}]))
	}
	if all.count != 4 {
		t.Errorf("%d templates are left, want 4", all.count)
	}
}

// Templates share answers about nodes if they differ in nothing but rules about other pods.
func TestAlone(t *testing.T) {
	onNodes := &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1}}}
	spec := func(image string, affinity *v1.Affinity, spread ...v1.TopologySpreadConstraint) *v1.PodSpec {
		return &v1.PodSpec{Containers: []v1.Container{{Image: image}}, Affinity: affinity, TopologySpreadConstraints: spread}
	}
	var all templates
	plain := all.baseOf(spec("a", nil))
	for name, test := range map[string]struct {
		spec *v1.PodSpec
		same bool
	}{
		"an equal one":  {spec("a", nil), true},
		"anti-affinity": {spec("a", &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{}}), true},
		"affinity":      {spec("a", &v1.Affinity{PodAffinity: &v1.PodAffinity{}}), true},
		"spread":        {spec("a", nil, v1.TopologySpreadConstraint{MaxSkew: 1}), true},
		"node affinity": {spec("a", &v1.Affinity{NodeAffinity: onNodes}), false},
		"another image": {spec("b", nil), false},
		"no container":  {&v1.PodSpec{}, false},
	} {
		if same := all.baseOf(test.spec) == plain; same != test.same {
			t.Errorf("%s: shared is %t, want %t", name, same, test.same)
		}
	}
}

// Specs that share an array may still have different numbers of its elements.
func TestIdentical(t *testing.T) {
	tolerations := []v1.Toleration{{Key: "a"}, {Key: "b"}}
	spec := &v1.PodSpec{Priority: new(int32), Tolerations: tolerations}
	for name, test := range map[string]struct {
		change func(*v1.PodSpec)
		want   bool
	}{
		"as it is":         {func(*v1.PodSpec) {}, true},
		"another name":     {func(s *v1.PodSpec) { s.NodeName = "n" }, false},
		"fewer elements":   {func(s *v1.PodSpec) { s.Tolerations = tolerations[:1] }, false},
		"another array":    {func(s *v1.PodSpec) { s.Tolerations = slices.Clone(tolerations) }, false},
		"another pointer":  {func(s *v1.PodSpec) { s.Priority = new(int32) }, false},
		"a map, once none": {func(s *v1.PodSpec) { s.NodeSelector = map[string]string{} }, false},
	} {
		other := *spec
		test.change(&other)
		if got := Identical(spec, &other); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
