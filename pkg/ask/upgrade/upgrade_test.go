package upgrade

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/simulation"
)

// compareReleases returns the answer for one of the project's scenarios about a difference between releases.
func compareReleases(t *testing.T, name, from, to string) *Answer {
	t.Helper()
	path := "../../../scenarios/versions/" + name + ".yaml"
	var state *cluster.State
	var sides []*Side
	for _, release := range []string{from, to} {
		s, err := loader.Load(path, loader.Options{Kubernetes: release})
		if err != nil {
			t.Fatal(err)
		}
		if state == nil {
			result, err := simulation.Run(t.Context(), s, simulation.Options{})
			if err != nil {
				t.Fatal(err)
			}
			state = result.State()
		}
		side := &Side{Scenario: s}
		if err := side.Place(t.Context(), state, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
		sides = append(sides, side)
	}
	answer, err := Compare(sides[0], sides[1], state)
	if err == nil {
		err = answer.AddReasons(t.Context(), sides[0], sides[1], state)
	}
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// The scenarios say in their comments what the upgrade changes: the pod new goes elsewhere, gets a node, or is stored with another volume.
func TestCompare(t *testing.T) {
	pod := func(node, from, to, plugin, why string) *Change {
		return &Change{PodRef: cluster.PodRef{Namespace: "default", Name: "new"}, Node: node, From: from, To: to, Plugin: plugin, Why: why}
	}
	for _, c := range []struct {
		scenario, from, to string
		change             *Change // of the pod new
		completed, gates   []string
	}{
		{"balance", "1.35", "1.36", pod("a", "a", "b", "NodeResourcesBalancedAllocation", "NodeResourcesBalancedAllocation scores a 12 above b as 1.35, and 7 below as 1.36"), nil, nil},
		{"balance", "1.36", "1.37", nil, nil, nil},
		{"extended-resource", "1.35", "1.37", pod("", "", "b", "NodeResourcesFit", "as 1.35, NodeResourcesFit refuses b: Insufficient example.com/gpu"), nil, []string{"DRAExtendedResource"}},
		{"csi-driver", "1.36", "1.37", nil, []string{"CSIDriver /csi.example.com [spec.preventPodSchedulingIfMissing]"}, []string{"VolumeLimitScaling"}}, // its volume is on a by now
		{"image-volume", "1.34", "1.35", nil, []string{"Pod default/new [spec.volumes]"}, []string{"ImageVolume", "PodTopologyLabelsAdmission"}},
		{"mutating-policy", "1.35", "1.36", nil, nil, []string{"MutatingAdmissionPolicy"}},
	} {
		a := compareReleases(t, c.scenario, c.from, c.to)
		var change *Change
		if i := slices.IndexFunc(a.Changes, func(c Change) bool { return c.Name == "new" }); i >= 0 {
			change = &a.Changes[i]
		}
		if diff := cmp.Diff(c.change, change); diff != "" {
			t.Errorf("%s: pod new (-want +got):\n%s", c.scenario, diff)
		}
		var completed, gates []string
		for _, o := range a.Completed {
			completed = append(completed, o.Kind+" "+o.Namespace+"/"+o.Name+" "+"["+o.Fields[0]+"]")
		}
		for _, g := range a.Gates {
			gates = append(gates, g.Name)
			if !g.On || len(g.Objects) == 0 {
				t.Errorf("%s: gate %v is not on, or has no object", c.scenario, g)
			}
		}
		if diff := cmp.Diff(c.completed, completed); diff != "" {
			t.Errorf("%s: stored in another way (-want +got):\n%s", c.scenario, diff)
		}
		if diff := cmp.Diff(c.gates, gates); diff != "" {
			t.Errorf("%s: gates (-want +got):\n%s", c.scenario, diff)
		}
	}
}

// The answer says what has changed in the plugin if the upgrade meets that change.
func TestReasons(t *testing.T) {
	want := []Reason{{Plugin: "NodeResourcesBalancedAllocation", Pods: 1, Since: "1.36", Text: pluginChanges[0].Text}}
	if diff := cmp.Diff(want, compareReleases(t, "balance", "1.35", "1.37").Reasons); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a := &Answer{From: "1.36", To: "1.37"}
	a.countReason("NodeResourcesBalancedAllocation")
	a.countReason("NodeResourcesBalancedAllocation")
	if diff := cmp.Diff([]Reason{{Plugin: "NodeResourcesBalancedAllocation", Pods: 2}}, a.Reasons); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The releases may read different objects from one dump.
func TestCompareObjects(t *testing.T) {
	a := &Answer{}
	ns := func(name, label string) cluster.Object {
		obj := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if label != "" {
			obj.Labels = map[string]string{"a": label}
		}
		return obj
	}
	a.compareObjects([]cluster.Object{ns("both", ""), ns("old", ""), ns("changed", "1")}, []cluster.Object{ns("both", ""), ns("new", ""), ns("changed", "2")})
	ref := func(name string) cluster.Ref { return cluster.Ref{Kind: "Namespace", Name: name} }
	want := &Answer{Refused: []cluster.Ref{ref("old")}, Accepted: []cluster.Ref{ref("new")}, Completed: []Completed{{ref("changed"), []string{"metadata.labels.a"}}}}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRefusal(t *testing.T) {
	a := Refusal("1.36", "1.37", errors.New("one\ntwo"))
	if diff := cmp.Diff([]string{"one", "two"}, a.Problems); diff != "" || len(a.NotSimulated) == 0 {
		t.Errorf("problems (-want +got):\n%s\nnot simulated: %v", diff, a.NotSimulated)
	}
	for _, d := range a.NotSimulated {
		if d.Since != "1.37" {
			t.Errorf("an upgrade from 1.36 to 1.37 meets %v", d)
		}
	}
}
