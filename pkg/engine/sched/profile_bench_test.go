package sched

import (
	"context"
	"testing"
)

// BenchmarkSoftAntiAffinity places 2,000 pods that prefer to be apart on 1,000 nodes. Its profile shows the share of time in our own code.
func BenchmarkSoftAntiAffinity(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		engine, state := perfWorld(b, perfCase{}, "kept", 1000, 0)
		pods := perfPods(avoiding, "sched-1", 2000)
		state = withPlacedPods(state, pods)
		b.StartTimer()
		if _, err := engine.Place(context.Background(), state, pods); err != nil {
			b.Fatal(err)
		}
		engine.Close()
	}
	b.ReportMetric(float64(2000*b.N)/b.Elapsed().Seconds(), "pods/s")
}
