package hydrolix

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
		files, err := filepath.Glob(filepath.Join("../../../scenarios/hydrolix", pattern))
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

// FuzzReadProfile looks for profiles that make the reader panic.
func FuzzReadProfile(f *testing.F) {
	f.Add([]byte(small))
	f.Fuzz(func(t *testing.T, data []byte) {
		if profile, err := ReadProfile("fuzz.yaml", data); (profile == nil) != (err != nil) {
			t.Errorf("profile %v with the error %v", profile, err)
		}
	})
}
