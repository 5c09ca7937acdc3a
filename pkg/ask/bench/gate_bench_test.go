package bench

import (
	"context"
	"testing"
	"time"

	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/simulation"
)

// BenchmarkGate compares this program with itself and with a program that takes 30 % more CPU time, and counts the alarms: the first
// comparison should never raise one, the second always. -benchtime 20x makes twenty of each.
func BenchmarkGate(b *testing.B) {
	loaded, err := loader.Load("../../../scenarios/zone-failure", loader.Options{})
	if err != nil {
		b.Fatal(err)
	}
	run := func(ctx context.Context) (work, error) {
		result, err := simulation.Run(ctx, loaded, simulation.Options{})
		if err != nil {
			return work{}, err
		}
		return work{pods: countAttempts(result)}, nil
	}
	for _, program := range []struct {
		name   string
		slower float64
	}{{"same", 0}, {"slower=30%", 0.3}} {
		b.Run(program.name, func(b *testing.B) {
			ctx := context.Background()
			alarms := 0
			for b.Loop() {
				before, err := newMeter(ctx, run, realClock)
				if err != nil {
					b.Fatal(err)
				}
				baseline, err := before.Samples(ctx, 10)
				if err != nil {
					b.Fatal(err)
				}
				after, err := newMeter(ctx, slowDown(run, program.slower), realClock)
				if err != nil {
					b.Fatal(err)
				}
				verdict, err := after.Compare(ctx, baseline, 10, 0.1)
				if err != nil {
					b.Fatal(err)
				}
				b.Logf("change %+.1f%%, p %.3f, noise %.1f%%, %d rounds, slower %t",
					100*verdict.Change, verdict.P, 100*verdict.Noise, verdict.Rounds, verdict.Slower)
				if verdict.Slower {
					alarms++
				}
			}
			b.ReportMetric(float64(alarms)/float64(b.N), "alarms/op")
		})
	}
}

// slowDown returns a run that keeps the CPU busy for that fraction of its time after it has ended.
func slowDown(run func(context.Context) (work, error), part float64) func(context.Context) (work, error) {
	return func(ctx context.Context) (work, error) {
		began := cpuTime()
		done, err := run(ctx)
		for end := cpuTime() + time.Duration(part*float64(cpuTime()-began)); cpuTime() < end; {
		}
		return done, err
	}
}
