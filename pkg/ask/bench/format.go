package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode"

	"golang.org/x/perf/benchfmt"
)

// WriteHead writes the header of Go's benchmark format, which describes the machine.
func WriteHead(w io.Writer) error {
	head := fmt.Sprintf("goos: %s\ngoarch: %s\npkg: faultline\n", runtime.GOOS, runtime.GOARCH)
	if cpu := CPU(); cpu != "" {
		head += "cpu: " + cpu + "\n"
	}
	_, err := io.WriteString(w, head)
	return err
}

// CPU returns the processor's name as Linux reports it, or "".
func CPU() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Name returns the scenario's benchmark name, in which underscores replace spaces.
func Name(scenario string) string {
	return "Scenario/" + strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, scenario)
}

// These are the units of the two times whose ratio is judged, and of the pods.
const (
	cpuUnit         = "cpu-ns/op"
	calibrationUnit = "cal-ns/op"
	podsUnit        = "pods/op"
)

// Write writes one line of Go's benchmark format per sample of the scenario. Figures per pod are left out if there are no pods.
func Write(w io.Writer, scenario string, samples []Sample) error {
	for i := range samples {
		s := &samples[i]
		line := fmt.Sprintf("Benchmark%s\t%d\t%d ns/op\t%d %s\t%d %s\t%g %s", Name(scenario), s.Runs,
			s.Wall.Nanoseconds(), s.CPU.Nanoseconds(), cpuUnit, s.Calibration.Nanoseconds(), calibrationUnit, s.Pods, podsUnit)
		if s.Pods > 0 {
			line += fmt.Sprintf("\t%.0f pods/s\t%.0f ns/pod\t%.0f B/pod\t%.0f allocs/pod\t%g kept-cycles/op\t%g plain-cycles/op",
				s.Pods/s.Wall.Seconds(), float64(s.Wall.Nanoseconds())/s.Pods, s.Bytes/s.Pods, s.Allocs/s.Pods, s.Kept, s.Plain)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// WritePlugins writes one more line for the scenario: each plugin's CPU time per pod, which is its share of the samples' mean time.
func WritePlugins(w io.Writer, scenario string, samples []Sample, times []PluginTime) error {
	var cpu time.Duration
	var pods float64
	for i := range samples {
		cpu += samples[i].CPU
		pods += samples[i].Pods
	}
	if pods == 0 || len(times) == 0 {
		return nil
	}
	line := fmt.Sprintf("Benchmark%s\t1", Name(scenario))
	for _, plugin := range times {
		line += fmt.Sprintf("\t%.0f %s-ns/pod", plugin.Share*float64(cpu.Nanoseconds())/pods, plugin.Plugin)
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// Baseline has the samples of an earlier output.
type Baseline struct {
	// CPU is the name of the processor on which the samples were measured, or "".
	CPU string
	// Samples are the samples by benchmark name. Only Pods, CPU and Calibration are set.
	Samples map[string][]Sample
}

// Read reads the output of Write. It skips other benchmarks.
func Read(r io.Reader, file string) (*Baseline, error) {
	baseline := &Baseline{Samples: map[string][]Sample{}}
	reader := benchfmt.NewReader(r, file)
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, fmt.Errorf("%w; give the output of simulate bench", record)
		case *benchfmt.Result:
			values := map[string]float64{}
			for _, value := range record.Values {
				unit := value.OrigUnit
				if unit == "" {
					unit, value.OrigValue = value.Unit, value.Value
				}
				values[unit] = value.OrigValue
			}
			if values[cpuUnit] <= 0 || values[calibrationUnit] <= 0 {
				continue
			}
			name := record.Name.String()
			baseline.CPU = record.GetConfig("cpu")
			baseline.Samples[name] = append(baseline.Samples[name], Sample{
				Runs: record.Iters, Pods: values[podsUnit],
				CPU: time.Duration(values[cpuUnit]), Calibration: time.Duration(values[calibrationUnit]),
			})
		}
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	if len(baseline.Samples) == 0 {
		return nil, fmt.Errorf("%s: no benchmark has %s and %s; give the output of simulate bench", file, cpuUnit, calibrationUnit)
	}
	return baseline, nil
}
