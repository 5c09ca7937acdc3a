package stats_test

import (
	"testing"

	"github.com/faultline/faultline/pkg/ask/stats"
)

func TestQuantile(t *testing.T) {
	sample := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for p, want := range map[float64]float64{0.5: 5, 0.95: 10, 0.9: 9, 1: 10} {
		if got := stats.Quantile(sample, p); got != want {
			t.Errorf("quantile %g is %g, want %g", p, got, want)
		}
	}
}

// The number of ten draws below the median is at most one with probability (1+10)/1024 = 1.1 %, and at most two with 5.5 %. So the second
// and the ninth draw contain the median with more than 95 %, and the third and the eighth do not.
func TestMedianInterval(t *testing.T) {
	sample := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	if low, high := stats.MedianInterval(sample, 0.95); low != 2 || high != 9 {
		t.Errorf("%g to %g, want 2 to 9", low, high)
	}
	if low, high := stats.MedianInterval([]float64{3}, 0.95); low != 3 || high != 3 {
		t.Errorf("of one: %g to %g, want 3 to 3", low, high)
	}
}
