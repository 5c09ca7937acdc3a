package app

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
)

// transcript is a command and its documented output.
type transcript struct{ command, output string }

// transcripts finds the fenced blocks of a Markdown text that begin with "$ simulate". A block can contain several commands, each on a line
// that begins with "$ ".
func transcripts(markdown string) []transcript {
	var found []transcript
	fenced, first, taken := false, false, false
	for line := range strings.Lines(markdown) {
		if strings.HasPrefix(line, "```") {
			fenced, first, taken = !fenced, true, false
			continue
		}
		taken = taken || fenced && first && strings.HasPrefix(line, "$ simulate ")
		first = false
		command, is := strings.CutPrefix(line, "$ ")
		switch {
		case !taken:
		case is:
			found = append(found, transcript{command: command})
		default:
			found[len(found)-1].output += line
		}
	}
	return found
}

// matches reports whether the output is as documented. A line "…" matches any number of lines.
func matches(documented, output string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(documented) {
		if line == "…\n" {
			pattern.WriteString(`(.*\n)*`)
		} else {
			pattern.WriteString(regexp.QuoteMeta(line))
		}
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(output)
}

// named matches a fenced block that begins with the name of its file.
var named = regexp.MustCompile("(?ms)^```yaml (\\S+)\n(.*?)^```$")

// besideScenarios returns a folder with the named files, and with the project's scenarios.
func besideScenarios(t *testing.T, repo string, files [][]string) string {
	t.Helper()
	folder := t.TempDir()
	scenarios, err := filepath.Abs(filepath.Join(repo, "scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(scenarios, filepath.Join(folder, "scenarios")); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(folder, file[1]), []byte(file[2]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// The documents show what the commands print. -update writes an output again if the document shows all of it; an output with left-out lines
// must be edited by hand.
func TestDocuments(t *testing.T) {
	t.Setenv("COLUMNS", "100") // as in a terminal of that width
	const repo = "../../.."
	for _, file := range []string{"README.md", "docs/blast-radius.md", "docs/commands.md", "docs/explain.md", "docs/federation.md", "docs/gate.md", "docs/lint/README.md", "docs/peak.md", "docs/playground.md", "docs/proofs.md", "docs/what-if.md", "scenarios/ci/README.md"} {
		document, err := os.ReadFile(filepath.Join(repo, file))
		if err != nil {
			t.Fatal(err)
		}
		folder := repo
		if files := named.FindAllStringSubmatch(string(document), -1); len(files) > 0 {
			folder = besideScenarios(t, repo, files)
		}
		found := transcripts(string(document))
		if len(found) == 0 {
			t.Fatalf(`%s has no fenced block that begins with "$ simulate"`, file)
		}
		for _, example := range found {
			t.Run(strings.TrimSpace(example.command), func(t *testing.T) {
				shell := exec.Command("sh", "-c", example.command)
				shell.Dir = folder
				output, err := shell.CombinedOutput()
				if *update && err == nil && !strings.Contains(example.output, "…\n") {
					old, now := "$ "+example.command+example.output, "$ "+example.command+string(output)
					document = bytes.Replace(document, []byte(old), []byte(now), 1)
					if err := os.WriteFile(filepath.Join(repo, file), document, 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				if !matches(example.output, string(output)) {
					t.Errorf("%s: %v (-documented +printed):\n%s", file, err, cmp.Diff(example.output, string(output)))
				}
			})
		}
	}
}

// The picture in docs/what-if.md is what its command draws; -update draws it again.
func TestPicture(t *testing.T) {
	const repo, file = "../../..", "docs/images/weights.svg"
	command := exec.Command("sh", "-c", "simulate sweep scenarios/weights --level zone -o svg")
	command.Dir = repo
	drawn, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(repo, file), drawn, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(filepath.Join(repo, file))
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != string(drawn) {
		t.Errorf("%s is not what the command draws; update it with -update", file)
	}
}

// The README shows what every user needs, and docs/commands.md lists every command.
func TestCommandsListed(t *testing.T) {
	const repo = "../../.."
	readme, err := os.ReadFile(filepath.Join(repo, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(readme), "\n"); lines > 150 {
		t.Errorf("README.md has %d lines; move what not every user needs to docs, 150 are enough", lines)
	}
	page, err := os.ReadFile(filepath.Join(repo, "docs/commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	root, _ := newProgram(command.OwnName, command.Streams{}, inmemory.StartProgram)
	for _, command := range root.Commands() {
		if !command.Hidden && !strings.Contains(string(page), "`simulate "+command.Name()) {
			t.Errorf("docs/commands.md does not list simulate %s", command.Name())
		}
	}
}

func TestTranscripts(t *testing.T) {
	const markdown = "# Title\n$ simulate no fence\n```\n$ simulate one\nout 1\n…\n$ simulate two\n```\nbetween\n```sh\nmake\n$ simulate not first\n```\n" +
		"```console\n$ simulate three 2>&1\n\nout 3\n```\n"
	want := []transcript{{"simulate one\n", "out 1\n…\n"}, {"simulate two\n", ""}, {"simulate three 2>&1\n", "\nout 3\n"}}
	if diff := cmp.Diff(want, transcripts(markdown), cmp.AllowUnexported(transcript{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		documented, output string
		want               bool
	}{
		{"", "", true},
		{"a\nb\n", "a\nb\n", true},
		{"a\nb\n", "a\nc\n", false},
		{"a\n", "a\nb\n", false},
		{"a\n", "", false},
		{"a.c\n", "abc\n", false},
		{"…\n", "a\nb\n", true},
		{"a\n…\nd\n", "a\nb\nc\nd\n", true},
		{"a\n…\nd\n", "a\nd\n", true},
		{"a\n…\nd\n", "a\nb\n", false},
		{"…\nb\n", "ab\n", false},
		{"…\nb\n…\na\n…\n", "a\nb\n", false},
	} {
		if got := matches(test.documented, test.output); got != test.want {
			t.Errorf("matches(%q, %q) is %t", test.documented, test.output, got)
		}
	}
}
