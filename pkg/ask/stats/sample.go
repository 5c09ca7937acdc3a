package stats

import (
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// ChiSquared returns the probability that counts of independent draws deviate at least this much from what the probabilities predict:
// Pearson's test. The probabilities are above 0 and add up to 1. Outcomes with an expected total count below one are merged, the rarest
// first, since the test is not valid for them alone. With a single outcome the result is 1.
func ChiSquared(counts, probabilities []float64) float64 {
	n := 0.0
	order := make([]int, len(counts))
	for i := range counts {
		n += counts[i]
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case probabilities[a] < probabilities[b]:
			return -1
		case probabilities[a] > probabilities[b]:
			return 1
		}
		return 0
	})
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

// Quantile returns the smallest value of the sorted, non-empty sample such that at least the fraction p of it is no larger.
func Quantile(sorted []float64, p float64) float64 {
	return stat.Quantile(p, stat.Empirical, sorted, nil)
}

// MedianInterval returns an interval that contains the median of the distribution behind the sorted sample with at least the confidence,
// such as 0.95, whatever the distribution is. Its bounds are two order statistics of the sample, where each draw is below the median with
// probability one half. Samples that are too small give their extremes.
func MedianInterval(sorted []float64, confidence float64) (low, high float64) {
	n := len(sorted)
	below := distuv.Binomial{N: float64(n), P: 0.5}
	// At most that many draws are below the median with at most half of the remaining probability.
	k := sort.Search(n, func(k int) bool { return below.CDF(float64(k)) > (1-confidence)/2 })
	k = min(max(k, 1), (n+1)/2)
	return sorted[k-1], sorted[n-k]
}
