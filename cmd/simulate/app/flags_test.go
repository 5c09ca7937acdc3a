package app

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
)

// A flag means the same in every command that has it: its short name, its type, the name of its value and the beginning of its usage are
// the same.
func TestFlagsAreShared(t *testing.T) {
	begins := map[string]string{
		"quiet": "print only the ", "output": "output `FORMAT`: ", "step": "the `STEP` ", "namespace": "the `NAMESPACE` of what is named without one", "fail-on": "exit with 3 if there ",
		"strict": "reject a dump with anything that this release does not know, instead of setting it aside with a note",
	}
	type flag struct{ Short, Type, Value string }
	first := map[string]flag{}
	root := newCommand(t)
	reads := func(cmd *cobra.Command) bool {
		return cmd.Flags().Lookup("cluster") != nil || cmd.Flags().Lookup("filename") != nil || cmd.Flags().Lookup("no-extenders") != nil
	}
	for _, cmd := range root.Commands() {
		if reads(cmd) && cmd.Flags().Lookup("strict") == nil {
			t.Errorf("%s reads objects and has no --strict", cmd.Name())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if (cmd.Name() == "site" || cmd.Name() == "snapshot") && f.Name == "output" { // a folder, and a file: they print no report
				return
			}
			if !strings.HasPrefix(f.Usage, begins[f.Name]) {
				t.Errorf("%s --%s: %q does not begin with %q", cmd.Name(), f.Name, f.Usage, begins[f.Name])
			}
			if f.Name == "results" || f.Name == "fail-on" || f.Name == "watch" { // a switch of export's and a folder of sweep's; lint fails on findings; a switch of rbac's
				return
			}
			value, _ := pflag.UnquoteUsage(f)
			now := flag{f.Shorthand, f.Value.Type(), value}
			if _, seen := first[f.Name]; !seen {
				first[f.Name] = now
			}
			if diff := cmp.Diff(first[f.Name], now); diff != "" {
				t.Errorf("%s --%s is not what it is in other commands (-other +this):\n%s", cmd.Name(), f.Name, diff)
			}
		})
	}
}

// Each command of the help and of the documents parses: its flags exist, and have values of their types.
func TestExamplesParse(t *testing.T) {
	var lines []string
	for _, cmd := range newCommand(t).Commands() {
		lines = append(lines, strings.Split(cmd.Example, "\n")...)
	}
	files, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(files) < 20 {
		t.Fatalf("the documents are %v: %v", files, err)
	}
	for _, file := range append(files, "../../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(string(text), "\n")...)
	}
	parsed := 0
	for _, line := range lines {
		line, is := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "$ "), "simulate ")
		if !is || line == "" || line[0] < 'a' || strings.HasSuffix(line, `\`) {
			continue
		}
		args := splitWords(line)
		cmd, args, err := newCommand(t).Find(args)
		if err != nil {
			t.Errorf("simulate %s: %v", line, err)
			continue
		}
		parsed++
		if err := cmd.ParseFlags(args); err != nil && !errors.Is(err, pflag.ErrHelp) {
			t.Errorf("simulate %s: %v", line, err)
		}
	}
	if parsed < 100 {
		t.Errorf("only %d commands were found", parsed)
	}
}

func newCommand(t *testing.T) *cobra.Command {
	t.Helper()
	root, _ := newProgram(command.OwnName, command.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, inmemory.StartProgram)
	return root
}

var shellWord = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)

// splitWords returns the words of the first command of a shell's line, without quotes, comments and redirections.
func splitWords(line string) []string {
	var words []string
	for _, word := range shellWord.FindAllString(line, -1) {
		if strings.ContainsAny(word[:1], "#|>&;") || word == "2>" {
			break
		}
		words = append(words, strings.NewReplacer(`'`, "", `"`, "").Replace(strings.TrimSuffix(word, ";")))
	}
	return words
}
