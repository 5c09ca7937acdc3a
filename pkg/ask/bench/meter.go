package bench

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

const (
	// minAttempt is the minimum duration of a measurement attempt, in which a shorter scenario runs several times.
	minAttempt = 100 * time.Millisecond
	// attemptsPerSample is the number of attempts per measurement. Other work on the machine can only add to CPU time, through caches and memory, so the
	// minimum of three attempts varies half as much as one attempt.
	attemptsPerSample = 3
)

// Sample is one measurement, the best of three attempts by CPU time. All figures except Runs are per run of the scenario, averaged over the
// attempt's Runs in a row.
type Sample struct {
	Runs int
	// Pods counts the scheduling attempts that finished: in each step, the pods that got a node and still have it at the step's end, and the
	// pods that are Pending then.
	Pods float64
	// Wall is the elapsed time, and CPU the CPU time of the process on all cores, including the garbage collector.
	Wall, CPU time.Duration
	// Calibration is the minimum CPU time of the fixed work that is done before and after each attempt.
	Calibration   time.Duration
	Bytes, Allocs float64
	// Kept counts the scheduling cycles in which answers of plugins were reused, and Plain the other cycles.
	Kept, Plain float64
}

// Score returns the CPU time of a run in units of the calibration's.
func (s *Sample) Score() float64 { return s.CPU.Seconds() / s.Calibration.Seconds() }

// Meter measures one scenario. It measures the whole process, so nothing else may run meanwhile.
type Meter struct {
	run   func(context.Context) (work, error)
	clock clock
	runs  int // per measurement
}

// work counts what a run has done.
type work struct {
	pods   int
	cycles sched.Cycles
}

// clock holds the clocks of a Meter.
type clock struct {
	wall      func() time.Time
	cpu       func() time.Duration // CPU time of the process so far
	calibrate func() time.Duration
}

var realClock = clock{wall: time.Now, cpu: cpuTime, calibrate: calibrate}

// NewMeter runs the scenario once or twice, to warm up and to measure how long it takes.
func NewMeter(ctx context.Context, s *scenario.Scenario) (*Meter, error) {
	return newMeter(ctx, func(ctx context.Context) (work, error) {
		result, err := simulation.Run(ctx, s, simulation.Options{})
		if err != nil {
			return work{}, fmt.Errorf("%s: %w", s.Name, err)
		}
		return work{countAttempts(result), result.Cycles}, nil
	}, realClock)
}

func newMeter(ctx context.Context, run func(context.Context) (work, error), by clock) (*Meter, error) {
	m := &Meter{run: run, clock: by, runs: 1}
	by.calibrate()
	var took time.Duration
	// The first run of a process takes more than twice as long as the next, which would make measurements too short.
	for range 2 {
		began := by.wall()
		if _, err := run(ctx); err != nil {
			return nil, err
		}
		if took = by.wall().Sub(began); took >= minAttempt {
			break
		}
	}
	m.runs = int(math.Ceil(float64(minAttempt) / float64(took)))
	return m, nil
}

// countAttempts counts the scheduling attempts that finished; see Sample.Pods.
func countAttempts(result *simulation.Result) int {
	var pods int
	for i := range result.Steps {
		pods += len(result.Steps[i].Placed) + len(result.Steps[i].Pending)
	}
	return pods
}

// Sample makes one measurement.
func (m *Meter) Sample(ctx context.Context) (Sample, error) {
	var best Sample
	calibration := m.clock.calibrate()
	for attempt := range attemptsPerSample {
		sample, err := m.measureRuns(ctx)
		if err != nil {
			return Sample{}, err
		}
		calibration = min(calibration, m.clock.calibrate())
		if attempt == 0 || sample.CPU < best.CPU {
			best = sample
		}
	}
	best.Calibration = calibration
	return best, nil
}

func (m *Meter) measureRuns(ctx context.Context) (Sample, error) {
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	var done work
	cpu, began := m.clock.cpu(), m.clock.wall()
	for range m.runs {
		run, err := m.run(ctx)
		if err != nil {
			return Sample{}, err
		}
		done.pods += run.pods
		done.cycles.Kept += run.cycles.Kept
		done.cycles.Plain += run.cycles.Plain
	}
	wall, used := m.clock.wall().Sub(began), m.clock.cpu()-cpu
	runtime.ReadMemStats(&end)
	runs := float64(m.runs)
	return Sample{
		Runs:   m.runs,
		Pods:   float64(done.pods) / runs,
		Wall:   wall / time.Duration(m.runs),
		CPU:    used / time.Duration(m.runs),
		Bytes:  float64(end.TotalAlloc-start.TotalAlloc) / runs,
		Allocs: float64(end.Mallocs-start.Mallocs) / runs,
		Kept:   float64(done.cycles.Kept) / runs,
		Plain:  float64(done.cycles.Plain) / runs,
	}, nil
}

// Samples makes count measurements in a row. The first error ends it.
func (m *Meter) Samples(ctx context.Context, count int) ([]Sample, error) {
	samples := make([]Sample, count)
	for i := range samples {
		var err error
		if samples[i], err = m.Sample(ctx); err != nil {
			return nil, err
		}
	}
	return samples, nil
}
