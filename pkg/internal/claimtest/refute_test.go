package claimtest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/internal/claimtest"
	"github.com/faultline/faultline/pkg/scenario"
)

// wrongCopies returns copies of the claim, in each of which one expectation is wrong.
func wrongCopies(t *testing.T, of claim.Claim) []claim.Claim {
	var all []claim.Claim
	for i := range of.Steps {
		change := func(what string, f func(*scenario.Expect)) {
			data, err := json.Marshal(of)
			if err != nil {
				t.Fatal(err)
			}
			var changed claim.Claim
			if err := json.Unmarshal(data, &changed); err != nil {
				t.Fatal(err)
			}
			f(changed.Steps[i].Expect)
			changed.Says += ", with another " + what
			all = append(all, changed)
		}
		e := of.Steps[i].Expect
		if e == nil {
			continue
		}
		if e.Rollouts != nil {
			change("end of the rollout", func(e *scenario.Expect) { e.Rollouts = ptr.To(!*e.Rollouts) })
		}
		if e.Drained != nil {
			change("end of the drain", func(e *scenario.Expect) { e.Drained = ptr.To(!*e.Drained) })
		}
		if len(e.DrainLeaves) > 0 {
			change("pod that is left", func(e *scenario.Expect) { e.DrainLeaves = e.DrainLeaves[1:]; e.Drained = nil })
		}
		if e.NewlyPending != nil && e.NewlyPending.AtLeast == nil {
			change("newly Pending pod", func(e *scenario.Expect) {
				e.NewlyPending.Pods = map[string]int{"default/deployment/nobody": 1}
			})
		}
		if e.Pending != nil {
			change("number of Pending pods", func(e *scenario.Expect) { *e.Pending++ })
		}
		for k := range e.NodeCounts {
			change("number of nodes", func(e *scenario.Expect) { e.NodeCounts[k]++ })
		}
		for k, f := range e.Failures {
			if f.Radius != nil && *f.Radius > 0 {
				change("share that a loss takes", func(e *scenario.Expect) { *e.Failures[k].Radius = 0 })
			}
		}
		for k, w := range e.Workloads {
			if w.Running != nil {
				change("number of running pods", func(e *scenario.Expect) { *e.Workloads[k].Running++ })
			}
			if w.Pending != nil {
				change("number of Pending pods of a workload", func(e *scenario.Expect) { *e.Workloads[k].Pending++ })
			}
			if w.AtLeast != nil {
				change("least number of running pods", func(e *scenario.Expect) { *e.Workloads[k].AtLeast++ })
			}
		}
	}
	return all
}

// The claims of each question can fail: with any wrong expectation, a claim does not hold. A proof that cannot fail would prove nothing.
func TestWrongClaimsAreRefuted(t *testing.T) {
	refuted := map[string]int{}
	for _, seed := range []uint64{2, 7, 14, 56} {
		s, err := claimtest.Load(claimtest.World(seed))
		if err != nil {
			t.Fatal(err)
		}
		err = claimtest.Ask(t.Context(), s, func(question string, of *scenario.Scenario, claims []claim.Claim) error {
			for _, right := range claims[:min(4, len(claims))] {
				proved, err := expect.Prove(t.Context(), of, claim.MakeUnique(wrongCopies(t, right)), nil)
				if err != nil {
					return err
				}
				for _, p := range proved {
					if refuted[question]++; p.Holds {
						t.Errorf("seed %d: %s: %q holds", seed, question, p.Says)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, question := range []string{"capacity", "drain", "consolidate", "roll", "blast", "explain", "scale", "size", "advise"} {
		if refuted[question] == 0 {
			t.Errorf("no claim of %s was refuted", question)
		}
	}
	t.Log(refuted)
}

// Some worlds have each of the shapes that World makes, and the same seed gives the same world.
func TestWorlds(t *testing.T) {
	if first, again := claimtest.World(7), claimtest.World(7); first != again {
		t.Error("a seed has two worlds")
	}
	for _, word := range []string{"taints", "storageClassName: zonal", "PodDisruptionBudget", "DaemonSet", "priorityClassName: high", "HorizontalPodAutoscaler", "Widget",
		"cordoned", "died", "podAntiAffinity", "DoNotSchedule", "name: bare", "Parallel", "kind: PodGroup"} {
		seeds := 0
		for seed := range uint64(60) {
			if strings.Contains(claimtest.World(seed), word) {
				seeds++
			}
		}
		if seeds == 0 {
			t.Errorf("no world of 60 has %q", word)
		}
	}
}
