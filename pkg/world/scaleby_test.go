package world

import "testing"

func TestTimes(t *testing.T) {
	for _, test := range []struct {
		replicas int32
		factor   float64
		want     int32
	}{
		{5, 1.2, 6},
		{1, 1.2, 2},   // rounded up
		{10, 1.1, 11}, // 11.000000000000002 in floating point
		{3, 0.5, 2},
		{0, 1.2, 0},
		{1 << 30, 1000, 1<<31 - 1},
	} {
		if got := multiplyReplicas(test.replicas, test.factor); got != test.want {
			t.Errorf("%d times %v is %d, want %d", test.replicas, test.factor, got, test.want)
		}
	}
}
