package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"
)

// Each node has the points of three plugins A, B and C; the first node is the chosen one. The sums are computed by hand.
func TestDeciders(t *testing.T) {
	type decision struct {
		Deciders []string
		Together bool
		Without  int
		Verdict  string
	}
	for name, test := range map[string]struct {
		nodes map[string][3]int64
		want  decision
	}{
		"all equal": {map[string][3]int64{"n1": {1, 2, 3}, "n2": {2, 2, 2}}, decision{Verdict: "Chance decided: all 2 nodes that take it have the same score."}},
		// Without A, n2 has 5 points and n1 4. Without B, n1 has 12 to 3.
		"one, against another": {map[string][3]int64{"n1": {10, 2, 2}, "n2": {1, 3, 2}},
			decision{[]string{"A"}, false, 1, "A decided alone: n1 is 8 points ahead of n2, +9 by A and -1 by B."}},
		// 12 to 10. Without A it is 6 to 8, and without B 6 to 8: C alone would choose n2.
		"two, which both were needed": {map[string][3]int64{"n1": {6, 6, 0}, "n2": {2, 2, 6}},
			decision{[]string{"A", "B"}, false, 1, "A and B decided, neither without the other: n1 is 2 points ahead of n2, +4 by A, +4 by B and -6 by C."}},
		// 11 to 6 and 6. Without A it is 6 to 1 and 6: a tie opens, so A decides. Without B it is 6 to 6 and 1.
		"each opens a tie with another node": {map[string][3]int64{"n1": {5, 5, 1}, "n2": {5, 0, 1}, "n3": {0, 5, 1}},
			decision{[]string{"A", "B"}, false, 2, "A and B decided, neither without the other: n1 is 5 points ahead of n2."}},
		// 12 to 2. Without A 7 to 2, without B 7 to 2, and without both 2 to 2.
		"two agree": {map[string][3]int64{"n1": {5, 5, 2}, "n2": {0, 0, 2}},
			decision{[]string{"A", "B"}, true, 2, "A and B decided together: n1 is 10 points ahead of n2, +5 by A and +5 by B. Without only one of them it would be the same."}},
		// 15 to 5. n1 leads by 6, 5 and -1. Without A and B, n2 has 3 points and n1 2.
		"two agree against a third": {map[string][3]int64{"n1": {7, 6, 2}, "n2": {1, 1, 3}},
			decision{[]string{"A", "B"}, true, 1, "A and B decided together: n1 is 10 points ahead of n2, +6 by A, +5 by B and -1 by C. Without only one of them it would be the same."}},
		// 9 to 3. Any two leave 3 to 1.
		"three agree": {map[string][3]int64{"n1": {3, 3, 3}, "n2": {1, 1, 1}},
			decision{[]string{"A", "B", "C"}, true, 2, "A, B and C decided together: n1 is 6 points ahead of n2, +2 by A, +2 by B and +2 by C. Without only one of them it would be the same."}},
		// n1 leads n2 by 2, 2 and 2, and n3 by 5, 3 and -1. Without A and B, n3 has 1 point more than n1, and n2 2 fewer.
		"fewer plugins put it ahead of the third node than of the second": {map[string][3]int64{"n1": {6, 4, 3}, "n2": {4, 2, 1}, "n3": {1, 1, 4}},
			decision{[]string{"A", "B"}, true, 1, "A and B decided together: n1 is 6 points ahead of n2, +2 by A, +2 by B and +2 by C. Without only one of them it would be the same."}},
		// n1 and n2 have 12 and differ in no plugin; n3 has 2.
		"two of three nodes are equal": {map[string][3]int64{"n1": {5, 5, 2}, "n2": {5, 5, 2}, "n3": {0, 0, 2}},
			decision{[]string{"A", "B"}, true, 3, "A and B decided together that n1 is one of 2 equal nodes, and chance which of them: n1 is 10 points ahead of n3, +5 by A and +5 by B. Without only one of them it would be the same."}},
	} {
		var nodes []fwk.NodePluginScores
		for _, node := range []string{"n1", "n2", "n3"} {
			points, has := test.nodes[node]
			if !has {
				continue
			}
			scores := fwk.NodePluginScores{Name: node}
			for i, plugin := range []string{"A", "B", "C"} {
				scores.Scores = append(scores.Scores, fwk.PluginScore{Name: plugin, Score: points[i]})
				scores.TotalScore += points[i]
			}
			nodes = append(nodes, scores)
		}
		d := decisionOf(nodes, "n1")
		if diff := cmp.Diff(test.want, decision{d.Deciders, d.Together, d.Without, d.Verdict("n1", nil)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
