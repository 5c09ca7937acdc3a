package bench

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/perf/benchmath"
)

// Verdict is what a comparison found.
type Verdict struct {
	// Old and New are the median CPU times of a run, the old one as it would be at the speed that the machine has now, by the
	// calibration. Change is by how much New is more, as a part of Old.
	Old, New time.Duration
	Change   float64
	// OldPods and NewPods are the medians of Sample.Pods. A scenario that has changed is not the same work.
	OldPods, NewPods float64
	// P is the chance that samples as different as these come from equally fast programs, by the Mann-Whitney U test.
	P float64
	// Noise bounds by how much two measurements of this very program differ, as a part: see noise.
	Noise float64
	// Limit is what a regression must exceed: the larger of what is allowed and Noise.
	Limit float64
	// Slower tells that the program is slower by more than Limit, significantly so, and that a second round of measurements
	// said so too.
	Slower bool
	// Rounds is 1, or 2 where the first seemed slower.
	Rounds int
}

// Compare measures the scenario twice count times, and tells whether it is slower than the old samples by more than allowed, a
// part of at least 0. A regression is told only if
//
//   - the new scores are significantly above the old ones times 1+limit. That is to say, the lower confidence bound of the
//     ratio exceeds the limit, for the interval that belongs to the test; a median alone could exceed it by luck.
//   - The limit is at least what this program differs from itself, measured now, so that a noisy machine raises no alarm.
//   - All of it holds for a second round of measurements as well, so that a burst of other work raises none.
func (m *Meter) Compare(ctx context.Context, old []Sample, count int, allowed float64) (Verdict, error) {
	return compare(old, allowed, func() ([]Sample, error) { return m.Samples(ctx, 2*count) })
}

// rounds must agree that a program is slower.
const rounds = 2

func compare(old []Sample, allowed float64, measure func() ([]Sample, error)) (Verdict, error) {
	var verdict Verdict
	for round := 1; round <= rounds; round++ {
		current, err := measure()
		if err != nil {
			return Verdict{}, err
		}
		verdict = judge(old, current, allowed)
		verdict.Rounds = round
		if !verdict.Slower {
			break
		}
	}
	return verdict, nil
}

func judge(old, current []Sample, allowed float64) Verdict {
	before, now := scores(old, 1), scores(current, 1)
	v := Verdict{Change: median(now)/median(before) - 1, P: benchmath.AssumeNothing.Compare(before, now).P, Noise: noise(now.Values)}
	v.Limit = max(allowed, v.Noise)
	bound := scores(old, 1+v.Limit)
	v.Slower = median(now) > median(bound) && significant(benchmath.AssumeNothing.Compare(bound, now).P)

	speed := median(sampled(current, func(s *Sample) float64 { return float64(s.Calibration) }))
	v.Old, v.New = time.Duration(median(before)*speed), time.Duration(median(now)*speed)
	pods := func(s *Sample) float64 { return s.Pods }
	v.OldPods, v.NewPods = median(sampled(old, pods)), median(sampled(current, pods))
	return v
}

func significant(p float64) bool { return p < benchmath.DefaultThresholds.CompareAlpha }

// Enough tells whether so many old and new samples could differ significantly at all.
func Enough(old, current int) bool {
	// The most extreme of all orders, in both directions.
	ways := 1.0
	for i := 1; i <= old; i++ {
		ways *= float64(current+i) / float64(i)
	}
	return significant(2 / ways)
}

// noise is an A/A test: the scores of one program, divided into two halves by lot a thousand times. It returns by how much the
// halves' medians differ in all but one of twenty of these, as a part.
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

// scores are the samples' scores, each times the factor.
func scores(samples []Sample, factor float64) *benchmath.Sample {
	return sampled(samples, func(s *Sample) float64 { return factor * s.Score() })
}

func sampled(samples []Sample, figure func(*Sample) float64) *benchmath.Sample {
	values := make([]float64, len(samples))
	for i := range samples {
		values[i] = figure(&samples[i])
	}
	return benchmath.NewSample(values, &benchmath.DefaultThresholds)
}

func median(s *benchmath.Sample) float64 { return benchmath.AssumeNothing.Summary(s, 0.95).Center }
