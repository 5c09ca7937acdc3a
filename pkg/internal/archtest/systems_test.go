package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The file for other systems, which no test on Unix compiles, has the functions of the file for Unix.
func TestFilesForOtherSystemsHaveTheSameFunctions(t *testing.T) {
	files, err := filepath.Glob("../../../cmd/simulate/app/*/*_unix.go")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no such files", err)
	}
	for _, file := range files {
		other := file[:len(file)-len("unix.go")] + "other.go"
		if diff := cmp.Diff(functionsOf(t, file), functionsOf(t, other)); diff != "" {
			t.Errorf("%s (-unix +other):\n%s", other, diff)
		}
	}
}

// functionsOf returns the sorted names of the functions that a file declares.
func functionsOf(t *testing.T, file string) (names []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, declared := range parsed.Decls {
		if function, is := declared.(*ast.FuncDecl); is {
			names = append(names, function.Name.Name)
		}
	}
	slices.Sort(names)
	return names
}
