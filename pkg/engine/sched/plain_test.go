package sched

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/memo"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// An engine that caches its plugins' answers and an engine that does not give the same results, down to the last score, in worlds that mix
// all that scheduling depends on.
func TestPlain(t *testing.T) {
	seen := occurrences{}
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { sameAnswers(t, newWorld(t, seed), seen) })
	}
	t.Cleanup(func() { setRelease(t, Release{}) })
	for i, kubernetes := range append(EarlierReleases(), Preview()) {
		setRelease(t, Release{Kubernetes: kubernetes})
		earlier := occurrences{}
		for seed := range uint64(60) {
			seed += 300 + 60*uint64(i)
			t.Run(fmt.Sprint(kubernetes, " ", seed), func(t *testing.T) { sameAnswers(t, newWorld(t, seed), earlier) })
		}
		if earlier["kept"] == 0 || earlier["image volumes"] == 0 {
			t.Errorf("the worlds as Kubernetes %s show nothing of kept answers or image volumes: %v", kubernetes, earlier)
		}
	}
	setRelease(t, Release{})
	t.Run("all", func(t *testing.T) {
		for _, what := range []string{
			"placed", "preempted", "nominated", "pending", "scored", "sampled", "volumes", "kept", "plain", "choose",
			"pods count by its own preferred affinity", "pods count by its own preferred anti-affinity", "pods count by its own constraint",
			"pods count by preferred affinity of pods that run", "pods count by preferred anti-affinity of pods that run",
			"pods count by required affinity of pods that run, by hardPodAffinityWeight",
			"InterPodAffinity is skipped", "InterPodAffinity is no longer skipped", "PodTopologySpread is no longer skipped",
			"refused by " + names.InterPodAffinity, "refused by " + names.PodTopologySpread, "refused by " + names.NodeAffinity,
			"refused by " + names.NodeResourcesFit, "refused by " + names.NodePorts, "refused by " + names.NodeUnschedulable,
			"refused by " + names.TaintToleration, "refused by " + names.VolumeBinding, "refused by " + names.VolumeRestrictions,
			"refused by " + names.DynamicResources, "claims", "extended resources",
		} {
			if seen[what] == 0 {
				t.Errorf("the worlds show nothing of %q: %v", what, seen)
			}
		}
	})
}

func FuzzPlain(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { sameAnswers(t, newWorld(t, seed), occurrences{}) })
}

// occurrences counts what happens in the worlds.
type occurrences map[string]int

// sameAnswers lets a plain and a caching engine go through a world, each from its own results.
func sameAnswers(t *testing.T, w *world, seen occurrences) {
	t.Helper()
	r := rand.New(rand.NewPCG(w.seed, 1<<32))
	ties := Ties{Random: r.IntN(3) == 0, Seed: r.Uint64()}
	recorded, choose := r.IntN(2) == 0, r.IntN(6) == 0
	var engines [2]*Engine
	for i, config := range []*Config{w.config.Plain(), w.config} {
		engine, err := NewEngine(config, ties)
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		if recorded {
			engine.Record = depthOf
		}
		if choose {
			engine.Choose = func(tie *Tie) (int, error) { return (len(tie.Waiting) + tie.Start) % len(tie.Nodes), nil }
		}
		engines[i] = engine
	}
	states := [][2]*cluster.State{{w.first, w.first}} // those so far
	for step := range 10 {
		now := states[len(states)-1]
		reuse := r.IntN(8)
		switch reuse {
		case 0: // another question, about another moment
			now = states[r.IntN(len(states))]
		case 1:
			ties.Seed++
		}
		var results [2]*placement.Result
		for i, engine := range engines {
			switch reuse {
			case 0:
				engine.Reset()
			case 1:
				if err := engine.ResetTo(ties); err != nil {
					t.Fatal(err)
				}
			case 2: // a question about the same moment
				mark := engine.Mark()
				placeQueue(t, w, step, engine, w.next(now[i], step+100))
				engine.Return(mark)
			}
			now[i] = w.next(now[i], step)
			results[i] = placeQueue(t, w, step, engine, now[i])
			now[i] = stateAfter(now[i], results[i])
		}
		if diff := diffResults(results[0], results[1]); diff != "" {
			t.Fatalf("world %d, step %d (-plain +kept):\n%s", w.seed, step, diff)
		}
		states = append(states, now)
		seen.count(results[1])
	}
	for _, profile := range engines[1].profiles {
		asks := profile.Framework.(*memo.Framework)
		seen["kept"] += asks.Kept
		seen["plain"] += asks.Plain
	}
	if choose {
		seen["choose"]++
	}
}

// depthOf lets pods of one template have different depths.
func depthOf(pod *v1.Pod) *placement.Depth {
	return []*placement.Depth{{}, {}, {Nodes: 1}, nil}[pod.Name[len(pod.Name)-1]%4]
}

func placeQueue(t *testing.T, w *world, step int, engine *Engine, state *cluster.State) *placement.Result {
	t.Helper()
	result, err := engine.Place(t.Context(), state, w.queue(state))
	if err != nil {
		t.Fatalf("world %d, step %d: %v", w.seed, step, err)
	}
	return result
}

// stateAfter returns the state after the scheduler's decisions.
func stateAfter(state *cluster.State, result *placement.Result) *cluster.State {
	state = state.With(result.Changed()...).Without(result.Deleted()...)
	for _, p := range result.Preempted {
		if p.Ending != nil {
			state = state.With(p.Ending)
		} else {
			state = state.Without(p.Victim)
		}
	}
	return state
}

// diffResults returns how the results differ, or "". It does not compare what two results share.
func diffResults(plain, kept *placement.Result) string {
	if reflect.DeepEqual(plain, kept) {
		return ""
	}
	brief := func(result *placement.Result) (lines []string) {
		for _, p := range result.Placed {
			lines = append(lines, fmt.Sprint(p.Pod.Name, " on ", p.Node, " ", p.Ties, p.Margin, p.Scores))
		}
		for _, p := range result.Pending {
			lines = append(lines, fmt.Sprint(p.Pod.Name, " Pending ", p.Message))
		}
		for _, p := range result.Preempted {
			lines = append(lines, fmt.Sprint(p.Victim.Name, " on ", p.Node, " makes room for ", p.For.Name))
		}
		return lines
	}
	if diff := cmp.Diff(brief(plain), brief(kept)); diff != "" {
		return diff
	}
	return cmp.Diff(plain, kept)
}

func (s occurrences) count(result *placement.Result) {
	skipped := map[string]bool{}
	cycle := func(c *placement.Cycle) {
		if c == nil {
			return
		}
		for _, verdict := range slices.Concat(c.PreFilter, c.PreScore) {
			if verdict.Plugin != names.InterPodAffinity && verdict.Plugin != names.PodTopologySpread {
				continue
			}
			switch is := verdict.Status == "skip"; {
			case is:
				s[verdict.Plugin+" is skipped"]++
			case skipped[verdict.Plugin]:
				s[verdict.Plugin+" is no longer skipped"]++
			}
			skipped[verdict.Plugin] = verdict.Status == "skip"
		}
		for _, candidate := range c.Candidates {
			for _, score := range candidate.Scores {
				for _, part := range score.Parts {
					if len(part.Pods) > 0 {
						rule, _, _ := strings.Cut(part.Rule, " [")
						s["pods count by "+rule]++
					}
				}
			}
		}
	}
	for _, p := range result.Placed {
		s["placed"]++
		if slices.ContainsFunc(p.Pod.Spec.Volumes, func(v v1.Volume) bool { return v.Image != nil }) {
			s["image volumes"]++
		}
		if p.Scored > 0 {
			s["scored"]++
		}
		if p.Feasible == 100 {
			s["sampled"]++
		}
		cycle(p.Cycle)
	}
	for _, p := range result.Pending {
		s["pending"]++
		if p.Nominated != "" {
			s["nominated"]++
		}
		for _, reason := range p.Reasons {
			s["refused by "+reason.Plugin]++
		}
		cycle(p.Cycle)
	}
	s["preempted"] += len(result.Preempted)
	for _, claim := range result.Claims {
		s["claims"]++
		if metav1.HasAnnotation(claim.ObjectMeta, resourcev1.ExtendedResourceClaimAnnotation) {
			s["extended resources"]++
		}
	}
	s["volumes"] += len(result.Volumes.PersistentVolumes)
}
