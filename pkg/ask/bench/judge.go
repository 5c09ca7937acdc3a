package bench

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/perf/benchmath"
)

// Verdict is the result of a comparison.
type Verdict struct {
	// Old and New are the median CPU times of a run; the calibration scales Old to the present speed of the machine. Change is the increase
	// from Old to New, as a fraction of Old.
	Old, New time.Duration
	Change   float64
	// OldPods and NewPods are the medians of Sample.Pods. If they differ, the scenario has changed, so the times cannot be compared.
	OldPods, NewPods float64
	// P is the probability that samples this different come from equally fast programs, by the Mann-Whitney U test.
	P float64
	// Noise is the largest expected difference between two measurements of the same program, as a fraction; see [noise].
	Noise float64
	// Limit is the increase, as a fraction, that a regression must exceed: the larger of the allowed increase and Noise.
	Limit float64
	// Slower means that the program is slower by more than Limit, significantly, and that a second round of measurements confirmed it.
	Slower bool
	// Rounds is the number of rounds of measurements: 1, or 2 if the first round seemed slower.
	Rounds int
}

// Compare measures the scenario 2*count times, and decides whether it is slower than the old samples by more than allowed, a fraction of at
// least 0. It reports a regression only if all of this holds:
//
//   - The new scores are significantly above the old scores times 1+limit. That is, the lower confidence bound of the
//     ratio exceeds the limit, for the interval that belongs to the test; a median alone could exceed it by luck.
//   - The limit is at least the difference between measurements of this same program now, so that a noisy machine raises no alarm.
//   - A second round of measurements gives the same result, so that a burst of other work raises no alarm.
func (m *Meter) Compare(ctx context.Context, old []Sample, count int, allowed float64) (Verdict, error) {
	return compareInRounds(old, allowed, func() ([]Sample, error) { return m.Samples(ctx, 2*count) })
}

// maxRounds is the number of rounds that must agree that a program is slower.
const maxRounds = 2

func compareInRounds(old []Sample, allowed float64, measure func() ([]Sample, error)) (Verdict, error) {
	var verdict Verdict
	for round := 1; round <= maxRounds; round++ {
		current, err := measure()
		if err != nil {
			return Verdict{}, err
		}
		verdict = judgeSamples(old, current, allowed)
		verdict.Rounds = round
		if !verdict.Slower {
			break
		}
	}
	return verdict, nil
}

func judgeSamples(old, current []Sample, allowed float64) Verdict {
	before, now := scores(old, 1), scores(current, 1)
	v := Verdict{Change: median(now)/median(before) - 1, P: benchmath.AssumeNothing.Compare(before, now).P, Noise: noise(now.Values)}
	v.Limit = max(allowed, v.Noise)
	bound := scores(old, 1+v.Limit)
	v.Slower = median(now) > median(bound) && significant(benchmath.AssumeNothing.Compare(bound, now).P)

	speed := median(sampleFigures(current, func(s *Sample) float64 { return float64(s.Calibration) }))
	v.Old, v.New = time.Duration(median(before)*speed), time.Duration(median(now)*speed)
	pods := func(s *Sample) float64 { return s.Pods }
	v.OldPods, v.NewPods = median(sampleFigures(old, pods)), median(sampleFigures(current, pods))
	return v
}

func significant(p float64) bool { return p < benchmath.DefaultThresholds.CompareAlpha }

// EnoughSamples reports whether so many old and new samples could differ significantly at all: 3 and 3 samples cannot, since the most extreme of
// their 20 orders have a probability of 2/20.
func EnoughSamples(old, current int) bool {
	// The probability of the most extreme of all orders, in either direction.
	ways := 1.0
	for i := 1; i <= old; i++ {
		ways *= float64(current+i) / float64(i)
	}
	return significant(2 / ways)
}

// noise is an A/A test: it splits the scores of one program randomly into two halves a thousand times, and returns the fraction by which
// the medians of the halves differ at most in 95 % of the splits.
func noise(scores []float64) float64 {
	random := rand.New(rand.NewPCG(1, 1))
	mixed := slices.Clone(scores)
	half := func(scores []float64) float64 {
		return median(benchmath.NewSample(slices.Clone(scores), &benchmath.DefaultThresholds))
	}
	ratios := make([]float64, 1000)
	for i := range ratios {
		random.Shuffle(len(mixed), func(a, b int) { mixed[a], mixed[b] = mixed[b], mixed[a] })
		a, b := half(mixed[:len(mixed)/2]), half(mixed[len(mixed)/2:])
		ratios[i] = max(a/b, b/a) - 1
	}
	slices.Sort(ratios)
	return ratios[len(ratios)*95/100]
}

// scores returns the samples' scores, each times the factor.
func scores(samples []Sample, factor float64) *benchmath.Sample {
	return sampleFigures(samples, func(s *Sample) float64 { return factor * s.Score() })
}

func sampleFigures(samples []Sample, figure func(*Sample) float64) *benchmath.Sample {
	values := make([]float64, len(samples))
	for i := range samples {
		values[i] = figure(&samples[i])
	}
	return benchmath.NewSample(values, &benchmath.DefaultThresholds)
}

func median(s *benchmath.Sample) float64 { return benchmath.AssumeNothing.Summary(s, 0.95).Center }
