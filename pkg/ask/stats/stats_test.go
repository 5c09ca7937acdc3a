package stats_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/faultline/faultline/pkg/ask/stats"
)

var approximately = cmpopts.EquateApprox(1e-12, 0)

func TestConvolve(t *testing.T) {
	for _, test := range []struct {
		name       string
		a, b, want []float64
	}{
		{"nothing and a coin", []float64{1}, []float64{0.5, 0.5}, []float64{0.5, 0.5}},
		{"two coins", []float64{0.5, 0.5}, []float64{0.5, 0.5}, []float64{0.25, 0.5, 0.25}},
		{"a coin and none-or-two", []float64{0.5, 0.5}, []float64{0.75, 0, 0.25}, []float64{0.375, 0.375, 0.125, 0.125}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, stats.Convolve(test.a, test.b), approximately); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(test.want, stats.Convolve(test.b, test.a), approximately); diff != "" {
				t.Errorf("the other way round (-want +got)\n%s", diff)
			}
		})
	}
}

func TestConvolveCoinsIsBinomial(t *testing.T) {
	const n, p = 40, 0.03
	got := []float64{1}
	for range n {
		got = stats.Convolve(got, []float64{1 - p, p})
	}
	var want []float64
	for k := range n + 1 {
		want = append(want, distuv.Binomial{N: n, P: p}.Prob(float64(k)))
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// With z = 1.95996 the bounds are the roots of (p̂ - p)² = z²·p(1-p)/n; for none of n they are 0 and z²/(n+z²).
func TestWilson(t *testing.T) {
	for _, test := range []struct {
		p         stats.Proportion
		low, high float64
	}{
		{stats.Proportion{Successes: 4, N: 20}, 0.08066, 0.41602},
		{stats.Proportion{Successes: 0, N: 10}, 0, 0.27753},
		{stats.Proportion{Successes: 10, N: 10}, 0.72247, 1},
	} {
		low, high := test.p.Wilson(0.95)
		if diff := cmp.Diff([]float64{test.low, test.high}, []float64{low, high}, cmpopts.EquateApprox(0, 5e-6)); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", test.p, diff)
		}
	}
}

func uniformTrial() func(*rand.Rand) float64 { return (*rand.Rand).Float64 }

func TestTrialsAreTheSameOnAnyNumberOfWorkers(t *testing.T) {
	const n = 3*256 + 7
	want, err := stats.Trials(context.Background(), n, 1, 1, uniformTrial)
	if err != nil {
		t.Fatal(err)
	}
	for _, procs := range []int{1, 8} {
		before := runtime.GOMAXPROCS(procs)
		got, err := stats.Trials(context.Background(), n, 1, 0, uniformTrial)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("other results at GOMAXPROCS %d", procs)
		}
	}
	other, err := stats.Trials(context.Background(), n, 2, 1, uniformTrial)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(other, want) {
		t.Error("seeds 1 and 2 give the same")
	}
}

// The first draws of the trials must be as good as one generator's stream: spread evenly, and unrelated to each other.
func TestTrialsAreIndependent(t *testing.T) {
	const n, buckets = 100_000, 10
	for seed := range uint64(5) {
		draws, err := stats.Trials(context.Background(), n, seed, 2, uniformTrial)
		if err != nil {
			t.Fatal(err)
		}
		pairs := make([]float64, buckets*buckets)
		for i := 1; i < n; i++ {
			pairs[int(draws[i-1]*buckets)*buckets+int(draws[i]*buckets)]++
		}
		var distance float64
		for _, count := range pairs {
			expected := float64(n-1) / float64(len(pairs))
			distance += (count - expected) * (count - expected) / expected
		}
		chance := distuv.ChiSquared{K: float64(len(pairs) - 1)}.Survival(distance)
		if chance < 0.001 {
			t.Errorf("seed %d: pairs of neighbours are unevenly spread, with chance %g", seed, chance)
		}
	}
}

func TestTrialsEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if results, err := stats.Trials(ctx, 1000, 1, 2, uniformTrial); !errors.Is(err, context.Canceled) || results != nil {
		t.Errorf("got %d results and error %v, want none and %v", len(results), err, context.Canceled)
	}
	if results, err := stats.Trials(context.Background(), 0, 1, 2, uniformTrial); err != nil || len(results) != 0 {
		t.Errorf("no trials: got %v, %v", results, err)
	}
}

func TestGeometric(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		if got := stats.Geometric(r, 1); got != 0 {
			t.Fatalf("p 1: %d failures before a success", got)
		}
		if got := stats.Geometric(r, 0); got != math.MaxInt32 {
			t.Fatalf("p 0: a success after %d failures", got)
		}
	}
	const p, draws = 0.3, 100_000
	counts := make([]float64, 10)
	for range draws {
		if k := stats.Geometric(r, p); k < len(counts) {
			counts[k]++
		}
	}
	for k, count := range counts {
		share := p * math.Pow(1-p, float64(k))
		// Five standard deviations.
		if math.Abs(count-draws*share) > 5*math.Sqrt(draws*share*(1-share)) {
			t.Errorf("%d failures: %g of %d draws, want about %g", k, count, draws, draws*share)
		}
	}
}
