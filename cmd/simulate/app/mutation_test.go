package app

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
)

var (
	mutations = flag.Int("mutations", 200, "how many mutated command lines TestMutations runs")
	mutation  = flag.Uint64("mutation", 1, "the seed of the first of them")
)

// TestMutations runs the command lines of testdata/mutations/commands through Main, then mutates their words and the files that they read.
// Any input must give an answer, or an error with one problem per line. A failing line names the seed that repeats it: go test -run
// TestMutations -args -mutation SEED -mutations 1.
func TestMutations(t *testing.T) {
	files, commands := corpus(t)
	for _, words := range commands {
		attempt(t, strings.Join(words, " "), files, words)
	}
	for i := range uint64(*mutations) {
		seed := *mutation + i
		m := &mutator{rand: rand.New(rand.NewPCG(seed, 0)), commands: commands}
		attempt(t, fmt.Sprintf("seed %d", seed), m.files(files), m.words())
	}
}

// corpus returns the files of testdata/mutations, and files that are too large to be kept there.
func corpus(t *testing.T) (files map[string][]byte, commands [][]string) {
	t.Helper()
	files = map[string][]byte{
		"aliases.yaml": []byte("a: &a " + strings.Repeat("x", 4<<20) + "\nb: [" + strings.Repeat("*a, ", 3000) + "*a]\n"),
	}
	paths, err := filepath.Glob("testdata/mutations/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	escapes := strings.NewReplacer(`\e`, "\x1b", `\n`, "\n")
	for line := range strings.Lines(string(files["commands"])) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			for i := range words {
				words[i] = escapes.Replace(words[i])
			}
			commands = append(commands, words)
		}
	}
	delete(files, "commands")
	return files, commands
}

// legalLine matches a line of standard error: an error, a hint, a warning, or the progress of a sweep.
var legalLine = regexp.MustCompile(`^simulate: (error: .|hint: .|warning: .|[0-9]+ of [0-9]+ points were in )`)

// attempt runs a command line in a folder with the files, and checks what must hold for every input.
func attempt(t *testing.T, name string, files map[string][]byte, words []string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for file, data := range files {
		if len(data) > 1<<20 && !slices.Contains(words, file) {
			continue
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pipes(t)
	var out, errOut bytes.Buffer
	status := func() (status int) {
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("%s: %q panics: %v", name, words, r)
			}
		}()
		return Main(words, bytes.NewReader(files["web.yaml"]), &out, &errOut)
	}()
	wrong := func(format string, args ...any) {
		t.Errorf("%s: %q: %s; status %d, standard error\n%s", name, words, fmt.Sprintf(format, args...), status, errOut.String())
	}
	if status < exit.Answered || status > exit.Unmet {
		wrong("no such status")
	}
	failed := status == exit.Failed || status == exit.Invalid
	// bench prints each scenario when it is measured, and the report of test lists the scenarios that cannot be run.
	if failed && out.Len() > 0 && words[0] != "bench" && words[0] != "test" {
		wrong("standard output holds %.100q", out.String())
	}
	if failed != strings.Contains(errOut.String(), "simulate: error: ") {
		wrong("an error goes with status 1 or 2")
	}
	for line := range strings.Lines(errOut.String()) {
		line = strings.TrimSuffix(line, "\n")
		if !legalLine.MatchString(line) {
			wrong("a line is none of its own: %.100q", line)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsGraphic(r) }) {
			wrong("control characters in %.100q", line)
		}
		if len([]rune(line)) > exit.MaxLine+100 {
			wrong("a line of %d characters", len(line))
		}
	}
}

// mutator makes small changes to command lines and files.
type mutator struct {
	rand     *rand.Rand
	commands [][]string
}

// hostile has replacements for words and values. None is a legal value that asks for much work.
var hostile = []string{
	"", "-", "--", "-1", "0", "2147483647", "2147483648", "-9223372036854775808", "9223372036854775807", "1e21", "1e-300%", "1e999999999", "NaN", "±",
	"\x1b[31m", "a\nsimulate: error: b", "\u202e", "\x00", "/dev/zero", ".", "nowhere/x", "=", "a=", "=b", "{}", "[]", "null", "~", "x/y", "deployment/", "node/n1",
	"deployment/web", "kube-system/deployment/web", "$(replicas)", "*", "[", "{{", "&a *a", "!!binary x", strings.Repeat("x", 5000), "nodes.yaml", "scenario.yaml", "report.json",
}

func anyOf[T any](m *mutator, list []T) T { return list[m.rand.IntN(len(list))] }

// words returns the words of a command, up to three of them changed.
func (m *mutator) words() []string {
	words := slices.Clone(anyOf(m, m.commands))
	for range m.rand.IntN(4) {
		i := m.rand.IntN(len(words))
		switch m.rand.IntN(6) {
		case 0:
			words[i] = anyOf(m, hostile)
		case 1:
			if flag, _, found := strings.Cut(words[i], "="); found {
				words[i] = flag + "=" + anyOf(m, hostile)
			}
		case 2:
			words = slices.Insert(words, i, words[m.rand.IntN(len(words))])
		case 3:
			if len(words) > 1 {
				words = slices.Delete(words, i, i+1)
			}
		case 4:
			words[0] = anyOf(m, m.commands)[0]
		case 5:
			words = append(words, m.flag(words[0]))
		}
	}
	if words[0] == "bench" { // a valid bench takes seconds
		words = append(words, "--count=0")
	}
	return words
}

// flag returns a flag of the command, with a value that it may not accept.
func (m *mutator) flag(name string) string {
	root, _ := newProgram(command.OwnName, command.Streams{}, inmemory.StartProgram)
	cmd, _, err := root.Find([]string{name})
	if err != nil {
		cmd = &cobra.Command{}
	}
	names := []string{"--nonsense"}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, "--"+flag.Name) })
	return anyOf(m, names) + "=" + anyOf(m, hostile)
}

var number = regexp.MustCompile(`\b[0-9]+\b`)

// files returns the given files, one of them changed in up to three places.
func (m *mutator) files(given map[string][]byte) map[string][]byte {
	changed := map[string][]byte{}
	var names []string
	for name, data := range given {
		changed[name] = data
		if len(data) > 0 && len(data) < 1<<16 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	name := anyOf(m, append(names, "scenario.yaml", "web.yaml", "nodes.yaml")) // most commands read these
	for range m.rand.IntN(4) {
		changed[name] = m.text(changed[name])
	}
	return changed
}

// text changes one place: a line, a number or a character.
func (m *mutator) text(data []byte) []byte {
	lines := slices.Collect(strings.Lines(string(data)))
	if len(lines) == 0 {
		return []byte(anyOf(m, hostile))
	}
	i := m.rand.IntN(len(lines))
	line := lines[i]
	switch m.rand.IntN(5) {
	case 0:
		lines = slices.Delete(lines, i, i+1)
	case 1:
		lines = slices.Insert(lines, i, anyOf(m, lines))
	case 2:
		if key, _, found := strings.Cut(line, ": "); found {
			lines[i] = key + ": " + anyOf(m, hostile) + "\n"
		}
	case 3:
		if found := number.FindAllStringIndex(line, -1); len(found) > 0 {
			at := anyOf(m, found)
			lines[i] = line[:at[0]] + anyOf(m, hostile) + line[at[1]:]
		}
	case 4:
		at := m.rand.IntN(len(line))
		lines[i] = line[:at] + anyOf(m, []string{"", "{", "]", "'", `"`, "*", "&", "\t", "\x1b", "\xff", "-", ": ", "#"}) + line[at+1:]
	}
	return []byte(strings.Join(lines, ""))
}
