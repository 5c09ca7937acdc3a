package loader

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/variant"
)

const dumpFile = "testdata/edit/dump.yaml"

// editableScenario returns a scenario whose steps patch, scale and apply web.
func editableScenario(t *testing.T) *scenario.Scenario {
	t.Helper()
	web := scenario.Target{Target: "deploy/web"}
	raw := func(text string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(text)} }
	s, err := New("edit", &scenario.File{
		Cluster: []scenario.Source{{Files: []string{dumpFile}}},
		Steps: []scenario.Step{
			{Name: "patch-labels", Patch: &scenario.Patch{Target: web, Patch: raw(`{"metadata": {"labels": {"a": "b"}}}`)}},
			{Name: "scale", Scale: &scenario.Scale{Target: web, Replicas: 5}},
			{Name: "patch-spec", Patch: &scenario.Patch{Target: web, Patch: raw(`{"spec": {"replicas": 7, "template": {"spec": {"hostNetwork": true}}}}`)}},
			{Name: "apply", Apply: &scenario.Source{Files: []string{dumpFile}}},
			{Name: "cordon", Cordon: &scenario.NodesInTurn{Nodes: scenario.Nodes{Names: []string{"n1"}}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func encode(t *testing.T, s *scenario.Scenario) string {
	t.Helper()
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// namesOfEdited returns the names of the replaced objects, and checks that each of them has the edit and no other object does.
func namesOfEdited(t *testing.T, before, after []cluster.Object) []string {
	t.Helper()
	var names []string
	for i := range before {
		spec, _ := cluster.PodSpec(after[i])
		if revision, ok := after[i].(*appsv1.ControllerRevision); ok {
			var set appsv1.StatefulSet
			if err := json.Unmarshal(revision.Data.Raw, &set); err != nil {
				t.Fatal(err)
			}
			spec = &set.Spec.Template.Spec
		}
		changed := before[i] != after[i]
		if carries := spec != nil && spec.PriorityClassName == "edited"; carries != changed {
			t.Errorf("%s: replaced is %t, and carries the edit is %t", cluster.RefTo(after[i]).Describe(), changed, carries)
		}
		if changed {
			names = append(names, cluster.RefTo(after[i]).Describe())
		}
	}
	return names
}

// Every template of a workload in the scenario is edited, and nothing else; the given scenario does not change.
func TestEdit(t *testing.T) {
	s := editableScenario(t)
	before := encode(t, s)
	for _, c := range []struct {
		owner cluster.Ref
		want  []string
	}{
		{cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}, []string{"Deployment default/web", "ReplicaSet default/web-1", "Pod default/web-1-a"}},
		{cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "api"}, []string{"Deployment default/api", "Pod default/api-7d9-x"}},
		{cluster.Ref{Kind: "StatefulSet", Namespace: "default", Name: "db"}, []string{"StatefulSet default/db", "ControllerRevision default/db-1"}},
		{cluster.Ref{Kind: "CronJob", Namespace: "default", Name: "night"}, []string{"CronJob default/night", "Job default/night-1", "Pod default/night-1-a"}},
		{cluster.Ref{Kind: "Pod", Namespace: "default", Name: "alone"}, []string{"Pod default/alone"}},
		{cluster.Ref{Kind: "Deployment", Namespace: "other", Name: "web"}, nil},
	} {
		next := variant.Edit(s, c.owner, func(spec *v1.PodSpec) { spec.PriorityClassName = "edited" })
		if diff := cmp.Diff(c.want, namesOfEdited(t, s.Cluster, next.Cluster)); diff != "" {
			t.Errorf("%s: edited of the cluster (-want +got):\n%s", c.owner, diff)
		}
		if diff := cmp.Diff(c.want, namesOfEdited(t, s.Steps[3].Objects, next.Steps[3].Objects)); diff != "" {
			t.Errorf("%s: edited of the step (-want +got):\n%s", c.owner, diff)
		}
	}
	if diff := cmp.Diff(before, encode(t, s)); diff != "" {
		t.Errorf("the scenario itself has changed (-before +after):\n%s", diff)
	}
}

// A template that a patch makes is edited, too; edits add up.
func TestEditOfPatch(t *testing.T) {
	s := editableScenario(t)
	web := cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}
	next := variant.Edit(s, web, func(spec *v1.PodSpec) { spec.HostNetwork = false })
	next = variant.Edit(next, web, func(spec *v1.PodSpec) { spec.PriorityClassName = "edited" })
	next = variant.Edit(next, cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "api"}, func(spec *v1.PodSpec) { spec.PriorityClassName = "other" })
	for _, c := range []struct {
		s        *scenario.Scenario
		network  bool
		priority string
	}{{s, true, ""}, {next, false, "edited"}} {
		patched, err := c.s.Steps[2].ApplyPatch(findObject(t, c.s.Cluster, "Deployment default/web"))
		if err != nil {
			t.Fatal(err)
		}
		spec := patched.(*appsv1.Deployment).Spec.Template.Spec
		if spec.HostNetwork != c.network || spec.PriorityClassName != c.priority {
			t.Errorf("hostNetwork is %t and the class %q, want %t and %q", spec.HostNetwork, spec.PriorityClassName, c.network, c.priority)
		}
	}
}

func findObject(t *testing.T, objects []cluster.Object, described string) cluster.Object {
	t.Helper()
	for _, obj := range objects {
		if cluster.RefTo(obj).Describe() == described {
			return obj
		}
	}
	t.Fatalf("there is no %s", described)
	return nil
}

// The replicas are the new number at the scaled step, and the other steps keep theirs: 3 in the cluster, 5 at the scale step, 7 at the
// patch, and 3 at the last apply.
func TestScale(t *testing.T) {
	s := editableScenario(t)
	before := encode(t, s)
	web := cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}
	type numbers struct{ Cluster, PatchedLabels, Scale, PatchedSpec, Apply int32 }
	of := func(s *scenario.Scenario) numbers {
		number := func(obj cluster.Object) int32 { n, _ := cluster.Replicas(obj); return n }
		deployment := findObject(t, s.Cluster, "Deployment default/web")
		patched := func(step int) int32 {
			obj, err := s.Steps[step].ApplyPatch(deployment)
			if err != nil {
				t.Fatal(err)
			}
			return number(obj)
		}
		return numbers{
			Cluster: number(deployment), PatchedLabels: patched(0), Scale: s.Steps[1].Scale.Replicas, PatchedSpec: patched(2),
			Apply: number(findObject(t, s.Steps[3].Objects, "Deployment default/web")),
		}
	}
	for step, want := range map[string]numbers{
		scenario.WorkloadsStep: {2, 2, 5, 7, 3},
		"patch-labels":         {2, 2, 5, 7, 3},
		"scale":                {3, 3, 2, 7, 3},
		"patch-spec":           {3, 3, 2, 2, 3},
		"apply":                {3, 3, 5, 7, 2},
		"cordon":               {3, 3, 5, 7, 2},
	} {
		if diff := cmp.Diff(want, of(variant.Scale(s, web, step, 2))); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", step, diff)
		}
	}
	if diff := cmp.Diff(before, encode(t, s)); diff != "" {
		t.Errorf("the scenario itself has changed (-before +after):\n%s", diff)
	}
}

func TestUntilThenWith(t *testing.T) {
	s := editableScenario(t)
	names := func(s *scenario.Scenario) []string {
		var all []string
		for _, step := range s.Steps {
			all = append(all, step.Name)
		}
		return all
	}
	until := s.CutAfter("scale")
	if diff := cmp.Diff([]string{"patch-labels", "scale"}, names(until)); diff != "" {
		t.Errorf("until (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"patch-labels", "scale", "more"}, names(until.AppendStep(scenario.Step{Name: "more"}))); diff != "" {
		t.Errorf("then (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string(nil), names(s.CutAfter(scenario.WorkloadsStep))); diff != "" {
		t.Errorf("until the workloads (-want +got):\n%s", diff)
	}
	more := s.WithObjects(&v1.Node{})
	if len(more.Cluster) != len(s.Cluster)+1 || len(s.Steps) != 5 || s.Steps[2].Name != "patch-spec" {
		t.Errorf("the cluster has %d objects, of %d; the steps are %v", len(more.Cluster), len(s.Cluster), names(s))
	}
}
