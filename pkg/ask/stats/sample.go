package stats

import (
	"sort"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Quantile returns the smallest value of the sorted, non-empty sample such that at least the fraction p of the sample is not larger.
func Quantile(sorted []float64, p float64) float64 {
	return stat.Quantile(p, stat.Empirical, sorted, nil)
}

// MedianInterval returns an interval that contains the median of the distribution behind the sorted sample with at least the confidence,
// such as 0.95, whatever the distribution is. Its bounds are two order statistics of the sample, where each draw is below the median with
// probability one half. Samples that are too small give their extremes.
func MedianInterval(sorted []float64, confidence float64) (low, high float64) {
	n := len(sorted)
	below := distuv.Binomial{N: float64(n), P: 0.5}
	// At most k draws are below the median with at most half of the remaining probability.
	k := sort.Search(n, func(k int) bool { return below.CDF(float64(k)) > (1-confidence)/2 })
	k = min(max(k, 1), (n+1)/2)
	return sorted[k-1], sorted[n-k]
}
