package outcome

import (
	"fmt"
	"testing"

	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

func walkthrough(tb testing.TB) *scenario.Scenario {
	tb.Helper()
	s, err := loader.Load("../../../scenarios/kind-walkthrough", loader.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func BenchmarkExactWalkthrough(b *testing.B) {
	s := walkthrough(b)
	for b.Loop() {
		if _, err := RunExact(b.Context(), s, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTrials runs a hundred trials of the walkthrough.
func BenchmarkTrials(b *testing.B) {
	s := walkthrough(b)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			for b.Loop() {
				if _, err := RunTrials(b.Context(), s, 100, 0, Options{Workers: workers}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/trial")
		})
	}
}
