package blast_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/blast"
)

// Each harm is worse than the next in the number that counts before all others.
func TestHarmCompares(t *testing.T) {
	want := []blast.Harm{
		{Budgets: 1},
		{Quorums: 1, Whole: 9, Gone: 9, Down: 9, Excess: 1, Share: 1, Pods: 9},
		{Whole: 1, Gone: 9, Down: 9, Excess: 1, Share: 1, Pods: 9},
		{Gone: 1, Excess: 1, Share: 1, Down: 9, Pods: 9},
		{Excess: 0.5, Share: 1, Down: 9, Pods: 9},
		{Share: 1, Down: 1, Pods: 9},
		{Share: 0.5, Down: 1, Pods: 9},
		{Share: 0.5, Pods: 10},
		{Share: 0.5, Pods: 9},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, blast.Harm.Compare)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A workload with one replica counts only as down, unless its quorum is lost. A workload with 3 replicas loses all of them, where an even
// spread loses 1.
func TestHarmAddsLosses(t *testing.T) {
	var got blast.Harm
	got.AddLoss(&blast.Loss{Replicas: 1, Lost: 1, Even: 1})
	got.AddLoss(&blast.Loss{Replicas: 1, Lost: 1, Even: 1, Quorum: 1, QuorumLost: true})
	got.AddLoss(&blast.Loss{Replicas: 3, Lost: 3, Even: 1})
	got.AddLoss(&blast.Loss{Replicas: 2, Lost: 1, Even: 1})
	if diff := cmp.Diff(blast.Harm{Quorums: 1, Whole: 1, Down: 3, Excess: 2. / 3, Share: 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
