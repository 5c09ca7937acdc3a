package outcome

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// chiSquared returns the probability that the counts of independent draws deviate at least this much from the counts that the probabilities
// predict: Pearson's test. The probabilities are above 0 and add up to 1. Outcomes with an expected total count below one are merged, the
// rarest first, since the test is not valid for them. With a single outcome the result is 1.
func chiSquared(counts, probabilities []float64) float64 {
	n := 0.0
	order := make([]int, len(counts))
	for i := range counts {
		n += counts[i]
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(probabilities[a], probabilities[b]) })
	var observed, expected []float64
	var seen, want float64
	for _, i := range order {
		seen, want = seen+counts[i], want+n*probabilities[i]
		if want >= 1 {
			observed, expected = append(observed, seen), append(expected, want)
			seen, want = 0, 0
		}
	}
	if want > 0 && len(expected) > 0 { // all of them together are rare
		observed[0] += seen
		expected[0] += want
	}
	if len(expected) < 2 {
		return 1
	}
	return distuv.ChiSquared{K: float64(len(expected) - 1)}.Survival(stat.ChiSquare(observed, expected))
}

// 60 of 100 tosses of a fair coin deviate by (10² + 10²)/50 = 4, which has a probability of 4.55 %.
func TestChiSquared(t *testing.T) {
	if got := chiSquared([]float64{60, 40}, []float64{0.5, 0.5}); math.Abs(got-0.0455) > 0.0001 {
		t.Errorf("got %g, want 0.0455", got)
	}
	if got := chiSquared([]float64{30}, []float64{1}); got != 1 {
		t.Errorf("a single outcome: got %g, want 1", got)
	}
}
