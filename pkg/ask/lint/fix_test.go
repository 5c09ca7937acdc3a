package lint_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/ask/lint"
)

// change is a part of a fix, and what it makes of the text of an example.
type change struct {
	// Says is the part of the fix. Replace has the texts of the example that the change replaces, and Append the objects or the steps that it
	// adds.
	Says    string            `json:"says"`
	Replace map[string]string `json:"replace"`
	Append  string            `json:"append"`
}

// apply returns the changed text of an example.
func (c *change) apply(t *testing.T, text string) string {
	t.Helper()
	for old, new := range c.Replace {
		if !strings.Contains(text, old) {
			t.Errorf("%q: the example has no %q", c.Says, old)
		}
		text = strings.ReplaceAll(text, old, new)
	}
	return text + c.Append
}

// Each fix of each example is true: with any of its parts, the finding is gone, and there is no new one that is as severe. testdata/fixes.yaml
// has what the parts make of the examples. For an example that it lacks, the twin in testdata/ok is what the fix makes of its object.
func TestFixes(t *testing.T) {
	var all map[string][]change
	if err := yaml.UnmarshalStrict([]byte(read(t, "testdata/fixes.yaml")), &all); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/err/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no examples", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			before := lintFile(t, file, lint.Options{}).Findings
			i := slices.IndexFunc(before, func(f lint.Finding) bool { return name == f.Check || strings.HasPrefix(name, f.Check+"-") })
			if i < 0 {
				t.Fatal("nothing is found")
			}
			found := before[i]
			if all[name] == nil {
				twin := lintFile(t, filepath.Join("testdata/ok", name+".yaml"), lint.Options{}).Findings
				checkFixed(t, before, found, found.Fix, slices.DeleteFunc(twin, func(f lint.Finding) bool { return f.Object != found.Object }))
				return
			}
			rest := found.Fix
			for _, change := range all[name] {
				if !strings.Contains(rest, change.Says) {
					t.Errorf("the fix %q does not say %q", found.Fix, change.Says)
				}
				rest = strings.Replace(rest, change.Says, "", 1)
				changed := filepath.Join(t.TempDir(), "scenario.yaml")
				if err := os.WriteFile(changed, []byte(change.apply(t, read(t, file))), 0o600); err != nil {
					t.Fatal(err)
				}
				checkFixed(t, before, found, change.Says, lintFile(t, changed, lint.Options{}).Findings)
			}
			if rest = strings.Trim(strings.NewReplacer(", or ", "", " or ", "", ", and ", "").Replace(rest), ",; "); rest != "" {
				t.Errorf("no change shows what the fix also says: %q", rest)
			}
		})
	}
	for name := range all {
		if !slices.Contains(files, filepath.Join("testdata/err", name+".yaml")) {
			t.Errorf("there is no example %s", name)
		}
	}
}

// checkFixed compares the findings before and after a change: the one that is fixed is gone, and no new one is as severe.
func checkFixed(t *testing.T, before []lint.Finding, fixed lint.Finding, says string, after []lint.Finding) {
	t.Helper()
	for _, f := range after {
		same := func(other lint.Finding) bool { return other.Check == f.Check && other.Object == f.Object }
		switch {
		case same(fixed) && f.Field == fixed.Field:
			t.Errorf("%s: the finding is still there: %s", says, f.Message)
		case f.Severity.AtLeast(fixed.Severity) && !slices.ContainsFunc(before, same):
			t.Errorf("%s: there is a new finding of %s: %s: %s", says, f.Ref(), f.Check, f.Message)
		}
	}
}
