package ci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/ask/bench"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// maxCount is the largest number of measurements; a few dozen are enough for the statistics.
const maxCount = 10_000

type benchmarks struct {
	count    int
	baseline string
	slower   string
	allowed  float64 // largest allowed increase, as a fraction of the CPU time
	opts     loader.Options
	paths    []string
	names    []string // of the scenarios, parallel to paths
}

func newBench(s command.Streams) *cobra.Command {
	b := benchmarks{opts: s.LoaderOptions()}
	cmd := &cobra.Command{
		Use:   "bench [SCENARIO|FOLDER...]",
		Short: "Measure how long scenarios take, or whether they take longer than before",
		Long: `Measure how long scenarios take: CPU time and allocations per pod, for how many pods plugins were spared what they had answered
before, and each plugin's share, in Go's benchmark format, which benchstat reads. Folders are searched for files named
` + loader.FileName + `; the default is the working directory. Expectations are not checked.

With --baseline, compare with an earlier output instead. CPU time is measured in units of a fixed piece of work that is timed
alongside. A scenario is slower if its CPU time grew by more than --max-regression and by more than this machine's noise,
significantly and in two rounds of measurements. The exit code is then 3.`,
		Example: `  simulate bench scenarios/scheduler_perf > baseline.txt
  simulate bench scenarios/scheduler_perf --baseline baseline.txt --max-regression 10%
  simulate bench > new.txt && benchstat baseline.txt new.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := b.check(cmd); err != nil {
				return err
			}
			if _, err := exit.CallInterruptibly(cmd.Context(), func() (any, error) { return nil, b.findScenarios(args) }); err != nil {
				return exit.InvalidInput(err)
			}
			if b.baseline == "" {
				return b.measure(cmd.Context(), s)
			}
			return b.compare(cmd.Context(), s)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&b.count, "count", 10, "measure each scenario `N` times; with --baseline, 2N times")
	flags.StringVar(&b.baseline, "baseline", "", "compare with `FILE`, the output of an earlier simulate bench on the same machine")
	flags.StringVar(&b.slower, "max-regression", "10%", "allow this much more CPU time, in `PERCENT`; needs --baseline")
	input.RegisterStrict(cmd, &b.opts.Strict)
	input.RegisterScheduler(cmd, &b.opts)
	return cmd
}

func (b *benchmarks) check(cmd *cobra.Command) error {
	if b.count < 1 || b.count > maxCount {
		return exit.Usage(cmd, "--count: %d is out of range; give 1 to %d", b.count, maxCount)
	}
	if cmd.Flags().Changed("max-regression") && b.baseline == "" {
		return exit.Usage(cmd, "--max-regression has no effect without --baseline; give both")
	}
	percent, isPercent := strings.CutSuffix(b.slower, "%")
	allowed, err := strconv.ParseFloat(percent, 64)
	if err != nil || !isPercent || !(allowed >= 0 && allowed <= 1e6) {
		return exit.Usage(cmd, "--max-regression: %q is not a percentage; give at least 0%%, for example 10%%", b.slower)
	}
	b.allowed = allowed / 100
	return nil
}

// findScenarios lists the scenario files of the arguments. It checks at once that all are valid and have distinct names, so that no mistake shows
// only after minutes of measurements.
func (b *benchmarks) findScenarios(args []string) error {
	var err error
	if b.paths, err = scenarioFiles(args); err != nil {
		return err
	}
	var problems []error
	named := map[string]string{}
	for _, path := range b.paths {
		loaded, err := loader.Load(path, b.opts)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		b.names = append(b.names, loaded.Name)
		name := bench.Name(loaded.Name)
		if other, taken := named[name]; taken {
			problems = append(problems, fmt.Errorf("%s: metadata.name: %q is also the name of %s; give each its own", path, loaded.Name, other))
		}
		named[name] = path
	}
	return errors.Join(problems...)
}

// measureEach loads, warms up and measures the scenarios in turn. Only one is in memory at a time, because the garbage collector's work grows with
// the heap.
func (b *benchmarks) measureEach(ctx context.Context, s command.Streams, measure func(name string, meter *bench.Meter) error) error {
	bar := output.NewProgress(s.Err)
	defer bar.Done()
	for i, path := range b.paths {
		loaded, err := exit.CallInterruptibly(ctx, func() (*scenario.Scenario, error) { return loader.Load(path, b.opts) })
		if err != nil {
			return exit.InvalidInput(err)
		}
		bar.Counts("scenarios")(loaded.Name, i, len(b.paths))
		meter, err := bench.NewMeter(ctx, loaded)
		if err != nil {
			return err
		}
		if err := measure(loaded.Name, meter); err != nil {
			return err
		}
	}
	return nil
}

func (b *benchmarks) measure(ctx context.Context, s command.Streams) error {
	if err := bench.WriteHead(s.Out); err != nil {
		return err
	}
	return b.measureEach(ctx, s, func(name string, meter *bench.Meter) error {
		samples, err := meter.Samples(ctx, b.count)
		if err != nil {
			return err
		}
		if err := bench.Write(s.Out, name, samples); err != nil {
			return err
		}
		plugins, err := meter.Plugins(ctx)
		if err != nil {
			return err
		}
		return bench.WritePlugins(s.Out, name, samples, plugins)
	})
}

// compare prints the line of each scenario as soon as it is judged, since all of them can take minutes.
func (b *benchmarks) compare(ctx context.Context, s command.Streams) error {
	baseline, err := b.readBaseline(s)
	if err != nil {
		return err
	}
	const columns = "%-*s   %9s   %9s   %7s   %5s   %5s   %s\n"
	width := len("SCENARIO")
	for _, name := range b.names {
		width = max(width, len(name))
	}
	if _, err := fmt.Fprintf(s.Out, columns, width, "SCENARIO", "OLD", "NEW", "CHANGE", "P", "NOISE", "VERDICT"); err != nil {
		return err
	}
	slower := 0
	err = b.measureEach(ctx, s, func(name string, meter *bench.Meter) error {
		old := baseline.Samples[bench.Name(name)]
		if len(old) == 0 {
			_, err := fmt.Fprintf(s.Out, columns, width, name, "", "", "", "", "", "not in the baseline")
			return err
		}
		v, err := meter.Compare(ctx, old, b.count, b.allowed)
		if err != nil {
			return err
		}
		if v.Slower {
			slower++
		}
		if v.OldPods != v.NewPods {
			fmt.Fprintf(s.Err, "simulate: warning: %s: %g scheduling attempts finished, %g in the baseline: the work is not the same\n", manifest.Clean(name), v.NewPods, v.OldPods)
		}
		_, err = fmt.Fprintf(s.Out, columns, width, name, milliseconds(v.Old), milliseconds(v.New), fmt.Sprintf("%+.1f%%", 100*v.Change),
			fmt.Sprintf("%.3f", v.P), fmt.Sprintf("%.1f%%", 100*v.Noise), verdict(v))
		return err
	})
	if err != nil {
		return err
	}
	if slower > 0 {
		return exit.ErrUnmet
	}
	return nil
}

// readBaseline reads the baseline. It returns an error if the baseline does not fit the scenarios, and warns about another processor.
func (b *benchmarks) readBaseline(s command.Streams) (*bench.Baseline, error) {
	data, err := manifest.ReadFile(nil, nil, b.baseline)
	if err != nil {
		return nil, exit.InvalidInput(fmt.Errorf("--baseline: %w", err))
	}
	baseline, err := bench.Read(bytes.NewReader(data), b.baseline)
	if err != nil {
		return nil, exit.InvalidInput(fmt.Errorf("--baseline: %w", err))
	}
	found := false
	for _, name := range b.names {
		old := len(baseline.Samples[bench.Name(name)])
		if found = found || old > 0; old > 0 && !bench.EnoughSamples(old, 2*b.count) {
			return nil, exit.InvalidInput(fmt.Errorf("--baseline: %d old and %d new measurements of %s can never differ significantly; give both a larger --count", old, 2*b.count, name))
		}
	}
	if !found {
		return nil, exit.InvalidInput(fmt.Errorf("--baseline: %s has none of the scenarios; measure the same ones, or write the baseline again", b.baseline))
	}
	if cpu := bench.CPU(); baseline.CPU != cpu {
		fmt.Fprintf(s.Err, "simulate: warning: the baseline is from another processor (%s, here %s); write it again on this one\n", manifest.Clean(baseline.CPU), cpu)
	}
	return baseline, nil
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

func verdict(v bench.Verdict) string {
	switch {
	case v.Slower:
		return fmt.Sprintf("SLOWER by more than %.4g%%", 100*v.Limit)
	case v.Rounds > 1:
		return "ok (slower in the first round, not in the second)"
	case v.Limit == v.Noise:
		return fmt.Sprintf("ok (nothing below the noise of %.1f%% would be found)", 100*v.Noise)
	}
	return "ok"
}
