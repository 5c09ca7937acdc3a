package blast

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/scenario"
)

// Two nodes of one zone have a replica of web each, of 600m. Since the placement n2 has changed, so that it takes no other replica: the pod
// that n1 loses is stranded. n1 still has room, and takes the pod that n2 loses. Nodes that differ in this way must not stand for each
// other.
func TestNodesThatDifferAreLookedAtApart(t *testing.T) {
	base := settle(t, nodeIn("n1", "z"), nodeIn("n2", "z"), pods("Deployment", "web", 2, "600m", "nodeSelector: {topology.kubernetes.io/zone: z},"))
	for name, change := range map[string]func(*v1.Node){
		"a taint":  func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}} },
		"a cordon": func(n *v1.Node) { n.Spec.Unschedulable = true },
		"no room":  func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("1") },
		"a label":  func(n *v1.Node) { n.Labels[zone] = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			changed := base.Node("n2").DeepCopy()
			change(changed)
			got := map[string]outcome{}
			for _, failure := range recovered(t, base.With(changed), Options{Levels: []string{v1.LabelHostname}, Mode: node.Deleted}).Levels[0].Failures {
				got[failure.Nodes[0]] = countOutcome(failure.Recovery)
			}
			want := map[string]outcome{"n1": {Lost: 1, Stranded: 1}, "n2": {Lost: 1, Recovered: 1}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Three equal nodes: n1 has a replica of db, which may run nowhere else, and n2 has one of web, which may run anywhere. The pod that n1
// loses is stranded, and the pod that n2 loses is not.
func TestNodesWithOtherPodsAreLookedAtApart(t *testing.T) {
	state := settle(t, nodeIn("n1", "z"), nodeIn("n2", "z"), nodeIn("n3", "z"),
		pods("Deployment", "db", 1, "2", "nodeSelector: {kubernetes.io/hostname: n1},"), // the whole node
		pods("Deployment", "web", 1, "1", "nodeSelector: {topology.kubernetes.io/zone: z},"))
	got := map[string]outcome{}
	for _, failure := range recovered(t, state, Options{Levels: []string{v1.LabelHostname}, Mode: node.Deleted}).Levels[0].Failures {
		got[failure.Nodes[0]] = countOutcome(failure.Recovery)
	}
	want := map[string]outcome{"n1": {Lost: 1, Stranded: 1}, "n2": {Lost: 1, Recovered: 1}, "n3": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Node a, in zone za, has a pod of low and one of high, which both prefer zone za; b has 1 CPU left. When a stops answering, the pod of low
// is evicted after 10 s, and its replacement takes the room on b. The pod of high is evicted after 300 s, and its replacement preempts the
// one of low. That preemption is no loss of the failure, since the victim did not exist before. So one of the two lost pods is recovered,
// and a third pod of low is Pending.
func TestAReplacementThatIsPreemptedIsNotRecovered(t *testing.T) {
	const there = "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [za]}]}}]}},"
	state := settle(t, nodeIn("a", "za"), nodeIn("b", "zb"),
		"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}",
		pods("Deployment", "firm", 1, "1", "priorityClassName: high, nodeSelector: {topology.kubernetes.io/zone: zb},"),
		pods("Deployment", "high", 1, "1", "priorityClassName: high, "+there),
		pods("Deployment", "low", 1, "1", "tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 10}], "+there))
	failure := recovered(t, state, Options{Levels: []string{zone}, Mode: node.Unreachable}).Levels[0].Failures[0]
	if diff := cmp.Diff(outcome{Lost: 2, Recovered: 1, Stranded: 1}, countOutcome(failure.Recovery)); diff != "" {
		t.Errorf("recovery (-want +got):\n%s", diff)
	}
	if of := failure.Recovery.Recovered[0].Workload; of != "deployment/high" {
		t.Errorf("a pod of %s is recovered, want one of high", of)
	}
}

// Both pods of the StatefulSet were on a, and no other node has room. The controller creates db-0 again, which stays Pending; db-1 has to
// wait for it, so that nothing replaces db-1.
func TestThePodThatIsNotReplaced(t *testing.T) {
	state := settle(t, nodeIn("a", "za"), nodeIn("b", "zb"),
		pods("Deployment", "firm", 1, "2", "nodeSelector: {topology.kubernetes.io/zone: zb},"), pods("StatefulSet", "db", 2, "1", ""))
	got := recovered(t, state, Options{Levels: []string{zone}, Mode: node.Deleted}).Levels[0].Failures[0].Recovery
	if diff := cmp.Diff(outcome{Lost: 2, Stranded: 1, NotReplaced: 1}, countOutcome(got)); diff != "" {
		t.Fatalf("recovery (-want +got):\n%s", diff)
	}
	if name := got.NotReplaced[0].Name; name != "db-1" {
		t.Errorf("%s is not replaced, want db-1", name)
	}
}

// The losses of n1 and n2 have different results, though both nodes have pods of the same ReplicaSets, and the same labels, taints and
// room: neither may stand for the other. Each world has three nodes of 2 CPUs in a zone, and pods where place puts them.
func TestNodesThatOnlyADetailTellsApart(t *testing.T) {
	const high = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}"
	affinity := func(term string) string {
		return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" + term + "]}}},"
	}
	// The replacement of vip preempts db on n3. Then db has room on the other node if it may run there: on n1, and not on n2.
	evicted := func(spec string, more ...string) []string {
		return append(more, high, pods("Deployment", "vip", 2, "1500m", "priorityClassName: high,"),
			pods("Deployment", "firm", 1, "500m", "priorityClassName: high,"), pods("Deployment", "db", 1, "500m", spec))
	}
	evictedFrom := map[string]string{"vip": "n1 n2", "firm": "n3", "db": "n3"}
	// n3 has room for big if small is on n1, which it prefers.
	roomy := func(spec string) []string {
		return []string{pods("Deployment", "small", 2, "500m", spec), pods("Deployment", "big", 2, "1", ""), pods("Deployment", "firm", 1, "1", "")}
	}
	roomyOn := map[string]string{"small": "n1 n2", "big": "n1 n2", "firm": "n3"}
	change := func(name string, do func(*v1.Node)) func(*cluster.State) []cluster.Object {
		return func(s *cluster.State) []cluster.Object {
			changed := s.Node(name).DeepCopy()
			do(changed)
			return []cluster.Object{changed}
		}
	}
	changePod := func(app, on string, do func(*v1.Pod)) func(*cluster.State) []cluster.Object {
		return func(s *cluster.State) (changed []cluster.Object) {
			for _, pod := range s.Pods {
				if pod.Labels["app"] == app && pod.Spec.NodeName == on {
					pod = pod.DeepCopy()
					do(pod)
					changed = append(changed, pod)
				}
			}
			return changed
		}
	}

	// The replacement of vip preempts the pod of low on the other node, or the pod of other on n3, which also has room on n4.
	const elsewhere = `{apiVersion: v1, kind: Node, metadata: {name: n4, labels: {kubernetes.io/hostname: n4, topology.kubernetes.io/zone: z}},
spec: {taints: [{key: dedicated, effect: NoSchedule}]}, status: {capacity: {cpu: 2, memory: 8Gi, pods: 20}}}`
	rivals := []string{elsewhere, high, pods("Deployment", "vip", 2, "1", "priorityClassName: high,"), pods("Deployment", "firm", 1, "1", "priorityClassName: high,"),
		pods("Deployment", "low", 3, "1", ""), pods("Deployment", "other", 1, "1", "tolerations: [{key: dedicated, operator: Exists}],")}
	rivalsOn := map[string]string{"vip": "n1 n2", "firm": "n3", "low": "n1 n2 n4", "other": "n3"}
	since := func(seconds int) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Status.StartTime = new(metav1.NewTime(cluster.Epoch.Add(time.Duration(seconds) * time.Second)))
		}
	}

	for name, world := range map[string]struct {
		documents []string
		place     map[string]string
		change    func(*cluster.State) []cluster.Object
		config    string
	}{
		"a node selector":  {documents: evicted("nodeSelector: {kubernetes.io/hostname: n1},"), place: evictedFrom},
		"a node affinity":  {documents: evicted(affinity("{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1, n3]}]}")), place: evictedFrom},
		"a field selector": {documents: evicted(affinity("{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}")), place: evictedFrom},
		"a number": {documents: evicted(affinity(`{matchExpressions: [{key: kubernetes.io/hostname, operator: Lt, values: ["15"]}]}`)), place: evictedFrom,
			change: func(s *cluster.State) []cluster.Object {
				number := func(name, hostname string) cluster.Object {
					return change(name, func(n *v1.Node) { n.Labels[v1.LabelHostname] = hostname })(s)[0]
				}
				return []cluster.Object{number("n1", "10"), number("n2", "20")}
			}},
		"a volume": {documents: evicted("volumes: [{name: data, persistentVolumeClaim: {claimName: data}}],",
			`{apiVersion: v1, kind: PersistentVolume, metadata: {name: disk}, spec: {storageClassName: "", capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce],
hostPath: {path: /disk}, claimRef: {namespace: default, name: data}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1, n3]}]}]}}}}`,
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: "", volumeName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`),
			place: evictedFrom},
		"the scheduler's configuration": {documents: evicted(""), place: evictedFrom,
			config: `profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution:
  {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: NotIn, values: [n2]}]}]}}}}]}]`},
		"a preference": {documents: roomy("affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}}]}},"),
			place: roomyOn},
		"an image": {documents: roomy("topologySpreadConstraints: [{maxSkew: 5, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: none}}}],"), place: roomyOn,
			change: change("n1", func(n *v1.Node) {
				n.Status.Images = []v1.ContainerImage{{Names: []string{"c:latest"}, SizeBytes: 1 << 33}}
			})},
		"a kubelet that is silent": {documents: []string{pods("Deployment", "web", 2, "1", "")}, place: map[string]string{"web": "n1 n2"},
			change: change("n2", func(n *v1.Node) {
				n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}
			})},
		"a pod that is being deleted": {documents: []string{pods("Deployment", "web", 2, "1", "")}, place: map[string]string{"web": "n1 n2"},
			change: changePod("web", "n1", func(p *v1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(cluster.Epoch.Add(time.Hour))) })},
		"a label of a pod": {documents: []string{pods("Deployment", "firm", 1, "2", ""), pods("Deployment", "web", 2, "500m", ""), pods("Deployment", "shy", 2, "500m",
			"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {role: leader}}}]}},")},
			place:  map[string]string{"web": "n1 n2", "shy": "n1 n2", "firm": "n3"},
			change: changePod("web", "n1", func(p *v1.Pod) { p.Labels["role"] = "leader" })},
		"a pod that was resized": {documents: []string{pods("Deployment", "firm", 1, "2", ""), pods("Deployment", "web", 2, "1200m", "")}, place: map[string]string{"web": "n1 n2", "firm": "n3"},
			change: changePod("web", "n1", func(p *v1.Pod) {
				p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("500m")
			})},
		"the time when a pod started": {documents: rivals, place: rivalsOn, change: func(s *cluster.State) []cluster.Object {
			return slices.Concat(changePod("low", "n1", since(10))(s), changePod("other", "n3", since(20))(s), changePod("low", "n2", since(30))(s))
		}},
		"a pod that is not ready": {documents: append(rivals, "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: low}, spec: {minAvailable: 1, selector: {matchLabels: {app: low}}}}"),
			place: rivalsOn, change: func(s *cluster.State) []cluster.Object {
				unready := func(p *v1.Pod) { since(30)(p); p.Status.Conditions = nil }
				return slices.Concat(changePod("low", "n1", unready)(s), changePod("other", "n3", since(20))(s), changePod("low", "n2", since(30))(s))
			}},
	} {
		t.Run(name, func(t *testing.T) {
			state := settle(t, append([]string{nodeIn("n1", "z"), nodeIn("n2", "z"), nodeIn("n3", "z")}, world.documents...)...)
			left := map[string][]string{}
			for app, nodes := range world.place {
				left[app] = strings.Fields(nodes)
			}
			var bound []cluster.Object
			for _, pod := range state.Pods {
				if app := pod.Labels["app"]; len(left[app]) > 0 {
					bound = append(bound, cluster.BindPod(pod, left[app][0], cluster.Epoch.Time))
					left[app] = left[app][1:]
				}
			}
			state = state.With(bound...)
			if world.change != nil {
				state = state.With(world.change(state)...)
			}
			config, err := sched.LoadConfig(sched.ConfigOptions{}, "test.yaml", []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+world.config))
			if err != nil {
				t.Fatal(err)
			}
			opts := Options{Levels: []string{v1.LabelHostname}, Simultaneous: 1, Mode: node.Deleted}
			recover := func(pick func(failures []Failure) []Failure) (got []outcome) {
				analysis, err := Lost(state, opts)
				if err != nil {
					t.Fatal(err)
				}
				level := &analysis.Levels[0]
				level.Failures = pick(level.Failures)
				if err := Recover(t.Context(), state, &scenario.Scenario{Config: config}, analysis, opts, nil); err != nil {
					t.Fatal(err)
				}
				for _, failure := range level.Failures {
					got = append(got, countOutcome(failure.Recovery))
				}
				return got
			}
			together := recover(func(failures []Failure) []Failure { return failures[:2] })
			alone := append(recover(func(failures []Failure) []Failure { return failures[:1] }), recover(func(failures []Failure) []Failure { return failures[1:2] })...)
			if alone[0] == alone[1] {
				t.Fatalf("both losses end in %+v: the world shows nothing", alone[0])
			}
			if diff := cmp.Diff(alone, together); diff != "" {
				t.Errorf("n1 and n2 (-alone +together):\n%s", diff)
			}
		})
	}
}
