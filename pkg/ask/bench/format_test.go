package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var writtenSamples = []Sample{
	{Runs: 3, Pods: 40, Wall: 20 * time.Millisecond, CPU: 24 * time.Millisecond, Calibration: 10 * time.Millisecond, Bytes: 8000, Allocs: 400, Kept: 30, Plain: 12},
	{Runs: 3, Pods: 0, Wall: 30 * time.Millisecond, CPU: 36 * time.Millisecond, Calibration: 12 * time.Millisecond},
}

// TestWrite: 40 pods in 20 ms are 2,000 per second and 500 µs each. The plugin's quarter of (24 + 36 ms) for 40 pods is 375 µs.
func TestWrite(t *testing.T) {
	var got strings.Builder
	if err := Write(&got, "web shop", writtenSamples); err != nil {
		t.Fatal(err)
	}
	if err := WritePlugins(&got, "web shop", writtenSamples, []PluginTime{{"NodePorts", 0.25}, {"NodeName", 0.125}}); err != nil {
		t.Fatal(err)
	}
	want := `BenchmarkScenario/web_shop	3	20000000 ns/op	24000000 cpu-ns/op	10000000 cal-ns/op	40 pods/op	2000 pods/s	500000 ns/pod	200 B/pod	10 allocs/pod	30 kept-cycles/op	12 plain-cycles/op
BenchmarkScenario/web_shop	3	30000000 ns/op	36000000 cpu-ns/op	12000000 cal-ns/op	0 pods/op
BenchmarkScenario/web_shop	1	375000 NodePorts-ns/pod	187500 NodeName-ns/pod
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}

	read, err := Read(strings.NewReader("cpu: fast one\n"+got.String()+"BenchmarkOther 1 5 ns/op\n"), "old.txt")
	if err != nil {
		t.Fatal(err)
	}
	baseline := &Baseline{CPU: "fast one", Samples: map[string][]Sample{"Scenario/web_shop": {
		{Runs: 3, Pods: 40, CPU: 24 * time.Millisecond, Calibration: 10 * time.Millisecond},
		{Runs: 3, Pods: 0, CPU: 36 * time.Millisecond, Calibration: 12 * time.Millisecond},
	}}}
	if diff := cmp.Diff(baseline, read); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "old.txt: no benchmark has cpu-ns/op and cal-ns/op; give the output of simulate bench",
		"kind: Deployment":           "old.txt: no benchmark has cpu-ns/op and cal-ns/op; give the output of simulate bench",
		"BenchmarkOther 1 5 ns/op\n": "old.txt: no benchmark has cpu-ns/op and cal-ns/op; give the output of simulate bench",
		"BenchmarkScenario/a 1 5 cpu-ns/op 0 cal-ns/op\n": "old.txt: no benchmark has cpu-ns/op and cal-ns/op; give the output of simulate bench",
		"BenchmarkScenario/a 1 fast cpu-ns/op\n":          "old.txt:1: parsing measurement: invalid syntax; give the output of simulate bench",
	} {
		if _, err := Read(strings.NewReader(text), "old.txt"); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
