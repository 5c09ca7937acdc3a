package main

import "testing"

func TestGrowth(t *testing.T) {
	const mib = 1 << 20
	for _, test := range []struct{ before, live, want uint64 }{
		{0, 0, 400},
		{0, 30 * mib, 400},
		{30 * mib, 80 * mib, 220}, // the heap grows: 256 MiB in all
		{90 * mib, 128 * mib, 100},
		{30 * mib, 30 * mib, 400},
		{180 * mib, 200 * mib, 220}, // 640 MiB in all
		{200 * mib, 100 * mib, 400},
		{320 * mib, 320 * mib, 100},
		{1 << 40, 1 << 40, 100},
	} {
		if got := growthPercent(test.before, test.live); got != test.want {
			t.Errorf("growth(%d MiB, %d MiB) = %d, want %d", test.before/mib, test.live/mib, got, test.want)
		}
	}
}
