package sched

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// longNamePlugin prefers nodes with long names, and refuses one node by its name and the pod's.
type longNamePlugin struct {
	Refuse struct {
		Node string `json:"node"`
		Pod  string `json:"pod"`
	} `json:"refuse"`
	asked *int
}

func (longNamePlugin) Name() string { return "Lengthy" }

func (p *longNamePlugin) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	*p.asked++
	if pod.Name == p.Refuse.Pod && node.Node().Name == p.Refuse.Node {
		return fwk.NewStatus(fwk.Unschedulable, "refused")
	}
	return nil
}

func (*longNamePlugin) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	return int64(len(node.Node().Name)), nil
}

func (*longNamePlugin) ScoreExtensions() fwk.ScoreExtensions { return nil }

func ownPluginOptions(asked *int) ConfigOptions {
	return ConfigOptions{Plugins: frameworkruntime.Registry{
		"Lengthy": func(_ context.Context, args runtime.Object, _ fwk.Handle) (fwk.Plugin, error) {
			p := &longNamePlugin{asked: asked}
			return p, frameworkruntime.DecodeInto(args, p)
		},
		"Broken": func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
			return nil, errors.New("no luck")
		},
	}}
}

// The longest name of w1, w2 and worker is best for all pods except web-1, which the plugin refuses there. The plugin's answer for one pod
// of a template does not hold for another, so the engine calls it for each pod and node.
func TestOwnPlugins(t *testing.T) {
	var asked int
	config, err := LoadConfig(ownPluginOptions(&asked), "test.yaml", []byte(head+`
profiles:
- plugins: {multiPoint: {enabled: [{name: Lengthy, weight: 100}]}}
  pluginConfig: [{name: Lengthy, args: {refuse: {pod: web-1, node: worker}}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := config.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadConfig(ownPluginOptions(&asked), "again.yaml", encoded)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"web-0": "worker", "web-1": "w1", "web-2": "worker"}
	for _, config := range []*Config{config, again} {
		asked = 0
		got := placeBothWays(t, config, withObjects(node("w1", nil), node("w2", nil), node("worker", nil)), withObjects(newAppPod("web", "web-0"), newAppPod("web", "web-1"), newAppPod("web", "web-2")))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("placed (-want +got):\n%s", diff)
		}
		if asked != 2*3*3 {
			t.Errorf("asked %d times, want 18: about three pods and three nodes, with and without kept answers", asked)
		}
	}
}

func TestOwnPluginsRefused(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"a constructor that fails": {
			"profiles: [{plugins: {filter: {enabled: [{name: Broken}]}}}]",
			`test.yaml: building kube-scheduler: initializing profiles: creating profile for scheduler name default-scheduler: initializing plugin "Broken": no luck`,
		},
		"another name": {
			"profiles: [{plugins: {filter: {enabled: [{name: Lenghty}]}}}]",
			`test.yaml: profiles[0].plugins.filter.enabled[0].name: kube-scheduler v1.37.1 has no plugin "Lenghty"; did you mean "Lengthy"?`,
		},
		"arguments of another kind": {
			"profiles: [{plugins: {filter: {enabled: [{name: Lengthy}]}}, pluginConfig: [{name: Lengthy, args: {refuse: {node: 1}}}]}]",
			`test.yaml: building kube-scheduler: initializing profiles: creating profile for scheduler name default-scheduler: initializing plugin "Lengthy": json: cannot unmarshal number into Go struct field .refuse.node of type string`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadConfig(ownPluginOptions(new(int)), "test.yaml", []byte(head+c.config))
			if diff := cmp.Diff(c.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// PodTopologySpread signs no pod if it has default constraints, and neither do plugins that sign none, nor extenders.
func TestBatchesAreNoted(t *testing.T) {
	const (
		empty = "pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: []}}]"
		note  = "kube-scheduler would place alike pods of profile default-scheduler in batches (OpportunisticBatching), which is not simulated: " +
			"of 200 nodes it samples others for them then. --feature-gates OpportunisticBatching=false describes a cluster without."
	)
	for name, c := range map[string]struct {
		config, gates string
		nodes         int
		want          []string
	}{
		"the default":               {"profiles: [{}]", "", 200, nil},
		"empty default constraints": {"profiles: [{" + empty + "}]", "", 200, []string{note}},
		"no spreading":              {"profiles: [{plugins: {multiPoint: {disabled: [{name: PodTopologySpread}]}}}]", "", 200, []string{note}},
		"few nodes":                 {"profiles: [{" + empty + "}]", "", 100, nil},
		"all nodes":                 {"percentageOfNodesToScore: 100\nprofiles: [{" + empty + "}]", "", 200, nil},
		"all nodes of the profile":  {"profiles: [{schedulerName: a}, {schedulerName: b, percentageOfNodesToScore: 100, " + empty + "}]", "", 200, nil},
		"the gate is off":           {"profiles: [{" + empty + "}]", "OpportunisticBatching=false", 200, nil},
		"an own plugin": {"profiles: [{plugins: {filter: {enabled: [{name: Lengthy}]}}, pluginConfig: [{name: Lengthy, args: {}}, " +
			"{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: []}}]}]", "", 200, nil},
		"an extender": {"extenders: [{urlPrefix: http://a.example, filterVerb: f}]\nprofiles: [{" + empty + "}]", "", 200,
			[]string{"The extender http://a.example is asked over HTTP (filter)."}},
	} {
		t.Run(name, func(t *testing.T) {
			setGates(t, c.gates)
			config, err := LoadConfig(ownPluginOptions(new(int)), "test.yaml", []byte(head+c.config))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, config.Notes(c.nodes)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
