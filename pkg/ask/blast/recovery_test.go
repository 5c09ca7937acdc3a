package blast

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// settle returns the cluster with the documents once nothing moves any more.
func settle(t testing.TB, documents ...string) *cluster.State {
	t.Helper()
	var nodes, rest scenario.Source
	for _, document := range strings.Split(strings.Join(documents, "\n---\n"), "\n---\n") {
		data, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		raw := k8sruntime.RawExtension{Raw: data}
		if strings.Contains(document, "kind: Node") {
			nodes.Objects = append(nodes.Objects, raw)
		} else {
			rest.Objects = append(rest.Objects, raw)
		}
	}
	s, err := loader.New("test", &scenario.File{Cluster: []scenario.Source{nodes}, Workloads: []scenario.Source{rest}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := simulation.Run(t.Context(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result.Steps[0].State
}

// nodeIn returns a node of 2 CPUs in a zone.
func nodeIn(name, zone string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %[1]s, topology.kubernetes.io/zone: %s}},
status: {capacity: {cpu: 2, memory: 8Gi, pods: 20}}}`, name, zone)
}

// threeZones returns three zones of one node each.
func threeZones() string {
	return nodeIn("a", "za") + "\n---\n" + nodeIn("b", "zb") + "\n---\n" + nodeIn("c", "zc")
}

// pods returns a controller of n pods that request this CPU, with additional fields of the pod spec.
func pods(kind, name string, n int, cpu, spec string) string {
	extra := ""
	if kind == "StatefulSet" {
		extra = "serviceName: " + name + ", "
	}
	replicas := fmt.Sprintf("replicas: %d, ", n)
	if kind == "DaemonSet" {
		replicas = ""
	}
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: %s, metadata: {name: %s}, spec: {%s%sselector: {matchLabels: {app: %[2]s}},
template: {metadata: {labels: {app: %[2]s}}, spec: {%[5]s containers: [{name: c, image: c, resources: {requests: {cpu: %[6]s}}}]}}}}`,
		kind, name, replicas, extra, spec, cpu)
}

func antiAffinity(hard bool, app string) string {
	term := "topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: " + app + "}}"
	if hard {
		return "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{" + term + "}]}},"
	}
	return "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {" + term + "}}]}},"
}

func recovered(t testing.TB, state *cluster.State, opts Options) *Analysis {
	t.Helper()
	if opts.Simultaneous == 0 {
		opts.Simultaneous = 1
	}
	analysis, err := Lost(state, opts)
	if err != nil {
		t.Fatal(err)
	}
	config, err := sched.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	s := &scenario.Scenario{Config: config}
	if state.Federation != nil {
		s.Members = make([]scenario.Member, len(state.Federation.Members))
	}
	if err := Recover(t.Context(), state, s, analysis, opts, nil); err != nil {
		t.Fatal(err)
	}
	return analysis
}

// outcome is a recovery in numbers.
type outcome struct{ Lost, Preempted, Recovered, Stranded, NotReplaced int }

func countOutcome(r *Recovery) outcome {
	return outcome{r.Lost, r.Preempted, len(r.Recovered), len(r.Stranded), len(r.NotReplaced)}
}

const zone = v1.LabelTopologyZone

func TestRecovery(t *testing.T) {
	const volume = `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: zonal}, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: zonal, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`
	shared := strings.NewReplacer("zonal", "shared", "ebs.csi.aws.com", "rbd.csi.ceph.com").Replace(volume)
	const mounts = "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}],"
	const classes = `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 1}`
	for name, c := range map[string]struct {
		state *cluster.State
		mode  node.FailureMode
		want  outcome // of the loss of zone za
	}{
		// One replica per zone. A hard rule leaves no zone for the third, a soft one does.
		"hard rule": {settle(t, threeZones(), pods("Deployment", "web", 3, "100m", antiAffinity(true, "web"))), node.Deleted, outcome{1, 0, 0, 1, 0}},
		"soft rule": {settle(t, threeZones(), pods("Deployment", "web", 3, "100m", antiAffinity(false, "web"))), node.Deleted, outcome{1, 0, 1, 0, 0}},
		// Six CPUs, six pods of one CPU: there is no room for the two of za.
		"capacity": {settle(t, threeZones(), pods("Deployment", "web", 6, "1", "")), node.Deleted, outcome{2, 0, 0, 2, 0}},
		// Pods of StatefulSets wait for the node; an administrator who marks it out of service frees them.
		"stateful, unreachable":    {settle(t, threeZones(), pods("StatefulSet", "db", 3, "100m", "")), node.Unreachable, outcome{1, 0, 0, 0, 1}},
		"stateful, out of service": {settle(t, threeZones(), pods("StatefulSet", "db", 3, "100m", "")), node.OutOfService, outcome{1, 0, 1, 0, 0}},
		"stateful, deleted":        {settle(t, threeZones(), pods("StatefulSet", "db", 3, "100m", "")), node.Deleted, outcome{1, 0, 1, 0, 0}},
		"deployment, unreachable":  {settle(t, threeZones(), pods("Deployment", "web", 3, "100m", "")), node.Unreachable, outcome{1, 0, 1, 0, 0}},
		"daemon set":               {settle(t, threeZones(), pods("DaemonSet", "agent", 0, "100m", "")), node.Deleted, outcome{1, 0, 0, 0, 1}},
		"bare pod": {settle(t, threeZones(), "{apiVersion: v1, kind: Pod, metadata: {name: alone}, spec: {nodeName: a, containers: [{name: c, image: c}]}}"),
			node.Deleted, outcome{1, 0, 0, 0, 1}},
		// The claim's volume was created in the zone of its first pod, which is za: the first of equal nodes.
		"zonal volume": {settle(t, threeZones(), volume, pods("Deployment", "db", 1, "100m", "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}],")),
			node.Deleted, outcome{1, 0, 0, 1, 0}},
		// All nodes reach the volume, one at a time. It stays with za while that may still run.
		"attached, unreachable":    {settle(t, threeZones(), shared, pods("Deployment", "db", 1, "100m", mounts)), node.Unreachable, outcome{1, 0, 0, 1, 0}},
		"attached, out of service": {settle(t, threeZones(), shared, pods("Deployment", "db", 1, "100m", mounts)), node.OutOfService, outcome{1, 0, 1, 0, 0}},
		"attached, deleted":        {settle(t, threeZones(), shared, pods("Deployment", "db", 1, "100m", mounts)), node.Deleted, outcome{1, 0, 1, 0, 0}},
		"attached to many": {settle(t, threeZones(), strings.Replace(shared, "ReadWriteOnce", "ReadWriteMany", 1), pods("Deployment", "db", 1, "100m", mounts)),
			node.Unreachable, outcome{1, 0, 1, 0, 0}},
		// Every node is full, with one important and one unimportant pod. The important one of za replaces an unimportant one elsewhere, so
		// two are lost besides the important one: za's and the victim. Both stay Pending.
		"priority": {settle(t, threeZones(), classes, pods("Deployment", "vip", 3, "1", "priorityClassName: high, "+antiAffinityHost("vip")),
			pods("Deployment", "filler", 3, "1", "priorityClassName: low,")), node.Deleted, outcome{3, 1, 1, 2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			level := recovered(t, c.state, Options{Levels: []string{zone}, Mode: c.mode}).Levels[0]
			got := level.Failures[0]
			if !slices.Equal(got.Domains, []string{"za"}) {
				t.Fatalf("first failure is of %v, want za", got.Domains)
			}
			if diff := cmp.Diff(c.want, countOutcome(got.Recovery)); diff != "" {
				t.Errorf("recovery (-want +got):\n%s", diff)
			}
		})
	}
}

// A volume stays attached to zone za. The replacement starts once the lost pod is gone; if nobody can unmount the volume, it starts six
// minutes later.
func TestVolumeThatStaysAttached(t *testing.T) {
	state := settle(t, threeZones(), `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: shared}, provisioner: rbd.csi.ceph.com, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: shared, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
		pods("Deployment", "db", 1, "100m", "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}],"))
	for _, test := range []struct {
		mode    node.FailureMode
		message string
		waiting int
		detach  time.Duration
	}{
		{node.Unreachable, "waits for its volume, attached to a", 1, 0},
		{node.OutOfService, "", 0, 0},
		{node.Deleted, "", 0, 6 * time.Minute},
	} {
		r := recovered(t, state, Options{Levels: []string{zone}, Mode: test.mode}).Levels[0].Failures[0].Recovery
		message := ""
		for _, stranded := range r.Stranded {
			message = stranded.Message
		}
		if message != test.message || countWaiting(r) != test.waiting || r.LastDetach != test.detach.Seconds() {
			t.Errorf("%s: %q, %d waiting, detached after %v s; want %q, %d, %s", test.mode, message, countWaiting(r), r.LastDetach, test.message, test.waiting, test.detach)
		}
	}
}

// countWaiting counts the stranded pods that wait until the lost ones are gone.
func countWaiting(r *Recovery) int {
	return len(slices.DeleteFunc(slices.Clone(r.Stranded), func(p placement.StrandedPod) bool { return !p.Waiting }))
}

func antiAffinityHost(app string) string {
	return "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: " + app + "}}}}]}},"
}

// Three softly spread replicas: the loss of a zone takes one of three; then two share a zone, so the next loss takes two of three.
func TestSecondFailureIsWorse(t *testing.T) {
	state := settle(t, threeZones(), pods("Deployment", "web", 3, "100m", antiAffinity(false, "web")))
	level := recovered(t, state, Options{Levels: []string{zone}, Mode: node.Deleted}).Levels[0]
	if level.Radius.Lost != 1 || level.Radius.Replicas != 3 {
		t.Errorf("first failure takes %d of %d, want 1 of 3", level.Radius.Lost, level.Radius.Replicas)
	}
	if after := level.Failures[0].Recovery.After; after.Lost != 2 || after.Replicas != 3 {
		t.Errorf("second failure takes %d of %d, want 2 of 3", after.Lost, after.Replicas)
	}
}

// The order in which failures are examined, and the number of cores, do not matter: each has the same result.
func TestRecoveryIsTheSameOnAnyNumberOfCores(t *testing.T) {
	var documents []string
	for i := range 9 {
		documents = append(documents, nodeIn(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", i%3)))
	}
	for i := range 4 {
		app := fmt.Sprintf("app%d", i)
		documents = append(documents, pods("Deployment", app, 5, "500m", antiAffinity(i%2 == 0, app)))
	}
	state := settle(t, documents...)
	answer := func(cores int) []string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		var all []string
		for _, level := range recovered(t, state, Options{Mode: node.Deleted}).Levels {
			for _, failure := range level.Failures {
				for _, placed := range failure.Recovery.Recovered {
					all = append(all, fmt.Sprint(level.TopologyKey, failure.Domains, placed.Name, placed.Node))
				}
			}
		}
		return all
	}
	one := answer(1)
	if len(one) == 0 {
		t.Fatal("nothing was recovered: the world shows nothing")
	}
	for range 3 {
		if diff := cmp.Diff(one, answer(4)); diff != "" {
			t.Fatalf("recoveries on one core and on four (-one +four):\n%s", diff)
		}
	}
}

// Nodes that are alike are simulated once, an empty node separately. A pod that waits for room on n2, or on n3, makes its node different,
// too.
func TestAlikeNodesAreLookedAtOnce(t *testing.T) {
	state := settle(t, nodeIn("n1", "z"), nodeIn("n2", "z"), nodeIn("n3", "z"), nodeIn("empty", "elsewhere"),
		pods("Deployment", "web", 3, "100m", "nodeSelector: {topology.kubernetes.io/zone: z}, "+antiAffinityHost("web")))
	jobs := func(state *cluster.State) [][]string {
		analysis, err := Lost(state, Options{Levels: []string{v1.LabelHostname}, Simultaneous: 1})
		if err != nil {
			t.Fatal(err)
		}
		config, err := sched.DefaultConfig()
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := planJobs(state, config, analysis, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var all [][]string
		for _, j := range jobs {
			var nodes []string
			for _, failure := range j.failures {
				nodes = append(nodes, failure.Nodes...)
			}
			all = append(all, nodes)
		}
		return all
	}
	waits := func(node string, owners ...metav1.OwnerReference) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "waits", UID: "waits", OwnerReferences: owners}, Status: v1.PodStatus{NominatedNodeName: node}}
	}
	of := metav1.OwnerReference{Kind: "ReplicaSet", UID: "set", Controller: new(true)}
	for _, c := range []struct {
		state *cluster.State
		want  [][]string
	}{
		{state, [][]string{{"empty"}, {"n1", "n2", "n3"}}},
		{state.With(waits("n2")), [][]string{{"empty"}, {"n1", "n3"}, {"n2"}}},
		{state.With(waits("n3", of)), [][]string{{"empty"}, {"n1", "n2"}, {"n3"}}},
	} {
		if diff := cmp.Diff(c.want, jobs(c.state)); diff != "" {
			t.Errorf("jobs (-want +got):\n%s", diff)
		}
	}
}

// In any world, every lost pod is recovered, stranded or not replaced; and an empty domain loses none.
func TestRecoveryAccountsForEveryPod(t *testing.T) {
	var sum outcome
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		documents := []string{
			"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}",
			"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 1}",
		}
		for i := range 3 + r.IntN(4) {
			documents = append(documents, nodeIn(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", r.IntN(3))))
		}
		for i := range 1 + r.IntN(5) {
			app := fmt.Sprintf("app%d", i)
			spec := []string{"", antiAffinity(true, app), antiAffinity(false, app), "priorityClassName: high,", "priorityClassName: low,"}[r.IntN(5)]
			kind := []string{"Deployment", "StatefulSet", "DaemonSet"}[r.IntN(3)]
			documents = append(documents, pods(kind, app, r.IntN(6), []string{"100m", "500m", "1"}[r.IntN(3)], spec))
		}
		state := settle(t, documents...)
		mode := []node.FailureMode{node.Deleted, node.Unreachable, node.OutOfService}[r.IntN(3)]
		for _, level := range recovered(t, state, Options{Mode: mode}).Levels {
			for _, failure := range level.Failures {
				got := countOutcome(failure.Recovery)
				if got.Lost != got.Recovered+got.Stranded+got.NotReplaced {
					t.Errorf("world %d, %s, loss of %s %v: %+v do not add up", seed, mode, level.TopologyKey, failure.Domains, got)
				}
				if got.Lost-got.Preempted != failure.Pods {
					t.Errorf("world %d, %s, loss of %s %v: %d pods are lost, and %d stood there", seed, mode, level.TopologyKey, failure.Domains, got.Lost-got.Preempted, failure.Pods)
				}
				sum = outcome{sum.Lost + got.Lost, sum.Preempted + got.Preempted, sum.Recovered + got.Recovered, sum.Stranded + got.Stranded, sum.NotReplaced + got.NotReplaced}
			}
		}
	}
	if sum.Preempted == 0 || sum.Recovered == 0 || sum.Stranded == 0 || sum.NotReplaced == 0 {
		t.Errorf("the worlds together show %+v, and should show something of everything", sum)
	}
}

// Zone za has two nodes, one of them with the zone's one pod of a hard rule. When that node stops answering, the other could take the
// replacement, but for the lost pod, which still counts there. It is evicted 300 s after the node is tainted, and its node is the first.
// Out of service, the pod is gone, and nothing waits.
func TestStrandedPodWaitsForTheLostOne(t *testing.T) {
	nodes := nodeIn("a1", "za") + "\n---\n" + nodeIn("a2", "za") + "\n---\n" + nodeIn("b", "zb")
	state := settle(t, nodes, pods("Deployment", "web", 2, "100m", antiAffinity(true, "web")))
	for mode, want := range map[node.FailureMode]struct {
		outcome
		waiting int
		evicted time.Duration
	}{
		node.Unreachable:  {outcome{1, 0, 0, 1, 0}, 1, node.NodeMonitorGracePeriod + 300*time.Second},
		node.OutOfService: {outcome{1, 0, 1, 0, 0}, 0, 0},
	} {
		level := recovered(t, state, Options{Levels: []string{v1.LabelHostname}, Mode: mode}).Levels[0]
		got := level.Failures[0].Recovery
		if diff := cmp.Diff(want.outcome, countOutcome(got)); diff != "" {
			t.Errorf("%s: recovery (-want +got):\n%s", mode, diff)
		}
		if countWaiting(got) != want.waiting || got.LastEviction != want.evicted.Seconds() {
			t.Errorf("%s: %d pods wait and the last is evicted after %v s, want %d and %v", mode, countWaiting(got), got.LastEviction, want.waiting, want.evicted)
		}
	}
}

// Four nodes of six without zones fail: only the first one's pod is evicted and comes back; the others stay bound and are not replaced, and
// none of them is a replica that a second failure could take.
func TestNobodyEvictsInADisruptedZone(t *testing.T) {
	var nodes []string
	for i := range 6 {
		nodes = append(nodes, fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {kubernetes.io/hostname: n%[1]d, rack: r%d}}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 110}, conditions: [{type: Ready, status: \"True\"}]}}", i, i/4))
	}
	state := settle(t, strings.Join(nodes, "\n---\n"), pods("Deployment", "web", 6, "100m", antiAffinityHost("web")))
	level := recovered(t, state, Options{Levels: []string{"rack"}, Mode: node.Unreachable}).Levels[0]
	got := level.Failures[0].Recovery
	if diff := cmp.Diff(outcome{4, 0, 1, 0, 3}, countOutcome(got)); diff != "" {
		t.Errorf("recovery (-want +got):\n%s", diff)
	}
	if got.After.Replicas != 3 || got.After.Share != 1 {
		t.Errorf("one more failure takes %d of %d, want all of the 3 pods that run", got.After.Lost, got.After.Replicas)
	}
	var stay []string
	for _, pod := range got.unreplacedPods {
		stay = append(stay, pod.Spec.NodeName)
	}
	if slices.Sort(stay); !slices.Equal(stay, []string{"n1", "n2", "n3"}) {
		t.Errorf("the pods of %v are not replaced, want those of n1, n2 and n3", stay)
	}
}

// With Until, no failure is examined after the first one for which it is true, in one world as on all cores.
func TestUntil(t *testing.T) {
	state := settle(t, threeZones(), nodeIn("d", "zc"), pods("Deployment", "db", 1, "1", "nodeSelector: {topology.kubernetes.io/zone: zb},"))
	opts := Options{Levels: []string{v1.LabelTopologyZone}, Simultaneous: 1, Mode: node.Deleted, Until: func(_ *Failure, r *Recovery) bool { return len(r.Stranded) > 0 }}
	config, err := sched.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	w, err := world.NewCluster(config, sched.Ties{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for name, recovered := range map[string]func(*Analysis) error{
		"one world": func(a *Analysis) error { return RecoverIn(t.Context(), w, state, a, opts) },
		"all cores": func(a *Analysis) error {
			return Recover(t.Context(), state, &scenario.Scenario{Config: config}, a, opts, nil)
		},
	} {
		analysis, err := Lost(state, opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := recovered(analysis); err != nil {
			t.Fatal(err)
		}
		var examined []string
		for _, failure := range analysis.Levels[0].Failures {
			if failure.Recovery != nil {
				examined = append(examined, failure.Domains...)
			}
		}
		if diff := cmp.Diff([]string{"za", "zb"}, examined); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
