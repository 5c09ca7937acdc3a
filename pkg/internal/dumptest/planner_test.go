package dumptest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/faultline/faultline/cmd/simulate/app"
	"github.com/faultline/faultline/pkg/internal/golden"
)

// ledger has the objects of a cluster from which a planner computes sums by hand, without a scheduler.
type ledger struct {
	nodes       []v1.Node
	pods        []v1.Pod
	deployments []appsv1.Deployment
	sets        []appsv1.StatefulSet
	budgets     []policyv1.PodDisruptionBudget
	owner       map[string]string // of a ReplicaSet, as namespace/name: the Deployment's name
	ready       map[string]bool   // pods that are, or start on their new node
}

// readLedger reads a dump, and the settled cluster from a snapshot with its pods and nodes.
func readLedger(t *testing.T, dump, snapshot []byte) (before, settled *ledger) {
	t.Helper()
	before = &ledger{owner: map[string]string{}}
	var items struct{ Items []json.RawMessage }
	decode := func(data []byte, into any) {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	decode(dump, &items)
	for _, item := range items.Items {
		var kind metav1.TypeMeta
		decode(item, &kind)
		switch kind.Kind {
		case "Node":
			before.nodes = append(before.nodes, decodeAs[v1.Node](t, item))
		case "Pod":
			before.pods = append(before.pods, decodeAs[v1.Pod](t, item))
		case "Deployment":
			before.deployments = append(before.deployments, decodeAs[appsv1.Deployment](t, item))
		case "StatefulSet":
			before.sets = append(before.sets, decodeAs[appsv1.StatefulSet](t, item))
		case "PodDisruptionBudget":
			before.budgets = append(before.budgets, decodeAs[policyv1.PodDisruptionBudget](t, item))
		case "ReplicaSet":
			if set := decodeAs[appsv1.ReplicaSet](t, item); len(set.OwnerReferences) > 0 {
				before.owner[set.Namespace+"/"+set.Name] = set.OwnerReferences[0].Name
			}
		}
	}
	after := *before
	var state struct {
		Pods  []v1.Pod
		Nodes []v1.Node
	}
	decode(snapshot, &state)
	after.pods, after.nodes = state.Pods, state.Nodes
	// The snapshot has no owners. The name of a new pod of a ReplicaSet is the ReplicaSet's name and five characters.
	owners := map[string][]metav1.OwnerReference{}
	for i := range before.pods {
		pod := &before.pods[i]
		owners[pod.Namespace+"/"+pod.Name] = pod.OwnerReferences
		if len(pod.OwnerReferences) > 0 && pod.OwnerReferences[0].Kind == "ReplicaSet" {
			owners[pod.Namespace+"/"+pod.OwnerReferences[0].Name] = pod.OwnerReferences
		}
	}
	bound := map[string]*v1.Pod{}
	for i := range before.pods {
		if pod := &before.pods[i]; !waits(pod) {
			bound[pod.Namespace+"/"+pod.Name] = pod
		}
	}
	after.ready = map[string]bool{}
	for i := range after.pods {
		name := after.pods[i].Namespace + "/" + after.pods[i].Name
		if was := bound[name]; was == nil {
			after.ready[name] = !waits(&after.pods[i])
		} else {
			after.ready[name] = slices.ContainsFunc(was.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
		}
		of, known := owners[name]
		if at := strings.LastIndex(name, "-"); !known && at > 0 {
			of = owners[name[:at]]
		}
		after.pods[i].OwnerReferences = of
	}
	return before, &after
}

func decodeAs[T any](t *testing.T, data []byte) (object T) {
	t.Helper()
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// active reports whether the pod has neither ended nor is Terminating.
func active(pod *v1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed
}

// workload returns the pod's workload as namespace/kind/name.
func (l *ledger) workload(pod *v1.Pod) string {
	if len(pod.OwnerReferences) == 0 {
		return pod.Namespace + "/pod/" + pod.Name
	}
	owner := pod.OwnerReferences[0]
	if deployment := l.owner[pod.Namespace+"/"+owner.Name]; owner.Kind == "ReplicaSet" && deployment != "" {
		return pod.Namespace + "/deployment/" + deployment
	}
	return pod.Namespace + "/" + strings.ToLower(owner.Kind) + "/" + owner.Name
}

// count counts the active pods for which is returns true.
func (l *ledger) count(is func(*v1.Pod) bool) (n int) {
	for i := range l.pods {
		if active(&l.pods[i]) && is(&l.pods[i]) {
			n++
		}
	}
	return n
}

func waits(pod *v1.Pod) bool { return pod.Spec.NodeName == "" }

func daemon(pod *v1.Pod) bool {
	return len(pod.OwnerReferences) > 0 && slices.Contains([]string{"DaemonSet", "Node"}, pod.OwnerReferences[0].Kind)
}

func (l *ledger) node(name string) *v1.Node {
	return &l.nodes[slices.IndexFunc(l.nodes, func(n v1.Node) bool { return n.Name == name })]
}

// free returns what no pod requests of the node, in millicores and bytes.
func (l *ledger) free(node *v1.Node) (cpu, memory int64) {
	cpu, memory = node.Status.Allocatable.Cpu().MilliValue(), node.Status.Allocatable.Memory().Value()
	for i := range l.pods {
		if pod := &l.pods[i]; pod.Spec.NodeName == node.Name && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
			asks := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
			cpu, memory = cpu-asks.Cpu().MilliValue(), memory-asks.Memory().Value()
		}
	}
	return cpu, memory
}

// fit returns the number of pods without rules and tolerations that fit, and the most CPU that one node has for them.
func (l *ledger) fit(cpu, memory int64) (pods int, mostCPU int64) {
	for i := range l.nodes {
		node := &l.nodes[i]
		if node.Spec.Unschedulable || slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Effect != v1.TaintEffectPreferNoSchedule }) {
			continue
		}
		freeCPU, freeMemory := l.free(node)
		mostCPU = max(mostCPU, freeCPU)
		pods += int(max(0, min(freeCPU/cpu, freeMemory/memory)))
	}
	return pods, mostCPU
}

// works reports whether the node exists and is ready.
func (l *ledger) works(node string) bool {
	return slices.ContainsFunc(l.node(node).Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue })
}

// forbidding counts the budgets with pods that never allow an eviction: no more pods are ready, or can become ready, than must be.
func (l *ledger) forbidding(t *testing.T) (n int) {
	t.Helper()
	for i := range l.budgets {
		budget := &l.budgets[i]
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil {
			t.Fatal(err)
		}
		healthy, expected := 0, 0
		seen := map[string]bool{}
		for j := range l.pods {
			pod := &l.pods[j]
			if pod.Namespace != budget.Namespace || !selector.Matches(labels.Set(pod.Labels)) || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
				continue
			}
			if workload := l.workload(pod); !seen[workload] {
				seen[workload] = true
				expected += l.replicas(workload)
			}
			if pod.DeletionTimestamp == nil && (l.ready[pod.Namespace+"/"+pod.Name] || waits(pod) || l.works(pod.Spec.NodeName)) {
				healthy++
			}
		}
		desired := 0
		if least := budget.Spec.MinAvailable; least != nil {
			desired, err = intstr.GetScaledValueFromIntOrPercent(least, expected, true)
		} else {
			desired, err = intstr.GetScaledValueFromIntOrPercent(budget.Spec.MaxUnavailable, expected, true)
			desired = max(0, expected-desired)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) > 0 && healthy <= desired {
			n++
		}
	}
	return n
}

// replicas returns the number of pods that the workload asks for.
func (l *ledger) replicas(workload string) int {
	for i := range l.deployments {
		if d := &l.deployments[i]; d.Namespace+"/deployment/"+d.Name == workload {
			return int(*d.Spec.Replicas)
		}
	}
	for i := range l.sets {
		if s := &l.sets[i]; s.Namespace+"/statefulset/"+s.Name == workload {
			return int(*s.Spec.Replicas)
		}
	}
	return 0
}

// team is a Deployment of thirty pods without rules.
const team = `apiVersion: apps/v1
kind: Deployment
metadata: {name: team30, namespace: shop}
spec:
  replicas: 30
  selector: {matchLabels: {app: team30}}
  template:
    metadata: {labels: {app: team30}}
    spec: {PRIORITYcontainers: [{name: c, image: i, resources: {requests: {cpu: CPU, memory: 1Gi}}}]}
`

// A planner asks about a dump of 114 nodes, most of which are full, and checks the first line of each answer with sums.
func TestPlannersQuestions(t *testing.T) {
	t.Setenv("COLUMNS", "1000")
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	packed, err := os.ReadFile(filepath.Join(testdata, "tight.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	unpack, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	dump, err := io.ReadAll(unpack)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"dump.json": string(dump), "team.yaml": strings.NewReplacer("PRIORITY", "", "CPU", "600m").Replace(team),
		"high.yaml": strings.NewReplacer("PRIORITY", "priorityClassName: business-high, ", "CPU", `"1"`).Replace(team),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(args ...string) string {
		t.Helper()
		var out, wrong bytes.Buffer
		if code := app.Main(args, strings.NewReader(""), &out, &wrong); code != 0 && code != 1 {
			t.Fatalf("%s: exit status %d\n%s", args, code, wrong.String())
		}
		return out.String()
	}
	before, settled := readLedger(t, dump, []byte(answer("export", "dump.json")))

	waiting, stillWaiting := before.count(waits), settled.count(waits)
	const node = "ip-10-20-0-19.eu-west-1.compute.internal"
	onNode := settled.count(func(p *v1.Pod) bool { return p.Spec.NodeName == node && !daemon(p) })
	inPool := 0
	for i := range before.nodes {
		if before.nodes[i].Labels["eks.amazonaws.com/nodegroup"] == "ingress" {
			inPool++
		}
	}
	down, workloads := 0, map[string]bool{}
	outside := map[string]bool{}
	for i := range settled.pods {
		pod := &settled.pods[i]
		if !active(pod) || waits(pod) || daemon(pod) || len(pod.OwnerReferences) == 0 {
			continue
		}
		of := settled.workload(pod)
		workloads[of] = true
		if settled.node(pod.Spec.NodeName).Labels[v1.LabelTopologyZone] != "eu-west-1c" {
			outside[of] = true
		}
	}
	down = len(workloads) - len(outside)
	web := &before.deployments[slices.IndexFunc(before.deployments, func(d appsv1.Deployment) bool { return d.Name == "shop-web" })]
	asks := resourcehelper.PodRequests(&v1.Pod{Spec: web.Spec.Template.Spec}, resourcehelper.PodResourcesOptions{})
	moreWebs, _ := settled.fit(asks.Cpu().MilliValue(), asks.Memory().Value())
	teams, mostFree := settled.fit(600, 1<<30)
	more := 0
	for i := range before.deployments {
		replicas := int(*before.deployments[i].Spec.Replicas)
		more += (replicas*12+9)/10 - replicas
	}
	for i := range before.sets {
		replicas := int(*before.sets[i].Spec.Replicas)
		more += (replicas*12+9)/10 - replicas
	}

	var lines strings.Builder
	for _, q := range []struct {
		args    string
		pattern string
		holds   func(n []int) bool
	}{
		{"run dump.json -q", `\((\d+) others were Pending before and (\d+) that were Pending before no longer are\)`, func(n []int) bool { return n[0]+n[1] == waiting }},
		{"blast dump.json --level zone -q", `^Zone eu-west-1c is the worst: (\d+) of (\d+) workloads down .* (\d+) of \d+ lost pods do not come back`, func(n []int) bool { return n[0] == down && n[1] == len(workloads) }},
		{"drain dump.json " + node + " -q", `^The drain does not end: node/` + node + `\. (\d+) pods are evicted\.`, func(n []int) bool { return n[0] < onNode }},
		{"capacity shop/deployment/shop-web dump.json -q", `: (\d+) more replicas fit \((\d+) in all\)`, func(n []int) bool { return n[0] == moreWebs && n[1] == moreWebs+int(*web.Spec.Replicas) }},
		{"run --cluster dump.json -f team.yaml -q", `^No: (\d+) of 30 new pods fit \((\d+) others were Pending before\)`, func(n []int) bool { return n[0] == teams && n[1] == stillWaiting }},
		{"run --cluster dump.json -f high.yaml -q", `^Yes: 30 of 30 new pods fit, evicting (\d+) pods .*\((\d+) others were Pending before\)`, func(n []int) bool { return n[0] > 0 && n[1] == stillWaiting }},
		{"roll dump.json --pool ingress -q", `^Yes: all (\d+) nodes of .* are replaced in (\d+) turns .*; none is ever Pending`, func(n []int) bool { return n[0] == inPool && n[1] == inPool }},
		{"consolidate dump.json -q", `^(\d+) of (\d+) nodes can go: (\d+) are enough`, func(n []int) bool { return n[1] == len(before.nodes) && n[0]+n[2] == n[1] }},
		{"consolidate dump.json --pool memory -q", `^(\d+) of 114 nodes can go`, func(n []int) bool { return n[0] > 0 && n[0] < 15 }},
		{"lint dump.json --only budget-forbids-eviction --fail-on none -q", `^(\d+) errors?, (\d+) warnings? and 0 notes`, func(n []int) bool { return n[0]+n[1] == settled.forbidding(t) }},
		{"explain deployment/report-builder dump.json -n marketing", `asks 12 cpu, more than .* has in all; the most that is free is (\d+)m on`, func(n []int) bool { return int64(n[0]) == mostFree }},
		{"compare dump.json --scale 1.2 --recover=false", `^scale 1.2: (\d+) pods newly Pending \(cpu\), (\d+) in all \(now (\d+)\)`, func(n []int) bool { return n[2] == stillWaiting && n[0] <= more && n[1] == n[0]+n[2] }},
		{"run dump.json --scale shop/deployment/shop-web=1.5 -q", `^Yes: (\d+) of (\d+) new pods fit`, func(n []int) bool { return n[0] == n[1] && n[1] == (int(*web.Spec.Replicas)+1)/2 }},
		{"run dump.json --remove-nodes " + node + " -q", `^No: without 1 node (\d+) pods .* that ran have no node \((\d+) others were Pending before\)`, func(n []int) bool { return n[0] <= onNode && n[1] == stillWaiting }},
		{"scale dump.json -q", `^No: (\d+) of (\d+) pods stay Pending, even with (\d+) more nodes \(general from (\d+) to (\d+) nodes\)`, func(n []int) bool { return n[1] == waiting && n[4]-n[3] == n[2] && n[0] < stillWaiting }},
		{"upgrade dump.json --to 1.37 -q", `^Nothing changes for (\d+) of (\d+) pods; (\d+) would go elsewhere`, func(n []int) bool { return n[0]+n[2] == n[1] }},
		{"advise --all dump.json -q", `^(\d+) of (\d+) workloads would survive a zone's loss with a second replica`, func(n []int) bool {
			return n[0] <= before.single() && n[1] == len(before.deployments)+len(before.sets)+2
		}},
		{"review dump.json -q", `^After the loss of zone eu-west-1c (\d+) of (\d+) lost pods do not come back, the most of 3 zones; (?:no pod of [^:]*: [^;]*; )?(\d+) of (\d+) pods are Pending now`, func(n []int) bool {
			return n[2] == stillWaiting && n[3] == settled.count(func(*v1.Pod) bool { return true })
		}},
		{"plan dump.json --survive zone -q", `^No: the loss of zone eu-west-1c strands (\d+) pods, and 2 other losses strand some, too\. (\d+) patches and (\d+) more nodes are enough; fewer than (\d+) nodes are not\.`, func(n []int) bool {
			lost, least := settled.lostIn("eu-west-1c")
			return n[0] <= lost && n[1] <= before.ruled() && n[2] >= least && n[2] >= n[3]
		}},
	} {
		out := answer(strings.Fields(q.args)...)
		first, _, _ := strings.Cut(out, "\n")
		text := first
		if strings.HasPrefix(q.args, "explain") {
			text = out
		}
		fmt.Fprintf(&lines, "$ simulate %s\n%s\n", q.args, first)
		found := regexp.MustCompile(q.pattern).FindStringSubmatch(text)
		if found == nil {
			t.Errorf("%s: %q is not %q", q.args, first, q.pattern)
			continue
		}
		var numbers []int
		for _, digits := range found[1:] {
			n, err := strconv.Atoi(digits)
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, n)
		}
		if !q.holds(numbers) {
			t.Errorf("%s: the planner reckons otherwise: %s", q.args, found[0])
		}
	}
	golden.Compare(t, filepath.Join(testdata, "planners-questions"), lines.String())
}

// lostIn returns the number of pods that the loss of the zone makes controllers replace, and the smallest number of the largest nodes whose
// CPU, together with the free CPU elsewhere, is enough for them.
func (l *ledger) lostIn(zone string) (pods, nodes int) {
	var lost, free, largest int64
	for i := range l.nodes {
		node := &l.nodes[i]
		largest = max(largest, node.Status.Allocatable.Cpu().MilliValue())
		if cpu, _ := l.free(node); node.Labels[v1.LabelTopologyZone] != zone {
			free += max(0, cpu)
		}
	}
	for i := range l.pods {
		pod := &l.pods[i]
		if !active(pod) || waits(pod) || daemon(pod) || len(pod.OwnerReferences) == 0 || l.node(pod.Spec.NodeName).Labels[v1.LabelTopologyZone] != zone {
			continue
		}
		asks := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
		pods, lost = pods+1, lost+asks.Cpu().MilliValue()
	}
	return pods, int(max(0, (lost-free+largest-1)/largest))
}

// ruled counts the Deployments and StatefulSets with a hard rule about the placement of their pods.
func (l *ledger) ruled() (n int) {
	hard := func(spec *v1.PodSpec) bool {
		a := spec.Affinity
		return len(spec.NodeSelector) > 0 || a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0) ||
			slices.ContainsFunc(spec.TopologySpreadConstraints, func(c v1.TopologySpreadConstraint) bool { return c.WhenUnsatisfiable == v1.DoNotSchedule })
	}
	for i := range l.deployments {
		if hard(&l.deployments[i].Spec.Template.Spec) {
			n++
		}
	}
	for i := range l.sets {
		if hard(&l.sets[i].Spec.Template.Spec) {
			n++
		}
	}
	return n
}

// single counts the workloads of one replica.
func (l *ledger) single() (n int) {
	for i := range l.deployments {
		if *l.deployments[i].Spec.Replicas == 1 {
			n++
		}
	}
	for i := range l.sets {
		if *l.sets[i].Spec.Replicas == 1 {
			n++
		}
	}
	return n
}
