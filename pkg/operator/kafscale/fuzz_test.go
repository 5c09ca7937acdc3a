package kafscale

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/faultline/faultline/pkg/manifest"
	"github.com/faultline/faultline/pkg/operator"
)

// FuzzExpand looks for resources that make the operator panic, or of which it makes something else the second time.
func FuzzExpand(f *testing.F) {
	for _, pattern := range []string{"*.yaml", "*/*.yaml"} {
		files, err := filepath.Glob(filepath.Join("../../../scenarios/kafscale", pattern))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := manifest.Decode("fuzz.yaml", data)
		if err != nil {
			return
		}
		expand := func() (made int, problems string) {
			result, err := operator.Expand([]operator.Operator{New(Options{})}, set.Ignored)
			if err != nil {
				return 0, err.Error()
			}
			return len(result.Objects), ""
		}
		made, problems := expand()
		if again, problemsAgain := expand(); again != made || problemsAgain != problems {
			t.Errorf("%d objects and %q, then %d and %q", made, problems, again, problemsAgain)
		}
	})
}

// FuzzValues looks for values of the chart that make it panic.
func FuzzValues(f *testing.F) {
	data, err := os.ReadFile("../../../scenarios/kafscale/values.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("proxy: {enabled: true, replicaCount: 3, affinity: {podAntiAffinity: null}}"))
	f.Add([]byte("null"))
	f.Add([]byte("3"))
	f.Fuzz(func(t *testing.T, data []byte) {
		opts := Options{Values: []Document{{Name: "values.yaml", Data: data}}}
		if opts.Validate() != nil {
			return
		}
		// What is valid for the chart may not be for the API server, which says so.
		_, _ = operator.Install([]operator.Operator{New(opts)})
	})
}
