package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/run"
)

// declaring returns a Deployment whose pods have these rules.
func declaring(t *testing.T, spec string) report.Declared {
	t.Helper()
	var pod v1.PodSpec
	if err := yaml.UnmarshalStrict([]byte(spec), &pod); err != nil {
		t.Fatal(err)
	}
	return report.Declared{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}, Rules: rule.List(&pod)}
}

// Each change of a rule has its word, and says whether a gate may fail on it.
func TestDeclaredRules(t *testing.T) {
	const own = `labelSelector: {matchLabels: {app: web}}`
	hard := `affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, ` + own + `}]}}`
	soft := `affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 50, podAffinityTerm: {topologyKey: zone, ` + own + `}}]}}`
	spread := func(fields string) string { return `topologySpreadConstraints: [{topologyKey: zone, ` + fields + `}]` }
	for name, c := range map[string]struct {
		old, new string
		want     string // the change; "" for none
		removed  bool
	}{
		"the same":             {hard, hard, "", false},
		"dropped":              {hard, `{}`, changeDropped, true},
		"added":                {`{}`, hard, changeAdded, false},
		"required → preferred": {hard, soft, "weakened", true},
		"preferred → required": {soft, hard, "strengthened", false},
		"another selector":     {spread(`maxSkew: 1, whenUnsatisfiable: DoNotSchedule, ` + own), spread(`maxSkew: 1, whenUnsatisfiable: DoNotSchedule`), "changed", false},
		"less weight": {soft, `affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, ` + own + `}}]}}`,
			"weakened", true},
		"more skew":          {spread(`maxSkew: 1, whenUnsatisfiable: DoNotSchedule`), spread(`maxSkew: 2, whenUnsatisfiable: DoNotSchedule`), "weakened", true},
		"no longer hard":     {spread(`maxSkew: 1, whenUnsatisfiable: DoNotSchedule`), spread(`maxSkew: 1, whenUnsatisfiable: ScheduleAnyway`), "weakened", true},
		"no minDomains":      {spread(`maxSkew: 1, minDomains: 3, whenUnsatisfiable: DoNotSchedule`), spread(`maxSkew: 1, whenUnsatisfiable: DoNotSchedule`), "weakened", true},
		"other label keys":   {spread(`maxSkew: 1, whenUnsatisfiable: DoNotSchedule`), spread(`maxSkew: 1, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [pod-template-hash]`), "changed", false},
		"a label less":       {`nodeSelector: {a: "1", b: "2"}`, `nodeSelector: {a: "1"}`, "weakened", true},
		"a label more":       {`nodeSelector: {a: "1"}`, `nodeSelector: {a: "1", b: "2"}`, "strengthened", false},
		"another label":      {`nodeSelector: {a: "1"}`, `nodeSelector: {a: "2"}`, "changed", false},
		"only another place": {spread(`maxSkew: 1, whenUnsatisfiable: DoNotSchedule`) + "\n" + hard, hard + "\n" + spread(`maxSkew: 1, whenUnsatisfiable: DoNotSchedule`), "", false},
		"another node affinity": {
			`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}`,
			`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: b, operator: Exists}]}]}}}`, "changed", false,
		},
	} {
		old, new := declaring(t, c.old), declaring(t, c.new)
		got, removed := "", false
		for _, d := range declaredDiffs(&old, &new) {
			got, removed = got+d.Change, removed || d.IsRemoval()
			if d.Old == d.New {
				t.Errorf("%s: both versions read %q", name, d.Old)
			}
		}
		if got != c.want || removed != c.removed {
			t.Errorf("%s: %q, removed %t; want %q, %t", name, got, removed, c.want, c.removed)
		}
	}
}

func TestDeclaredNumbers(t *testing.T) {
	old := report.Declared{Replicas: ptr.To(3), Priority: 10, Requests: map[v1.ResourceName]string{"cpu": "500m", "memory": "1Gi", "example.com/gpu": "1"},
		Budgets: []report.Budget{{Name: "a", MinAvailable: "2"}, {Name: "b", MaxUnavailable: "1"}, {Name: "gone", MinAvailable: "1"}}}
	new := report.Declared{Replicas: ptr.To(4), Requests: map[v1.ResourceName]string{"cpu": "0.4", "memory": "1024Mi"},
		Budgets: []report.Budget{{Name: "b", MinAvailable: "75%"}, {Name: "a", MinAvailable: "25%"}}}
	type change struct {
		What, Change, Old, New string
		Removed                bool
	}
	var got []change
	for _, d := range declaredDiffs(&old, &new) {
		got = append(got, change{d.What, d.Change, d.Old, d.New, d.IsRemoval()})
	}
	want := []change{
		{"budget", "changed", "budget b with maxUnavailable 1", "budget b with minAvailable 75%", false}, // 3 of 4 both times
		{"budget", "weakened", "budget a with minAvailable 2", "budget a with minAvailable 25%", true},   // 2 of 4, then 1
		{"budget", changeDropped, "budget gone with minAvailable 1", "", true},
		{"replicas", "raised", "3 replicas", "4 replicas", false},
		{"priority", "lowered", "priority 10", "priority 0", true},
		{"request", "lowered", "cpu 500m", "cpu 0.4", false},
		{"request", changeDropped, "example.com/gpu 1", "", true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// A difference is listed with the first step that has it. A report that leaves out the declarations of a step has those of the step before.
// A report without any, as of an older version, is not compared.
func TestDeclaredOverSteps(t *testing.T) {
	with := func(replicas int) []report.Declared {
		return []report.Declared{{Ref: cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}, Replicas: &replicas, Priority: 1}}
	}
	steps := func(declared ...[]report.Declared) (*run.Report, *blast.Report) {
		r, b := &run.Report{}, &blast.Report{}
		for i, d := range declared {
			r.Steps = append(r.Steps, run.Step{Name: string(rune('a' + i)), Declared: d})
			b.Steps = append(b.Steps, blast.Step{Name: string(rune('a' + i)), Declared: d})
		}
		return r, b
	}
	for name, c := range map[string]struct {
		old, new  [][]report.Declared
		want      []string
		unchanged []string
	}{
		"once":             {[][]report.Declared{with(3), nil, nil}, [][]report.Declared{with(3), with(2), nil}, []string{"b: 3 replicas → 2 replicas"}, []string{"a", "c"}},
		"and back":         {[][]report.Declared{with(3), with(2), nil}, [][]report.Declared{with(2), nil, with(3)}, []string{"a: 3 replicas → 2 replicas", "c: 2 replicas → 3 replicas"}, []string{"b"}},
		"of a new one":     {[][]report.Declared{{}}, [][]report.Declared{with(1)}, []string{"a:  → 1 replica; priority 1"}, nil},
		"one that is gone": {[][]report.Declared{with(1)}, [][]report.Declared{{}}, []string{"a: 1 replica; priority 1 → "}, nil},
		"of an older one":  {[][]report.Declared{nil}, [][]report.Declared{with(1)}, nil, []string{"a"}},
	} {
		oldRun, oldBlast := steps(c.old...)
		newRun, newBlast := steps(c.new...)
		for kind, d := range map[string]*Report{"run": New(oldRun, newRun, ""), "blast": NewBlast(oldBlast, newBlast, "")} {
			var got []string
			for _, one := range d.Declared {
				got = append(got, one.Step+": "+one.Old+" → "+one.New)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, kind, diff)
			}
			if diff := cmp.Diff(c.unchanged, d.Unchanged); diff != "" {
				t.Errorf("%s, %s: unchanged (-want +got):\n%s", name, kind, diff)
			}
			if d.Worse || len(d.Steps)+len(d.Failures) > 0 {
				t.Errorf("%s, %s: worse is %t, and %d steps differ", name, kind, d.Worse, len(d.Steps)+len(d.Failures))
			}
		}
	}
}
