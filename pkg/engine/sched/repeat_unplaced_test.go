package sched

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// describePlacements returns each placed pod's node and start time, by which preemption chooses victims.
func describePlacements(result *placement.Result) []string {
	var all []string
	for _, p := range result.Placed {
		all = append(all, fmt.Sprint(p.Pod.Name, " ", p.Node, " ", p.Pod.Status.StartTime.Nanosecond()))
	}
	return all
}

// An engine that returns to a mark, or another engine at the same mark, continues in the same way: the search for nodes begins at the same
// node, and pods get the same start times.
func TestReturnToAMark(t *testing.T) {
	state := &cluster.State{Now: cluster.Epoch}
	for i := range 150 {
		state = state.With(node(fmt.Sprintf("n%03d", i), nil))
	}
	_, pods := replicas("web", 6, nil)
	for _, pod := range pods {
		state = state.With(pod)
	}
	for _, ties := range []Ties{{}, {Random: true, Seed: 5}} {
		engine, other := newEngine(t, ties), newEngine(t, ties)
		if _, err := engine.Place(t.Context(), state, pods[:3]); err != nil {
			t.Fatal(err)
		}
		mark := engine.Mark()
		if mark.NextStart() != 0 && ties == (Ties{}) { // 3 pods of 100 nodes each go twice around 150
			t.Errorf("the next search begins at %d, want 0", mark.NextStart())
		}
		var answers [][]string
		for _, e := range []*Engine{engine, engine, other} {
			e.Return(mark)
			result, err := e.Place(t.Context(), state, pods[3:5])
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, describePlacements(result))
		}
		for i, answer := range answers[1:] {
			if diff := cmp.Diff(answers[0], answer); diff != "" {
				t.Errorf("ties %+v, answer %d (-first +this):\n%s", ties, i+2, diff)
			}
		}
	}
}

// The start times of pods with whole seconds in a dump follow from the seed. An engine that is reset to other seeds, while pods come and
// go, preempts the same pods as a new engine with that seed.
func TestResetToOtherTies(t *testing.T) {
	urgent := highPriorityPod("4")
	states := []*cluster.State{fullCluster(t).With(urgent), walkthrough().With(urgent), fullCluster(t).With(urgent)}
	engine := newEngine(t, Ties{})
	for seed := range uint64(9) {
		state, ties := states[seed%3], Ties{Random: true, Seed: seed}
		if err := engine.ResetTo(ties); err != nil {
			t.Fatal(err)
		}
		var got [2][]placement.Preemption
		for i, e := range []*Engine{newEngine(t, ties), engine} {
			result, err := e.Place(t.Context(), state, []*v1.Pod{urgent})
			if err != nil {
				t.Fatal(err)
			}
			got[i] = result.Preempted
		}
		if diff := cmp.Diff(got[0], got[1]); diff != "" {
			t.Errorf("seed %d (-new +reset):\n%s", seed, diff)
		}
	}
}

// A pod that has ended takes no room: the next pod finds all of w1 free, although the ended pod ran there.
func TestEndedPodsTakeNoRoom(t *testing.T) {
	old, next := running(pod("old", "8", 0), "w1"), pod("next", "8", 0)
	next.Spec.NodeSelector = map[string]string{hostname: "w1"}
	ended := old.DeepCopy()
	ended.Status.Phase = v1.PodSucceeded
	engine := newEngine(t, Ties{})
	for _, test := range []struct {
		old  *v1.Pod
		want string
	}{{ended, "w1"}, {old, "pending "}, {ended, "w1"}} {
		result, err := engine.Place(t.Context(), walkthrough().With(test.old, next), []*v1.Pod{next})
		if err != nil {
			t.Fatal(err)
		}
		if got := outcome(result)["next"]; got != test.want {
			t.Errorf("next to a pod that is %s the next one is on %q, want %q", test.old.Status.Phase, got, test.want)
		}
	}
}

// The urgent pod comes first and preempts the low one. When the pod after it is tried, the low pod is gone, or Terminating if pods take
// time to end.
func TestBeforeAPodTheVictimsAreGone(t *testing.T) {
	for seconds, want := range map[int64][]string{0: {"last", "urgent n"}, 1: {"last", "low n ends", "urgent"}} {
		last := pod("last", "1", 0)
		urgent := pod("urgent", "8", 1000)
		state := *(&cluster.State{Now: cluster.Epoch}).With(node("n", nil), running(pod("low", "8", 1), "n"), urgent, last)
		state.TerminationSeconds = seconds
		engine := newEngine(t, Ties{})
		engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{Before: true} }
		result, err := engine.Place(t.Context(), &state, state.Unscheduled())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, pending := range result.Pending {
			if pending.Pod.Name != "last" {
				continue
			}
			for _, pod := range pending.Cycle.Before.Pods {
				says := pod.Name
				if pod.Spec.NodeName != "" {
					says += " " + pod.Spec.NodeName
				}
				if pod.DeletionTimestamp != nil {
					says += " ends"
				}
				got = append(got, says)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("termination in %d s (-want +got):\n%s", seconds, diff)
		}
	}
}

// No two pods start at the same time, although a dump has whole seconds and the engine places a pod within one of them. If two pods did,
// upstream would preempt the one that comes first in a map.
func TestNoTwoPodsStartAtOnce(t *testing.T) {
	given, placed := running(pod("given", "1", 0), "w1"), pod("placed", "1", 0)
	state := walkthrough().With(given, placed)
	engine := newEngine(t, Ties{})
	result, err := engine.Place(t.Context(), state, []*v1.Pod{placed})
	if err != nil || len(result.Placed) != 1 {
		t.Fatal(result, err)
	}
	was, is := engine.bound[cluster.NameOf(given)].Status.StartTime, result.Placed[0].Pod.Status.StartTime
	if !was.Time.Before(is.Time) {
		t.Errorf("the pod of the dump started at %v, the one placed at %v", was.Time, is.Time)
	}
}
