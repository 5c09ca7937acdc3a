package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Proportion is the number of successes in a number of independent trials.
type Proportion struct{ Successes, N int }

// Value returns the fraction of successes, between 0 and 1; N must not be 0.
func (p Proportion) Value() float64 { return float64(p.Successes) / float64(p.N) }

// Wilson returns the bounds of the Wilson score interval for the probability behind the proportion. Unlike the textbook interval around the
// mean, it is also valid for rare events: nothing in n trials does not mean never. The confidence is between 0 and 1, such as 0.95. See
// https://doi.org/10.1080/01621459.1927.10502953.
func (p Proportion) Wilson(confidence float64) (low, high float64) {
	n, share := float64(p.N), p.Value()
	z := distuv.UnitNormal.Quantile((1 + confidence) / 2)
	middle := share + z*z/(2*n)
	reach := z * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	low, high = (middle-reach)/(1+z*z/n), (middle+reach)/(1+z*z/n)
	// The bounds are exactly 0 and 1 in theory, but not always after rounding.
	if p.Successes == 0 {
		low = 0
	}
	if p.Successes == p.N {
		high = 1
	}
	return low, high
}
