package sched

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
)

const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func TestLoadConfigRefuses(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"another version": {
			"apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration",
			`sched.yaml: kube-scheduler does not read kind "KubeSchedulerConfiguration" of apiVersion "kubescheduler.config.k8s.io/v1beta3"; give apiVersion: kubescheduler.config.k8s.io/v1 and kind: KubeSchedulerConfiguration`,
		},
		"nothing":          {"", "sched.yaml: it contains no KubeSchedulerConfiguration; give apiVersion: kubescheduler.config.k8s.io/v1 and kind: KubeSchedulerConfiguration"},
		"no kind":          {"profiles: []", "sched.yaml: it contains no KubeSchedulerConfiguration; give apiVersion: kubescheduler.config.k8s.io/v1 and kind: KubeSchedulerConfiguration"},
		"another kind":     {"apiVersion: v1\nkind: Pod", `sched.yaml: kube-scheduler does not read kind "Pod" of apiVersion "v1"; give apiVersion: kubescheduler.config.k8s.io/v1 and kind: KubeSchedulerConfiguration`},
		"no YAML":          {"kind: [", "sched.yaml: line 1: not valid YAML: did not find expected node content"},
		"an unknown field": {head + "profile: []", `sched.yaml: unknown field "profile"; did you mean "profiles"?`},
		"an unknown field inside": {
			head + "profiles: [{plugins: {scores: {enabled: [{name: ImageLocality, wait: 2}]}}}]",
			`sched.yaml: unknown field "profiles[0].plugins.scores"; did you mean "score"?`,
		},
		"a number that is too large": {head + "parallelism: 3000000000", "sched.yaml: parallelism: Invalid value: 3000000000: is too large; the most is 2147483647"},
		"unknown plugins": {
			head + "profiles: [{schedulerName: a, plugins: {multiPoint: {enabled: [{name: ImageLocality}, {name: NodeAfinity}]}, score: {enabled: [{name: Nope}], disabled: [{name: '*'}]}},\n" +
				"  pluginConfig: [{name: NodeResourceFit, args: {}}]}, {schedulerName: b, plugins: {filter: {enabled: [{name: ''}]}}}]",
			`sched.yaml: profiles[0].pluginConfig[0].name: kube-scheduler v1.37.1 has no plugin "NodeResourceFit"; did you mean "NodeResourcesFit"?` + "\n" +
				`sched.yaml: profiles[0].plugins.multiPoint.enabled[1].name: kube-scheduler v1.37.1 has no plugin "NodeAfinity"; did you mean "NodeAffinity"?` + "\n" +
				`sched.yaml: profiles[0].plugins.score.enabled[0].name: kube-scheduler v1.37.1 has no plugin "Nope"` + "\n" +
				`sched.yaml: profiles[1].plugins.filter.enabled[0].name: kube-scheduler v1.37.1 has no plugin ""`,
		},
		"a plugin out of its place": {
			head + "profiles: [{plugins: {score: {enabled: [{name: NodeName}]}}}]",
			`sched.yaml: building kube-scheduler: initializing profiles: creating profile for scheduler name default-scheduler: plugin "NodeName" does not extend ScorePlugin plugin`,
		},
		"two profiles of one name": {
			head + "profiles: [{schedulerName: a}, {schedulerName: b}, {schedulerName: a}]",
			`sched.yaml: profiles[2].schedulerName: "a" is also the name of profiles[0]; give every profile its own name`,
		},
		"extenders": {
			head + "extenders: [{urlPrefix: http://127.0.0.1:1, prioritizeVerb: p}, {urlPrefix: 'example.com:80', filterVerb: f}, {urlPrefix: '', filterVerb: f},\n" +
				"  {urlPrefix: https://example.com, enableHTTPS: true, tlsConfig: {caFile: /nowhere/ca.crt}, managedResources: [{name: cpu}]},\n" +
				"  {urlPrefix: http://127.0.0.1:1, prioritizeVerb: p, weight: 2147483648}]",
			"sched.yaml: extenders[0].weight: Invalid value: 0: must have a positive weight applied to it\n" +
				`sched.yaml: extenders[1].urlPrefix: Invalid value: "example.com:80": must be an http or https URL, such as http://127.0.0.1:8888/scheduler` + "\n" +
				`sched.yaml: extenders[2].urlPrefix: Invalid value: "": must be an http or https URL, such as http://127.0.0.1:8888/scheduler` + "\n" +
				`sched.yaml: extenders[3].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name` + "\n" +
				"sched.yaml: extenders[3].tlsConfig: open /nowhere/ca.crt: no such file or directory; give files that this machine has, or leave extenders out with --no-extenders\n" +
				"sched.yaml: extenders[4].weight: Invalid value: 2147483648: must be at most 2147483647, as the weights of plugins; points would add up beyond all numbers",
		},
		"a resource that nobody can ignore": {
			head + "extenders: [{urlPrefix: http://127.0.0.1:1, filterVerb: f, managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]}]\n" +
				"profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]",
			"sched.yaml: profiles[0]: extenders have resources that are ignoredByScheduler, and only NodeResourcesFit can ignore them; enable it",
		},
		"two problems": {
			head + "percentageOfNodesToScore: 101\nparallelism: 0",
			"sched.yaml: parallelism: Invalid value: 0: should be an integer value greater than zero\n" +
				"sched.yaml: percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
		},
		"an unknown plugin argument": {
			head + "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]",
			"sched.yaml: profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadConfig(ConfigOptions{}, "sched.yaml", []byte(c.config))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(strings.Split(c.want, "\n"), strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// Default spreading keeps the walkthrough's third soft-region replica apart; without it all three workers tie.
func TestConfigDecides(t *testing.T) {
	config, err := LoadConfig(ConfigOptions{}, "sched.yaml", []byte(head+`
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

// A pod of another scheduler waits for it, and keeps no other pod off its node.
func TestPodOfAnotherSchedulerWaits(t *testing.T) {
	set, pods := replicas("web", 2, nil)
	pods[0].Spec.SchedulerName = "other"
	pods[0].OwnerReferences = nil
	result, err := newEngine(t, Ties{}).Place(t.Context(), walkthrough().With(set, pods[0], pods[1]), pods)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Placed) != 1 || len(result.Pending) != 1 || result.Pending[0].Message != "" || result.Pending[0].Untried != `left to the scheduler "other"` {
		t.Errorf("%d placed, Pending %v", len(result.Placed), result.Pending)
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
	again, err := LoadConfig(ConfigOptions{}, "default", data)
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
		config, err := LoadConfig(ConfigOptions{}, "fuzz", data)
		if err == nil && len(config.SchedulerNames()) == 0 {
			t.Error("a configuration without profiles was accepted")
		}
	})
}
