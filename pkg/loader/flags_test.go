package loader_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// A flag takes the place of a field, for variants and points, too. A problem with its value names the flag, not the file.
func TestFlags(t *testing.T) {
	seed := uint64(3)
	flags := func(ties string) loader.Options {
		return loader.Options{Flags: []loader.Flag{
			{Name: "ties", Path: "ties", Set: func(f *scenario.File) { f.Ties = ties }},
			{Name: "seed", Path: "seed", Set: func(f *scenario.File) { f.Seed = &seed }},
		}}
	}
	for _, file := range []string{"../../scenarios/soft-or-hard", "../../scenarios/weights"} {
		s, err := loader.Load(file, flags("random"))
		if err != nil {
			t.Fatal(err)
		}
		var got []sched.Ties
		for _, variant := range s.Variants {
			got = append(got, variant.Scenario.Ties)
		}
		for _, point := range s.Points {
			got = append(got, point.Scenario.Ties)
		}
		if diff := cmp.Diff([]sched.Ties{{Random: true, Seed: 3}}, slices.Compact(got)); diff != "" {
			t.Errorf("%s: ties of the versions (-want +got):\n%s", file, diff)
		}
	}
	want := `command line: --ties: "first" is neither upstream nor random
command line: --seed: has no effect without random choices; give --ties random, too`
	_, err := loader.Load("../../scenarios/weights", flags("first"))
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
