package main

import "testing"

func TestGrowth(t *testing.T) {
	const mib = 1 << 20
	for _, test := range []struct{ before, live, want uint64 }{
		{0, 0, 200},
		{0, 30 * mib, 100}, // it is being filled
		{20 * mib, 30 * mib, 100},
		{30 * mib, 30 * mib, 200},
		{90 * mib, 100 * mib, 156}, // 256 MiB in all
		{100 * mib, 80 * mib, 200},
		{128 * mib, 128 * mib, 100},
		{1 << 40, 1 << 40, 100},
	} {
		if got := growth(test.before, test.live); got != test.want {
			t.Errorf("growth(%d MiB, %d MiB) = %d, want %d", test.before/mib, test.live/mib, got, test.want)
		}
	}
}
