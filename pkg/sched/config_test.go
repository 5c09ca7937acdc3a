package sched

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func TestLoadConfigRefuses(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"another version": {
			"apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration",
			`sched.yaml: "KubeSchedulerConfiguration" of apiVersion "kubescheduler.config.k8s.io/v1beta3" is not what kube-scheduler v1.37.1 reads; give apiVersion: kubescheduler.config.k8s.io/v1 and kind: KubeSchedulerConfiguration`,
		},
		"an unknown field": {head + "profile: []", `sched.yaml: unknown field "profile"`},
		"extenders": {
			head + "extenders: [{urlPrefix: http://example.com, filterVerb: filter}]",
			"sched.yaml: extenders: 1 HTTP extenders are configured, and they are not run here, so the answer would not be your scheduler's; remove them to simulate without",
		},
		"two problems": {
			head + "percentageOfNodesToScore: 101\nparallelism: 0",
			"sched.yaml: percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]\n" +
				"sched.yaml: parallelism: Invalid value: 0: should be an integer value greater than zero",
		},
		"an unknown plugin argument": {
			head + "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]",
			"sched.yaml: profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadConfig("sched.yaml", []byte(c.config))
			if err == nil {
				t.Fatal("no error")
			}
			want, got := strings.Split(c.want, "\n"), strings.Split(err.Error(), "\n")
			sortStrings := cmp.Transformer("sorted", func(s []string) map[string]bool {
				set := map[string]bool{}
				for _, line := range s {
					set[line] = true
				}
				return set
			})
			if diff := cmp.Diff(want, got, sortStrings); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// Without default spreading, what keeps the walkthrough's third soft-region replica apart is gone: all three workers tie.
func TestConfigDecides(t *testing.T) {
	config, err := LoadConfig("sched.yaml", []byte(head+`
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: PodTopologySpread
    args: {defaultingType: List, defaultConstraints: []}
- schedulerName: packer
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"default-scheduler", "packer"}, config.SchedulerNames()); diff != "" {
		t.Errorf("scheduler names (-want +got):\n%s", diff)
	}
	engine, err := NewEngine(config, Ties{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	set, pods := replicas("web", 3, soft("web", map[string]int32{region: 100}, region))
	state := walkthrough().With(set, pods[0], pods[1], pods[2])
	result, err := engine.Place(t.Context(), state, pods)
	if err != nil {
		t.Fatal(err)
	}
	if ties := result.Placed[2].Ties; ties != 3 {
		t.Errorf("the third pod had %d equal nodes, want 3", ties)
	}
	// The packer puts three pods on one node, where the default profile spreads.
	var bound []cluster.Object
	for _, p := range result.Placed {
		bound = append(bound, p.Pod)
	}
	set, pods = replicas("packed", 3, nil)
	var objects []cluster.Object
	for _, pod := range pods {
		pod.Spec.SchedulerName = "packer"
		pod.OwnerReferences = nil // no owner, no default spreading
		objects = append(objects, pod)
	}
	result, err = engine.Place(t.Context(), state.With(bound...).With(set).With(objects...), pods)
	if err != nil {
		t.Fatal(err)
	}
	nodes := map[string]int{}
	for _, p := range result.Placed {
		nodes[p.Node]++
	}
	if len(nodes) != 1 {
		t.Errorf("the packer used %v, want one node", nodes)
	}
}

func TestUnknownSchedulerNameIsAnError(t *testing.T) {
	set, pods := replicas("web", 1, nil)
	pods[0].Spec.SchedulerName = "other"
	_, err := newEngine(t, Ties{}).Place(t.Context(), walkthrough().With(set, pods[0]), []*v1.Pod{pods[0]})
	want := `scheduling pod default/web-0: no profile has schedulerName "other"; the configuration has default-scheduler`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestFeatureGates(t *testing.T) {
	for gates, want := range map[string]string{
		"NoSuchGate=true":               `feature gates "NoSuchGate=true": unrecognized feature gate: NoSuchGate; kube-scheduler v1.37.1 knows the gates that its --help lists`,
		"SchedulerAsyncPreemption=true": "feature gate SchedulerAsyncPreemption cannot be set: there is no API server here to call asynchronously, and placements do not depend on it; leave it out",
	} {
		if err := SetFeatureGates(gates); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", gates, err, want)
		}
	}
	if changed := FeatureGates(); len(changed) > 0 {
		t.Errorf("gates %v have changed", changed)
	}
}

func TestEncodedConfigIsReadBack(t *testing.T) {
	config, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	data, err := config.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadConfig("default", data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.api, again.api); diff != "" {
		t.Errorf("configuration (-written +read):\n%s", diff)
	}
}

func FuzzLoadConfig(f *testing.F) {
	f.Add([]byte(head))
	f.Add([]byte(head + "profiles: [{schedulerName: a, plugins: {score: {disabled: [{name: '*'}]}}}]"))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := LoadConfig("fuzz", data)
		if err == nil && len(config.SchedulerNames()) == 0 {
			t.Error("a configuration without profiles was accepted")
		}
	})
}
