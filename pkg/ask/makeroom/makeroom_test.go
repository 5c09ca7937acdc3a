package makeroom_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/makeroom"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/internal/runtest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// nodes returns Node objects of this many CPUs, named n1, n2 and so on.
func nodes(cpus ...int) string {
	text := ""
	for i, cpu := range cpus {
		text += fmt.Sprintf("  - {apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {kubernetes.io/hostname: n%d}}, status: {allocatable: {cpu: %d, memory: 64Gi, pods: 20}}}\n", i+1, i+1, cpu)
	}
	return text
}

// deployment returns a Deployment of one pod that is on the node at first. only lists the nodes where it may go; none for all. more has further
// fields of the pod's spec.
func deployment(name, cpu, on string, only []string, more string) string {
	affinity := fmt.Sprintf("preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]}}]", on)
	if only != nil {
		affinity += fmt.Sprintf(", requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]}]}", strings.Join(only, ", "))
	}
	return fmt.Sprintf(`  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}, spec: {replicas: 1, selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: %s}}, spec: {%saffinity: {nodeAffinity: {%s}}, containers: [{name: c, image: i, resources: {requests: {cpu: %s}}}]}}}}
`, name, name, name, more, affinity, cpu)
}

func budget(name string) string {
	return fmt.Sprintf("  - {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %s}, spec: {minAvailable: 1, selector: {matchLabels: {app: %s}}}}\n", name, name)
}

// train returns a Job, which asks for room.
func train(pods int, requests, more string) string {
	return fmt.Sprintf("  - {apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {parallelism: %d, completions: %d, template: {spec: {%srestartPolicy: Never, containers: [{name: c, image: i, resources: {%s}}]}}}}\n", pods, pods, more, requests)
}

func cpu(n int) string { return fmt.Sprintf("requests: {cpu: %d}", n) }

// world returns a scenario of the nodes, with the workloads applied in order.
func world(cluster string, workloads ...string) string {
	text := "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster:\n- objects:\n" + cluster + "steps:\n"
	for i, objects := range workloads {
		text += fmt.Sprintf("- name: s%d\n  apply:\n    objects:\n%s", i, strings.ReplaceAll("\n"+objects, "\n  -", "\n    -")[1:])
	}
	return text
}

func find(t *testing.T, result *simulation.Result, opts makeroom.Options) *makeroom.Answer {
	t.Helper()
	w, err := simulation.NewCluster(result.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	opts.Targets = []cluster.Ref{{Kind: "Job", Namespace: "default", Name: "train"}}
	a, err := makeroom.Find(t.Context(), w, result, opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// summary is what the tests derive by hand: the pods that move, by workload, with their nodes, stage by stage.
func summary(a *makeroom.Answer) string {
	describe := func(stages []makeroom.Stage) string {
		return strings.Join(mapTo(stages, func(s makeroom.Stage) string {
			return strings.Join(mapTo(s.Moves, func(m makeroom.Move) string {
				return fmt.Sprintf("%s %s→%s", strings.TrimPrefix(m.Workload, "deployment/"), m.From, m.To)
			}), ", ")
		}), "; ")
	}
	switch {
	case a.Made && a.Fewest:
		return fmt.Sprintf("%d moves: %s", makeroom.Count(a.Stages), describe(a.Stages))
	case a.Made:
		return fmt.Sprintf("%d moves, at least %d: %s", makeroom.Count(a.Stages), a.AtLeast, describe(a.Stages))
	case a.Impossible && a.Without == nil:
		return "impossible"
	case a.Without != nil:
		return fmt.Sprintf("no; %d moves without %s%s: %s", makeroom.Count(a.Without.Stages), strings.Join(a.Without.Budgets, ", "), strings.Join(mapTo(a.Without.Data, func(string) string { return "data" }), ", "), describe(a.Without.Stages))
	}
	return "no"
}

func mapTo[T any](all []T, f func(T) string) []string {
	var texts []string
	for _, one := range all {
		texts = append(texts, f(one))
	}
	return texts
}

func TestFind(t *testing.T) {
	const local = "volumes: [{name: cache, emptyDir: {}}], "
	const high = "priorityClassName: high, "
	const highClass = "  - {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000, preemptionPolicy: Never}\n"
	only := func(names ...string) []string { return names }
	for _, test := range []struct {
		name, world string
		opts        makeroom.Options
		want        string
		// search is the largest number of moves of the sequences that brute force tries: one less than the answer, or 2.
		search int
	}{
		{"no move", world(nodes(4), train(1, cpu(4), "")), makeroom.Options{}, "0 moves: ", 0},
		// Two nodes have 2 CPU free each. Either pod can go to the other node, and db is younger.
		{"one move", world(nodes(4, 4), deployment("web", "2", "n1", nil, ""), deployment("db", "2", "n2", nil, ""), train(1, cpu(3), "")), makeroom.Options{}, "1 moves: db n2→n1", 0},
		// Node n2 is kept by a pod that may be only there, and has 2 CPU free.
		{"two moves", world(nodes(4, 4), deployment("a", "1", "n1", nil, ""), deployment("b", "1", "n1", nil, ""), deployment("stays", "2", "n2", only("n2"), ""), train(1, cpu(4), "")),
			makeroom.Options{}, "2 moves: b n1→n2, a n1→n2", 1},
		{"three moves", world(nodes(4, 4), deployment("a", "1", "n1", nil, ""), deployment("b", "1", "n1", nil, ""), deployment("c", "1", "n1", nil, ""), deployment("stays", "1", "n2", only("n2"), ""), train(1, cpu(4), "")),
			makeroom.Options{}, "3 moves: c n1→n2, b n1→n2, a n1→n2", 2},
		// Four pods of 1 CPU leave n1, which has 1 CPU free; arithmetic says that no fewer do.
		{"four moves", world(nodes(5, 5), deployment("a", "1", "n1", nil, ""), deployment("b", "1", "n1", nil, ""), deployment("c", "1", "n1", nil, ""), deployment("d", "1", "n1", nil, ""), deployment("stays", "1", "n2", only("n2"), ""), train(1, cpu(5), "")),
			makeroom.Options{}, "4 moves: d n1→n2, c n1→n2, b n1→n2, a n1→n2", 2},
		{"impossible", world(nodes(4, 4), deployment("web", "2", "n1", nil, ""), train(1, cpu(5), "")), makeroom.Options{}, "impossible", 2},
		{"only across budgets", world(nodes(4, 4), deployment("web", "2", "n1", nil, "")+budget("web"), deployment("db", "2", "n2", nil, "")+budget("db"), train(1, cpu(3), "")),
			makeroom.Options{}, "no; 1 moves without db: db n2→n1", 2},
		// One of two nodes has a budget.
		{"around a budget", world(nodes(4, 4), deployment("web", "2", "n1", nil, "")+budget("web"), deployment("db", "2", "n2", nil, ""), train(1, cpu(3), "")), makeroom.Options{}, "1 moves: db n2→n1", 0},
		{"local data in the way", world(nodes(4, 4), deployment("web", "2", "n1", nil, local), deployment("db", "2", "n2", only("n2"), ""), train(1, cpu(3), "")), makeroom.Options{}, "no; 1 moves without data: web n1→n2", 2},
		{"local data given up", world(nodes(4, 4), deployment("web", "2", "n1", nil, local), deployment("db", "2", "n2", only("n2"), ""), train(1, cpu(3), "")), makeroom.Options{DeleteEmptyDirData: true}, "1 moves: web n1→n2", 0},
		// A may be on n1 and n2 only, and n2 is full. B makes the place for a: to n3, before a moves.
		{"a chain", world(nodes(4, 4, 4), deployment("a", "2", "n1", only("n1", "n2"), ""), deployment("b", "2", "n2", only("n2", "n3"), ""), deployment("c", "2", "n2", only("n2"), ""), deployment("d", "2", "n3", only("n3"), ""),
			train(1, cpu(4), "nodeSelector: {kubernetes.io/hostname: n1}, ")), makeroom.Options{}, "2 moves: b n2→n3; a n1→n2", 1},
		// The same, one link longer: c goes to n4, then b to n3, then a to n2.
		{"a longer chain", world(nodes(4, 4, 4, 4), deployment("a", "4", "n1", only("n1", "n2"), ""), deployment("b", "4", "n2", only("n2", "n3"), ""), deployment("c", "4", "n3", only("n3", "n4"), ""),
			train(1, cpu(4), "nodeSelector: {kubernetes.io/hostname: n1}, ")), makeroom.Options{}, "3 moves: c n3→n4; b n2→n3; a n1→n2", 2},
		// A swap: b goes to the node that a leaves, since train needs only 3 of its 4 CPU.
		{"a swap", world(nodes(4, 2), deployment("a", "2", "n1", nil, ""), deployment("b", "1", "n2", nil, ""), train(1, cpu(3), "")), makeroom.Options{}, "2 moves: b n2→n1; a n1→n2", 1},
		{"a bare pod in the way", world(nodes(4, 4, 4)+"  - {apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {nodeName: n1, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}\n",
			deployment("web", "2", "n2", nil, ""), deployment("db", "1", "n3", only("n3"), ""), train(1, cpu(4), "")), makeroom.Options{}, "1 moves: web n2→n1", 0},
		{"only a bare pod in the way", world(nodes(4)+"  - {apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {nodeName: n1, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}\n",
			train(1, cpu(4), "")), makeroom.Options{}, "impossible", 1},
		// db would be first by its node's name; web has the lower priority.
		{"the cheapest by priority", world(nodes(4, 4)+highClass, deployment("db", "2", "n1", nil, high), deployment("web", "2", "n2", nil, ""), train(1, cpu(3), "")), makeroom.Options{}, "1 moves: web n2→n1", 0},
		// The pods of train keep to nodes without a pod of web.
		{"a rule in the way", world(nodes(4, 4), deployment("web", "1", "n1", nil, ""), deployment("db", "3", "n2", nil, ""),
			train(1, cpu(2), "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}, ")),
			makeroom.Options{}, "1 moves: web n1→n2", 0},
		{"a host port in the way", world(nodes(4, 4), strings.Replace(deployment("web", "1", "n1", nil, ""), "image: i", "image: i, ports: [{containerPort: 80, hostPort: 80}]", 1), deployment("other", "1", "n1", nil, ""), deployment("db", "3", "n2", only("n2"), ""),
			strings.Replace(train(1, cpu(2), ""), "image: i", "image: i, ports: [{containerPort: 80, hostPort: 80}]", 1)), makeroom.Options{}, "1 moves: web n1→n2", 0},
		// Two pods, each with a node of its own.
		{"two pods that ask", world(nodes(4, 4, 4), deployment("a", "1", "n1", nil, ""), deployment("b", "1", "n2", nil, ""), deployment("c", "2", "n3", only("n3"), ""), train(2, cpu(4), "")), makeroom.Options{}, "2 moves: b n2→n3, a n1→n3", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := runtest.Run(t, test.world)
			a := find(t, result, test.opts)
			if diff := cmp.Diff(test.want, summary(a)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkMinimal(t, result, test.opts, test.search)
			checkClaims(t, result, a)
		})
	}
}

// Four GPUs for a gang of two pods with two each: one node has two free, and two nodes have one free each. The scheduler prefers the empty node
// for the first pod that moves, where the second follows. With rule only the other node is left, and one move is enough.
func TestFindRoomForAGang(t *testing.T) {
	node := func(name string, gpus int) string {
		return fmt.Sprintf("  - {apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %s}}, status: {allocatable: {cpu: 8, memory: 64Gi, pods: 20, nvidia.com/gpu: %d}}}\n", name, name, gpus)
	}
	gpu := func(name, on string, only []string) string {
		return strings.Replace(deployment(name, "1", on, only, ""), "requests: {cpu: 1}", "requests: {cpu: 1}, limits: {nvidia.com/gpu: 1}", 1)
	}
	gang := "  - {apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: train}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}\n" +
		train(2, "limits: {nvidia.com/gpu: 2}", "schedulingGroup: {podGroupName: train}, ")
	for _, test := range []struct {
		only   []string
		want   string
		search int
	}{{nil, "2 moves: b g2→g3, a g1→g3", 1}, {[]string{"g1", "g2"}, "1 moves: b g2→g1", 0}} {
		text := world(node("g1", 2)+node("g2", 2)+node("g3", 2), gpu("a", "g1", test.only), gpu("b", "g2", test.only), gang)
		text = strings.Replace(text, "kind: Scenario\n", "kind: Scenario\nscheduler: {featureGates: {GenericWorkload: true}}\n", 1)
		result := runtest.Run(t, text)
		a := find(t, result, makeroom.Options{})
		if summary(a) != test.want || len(a.Placed) != 2 {
			t.Errorf("%s, and %d pods get a node; want %s, and 2", summary(a), len(a.Placed), test.want)
		}
		checkMinimal(t, result, makeroom.Options{}, test.search)
		checkClaims(t, result, a)
	}
}

// Two devices are free, but nowhere together.
func TestFindRoomForDevices(t *testing.T) {
	claim := func(name string, count int) string {
		return fmt.Sprintf("    - {apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: %s}, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, count: %d}}]}}}}\n", name, count)
	}
	with := func(text, name string) string {
		text = strings.Replace(text, "containers:", fmt.Sprintf("resourceClaims: [{name: gpu, resourceClaimTemplateName: %s}], containers:", name), 1)
		return strings.Replace(text, "resources: {", "resources: {claims: [{name: gpu}], ", 1)
	}
	text := `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic:
    zones: [{name: a}]
    nodeGroups: [{name: gpu, count: 2, cpu: 8, memory: 64Gi, devices: [{class: gpu.example.com, count: 2}]}]
workloads:
- objects:
` + claim("one", 1) + claim("two", 2) + "  " + with(deployment("a", "1", "a-gpu-1", nil, ""), "one") + "  " + with(deployment("b", "1", "a-gpu-2", nil, ""), "one") + `steps:
- name: train
  apply:
    objects:
  ` + with(train(1, cpu(1), ""), "two")
	result := runtest.Run(t, text)
	a := find(t, result, makeroom.Options{})
	if want := "1 moves: b a-gpu-2→a-gpu-1"; summary(a) != want {
		t.Errorf("%s, want %s", summary(a), want)
	}
	checkMinimal(t, result, makeroom.Options{}, 0)
	checkClaims(t, result, a)
}

// Each of two cards can be had whole or as two halves, which share the card's memory. Half of each is taken, and a whole one is asked for.
func TestFindRoomForAWholePartitionableDevice(t *testing.T) {
	card := func(node string) string {
		slice := func(name, has string) string {
			return fmt.Sprintf("  - {apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: %[1]s-%[2]s}, spec: {driver: gpu.example.com, nodeName: %[1]s, pool: {name: %[1]s, generation: 1, resourceSliceCount: 2}, %[3]s}}\n", node, name, has)
		}
		part := func(name, kind, memory string) string {
			return fmt.Sprintf("{name: %s, attributes: {part: {string: %s}}, consumesCounters: [{counterSet: card, counters: {memory: {value: %s}}}]}", name, kind, memory)
		}
		return slice("counters", "sharedCounters: [{name: card, counters: {memory: {value: 80Gi}}}]") +
			slice("devices", "devices: ["+part("half-0", "half", "40Gi")+", "+part("half-1", "half", "40Gi")+", "+part("whole", "whole", "80Gi")+"]")
	}
	claim := func(part string) string {
		return fmt.Sprintf("  - {apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: %[1]s}, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, selectors: [{cel: {expression: 'device.attributes[\"gpu.example.com\"].part == \"%[1]s\"'}}]}}]}}}}\n", part)
	}
	with := func(text, part string) string {
		text = strings.Replace(text, "containers:", fmt.Sprintf("resourceClaims: [{name: gpu, resourceClaimTemplateName: %s}], containers:", part), 1)
		return strings.Replace(text, "resources: {", "resources: {claims: [{name: gpu}], ", 1)
	}
	class := "  - {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu.example.com}, spec: {}}\n"
	result := runtest.Run(t, world(nodes(8, 8)+class+card("n1")+card("n2"), claim("half")+claim("whole")+with(deployment("a", "1", "n1", nil, ""), "half"), with(deployment("b", "1", "n2", nil, ""), "half"), with(train(1, cpu(1), ""), "whole")))
	a := find(t, result, makeroom.Options{})
	if want := "1 moves: b n2→n1"; summary(a) != want {
		t.Errorf("%s, want %s", summary(a), want)
	}
	checkMinimal(t, result, makeroom.Options{}, 0)
	checkClaims(t, result, a)
}

// In worlds that are drawn from a seed, no sequence of fewer moves makes room, and where nothing is found, no sequence of up to two moves does.
func TestFindIsMinimalInGeneratedWorlds(t *testing.T) {
	made := map[int]int{}
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		names := []string{"n1", "n2", "n3"}
		var workloads []string
		for i := range 5 {
			var only []string
			if random.IntN(3) == 0 {
				only = names[random.IntN(2):]
			}
			name := fmt.Sprintf("w%d", i)
			text := deployment(name, fmt.Sprint(1+random.IntN(2)), names[random.IntN(3)], only, "")
			if random.IntN(4) == 0 {
				text += budget(name)
			}
			workloads = append(workloads, text)
		}
		workloads = append(workloads, train(1+random.IntN(2), cpu(2+random.IntN(3)), ""))
		result := runtest.Run(t, world(nodes(4, 4, 4), workloads...))
		a := find(t, result, makeroom.Options{})
		moves := 2
		if a.Made {
			if moves = max(0, makeroom.Count(a.Stages)-1); !a.Fewest {
				moves = a.AtLeast - 1
			}
			made[makeroom.Count(a.Stages)]++
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			checkMinimal(t, result, makeroom.Options{}, moves)
			checkClaims(t, result, a)
		})
	}
	t.Logf("worlds by the number of moves: %v", made)
	if made[1] == 0 || made[2] == 0 {
		t.Errorf("no world needs 1 move, or none needs 2: %v", made)
	}
}

// checkClaims runs what the answer says.
func checkClaims(t *testing.T, result *simulation.Result, a *makeroom.Answer) {
	t.Helper()
	proved, err := expect.Prove(t.Context(), result.Scenario, a.Claims(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range proved {
		for _, why := range p.Failed {
			t.Errorf("%s: %s", p.Says, why)
		}
	}
	if a.Made && len(a.Stages) > 0 && len(proved) < 2 {
		t.Error("the moves are not claimed")
	}
}

// checkMinimal tries every sequence of up to that number of moves, of any pods, all in one stage and each in its own. None may make room.
func checkMinimal(t *testing.T, result *simulation.Result, opts makeroom.Options, most int) {
	t.Helper()
	w, err := simulation.NewCluster(result.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	course, err := simulation.Continue(w, result, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := course.State().PodsByWorkload()
	var pods []string
	for _, pod := range course.State().Pods {
		if pod.Spec.NodeName != "" && !asks(pod) {
			pods = append(pods, pod.Namespace+"/"+pod.Name)
		}
	}
	try := func(stages [][]string) {
		defer func() {
			if err := course.Rewind(0); err != nil {
				t.Fatal(err)
			}
		}()
		for i, moved := range stages {
			step, err := course.Do(t.Context(), scenario.Step{Name: fmt.Sprint("try ", i), MakeRoom: &scenario.MakeRoom{Pods: moved, DeleteEmptyDirData: opts.DeleteEmptyDirData}})
			if err != nil {
				t.Fatal(err)
			}
			if step.Moved.Stuck != nil || len(step.Preempted) > 0 {
				return
			}
		}
		state := course.State()
		for _, pod := range state.Unscheduled() {
			if asks(pod) || cluster.NewlyPending(before, state)[pod.UID] {
				return
			}
		}
		t.Errorf("fewer moves make room: %v", stages)
	}
	var extend func(sequence []string)
	extend = func(sequence []string) {
		if len(sequence) > 0 {
			try([][]string{sequence})
		}
		if len(sequence) > 1 {
			var own [][]string
			for _, pod := range sequence {
				own = append(own, []string{pod})
			}
			try(own)
		}
		if len(sequence) == most {
			return
		}
		for _, pod := range pods {
			if !slices.Contains(sequence, pod) {
				extend(append(slices.Clone(sequence), pod))
			}
		}
	}
	extend(nil)
}

func asks(pod *v1.Pod) bool { return strings.HasPrefix(pod.Name, "train-") }
