package bench

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// machines are ways in which the scores of one program's attempts vary around 1. A call of a machine starts a new session on it, and
// returns a function for the next attempt's score.
var machines = map[string]func(*rand.Rand) func() float64{
	"quiet": func(r *rand.Rand) func() float64 {
		return func() float64 { return 1 + 0.005*r.NormFloat64() }
	},
	"gaussian": func(r *rand.Rand) func() float64 {
		return func() float64 { return 1 + 0.04*r.NormFloat64() }
	},
	// Other work on the machine disturbs one of ten attempts, which then takes up to half as long again.
	"heavy tail": func(r *rand.Rand) func() float64 {
		return func() float64 {
			score := 1 + 0.02*r.NormFloat64()
			if r.Float64() < 0.1 {
				score += 0.5 * r.Float64()
			}
			return score
		}
	},
	// The calibration does not cancel this difference between two sessions.
	"other session": func(r *rand.Rand) func() float64 {
		session := 1 + 0.03*max(-2, min(2, r.NormFloat64()))
		return func() float64 { return session * (1 + 0.03*r.NormFloat64()) }
	},
	// The machine steadily gets slower, by up to 6 % in a session.
	"drift": func(r *rand.Rand) func() float64 {
		slope, i := 0.06/24/attemptsPerSample*r.Float64(), -1.0
		return func() float64 {
			i++
			return (1 + slope*i) * (1 + 0.02*r.NormFloat64())
		}
	},
}

// TestCompareAlarms has 300 sessions on each machine: an unchanged program raises no alarm, and one that takes 30 % longer always does.
func TestCompareAlarms(t *testing.T) {
	const sessions = 300
	for name, machine := range machines {
		for slower, want := range map[float64]int{0: 0, 0.3: sessions} {
			alarms := 0
			for seed := range uint64(sessions) {
				if session(t, machine, seed, slower).Slower {
					alarms++
				}
			}
			if alarms != want {
				t.Errorf("%s, %.0f %% slower: %d alarms in %d sessions, want %d", name, 100*slower, alarms, sessions, want)
			}
		}
	}
}

// session makes a baseline of six samples, and compares it on another day with a program that is slower by that fraction.
func session(t *testing.T, machine func(*rand.Rand) func() float64, seed uint64, slower float64) Verdict {
	t.Helper()
	take := func(session func() float64, count int, factor float64) []float64 {
		samples := make([]float64, count)
		for i := range samples {
			samples[i] = math.Inf(1)
			for range attemptsPerSample {
				samples[i] = min(samples[i], session()*factor)
			}
		}
		return samples
	}
	r := rand.New(rand.NewPCG(seed, 7))
	old := take(machine(r), 6, 1)
	today := machine(r)
	verdict, err := compareInRounds(samples(old), 0.1, func() ([]Sample, error) { return samples(take(today, 12, 1+slower)), nil })
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

// samples returns samples with these scores, on a machine whose calibration takes 10 ms.
func samples(scores []float64) []Sample {
	made := make([]Sample, len(scores))
	for i, score := range scores {
		made[i] = Sample{Pods: 5, CPU: time.Duration(score * 1e7), Calibration: 1e7}
	}
	return made
}

var (
	even  = []float64{1, 1.01, 1.02, 1.03, 1.04, 1.05}
	twice = func(samples []float64) []float64 { return append(append([]float64(nil), samples...), samples...) }
)

func multiplyAll(samples []float64, factor float64) []float64 {
	scaled := make([]float64, len(samples))
	for i := range samples {
		scaled[i] = samples[i] * factor
	}
	return scaled
}

func TestCompare(t *testing.T) {
	for name, test := range map[string]struct {
		allowed float64
		rounds  [][]float64
		slower  bool
		ran     int
	}{
		"the same":                       {0.1, [][]float64{twice(even)}, false, 1},
		"a fifth slower, twice":          {0.1, [][]float64{multiplyAll(twice(even), 1.2), multiplyAll(twice(even), 1.2)}, true, 2},
		"a fifth slower, once":           {0.1, [][]float64{multiplyAll(twice(even), 1.2), twice(even)}, false, 2},
		"a fifth slower, and allowed":    {0.25, [][]float64{multiplyAll(twice(even), 1.2)}, false, 1},
		"slower than allowed by nothing": {0.1, [][]float64{multiplyAll(twice(even), 1.11)}, false, 1}, // not significantly
		"faster":                         {0, [][]float64{multiplyAll(twice(even), 0.5)}, false, 1},
		// Half of the measurements take twice as long as the others: the machine cannot show a fifth.
		"noise above the regression": {0.1, [][]float64{append(multiplyAll(even, 1.2), multiplyAll(even, 2.4)...)}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			round := 0
			got, err := compareInRounds(samples(even), test.allowed, func() ([]Sample, error) {
				round++
				return samples(test.rounds[round-1]), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if got.Slower != test.slower || got.Rounds != test.ran || round != test.ran {
				t.Errorf("slower %t after %d rounds, want %t after %d; %+v", got.Slower, got.Rounds, test.slower, test.ran, got)
			}
		})
	}
}

// TestJudge has figures computed by hand: the median scores are 1.025 and 1.23, and the machine's calibration, which took 10 ms then, takes
// 20 ms now. All 12 new scores are above all 6 old ones, which is 2 of the 18!/(6!12!) = 18,564 orders.
func TestJudge(t *testing.T) {
	current := samples(multiplyAll(twice(even), 1.2))
	for i := range current {
		current[i].Pods, current[i].CPU, current[i].Calibration = 7, 2*current[i].CPU, 2*current[i].Calibration
	}
	got := judgeSamples(samples(even), current, 0.1)
	if got.Noise <= 0 || got.Noise > 0.05 {
		t.Errorf("noise %g, where the largest and the smallest differ by 0.05", got.Noise)
	}
	got.Noise = 0
	got.Change, got.P = math.Round(got.Change*1e6)/1e6, math.Round(got.P*1e6)/1e6
	got.Old, got.New = got.Old.Round(time.Microsecond), got.New.Round(time.Microsecond)
	want := Verdict{
		Old: 20500 * time.Microsecond, New: 24600 * time.Microsecond, Change: 0.2, P: 0.000108, OldPods: 5, NewPods: 7, Limit: 0.1, Slower: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNoise has samples that do not vary, and two kinds of samples of which a half can have only one kind: then the medians are of three
// ones and of three twos.
func TestNoise(t *testing.T) {
	for _, test := range []struct {
		samples []float64
		want    float64
	}{
		{[]float64{2, 2, 2, 2, 2, 2}, 0},
		{[]float64{1, 1, 1, 2, 2, 2}, 1},
	} {
		if got := noise(test.samples); got != test.want {
			t.Errorf("%v: noise %g, want %g", test.samples, got, test.want)
		}
	}
}

// TestEnough: 3 and 3 samples have 20 orders, the two most extreme of which have a probability of 0.1; 3 and 6 have 84 orders and 0.02.
func TestEnough(t *testing.T) {
	for _, test := range []struct {
		old, current int
		want         bool
	}{{3, 3, false}, {4, 4, true}, {3, 6, true}, {6, 12, true}, {1, 12, false}, {1, 38, false}, {1, 40, true}, {6, 2, false}, {0, 12, false}} {
		if got := EnoughSamples(test.old, test.current); got != test.want {
			t.Errorf("%d and %d: %t, want %t", test.old, test.current, got, test.want)
		}
	}
}
