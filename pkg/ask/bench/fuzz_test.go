package bench

import (
	"bytes"
	"testing"
	"time"
)

// FuzzRead looks for baselines that make the reader panic, or that it accepts without a measurement.
func FuzzRead(f *testing.F) {
	var out bytes.Buffer
	if err := Write(&out, "web shop", []Sample{{Runs: 3, Pods: 40, Wall: 20 * time.Millisecond, CPU: 24 * time.Millisecond, Calibration: time.Millisecond}}); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add([]byte("BenchmarkScenario/a 1 NaN cpu-ns/op 1e400 cal-ns/op\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		baseline, err := Read(bytes.NewReader(data), "fuzz.txt")
		if err == nil && len(baseline.Samples) == 0 {
			t.Error("no measurement, and no error")
		}
	})
}
