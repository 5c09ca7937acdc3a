package lint_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/internal/golden"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/simulation"
)

func lintFile(t *testing.T, path string, opts lint.Options) *lint.Result {
	t.Helper()
	s, err := loader.Load(path, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := simulation.Run(context.Background(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := lint.Run(context.Background(), result, opts)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// formatFindings returns the findings in the form of a golden file.
func formatFindings(r *lint.Result) string {
	var b strings.Builder
	for _, f := range r.Findings {
		line := 0
		if f.Source != nil {
			line = f.Source.Line
		}
		fmt.Fprintf(&b, "line %d: %s/%s: %s: %s: %s\n  %s\n  fix: %s\n", line, f.Namespace, f.Ref(), f.Severity, f.Check, f.Field, f.Message, f.Fix)
		if f.ExpandedFrom != "" {
			fmt.Fprintf(&b, "  made of %s\n", f.ExpandedFrom)
		}
	}
	for _, i := range r.IgnoredFindings {
		fmt.Fprintf(&b, "ignored: %s/%s: %s: %s\n", i.Namespace, i.Ref(), i.Check, i.Reason)
	}
	return b.String()
}

// Every check finds its example, with exactly the words of the file beside it, and is silent about the example's twin.
func TestChecks(t *testing.T) {
	for _, check := range lint.Checks() {
		t.Run(check.ID, func(t *testing.T) {
			file := filepath.Join("testdata/err", check.ID+".yaml")
			r := lintFile(t, file, lint.Options{})
			i := slices.IndexFunc(r.Findings, func(f lint.Finding) bool { return f.Check == check.ID })
			if i < 0 {
				t.Errorf("%s: nothing is found of it\n%s", file, formatFindings(r))
			} else if !check.Severity.AtLeast(r.Findings[i].Severity) {
				t.Errorf("%s: %s is graver than the check's %s", file, r.Findings[i].Severity, check.Severity)
			}
			golden.Compare(t, file+".txt", formatFindings(r))
			twin := filepath.Join("testdata/ok", check.ID+".yaml")
			if got := lintFile(t, twin, lint.Options{Only: []string{check.ID}}); len(got.Findings) > 0 {
				t.Errorf("%s:\n%s", twin, formatFindings(got))
			}
		})
	}
}

// These rules are close to what the checks find, but are not wrong.
func TestNear(t *testing.T) {
	r := lintFile(t, "testdata/ok/near.yaml", lint.Options{Only: []string{"more-replicas-than-domains", "rollout-needs-more-domains", "unusable-domains"}})
	if len(r.Findings) > 0 {
		t.Error(formatFindings(r))
	}
}

// The names of further examples begin with the ID of their check. The twin of an example is what its fix makes of it.
func TestFurther(t *testing.T) {
	files, err := filepath.Glob("testdata/err/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if slices.ContainsFunc(lint.Checks(), func(c lint.Check) bool { return c.ID == name }) {
			continue
		}
		r := lintFile(t, file, lint.Options{})
		i := slices.IndexFunc(r.Findings, func(f lint.Finding) bool { return strings.HasPrefix(name, f.Check+"-") })
		if i < 0 {
			t.Errorf("%s: nothing is found of its check\n%s", file, formatFindings(r))
			continue
		}
		twin := filepath.Join("testdata/ok", name+".yaml")
		if _, err := os.Stat(twin); err == nil {
			if got := lintFile(t, twin, lint.Options{Only: []string{r.Findings[i].Check}}); len(got.Findings) > 0 {
				t.Errorf("%s:\n%s", twin, formatFindings(got))
			}
		}
		golden.Compare(t, file+".txt", formatFindings(r))
	}
}

// Examples that other linters are known to report wrongly, or that look wrong but are not: there must be no findings at all, not even
// notes, except about what is missing.
func TestSilent(t *testing.T) {
	files, err := filepath.Glob("testdata/silent/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no files", err)
	}
	for _, file := range files {
		if got := lintFile(t, file, lint.Options{Disable: []string{"term-decides-nothing", "one-replica", "budget-missing", "requests-missing", "rule-missing"}}); len(got.Findings) > 0 {
			t.Errorf("%s:\n%s", file, formatFindings(got))
		}
	}
}

// The project's own scenarios show what is noise.
func TestScenarios(t *testing.T) {
	var all bytes.Buffer
	files, err := filepath.Glob("../../../scenarios/*/scenario.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no scenarios", err)
	}
	for _, file := range files {
		fmt.Fprintf(&all, "%s\n%s\n", strings.TrimPrefix(file, "../../../"), formatFindings(lintFile(t, file, lint.Options{})))
	}
	golden.Compare(t, "testdata/scenarios.txt", all.String())
}

// Every check has a page and a row in the index. Only the prose of a page is written by hand; -update writes its head, from the table of
// checks, and its example, from the file that TestChecks runs, so that users who copy the example get the finding.
func TestPages(t *testing.T) {
	table := "| check | severity | finds |\n|---|---|---|\n"
	for _, check := range lint.Checks() {
		table += fmt.Sprintf("| [%s](%s.md) | %s | %s |\n", check.ID, check.ID, check.Severity, check.Title)
		file := filepath.Join("../../../docs/lint", check.ID+".md")
		golden.Compare(t, file, withHead(t, check, file, withExample(t, check, file, read(t, file))))
	}
	const index = "../../../docs/lint/README.md"
	golden.Compare(t, index, replaced(t, index, read(t, index), "<!-- checks -->\n", table, "<!-- end -->"))
	pages, err := filepath.Glob("../../../docs/lint/*.md")
	if err != nil || len(pages) != len(lint.Checks())+1 {
		t.Errorf("%d pages for %d checks (%v)", len(pages), len(lint.Checks()), err)
	}
}

// withHead returns a page whose first three lines say what the check is. The parts of its prose follow in one order.
func withHead(t *testing.T, check lint.Check, file, page string) string {
	t.Helper()
	prose := page
	for _, part := range []string{"**Why it matters.**", "**Example.**", "**Fix.**", "**Considered.**"} {
		_, after, found := strings.Cut(prose, part)
		if !found {
			t.Errorf("%s has no part %s after those before it", file, part)
		}
		prose = after
	}
	lines := strings.SplitN(page, "\n", 4)
	if len(lines) < 4 {
		t.Fatalf("%s has no text below its head", file)
	}
	return fmt.Sprintf("# %s\n\n%s. Severity: %s.\n%s", check.ID, check.Title, check.Severity, lines[3])
}

// withExample returns a page that shows the check's file in testdata/err.
func withExample(t *testing.T, check lint.Check, file, page string) string {
	t.Helper()
	example := read(t, filepath.Join("testdata/err", check.ID+".yaml"))
	return replaced(t, file, page, "**Example.**\n\n```yaml\n", example, "```\n\n**Fix.**")
}

// replaced returns the text of a file with other text between two marks.
func replaced(t *testing.T, file, text, begin, between, end string) string {
	t.Helper()
	before, rest, found := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has nothing between %q and %q", file, begin, end)
	}
	return before + begin + between + end + after
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOnlyAndDisable(t *testing.T) {
	const file = "testdata/err/more-replicas-than-domains.yaml"
	if got := lintFile(t, file, lint.Options{Only: []string{"selector-drift"}}); len(got.Checks) != 1 || len(got.Findings) > 0 {
		t.Errorf("only another check:\n%s", formatFindings(got))
	}
	if got := lintFile(t, file, lint.Options{Disable: []string{"more-replicas-than-domains"}}); strings.Contains(formatFindings(got), "more-replicas") {
		t.Errorf("disabled:\n%s", formatFindings(got))
	}
}
