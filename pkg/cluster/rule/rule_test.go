package rule

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func specOf(t *testing.T, text string) *v1.PodSpec {
	t.Helper()
	var spec v1.PodSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return &spec
}

// everything has a rule of each kind, and two of some kinds.
const everything = `
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {topologyKey: zone, labelSelector: {matchLabels: {app: cache}}}
    preferredDuringSchedulingIgnoredDuringExecution:
    - {weight: 7, podAffinityTerm: {topologyKey: rack, labelSelector: {matchLabels: {app: cache}}}}
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {topologyKey: host, labelSelector: {matchLabels: {app: web}}}
    - {topologyKey: zone, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [hash]}
    preferredDuringSchedulingIgnoredDuringExecution:
    - {weight: 100, podAffinityTerm: {topologyKey: region, labelSelector: {matchLabels: {app: web}}}}
    - {weight: 99, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: web}}}}
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions: [{key: arch, operator: In, values: [arm64, amd64]}, {key: spot, operator: DoesNotExist}]
      - matchFields: [{key: metadata.name, operator: In, values: [n1]}]
    preferredDuringSchedulingIgnoredDuringExecution:
    - {weight: 3, preference: {matchExpressions: [{key: cores, operator: Gt, values: ["8"]}]}}
nodeSelector: {disktype: ssd, arch: arm64}
topologySpreadConstraints:
- {maxSkew: 1, minDomains: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
- {maxSkew: 3, topologyKey: host, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
`

const (
	affinityPath = "affinity.podAffinity."
	antiPath     = "affinity.podAntiAffinity."
	nodePath     = "affinity.nodeAffinity."
)

func TestOf(t *testing.T) {
	want := []Rule{
		{Path: affinityPath + required + "[0]", Kind: Affinity, Hard: true, TopologyKey: "zone", Selector: "app=cache"},
		{Path: affinityPath + preferred + "[0]", Kind: Affinity, TopologyKey: "rack", Selector: "app=cache", Weight: 7},
		{Path: antiPath + required + "[0]", Kind: AntiAffinity, Hard: true, TopologyKey: "host", Selector: "app=web"},
		{Path: antiPath + required + "[1]", Kind: AntiAffinity, Hard: true, TopologyKey: "zone", Selector: "app=web", Besides: "matchLabelKeys hash"},
		{Path: antiPath + preferred + "[0]", Kind: AntiAffinity, TopologyKey: "region", Selector: "app=web", Weight: 100},
		{Path: antiPath + preferred + "[1]", Kind: AntiAffinity, TopologyKey: "zone", Selector: "app=web", Weight: 99},
		{Path: nodePath + required, Kind: NodeAffinity, Hard: true, Selector: "arch in (amd64,arm64),!spot or metadata.name in (n1)"},
		{Path: nodePath + preferred + "[0]", Kind: NodeAffinity, Selector: "cores>8", Weight: 3},
		{Path: "nodeSelector", Kind: NodeSelector, Hard: true, Selector: "arch=arm64,disktype=ssd"},
		{Path: "topologySpreadConstraints[0]", Kind: Spread, Hard: true, TopologyKey: "zone", Selector: "app=web", MaxSkew: 1, MinDomains: 2},
		{Path: "topologySpreadConstraints[1]", Kind: Spread, TopologyKey: "host", Selector: "app=web", MaxSkew: 3},
	}
	got := List(specOf(t, everything))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	wantWords := []string{
		"required affinity over zone", "preferred affinity over rack (weight 7)",
		"required anti-affinity over host", "required anti-affinity over zone",
		"preferred anti-affinity over region (weight 100)", "preferred anti-affinity over zone (weight 99)",
		"required node affinity to arch in (amd64,arm64),!spot or metadata.name in (n1)", "preferred node affinity to cores>8 (weight 3)",
		"node selector arch=arm64,disktype=ssd",
		"spread over zone, maxSkew 1, DoNotSchedule", "spread over host, maxSkew 3, ScheduleAnyway",
	}
	var words []string
	for _, r := range got {
		words = append(words, r.String())
	}
	if diff := cmp.Diff(wantWords, words); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	if rules := List(&v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}}}); rules != nil {
		t.Errorf("a spec without rules has %v", rules)
	}
}

// Without removes one rule and nothing else.
func TestWithout(t *testing.T) {
	words := func(spec *v1.PodSpec) []string {
		var all []string
		for _, r := range List(spec) {
			all = append(all, r.String())
		}
		return all
	}
	spec := specOf(t, everything)
	rules := List(spec)
	for i, r := range rules {
		got, all := spec.DeepCopy(), words(spec)
		if !Remove(got, r) {
			t.Errorf("%s is not found", r.Path)
		}
		if diff := cmp.Diff(append(all[:i:i], all[i+1:]...), words(got)); diff != "" {
			t.Errorf("without %s (-want +got):\n%s", r.Path, diff)
		}
	}
	// Removing the last rule leaves a spec that looks as if it never had one.
	for _, r := range rules {
		if !Remove(spec, List(spec)[0]) {
			t.Errorf("%s is not found", r)
		}
	}
	if diff := cmp.Diff(&v1.PodSpec{}, spec); diff != "" {
		t.Errorf("without all rules (-want +got):\n%s", diff)
	}
}

// The API server merges matchLabelKeys into a pod's selector; it is still the template's rule, and vice versa.
func TestARuleOfAPodIsTheTemplates(t *testing.T) {
	const template = `{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
  {topologyKey: zone, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [hash], mismatchLabelKeys: [tenant]}]}},
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [hash]}]}`
	const pod = `{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
  {topologyKey: zone, matchLabelKeys: [hash], mismatchLabelKeys: [tenant], labelSelector: {matchLabels: {app: web}, matchExpressions: [
    {key: hash, operator: In, values: [abc]}, {key: tenant, operator: NotIn, values: [me]}]}}]}},
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [hash],
    labelSelector: {matchLabels: {app: web}, matchExpressions: [{key: hash, operator: In, values: [abc]}]}}]}`
	if diff := cmp.Diff(List(specOf(t, template)), List(specOf(t, pod))); diff != "" {
		t.Errorf("rules (-template +pod):\n%s", diff)
	}
	for _, r := range List(specOf(t, pod)) {
		if !Remove(specOf(t, template), r) {
			t.Errorf("%s of the pod is not found in the template", r)
		}
	}
}

// A rule at the same path about something else is another rule; with another weight it is the same.
func TestWhatIsTheSameRule(t *testing.T) {
	term := func(weight, key, app string) *v1.PodSpec {
		return specOf(t, `{affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
  {weight: `+weight+`, podAffinityTerm: {topologyKey: `+key+`, labelSelector: {matchLabels: {app: `+app+`}}}}]}}}`)
	}
	r := List(term("100", "zone", "web"))[0]
	for name, c := range map[string]struct {
		spec *v1.PodSpec
		want bool
	}{
		"the same":       {term("100", "zone", "web"), true},
		"another weight": {term("1", "zone", "web"), true},
		"another key":    {term("100", "host", "web"), false},
		"other pods":     {term("100", "zone", "db"), false},
		"no rule":        {&v1.PodSpec{}, false},
	} {
		before := c.spec.DeepCopy()
		if got := Remove(c.spec, r); got != c.want {
			t.Errorf("%s: found is %t", name, got)
		}
		if !c.want {
			if diff := cmp.Diff(before, c.spec); diff != "" {
				t.Errorf("%s: changed (-before +after):\n%s", name, diff)
			}
		}
	}
}

func TestWithWeight(t *testing.T) {
	spec := specOf(t, everything)
	for i, r := range List(spec) {
		got := spec.DeepCopy()
		want := List(spec)
		if r.Weight > 0 {
			want[i].Weight = 42
		}
		if SetWeight(got, r, 42) != (r.Weight > 0) {
			t.Errorf("%s: has a weight: %t", r, r.Weight == 0)
		}
		if diff := cmp.Diff(want, List(got)); diff != "" {
			t.Errorf("weight of %s (-want +got):\n%s", r, diff)
		}
	}
}

func TestSoften(t *testing.T) {
	for name, c := range map[string]struct{ hard, soft string }{
		"anti-affinity": {
			`{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: web}}}]}}}`,
			`{affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
  {weight: 100, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: web}}}}]}}}`,
		},
		"affinity, besides a soft one": {
			`{affinity: {podAffinity: {
  requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: web}}}],
  preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: rack}}]}}}`,
			`{affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: rack}},
  {weight: 100, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: web}}}}]}}}`,
		},
		"node affinity": {
			`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
  {matchExpressions: [{key: a, operator: Exists}]}, {matchExpressions: [{key: b, operator: Exists}]}]}}}}`,
			`{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
  {weight: 100, preference: {matchExpressions: [{key: a, operator: Exists}]}}, {weight: 100, preference: {matchExpressions: [{key: b, operator: Exists}]}}]}}}`,
		},
		"node selector": {
			`{nodeSelector: {b: "2", a: "1"}}`,
			`{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [
  {key: a, operator: In, values: ["1"]}, {key: b, operator: In, values: ["2"]}]}}]}}}`,
		},
		"spread": {
			`{topologySpreadConstraints: [{maxSkew: 2, minDomains: 3, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}`,
			`{topologySpreadConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}`,
		},
		"spread besides a soft one over another key": {
			`{topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 1, topologyKey: host, whenUnsatisfiable: ScheduleAnyway}]}`,
			`{topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}, {maxSkew: 1, topologyKey: host, whenUnsatisfiable: ScheduleAnyway}]}`,
		},
		"spread besides a soft one over the same key": {
			`{topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}`,
			``,
		},
		"a soft rule": {`{topologySpreadConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}`, ``},
	} {
		spec := specOf(t, c.hard)
		want := specOf(t, c.soft)
		if c.soft == "" {
			want = spec.DeepCopy()
		}
		if got := soften(spec, List(spec)[0]); got != (c.soft != "") {
			t.Errorf("%s: softened is %t", name, got)
		}
		if diff := cmp.Diff(want, spec); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Only the named one of several preferred terms gets the weight.
func TestWithWeightOfTheSecond(t *testing.T) {
	spec := specOf(t, `{affinity: {
  nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
    {weight: 1, preference: {matchExpressions: [{key: disk, operator: Exists}]}}, {weight: 2, preference: {matchExpressions: [{key: gpu, operator: Exists}]}}]},
  podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
    {weight: 3, podAffinityTerm: {topologyKey: zone}}, {weight: 4, podAffinityTerm: {topologyKey: host}}]}}}`)
	for _, r := range List(spec) {
		if r.Weight%2 == 0 && !SetWeight(spec, r, 10*r.Weight) {
			t.Errorf("%s is not found", r)
		}
	}
	var got []int32
	for _, r := range List(spec) {
		got = append(got, r.Weight)
	}
	if diff := cmp.Diff([]int32{3, 40, 1, 20}, got); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
}

// The spec's requirements on a zone become preferences, and its requirements on other labels stay.
func TestSoftenLabel(t *testing.T) {
	for name, c := range map[string]struct{ hard, soft, asked string }{
		"node selector": {
			`{nodeSelector: {zone: a, disk: ssd}}`,
			`{nodeSelector: {disk: ssd}, affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
  {weight: 100, preference: {matchExpressions: [{key: zone, operator: In, values: [a]}]}}]}}}`,
			"zone in (a)",
		},
		"one of two requirements": {
			`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
  {matchExpressions: [{key: zone, operator: In, values: [a, b]}, {key: disk, operator: Exists}]}]}}}}`,
			`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: Exists}]}]},
  preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: zone, operator: In, values: [a, b]}]}}]}}}`,
			"zone in (a,b)",
		},
		"all of one of two terms": {
			`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
  {matchExpressions: [{key: zone, operator: In, values: [a]}]}, {matchExpressions: [{key: disk, operator: Exists}]}]}}}}`,
			`{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: zone, operator: In, values: [a]}]}}]}}}`,
			"zone in (a)",
		},
		"another label": {`{nodeSelector: {disk: ssd}}`, `{nodeSelector: {disk: ssd}}`, ""},
	} {
		spec := specOf(t, c.hard)
		asked := SoftenLabel(spec, "zone")
		if diff := cmp.Diff(specOf(t, c.soft), spec); diff != "" || asked != c.asked {
			t.Errorf("%s: %q (-want +got)\n%s", name, asked, diff)
		}
	}
}
