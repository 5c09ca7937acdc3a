package stats

// Convolve returns the distribution of the sum of two independent counts. Index i of each slice is the probability of the count
// i; neither slice is empty.
func Convolve(a, b []float64) []float64 {
	if len(a) > len(b) {
		a, b = b, a // the longer slice in the inner loop
	}
	sum := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		if x == 0 {
			continue
		}
		at := sum[i : i+len(b)]
		for j, y := range b {
			at[j] += x * y
		}
	}
	return sum
}
