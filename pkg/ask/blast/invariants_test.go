package blast_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
)

// generated returns a small world: zones of a few nodes, some nodes in none and some empty, and workloads anywhere.
func generated(r *rand.Rand) *cluster.State {
	zones := 1 + r.IntN(5)
	var in []string
	for range 1 + r.IntN(10) {
		in = append(in, []string{"-", fmt.Sprintf("z%d", r.IntN(zones)), fmt.Sprintf("z%d", r.IntN(zones))}[r.IntN(3)])
	}
	state := &cluster.State{Nodes: nodes("z0 " + strings.Join(in, " "))}
	for w := range 1 + r.IntN(5) {
		for i := range r.IntN(8) {
			name, kind := fmt.Sprintf("w%d", w), []string{"StatefulSet", "StatefulSet", "StatefulSet", "StatefulSet", "DaemonSet"}[w]
			pod := podOf(kind, name, i, state.Nodes[r.IntN(len(state.Nodes))].Name)
			if r.IntN(4) == 0 {
				pod.Status.Conditions = nil
			}
			state.Pods = append(state.Pods, pod)
		}
	}
	return state
}

func TestInvariants(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		state := generated(r)
		check := func(ok bool, format string, args ...any) {
			t.Helper()
			if !ok {
				t.Errorf("seed %d: %s", seed, fmt.Sprintf(format, args...))
			}
		}
		replicas, outside, inside := map[cluster.Ref]int{}, map[cluster.Ref]int{}, 0
		of := state.Owners()
		for _, pod := range state.Pods {
			o := of(pod)
			replicas[o]++
			if _, labelled := state.Node(pod.Spec.NodeName).Labels[zone]; labelled {
				inside++
			} else {
				outside[o]++
			}
		}
		level := lost(t, state, blast.Options{Levels: []string{zone}}).Levels[0]

		// Each pod is in one domain, or on a node without label.
		sum := map[cluster.Ref]int{}
		pods := 0
		for _, failure := range level.Failures {
			pods += failure.Pods
			for _, loss := range failure.Workloads {
				sum[loss.Ref] += loss.Lost
				check(loss.Replicas == replicas[loss.Ref], "%s has %d replicas, want %d", loss.Ref, loss.Replicas, replicas[loss.Ref])
			}
		}
		check(pods == inside, "domains hold %d pods, want %d", pods, inside)
		for o, n := range replicas {
			check(o.Kind == "DaemonSet" || sum[o]+outside[o] == n, "%s: %d in domains and %d elsewhere of %d", o, sum[o], outside[o], n)
			check(o.Kind != "DaemonSet" || sum[o] == 0, "%s lost %d", o, sum[o])
		}

		// More failures never take less, and all domains together take everything that is in one.
		radius := level.Radius.Share
		for k := 2; k <= level.Domains; k++ {
			next := lost(t, state, blast.Options{Levels: []string{zone}, Simultaneous: k}).Levels[0]
			check(next.Radius.Share >= radius, "%d failures take %v, fewer take %v", k, next.Radius.Share, radius)
			radius = next.Radius.Share
		}
		everything := lost(t, state, blast.Options{Levels: []string{zone}, Simultaneous: level.Domains}).Levels[0].Failures[0]
		check(everything.Pods == inside, "all domains hold %d pods, want %d", everything.Pods, inside)
		for _, loss := range everything.Workloads {
			check(loss.Survivors() == outside[loss.Ref], "%s: %d survive all domains, want %d", loss.Ref, loss.Survivors(), outside[loss.Ref])
		}

		// An empty domain takes nothing, alone or together with another. But replicas can be spread over it.
		empty := nodes("empty")[0]
		empty.Name = "spare"
		with := state.With(empty)
		for _, failure := range lost(t, with, blast.Options{Levels: []string{zone}}).Levels[0].Failures {
			i := slices.IndexFunc(level.Failures, func(f blast.Failure) bool { return f.Domains[0] == failure.Domains[0] })
			if i < 0 {
				check(failure.Pods == 0 && failure.Workloads == nil, "the empty domain takes %v", failure.Workloads)
			} else if diff := cmp.Diff(level.Failures[i].Workloads, failure.Workloads, cmpopts.IgnoreFields(blast.Loss{}, "Even")); diff != "" {
				t.Errorf("seed %d: with an empty domain beside it (-without +with):\n%s", seed, diff)
			}
		}
		for _, failure := range lost(t, with, blast.Options{Levels: []string{zone}, Simultaneous: 2}).Levels[0].Failures {
			if failure.Domains[0] == "empty" {
				i := slices.IndexFunc(level.Failures, func(f blast.Failure) bool { return f.Domains[0] == failure.Domains[1] })
				if diff := cmp.Diff(level.Failures[i].Workloads, failure.Workloads, cmpopts.IgnoreFields(blast.Loss{}, "Even")); diff != "" {
					t.Errorf("seed %d: together with an empty domain (-alone +together):\n%s", seed, diff)
				}
			}
		}
	}
}
