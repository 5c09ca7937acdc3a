package blast_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
)

func TestSimultaneous(t *testing.T) {
	// Zones a, b, c hold 3, 2 and 1 of db's 6, and web's 2 are in a and c.
	state := settled(t, nodes("a b c"), map[string]string{"db": "n1 n1 n1 n2 n2 n3", "web": "n1 n3"},
		app("StatefulSet", "db", 6, ""), app("Deployment", "web", 2, ""))
	level := lost(t, state, blast.Options{Levels: []string{zone}, Simultaneous: 2}).Levels[0]
	var got []string
	for _, failure := range level.Failures {
		text := strings.Join(failure.Domains, "+")
		for _, loss := range failure.Workloads {
			text += fmt.Sprintf(" %s %d/%d", loss.Name, loss.Lost, loss.Replicas)
		}
		got = append(got, text)
	}
	want := []string{"a+b db 5/6 web 1/2", "a+c web 2/2 db 4/6", "b+c db 3/6 web 1/2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	// db comes before web in b+c: 3 lost pods before 1. The largest shares are 5/6, 1 and 1/2.
	if diff := cmp.Diff([]blast.Share{{Share: 1. / 2, Failures: 1}, {Share: 5. / 6, Failures: 1}, {Share: 1, Failures: 1}}, level.Shares); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
	if want := (1./2 + 5./6 + 1) / 3; *level.Mean < want-1e-12 || *level.Mean > want+1e-12 {
		t.Errorf("mean = %v, want %v", *level.Mean, want)
	}
	if diff := cmp.Diff([]string{"a", "c"}, level.Radius.Domains); diff != "" {
		t.Errorf("radius (-want +got):\n%s", diff)
	}
	if level.Search != "" {
		t.Errorf("search = %q, but all sets were looked at", level.Search)
	}
}

// Only the worst of all sets of three of 300 zones are examined. A set that the options name is examined, too.
func TestTogether(t *testing.T) {
	var zones []string
	for i := range 300 {
		zones = append(zones, fmt.Sprintf("z%d", i))
	}
	// db has its replicas in the zones z0 to z3 and z7.
	state := settled(t, nodes(strings.Join(zones, " ")), map[string]string{"db": "n1 n2 n3 n4 n8"}, app("StatefulSet", "db", 5, ""))
	level := lost(t, state, blast.Options{Levels: []string{zone}, Simultaneous: 1, Together: []string{"z299", "z7", "z12", "z7"}}).Levels[0]
	if len(level.Failures) != 1 || level.Search != "" || level.Domains != 300 {
		t.Fatalf("%d failures of %d domains, search %q; want the one", len(level.Failures), level.Domains, level.Search)
	}
	failure := level.Failures[0]
	if diff := cmp.Diff([]string{"z7", "z12", "z299"}, failure.Domains); diff != "" || failure.Pods != 1 || level.Radius.Lost != 1 {
		t.Errorf("takes %d pods, the radius is %+v, domains (-want +got):\n%s", failure.Pods, level.Radius, diff)
	}
	_, err := blast.Lost(state, blast.Options{Levels: []string{zone}, Simultaneous: 1, Together: []string{"z1", "z300", "a"}})
	want := `level topology.kubernetes.io/zone: there is no domain "a"; there are z0, z1, z2, z3, z4, z5, z6, z7 and 292 more
level topology.kubernetes.io/zone: there is no domain "z300"; there are z100, z200, z30, z0, z10, z101, z102, z103 and 292 more`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAllSetsInOrder(t *testing.T) {
	var got []string
	for _, failure := range lost(t, &cluster.State{Nodes: nodes("z1 z2 z3 z4 z10")}, blast.Options{Levels: []string{zone}, Simultaneous: 3}).Levels[0].Failures {
		got = append(got, strings.Join(failure.Domains, " "))
	}
	want := []string{
		"z1 z2 z3", "z1 z2 z4", "z1 z2 z10", "z1 z3 z4", "z1 z3 z10", "z1 z4 z10",
		"z2 z3 z4", "z2 z3 z10", "z2 z4 z10", "z3 z4 z10",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSearchSaysWhatItLookedAt(t *testing.T) {
	// 400 choose 2 is 79,800, too many. web is on n1 and n400; db is on n2 alone, and goes with n1, the first without one. Most pods are on
	// n3 and n4, from a DaemonSet.
	state := &cluster.State{Nodes: nodes(strings.Repeat("- ", 400))}
	for i, node := range []string{"n1", "n400"} {
		state.Pods = append(state.Pods, podOf("StatefulSet", "web", i, node))
	}
	state.Pods = append(state.Pods, podOf("StatefulSet", "db", 0, "n2"))
	for i := range 6 {
		state.Pods = append(state.Pods, podOf("DaemonSet", "agent", i, fmt.Sprint("n", 3+i%2)))
	}
	level := lost(t, state, blast.Options{Simultaneous: 2}).Levels[0]
	var got []string
	for _, failure := range level.Failures {
		got = append(got, strings.Join(failure.Domains, "+"))
	}
	if diff := cmp.Diff([]string{"n1+n2", "n1+n400", "n3+n4"}, got); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(level.Search, "looked at 3 of 79800 sets of 2 domains: ") {
		t.Errorf("search = %q", level.Search)
	}
	if level.Mean != nil || level.Shares != nil {
		t.Errorf("mean %v and shares %v of sets that were not looked at", level.Mean, level.Shares)
	}
	want := blast.Radius{Share: 1, Namespace: "default", Workload: "statefulset/web", Domains: []string{"n1", "n400"}, Lost: 2, Replicas: 2}
	if diff := cmp.Diff(want, level.Radius); diff != "" {
		t.Errorf("radius (-want +got):\n%s", diff)
	}
}

// In worlds with too many sets to list, the radius and the broken budgets are the same as those found by trying each set.
func TestWorstSetsAreTheWorst(t *testing.T) {
	const hosts, k = 30, 4 // 27,405 sets
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		state := &cluster.State{Nodes: nodes(strings.Repeat("- ", hosts))}
		var workloads [][hosts]int // the pods of each workload on each host
		var healthy [hosts]int     // of all workloads
		current := 0
		for w := range 1 + r.IntN(6) {
			var on [hosts]int
			for i := range 1 + r.IntN(40) {
				host := r.IntN(1 + r.IntN(hosts))
				on[host]++
				pod := podOf("StatefulSet", fmt.Sprint("w", w), i, state.Nodes[host].Name)
				if r.IntN(3) == 0 {
					pod.Status.Conditions = nil
				} else {
					healthy[host]++
					current++
				}
				state.Pods = append(state.Pods, pod)
			}
			workloads = append(workloads, on)
		}
		for desired := range current + 2 {
			state.PodDisruptionBudgets = append(state.PodDisruptionBudgets, &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b%03d", desired), Namespace: "default"},
				Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
				Status:     policyv1.PodDisruptionBudgetStatus{CurrentHealthy: int32(current), DesiredHealthy: int32(desired)},
			})
		}

		var want blast.Radius
		most := 0 // healthy pods in a set
		for a := range hosts {
			for b := a + 1; b < hosts; b++ {
				for c := b + 1; c < hosts; c++ {
					for d := c + 1; d < hosts; d++ {
						most = max(most, healthy[a]+healthy[b]+healthy[c]+healthy[d])
						for w, on := range workloads {
							replicas := 0
							for _, pods := range on {
								replicas += pods
							}
							lost := on[a] + on[b] + on[c] + on[d]
							share := float64(lost) / float64(replicas)
							name := fmt.Sprint("w", w)
							if share < want.Share || share == want.Share && (lost < want.Lost || lost == want.Lost && "statefulset/"+name >= want.Workload) {
								continue
							}
							want = blast.Radius{Share: share, Namespace: "default", Workload: "statefulset/" + name, Lost: lost, Replicas: replicas}
							for _, host := range []int{a, b, c, d} {
								want.Domains = append(want.Domains, state.Nodes[host].Name)
							}
						}
					}
				}
			}
		}
		var broken []string
		for desired := current - most + 1; desired <= current; desired++ {
			broken = append(broken, fmt.Sprintf("default/b%03d", desired))
		}

		level := lost(t, state, blast.Options{Simultaneous: k}).Levels[0]
		if diff := cmp.Diff(want, level.Radius); diff != "" {
			t.Errorf("seed %d: radius (-tried +got):\n%s", seed, diff)
		}
		var got []string
		for _, failure := range level.Failures {
			got = append(got, failure.BrokenBudgets...)
		}
		slices.Sort(got)
		if diff := cmp.Diff(broken, slices.Compact(got)); diff != "" {
			t.Errorf("seed %d: broken budgets (-tried +got):\n%s", seed, diff)
		}
	}
}
