package explain

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/variant"
)

// generated returns a small random world in which pods often have no place: nodes in zones, small, tainted or cordoned, and workloads with
// every kind of hard rule; then one is scaled, and a node is drained.
func generated(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	fmt.Fprintf(&b, "ties: %s\nseed: %d\ncluster:\n- objects:\n", []string{"upstream", "random"}[r.IntN(2)], seed)
	for i := range 2 + r.IntN(4) {
		spec := []string{"", "", "", "unschedulable: true", "taints: [{key: dedicated, value: db, effect: NoSchedule}]"}[r.IntN(5)]
		b.WriteString(node(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", r.IntN(3)), spec))
	}
	b.WriteString("workloads:\n- objects:\n")
	for i := range 2 {
		app := fmt.Sprintf("app%d", i)
		key := []string{v1.LabelHostname, v1.LabelTopologyZone}[r.IntN(2)]
		spec := []string{ // no workload has two rules
			"",
			`, nodeSelector: {topology.kubernetes.io/zone: z0}`,
			`, topologySpreadConstraints: [{maxSkew: 1, topologyKey: ` + key + `, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]`,
			`, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: ` + key + `, labelSelector: {matchLabels: {app: web}}}]}}`,
			`, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n0]}]}]}}}`,
		}[r.IntN(5)]
		requests := fmt.Sprintf("cpu: %dm, memory: %dMi", 100*(1+r.IntN(30)), 512*(1+r.IntN(8)))
		kind := []string{"Deployment", "Deployment", "StatefulSet"}[r.IntN(3)]
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(workload(kind, 1+r.IntN(6), requests, spec), "app: web", "app: "+app), "name: web", "name: "+app))
	}
	b.WriteString("steps:\n- {name: drain, drain: {names: [n0]}}\n")
	return b.String()
}

// follow applies the words of a fix, as a reader would, to the scenario up to the step.
func follow(t *testing.T, change string, s *scenario.Scenario, step *simulation.Step, owner cluster.Ref) *scenario.Scenario {
	t.Helper()
	words := func(pattern string) []string {
		return regexp.MustCompile("^" + pattern + "$").FindStringSubmatch(change)
	}
	s = s.Until(step.Name)
	if m := words("uncordon (.+)"); m != nil {
		return s.Then(scenario.Step{Name: "uncordon", Uncordon: &scenario.NodesInTurn{Nodes: scenario.Nodes{Names: []string{m[1]}}}})
	}
	if m := words("tolerate (.+)=(.+):(.+)"); m != nil {
		return variant.Edit(s, owner, func(spec *v1.PodSpec) {
			spec.Tolerations = append(spec.Tolerations, v1.Toleration{Key: m[1], Value: m[2], Effect: v1.TaintEffect(m[3])})
		})
	}
	if m := words(`request at most (\S+) (CPU|memory) \(now .+\)`); m != nil {
		name := map[string]v1.ResourceName{"CPU": v1.ResourceCPU, "memory": v1.ResourceMemory}[m[2]]
		return variant.Edit(s, owner, func(spec *v1.PodSpec) { spec.Containers[0].Resources.Requests[name] = resource.MustParse(m[1]) })
	}
	if m := words(`\S+ replicas? fewer: (\d+)`); m != nil {
		replicas, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		return variant.Scale(s, owner, step.Name, int32(replicas))
	}
	if m := words(`one more node like (\S+) in (.+)`); m != nil {
		more := step.State.Node(m[1]).DeepCopy()
		more.ObjectMeta = metav1.ObjectMeta{Name: "another", Labels: more.Labels}
		more.Labels[v1.LabelHostname] = "another"
		if strings.HasSuffix(m[2], "of its own") {
			more.Labels[v1.LabelTopologyZone] = "another"
		}
		return s.With(more)
	}
	for _, r := range rule.Of(specOf(step.State, owner)) { // no workload has two
		return variant.Edit(s, owner, func(spec *v1.PodSpec) { rule.Soften(spec, r) })
	}
	t.Fatalf("nobody can follow %q", change)
	return nil
}

// Following a fix gives as many Pending pods as it says, and fewer of the workload than before, or more running. An amount called the most
// is: a little more leaves more Pending.
func TestFixesHold(t *testing.T) {
	kinds, helpless := map[string]int{}, 0
	for seed := range uint64(20) {
		result := simulated(t, generated(seed))
		for i := range result.Steps {
			step := &result.Steps[i]
			if len(step.Pending) == 0 {
				continue
			}
			pod := step.Pending[0].Pod
			owner := step.State.Owners()(pod)
			fixes, tried, err := Fixes(context.Background(), result, step.Name, pod, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(fixes) == 0 {
				helpless++
			}
			running, waiting := count(podsOf(step.State)[owner])
			for _, f := range fixes {
				name := fmt.Sprintf("world %d, step %s, %s", seed, step.Name, f.Change)
				kinds[strings.Fields(f.Change)[0]]++
				after, err := last(context.Background(), follow(t, f.Change, result.Scenario, step, owner))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				now, left := count(podsOf(after.State)[owner])
				if diff := cmp.Diff([]int{f.Pending, f.OfWorkload}, []int{len(after.Pending), left}); diff != "" {
					t.Errorf("%s: Pending, and of the workload (-want +got):\n%s", name, diff)
				}
				if left >= waiting && now <= running {
					t.Errorf("%s: %d run and %d are Pending; it was %d and %d", name, now, left, running, waiting)
				}
				for _, more := range larger(f.Change) {
					after, err := last(context.Background(), follow(t, more, result.Scenario, step, owner))
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					// Nothing but the amount has changed, so that as good an answer would have been the answer.
					if now, left := count(podsOf(after.State)[owner]); left <= f.OfWorkload && now >= running && len(after.Pending) < len(step.Pending) {
						t.Errorf("%s: %s leaves as few Pending", name, more)
					}
				}
			}
			if seed >= 5 {
				continue
			}
			again, triedAgain, err := Fixes(context.Background(), result, step.Name, pod, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fixes, again); diff != "" {
				t.Errorf("world %d, step %s: asked again (-first +second):\n%s", seed, step.Name, diff)
			}
			if diff := cmp.Diff(tried, triedAgain); diff != "" {
				t.Errorf("world %d, step %s: tried again (-first +second):\n%s", seed, step.Name, diff)
			}
		}
	}
	for _, kind := range []string{"uncordon", "make", "tolerate", "request", "one"} {
		if kinds[kind] < 3 {
			t.Errorf("%d fixes say %s: the worlds show nothing (%v, and %d pods beyond help)", kinds[kind], kind, kinds, helpless)
		}
	}
}

// larger returns the words for the next larger amount, if the change has one.
func larger(change string) []string {
	if m := regexp.MustCompile(`^request at most (\S+) (CPU|memory)(.*)$`).FindStringSubmatch(change); m != nil {
		q := resource.MustParse(m[1])
		q.Add(resource.MustParse(map[string]string{"CPU": "1m", "memory": "1Mi"}[m[2]]))
		return []string{"request at most " + q.String() + " " + m[2] + m[3]}
	}
	if m := regexp.MustCompile(`^\S+ replicas? fewer: (\d+)$`).FindStringSubmatch(change); m != nil {
		replicas, _ := strconv.Atoi(m[1])
		return []string{fmt.Sprintf("0 replicas fewer: %d", replicas+1)}
	}
	return nil
}

// Without a rule that decides nothing, every pod of the workload is where it was; and the numbers of an effect are those of its own run.
func TestEffectsHold(t *testing.T) {
	deciding, idle := 0, 0
	for seed := range uint64(30) {
		result := simulated(t, generated(seed))
		for i := range result.Steps {
			step := &result.Steps[i]
			for owner, pods := range podsOf(step.State) {
				effects, err := Effects(context.Background(), result, step.Name, owner, Options{})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range effects {
					without, err := last(context.Background(), variant.Edit(result.Scenario.Until(step.Name), owner, func(spec *v1.PodSpec) {
						spec.Affinity, spec.NodeSelector, spec.TopologySpreadConstraints = nil, nil, nil // no workload has two
					}))
					if err != nil {
						t.Fatal(err)
					}
					nodes := func(pods []*v1.Pod) string {
						var all []string
						for _, pod := range pods {
							all = append(all, pod.Spec.NodeName)
						}
						return strings.Join(all, " ")
					}
					same := nodes(pods) == nodes(podsOf(without.State)[owner])
					if e.Decides {
						deciding++
					} else if idle++; !same {
						t.Errorf("world %d, step %s: %s of %s decides nothing, and without it the pods are on %s", seed, step.Name, e.Rule, owner, nodes(pods))
					}
					if e.Pending != len(step.Pending) || e.PendingWithout != len(without.Pending) {
						t.Errorf("world %d, step %s: %s of %s has %d and %d Pending, not %d and %d", seed, step.Name, e.Rule, owner,
							len(step.Pending), len(without.Pending), e.Pending, e.PendingWithout)
					}
				}
			}
		}
	}
	if deciding < 10 || idle < 10 {
		t.Errorf("%d rules decide and %d do not: the worlds show nothing", deciding, idle)
	}
}
