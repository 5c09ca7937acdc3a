package app

import (
	"bytes"
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
	root, _ := newProgram(command.OwnName, command.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, inmemory.StartProgram)
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
