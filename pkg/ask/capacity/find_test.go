package capacity_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

const zone = v1.LabelTopologyZone

// workloadOf returns a workload whose pods request that much; more is added to their spec.
func workloadOf(kind, name string, replicas int, cpu, memory, more string) runtime.RawExtension {
	return runtime.RawExtension{Raw: []byte(fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "%[1]s", "metadata": {"name": "%[2]s"}, "spec": {"replicas": %[3]d,
		"selector": {"matchLabels": {"app": "%[2]s"}}, "template": {"metadata": {"labels": {"app": "%[2]s"}},
		"spec": {%[6]s"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "%[4]s", "memory": "%[5]s"}}}]}}}}`,
		kind, name, replicas, cpu, memory, more))}
}

func deployment(name string, replicas int, cpu, memory, more string) runtime.RawExtension {
	return workloadOf("Deployment", name, replicas, cpu, memory, more)
}

// scenarioOf returns a scenario of a synthetic cluster, given as JSON, and workloads.
func scenarioOf(t testing.TB, world string, objects ...runtime.RawExtension) *scenario.Scenario {
	t.Helper()
	synthetic := scenario.Source{}
	if err := json.Unmarshal([]byte(`{"synthetic": `+world+`}`), &synthetic); err != nil {
		t.Fatal(err)
	}
	s, err := loader.New("test", &scenario.File{Cluster: []scenario.Source{synthetic}, Workloads: []scenario.Source{{Objects: objects}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t testing.TB, world string, objects ...runtime.RawExtension) *simulation.Result {
	t.Helper()
	result, err := simulation.Run(t.Context(), capacity.Base(scenarioOf(t, world, objects...), ""), simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// findAnswers abbreviates an answer: how many more fit, what the limit is, and the same for each level.
func findAnswers(t *testing.T, result *simulation.Result, workloads, mixes []string, opts capacity.Options) []string {
	t.Helper()
	asked, err := capacity.Mixes(result.State(), workloads, mixes)
	if err != nil {
		t.Fatal(err)
	}
	answers, err := capacity.Find(t.Context(), result, asked, opts)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, answer := range answers {
		line := answer.Name
		if most := answer.Workloads[0].Most; most > 0 {
			line += fmt.Sprintf(" (%d allowed)", most)
		}
		for _, limit := range append([]capacity.Limit{answer.Fit}, answer.Survive...) {
			line += fmt.Sprintf(" %d", limit.More)
			if limit.Short {
				line += " short"
			}
			if len(limit.Binds) > 0 {
				line += fmt.Sprintf(" %s on %d", limit.Binds[0].Kind, limit.Binds[0].Nodes)
			}
			if limit.Domain != "" {
				line += " without " + limit.Domain
			}
			if len(limit.Uneven) > 0 {
				line += fmt.Sprint(" uneven ", limit.Uneven)
			}
		}
		all = append(all, line)
	}
	return all
}

const (
	three = `{"zones": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "nodeGroups": [{"count": 1, "cpu": 4, "memory": "16Gi", "pods": 10}]}`
	apart = `"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
		{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}]}}, `
	spread = `"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
		"labelSelector": {"matchLabels": {"app": "web"}}}], `
)

func TestFind(t *testing.T) {
	web := func(replicas int, cpu, memory, more string) []runtime.RawExtension {
		return []runtime.RawExtension{deployment("web", replicas, cpu, memory, more)}
	}
	for _, test := range []struct {
		name, world      string
		objects          []runtime.RawExtension
		workloads, mixes []string
		levels           []string
		want             []string
	}{
		// 4 / 1.5 is 2 per node, 6 in all, less 1.
		{name: "cpu", world: three, objects: web(1, "1500m", "1Gi", ""), want: []string{"deployment/web 5 cpu on 3"}},
		// 16 / 5 is 3 per node, 9 in all, less 1.
		{name: "memory", world: three, objects: web(1, "100m", "5Gi", ""), want: []string{"deployment/web 8 memory on 3"}},
		{name: "pods", world: three, objects: web(2, "1m", "1Mi", ""), want: []string{"deployment/web 28 pods on 3"}},
		{name: "a rule", world: three, objects: web(2, "1", "1Gi", apart), want: []string{"deployment/web 1 rule on 3"}},
		{name: "from none", world: three, objects: web(0, "1", "1Gi", ""), want: []string{"deployment/web 12 cpu on 3"}},
		{name: "not even now", world: three, objects: web(13, "1", "1Gi", ""), want: []string{"deployment/web 0 short cpu on 3"}},
		// Two nodes hold 8 pods of 1 core; a ninth has no place when any zone fails.
		{name: "while a zone may fail", world: three, objects: web(3, "1", "1Gi", ""), levels: []string{zone},
			want: []string{"deployment/web 9 cpu on 3 5 cpu on 2 without a"}},
		// A hard spread counts the lost zone as an empty one: with 0 pods there, each other zone may have 1, so of three pods one is
		// already stranded, and no more fit.
		{name: "a hard spread while a zone may fail", world: three, objects: web(3, "1", "1Gi", spread), levels: []string{zone},
			want: []string{"deployment/web 9 cpu on 3 0 short rule on 2 without a"}},
		// A unit takes 2 + 1 cores; 3 cores are taken, 9 are free, 3 units take all of them; pods of 1 core leave no gap.
		{name: "a mix", world: three, objects: []runtime.RawExtension{deployment("web", 2, "1", "1Gi", ""), deployment("api", 1, "1", "1Gi", "")},
			mixes: []string{"deployment/web=2,deployment/api=1"}, want: []string{"deployment/web=2,deployment/api=1 3 cpu on 3"}},
		// 10 cores are free, and a unit takes two.
		{name: "two at a time", world: three, objects: web(2, "1", "1Gi", ""), mixes: []string{"deployment/web=2"}, want: []string{"deployment/web=2 5 cpu on 3"}},
		// An autoscaler does not keep the workload from using the available room.
		{name: "an autoscaler", world: three, workloads: []string{"deploy/web"}, objects: append(web(1, "1500m", "1Gi", ""), runtime.RawExtension{Raw: []byte(
			`{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": {"maxReplicas": 2,
			"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}`)}), want: []string{"deployment/web (2 allowed) 5 cpu on 3"}},
		{name: "a StatefulSet", world: three, objects: []runtime.RawExtension{workloadOf("StatefulSet", "db", 1, "1500m", "1Gi", `"terminationGracePeriodSeconds": 1, `)},
			want: []string{"statefulset/db 5 cpu on 3"}},
		// One pod a node fits, and none is replaced while its node is only unreachable, so that as many survive as fit. The nodes have room
		// for 3,000, for which results are not checked once more.
		{name: "as many survive as fit", world: strings.Replace(three, `"pods": 10`, `"pods": 1000`, 1), objects: []runtime.RawExtension{workloadOf("StatefulSet", "web", 1, "1m", "1Mi", apart)},
			levels: []string{zone}, want: []string{"statefulset/web 2 rule on 3 2 rule on 3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			opts := capacity.Options{Survive: test.levels, Mode: node.Unreachable}
			if diff := cmp.Diff(test.want, findAnswers(t, run(t, test.world, test.objects...), test.workloads, test.mixes, opts)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Two pods of 1500m fit on each node of 4 cores, including the existing one: 5 more. On each node 1 core is left, too small for a pod, and
// memory and pod slots are left because cores are short.
func TestHeadroom(t *testing.T) {
	result := run(t, three, deployment("web", 1, "1500m", "1Gi", ""))
	asked, err := capacity.Mixes(result.State(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	answers, err := capacity.Find(t.Context(), result, asked, capacity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []capacity.Headroom{
		{Resource: "cpu", Allocatable: 12, Requested: 1.5, Free: 10.5, Used: 7.5, TooSmall: 3},
		{Resource: "memory", Allocatable: 48 << 30, Requested: 1 << 30, Free: 47 << 30, Used: 5 << 30, OtherShort: 42 << 30},
		{Resource: "pods", Allocatable: 30, Requested: 1, Free: 29, Used: 5, OtherShort: 24},
	}
	if diff := cmp.Diff(want, answers[0].Headroom); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The base ends with the named step, or with the last.
func TestBase(t *testing.T) {
	s := (&scenario.Scenario{}).AppendStep(scenario.Step{Name: "first"}).AppendStep(scenario.Step{Name: "second"})
	for step, want := range map[string][]string{"first": {"first", "capacity"}, "": {"first", "second", "capacity"}} {
		var got []string
		for _, of := range capacity.Base(s, step).Steps {
			got = append(got, of.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", step, diff)
		}
	}
}

func TestMixesRefuses(t *testing.T) {
	result := run(t, three, deployment("web", 1, "1", "1Gi", ""))
	_, err := capacity.Mixes(result.State(), []string{"deployment/wbe", "daemonset/log"}, []string{"deployment/web=0", "deployment/web,deployment/web"})
	var got []string
	if err != nil {
		got = strings.Split(err.Error(), "\n")
	}
	want := []string{
		"no deployment/wbe; there is deployment/web",
		"daemonset/log: a DaemonSet has no replicas; give a Deployment, ReplicaSet, StatefulSet or ReplicationController",
		`mix "deployment/web=0": the proportion "0" of deployment/web is not a whole number from 1 to 10000`,
		`mix "deployment/web,deployment/web": deployment/web is given twice`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The result must hold in a scenario of its own: that many more fit, and one more than that does not.
func TestFoundHoldsByItself(t *testing.T) {
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 0))
		world := fmt.Sprintf(`{"zones": [{"name": "a"}, {"name": "b"}], "nodeGroups": [{"name": "small", "count": %d, "cpu": 2, "memory": "4Gi", "pods": %d},
			{"name": "large", "count": 1, "cpu": %d, "memory": "16Gi"}]}`, 1+r.IntN(3), 2+r.IntN(6), 3+r.IntN(6))
		more := []string{"", apart, spread}[r.IntN(3)]
		s := scenarioOf(t, world, deployment("other", r.IntN(3), "700m", "1Gi", ""),
			deployment("web", r.IntN(3), fmt.Sprintf("%dm", 100+100*r.IntN(15)), fmt.Sprintf("%dMi", 100+100*r.IntN(20)), more))
		result, err := simulation.Run(t.Context(), capacity.Base(s, ""), simulation.Options{})
		if err != nil {
			t.Fatal(err)
		}
		asked, err := capacity.Mixes(result.State(), []string{"deployment/web"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		answers, err := capacity.Find(t.Context(), result, asked, capacity.Options{})
		if err != nil {
			t.Fatal(err)
		}
		answer := answers[0]
		for more, pends := range map[int]bool{0: answer.Fit.Short, answer.Fit.More: answer.Fit.Short, answer.Fit.More + 1: true} {
			step := scenario.Step{Name: "scale", Scale: &scenario.Scale{Target: scenario.Target{Target: "deployment/web"}, Replicas: int32(answer.Workloads[0].Now + more)}}
			alone, err := simulation.Run(t.Context(), s.AppendStep(step), simulation.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := len(alone.Last().Pending) > 0; got != pends {
				t.Errorf("seed %d: with %d more, of which %d fit, pods are Pending: %t", seed, more, answer.Fit.More, got)
			}
		}
	}
}
