package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/deciders/kit/replay"
)

// observed is what the real descheduler did in a run.
type observed struct {
	Evicted        int            `json:"evicted"`
	EvictedByNode  map[string]int `json:"evicted_by_node"`
	End            map[string]int `json:"end"`
	EvictedByRound []int          `json:"evicted_by_round"`
}

// The folders of testdata/recordings are runs of the real program on a real control plane, as scenarios: what was equal in all its runs must come
// out. Which of two equal nodes of a zone a pod leaves is chance, so nodes are counted by zone, the third-last letter of such a name.
func TestRecordings(t *testing.T) {
	simulate, decider := replay.Build(t)
	folders, err := filepath.Glob("testdata/recordings/*")
	if err != nil || len(folders) < 7 {
		t.Fatalf("%v: %v", folders, err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			report := replay.RunJSON(t, simulate, "run", folder, "--decider", "descheduler="+decider)
			got := observe(report)
			runs := map[string]observed{}
			data, err := os.ReadFile(filepath.Join(folder, "observed.json"))
			if err == nil {
				err = json.Unmarshal(data, &runs)
			}
			if err != nil {
				t.Fatal(err)
			}
			loops := strings.HasSuffix(folder, "-loop")
			if cycle := report.Steps[len(report.Steps)-1].Decided; loops && (len(cycle) == 0 || cycle[0].Cycle == nil || cycle[0].Cycle.EverySeconds != 6) {
				t.Errorf("no cycle of 6 s is found: %+v", cycle)
			}
			for _, want := range runs {
				want.End, want.EvictedByNode = byZone(want.End), byZone(want.EvictedByNode)
				rounds := want.EvictedByRound
				for len(rounds) > 0 && (rounds[len(rounds)-1] == 0 || loops && len(rounds) > len(got.EvictedByRound)) {
					rounds = rounds[:len(rounds)-1]
				}
				if want.EvictedByRound = rounds; loops { // the recording was ended, and which of the equal pods go is chance
					want.Evicted, want.EvictedByNode = got.Evicted, got.EvictedByNode
				}
				if len(rounds) == 0 {
					want.EvictedByRound = nil
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the real descheduler (-), ours (+):\n%s", diff)
				}
			}
		})
	}
}

// observe returns what the last step of a run shows.
func observe(report *replay.Report) observed {
	last := report.Steps[len(report.Steps)-1]
	got := observed{EvictedByNode: map[string]int{}, End: map[string]int{}}
	for _, pod := range last.Pods {
		got.End[pod.Node]++
	}
	for _, did := range last.Decided {
		for _, act := range did.Acts {
			if act.Verb != "evict" || act.Refused != "" {
				continue
			}
			for len(got.EvictedByRound) < act.Round {
				got.EvictedByRound = append(got.EvictedByRound, 0)
			}
			got.EvictedByRound[act.Round-1]++
			got.Evicted++
			got.EvictedByNode[act.Node]++
		}
	}
	got.End, got.EvictedByNode = byZone(got.End), byZone(got.EvictedByNode)
	return got
}

// byZone joins the numbers of the nodes of a zone, such as node-a1 and node-a2, and leaves out zeros.
func byZone(nodes map[string]int) map[string]int {
	zones := map[string]int{}
	for name, n := range nodes {
		if n == 0 {
			continue
		}
		if end := strings.TrimPrefix(name, "node-"); len(end) == 2 && end[0] >= 'a' {
			name = end[:1]
		}
		zones[name] += n
	}
	return zones
}

// The same scenario and seed give the same bytes, although the plugins iterate over maps.
func TestSameBytes(t *testing.T) {
	simulate, decider := replay.Build(t)
	const folder = "testdata/recordings/04-topology-spread-soft"
	first := replay.Run(t, simulate, "run", folder, "--decider", "descheduler="+decider, "-o", "json")
	for range 5 {
		if again := replay.Run(t, simulate, "run", folder, "--decider", "descheduler="+decider, "-o", "json"); string(again) != string(first) {
			t.Fatal("another run has another answer")
		}
	}
}

// rebalance --policy says what the descheduler makes of a cluster, and refuses what it refuses.
func TestRebalance(t *testing.T) {
	simulate, decider := replay.Build(t)
	out := string(replay.Run(t, simulate, "rebalance", "testdata/skewed.yaml", "--policy", "testdata/recordings/04-topology-spread-soft/policy.yaml", "--decider", "descheduler="+decider))
	const want = "4 pods are evicted in 1 round, none lands on the node that it left; 4 pods beyond an even spread over zones, 0 after it."
	if first, _, _ := strings.Cut(out, "\n"); first != want {
		t.Errorf("got  %s\nwant %s", first, want)
	}
}
