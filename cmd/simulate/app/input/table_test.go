package input

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/faultline/faultline/pkg/scenario"
)

// everyFlag returns a command that has every flag of this package.
func everyFlag() (*cobra.Command, *Flags) {
	i, cmd := &Flags{Federated: true}, &cobra.Command{Use: "simulate"}
	i.Register(cmd)
	i.RegisterAutoscaler(cmd)
	i.RegisterExplain(cmd)
	i.RegisterChanges(cmd)
	i.Steps.Register(cmd, false)
	i.Namespace.Register(cmd, true)
	return cmd, i
}

// notInput are the flags that only choose what a report shows, and a secret.
var notInput = []string{"all-namespaces", "explain", "token"}

// hostileValues are legal values of a flag with characters that a shell reads, by the type of the flag.
var hostileValues = map[string][]string{
	"bool": {"true", "false"}, "int": {"-7"}, "uint64": {"7"}, "string": {"it's $HOME", "-x", "a=b"}, "stringArray": {"a b", "*,'$(x)"}, "stringSlice": {`One,"a b"`},
	"duration": {"7s"},
}

// The input flags that a command line gives are on the command line that a report prints, and have the same values once a shell has read it.
func TestAgainRepeatsEveryInputFlag(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	all, _ := everyFlag()
	all.Flags().VisitAll(func(f *pflag.Flag) {
		values := hostileValues[f.Value.Type()]
		if values == nil {
			t.Fatalf("--%s: no values of type %s; add some", f.Name, f.Value.Type())
		}
		for _, value := range values {
			cmd, in := everyFlag()
			if err := cmd.Flags().Set(f.Name, value); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(shell, "-c", `printf '%s\n' `+in.RepeatArguments(cmd, []string{"my scenario.yaml"})+in.RepeatTies(cmd)).Output()
			if err != nil {
				t.Fatal(err)
			}
			words := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			next, _ := everyFlag()
			if err := next.Flags().Parse(words); err != nil {
				t.Errorf("--%s: %v", f.Name, err)
			}
			want := map[string]string{}
			if !slices.Contains(notInput, f.Name) {
				want[f.Name] = cmd.Flags().Lookup(f.Name).Value.String()
			}
			got := map[string]string{}
			next.Flags().Visit(func(f *pflag.Flag) { got[f.Name] = f.Value.String() })
			if diff := cmp.Diff(want, got) + cmp.Diff([]string{"my scenario.yaml"}, next.Flags().Args()); diff != "" {
				t.Errorf("--%s: the flags that %q repeats (-want +got):\n%s", f.Name, words, diff)
			}
		}
	})
}

// Each input flag changes the scenario file that a command writes, is refused, or is on this list.
func TestScenarioFileHasEveryInputFlag(t *testing.T) {
	elsewhere := []string{
		"cluster", "filename", "nodes", "zones", "regions", "cpu", "memory", "resource", // the sources of the file's cluster
		"live", "kubeconfig", "context", "user", "token", "client-certificate", "client-key", "server", "certificate-authority", "insecure-skip-tls-verify", "tls-server-name",
		"proxy-url", "disable-compression", "request-timeout", // of a live cluster, which is refused as a whole
		"add-nodes", "like", "remove-nodes", "replace-nodes", "count", "scale", "restart", "trigger", "delete", "set-replicas", // the steps of the loaded scenario
		"patch",                                           // the variants that --proof writes
		"strict", "plain", "namespace", "decider-timeout", // the answer does not depend on them
	}
	legal := map[string]string{"feature-gates": "A=true", "node-group": "general=1:3", "autoscale": "true", "scale-down": "true", "stackable-adr": "true"}
	refused := map[string]bool{}
	all, _ := everyFlag()
	all.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(elsewhere, f.Name) || slices.Contains(notInput, f.Name) {
			return
		}
		value := legal[f.Name]
		if value == "" {
			value = map[string]string{"bool": "true", "uint64": "7"}[f.Value.Type()]
		}
		if value == "" {
			value = "x"
		}
		cmd, in := everyFlag()
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			t.Fatal(err)
		}
		if len(in.withoutRow(cmd)) > 0 {
			refused[f.Name] = true
			return
		}
		var file scenario.File
		if err := in.putFlags(cmd, &file, filepath.Join(t.TempDir(), "scenario.yaml")); err != nil {
			t.Errorf("--%s: %v", f.Name, err)
		}
		if cmp.Equal(scenario.File{}, file) {
			t.Errorf("--%s %s is not in the scenario file", f.Name, value)
		}
	})
	if diff := cmp.Diff(map[string]bool{"kind-name": true, "no-extenders": true}, refused); diff != "" {
		t.Errorf("the flags that are refused (-want +got):\n%s", diff)
	}
}
