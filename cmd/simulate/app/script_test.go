package app

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
)

var update = flag.Bool("update", false, "write the outputs in the scripts anew")

func TestMain(m *testing.M) {
	run := func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
	testscript.Main(m, map[string]func(){"simulate": run, "kubectl-faultline": run, "kubectl_complete-faultline": run})
}

// TestScript runs the scripts under testdata/script, each in an empty folder with the files at its end. $REPO is the root of
// the repository.
func TestScript(t *testing.T) {
	repo, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPO", repo)
			env.Setenv("COLUMNS", "100") // as in a terminal of that width
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   exits,
			"refused": refused,
			"large":   large,
			"utf16":   inUTF16,
			"follows": follows,
			"extends": extends,
			"cluster": clusterOf,
		},
	})
}

// exits STATUS COMMAND ... runs the command and checks its exit status.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	if got := status(ts, ts.Exec(args[1], args[2:]...)); fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// refused FILE runs each line of the file that begins with "$ " in a shell, and writes these lines, each followed by its standard error, to
// FILE.got. All must exit with 2 and print nothing to standard output.
func refused(ts *testscript.TestScript, _ bool, args []string) {
	var got strings.Builder
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		command, is := strings.CutPrefix(line, "$ ")
		if !is {
			continue
		}
		if status := status(ts, ts.Exec("sh", "-c", command)); status != exit.Invalid {
			ts.Fatalf("%s: exit status %d, want %d", command, status, exit.Invalid)
		}
		if out := ts.ReadFile("stdout"); out != "" {
			ts.Fatalf("%s: standard output is not empty", command)
		}
		got.WriteString(line + ts.ReadFile("stderr"))
	}
	if got.Len() == 0 {
		ts.Fatalf("%s: no line begins with $", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".got"), []byte(got.String()), 0o644))
}

func status(ts *testscript.TestScript, err error) int {
	var failed *exec.ExitError
	switch {
	case err == nil:
		return exit.Answered
	case !errors.As(err, &failed):
		ts.Fatalf("%v", err)
	}
	return failed.ExitCode()
}

// large FILE writes 100 MB of valid YAML.
func large(ts *testscript.TestScript, _ bool, args []string) {
	object := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\ndata: {text: " + strings.Repeat("x", 10_000) + "}\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(object, 10_000)), 0o644))
}

// utf16 FROM TO writes a file in the encoding that PowerShell's > uses.
func inUTF16(ts *testscript.TestScript, _ bool, args []string) {
	data := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(strings.ReplaceAll(ts.ReadFile(args[0]), "\n", "\r\n"))) {
		data = binary.LittleEndian.AppendUint16(data, unit)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o644))
}

// follows FILE SCHEMA validates a JSON file against a JSON Schema.
func follows(ts *testscript.TestScript, _ bool, args []string) {
	schema, err := jsonschema.NewCompiler().Compile(args[1])
	ts.Check(err)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(schema.Validate(document))
}
