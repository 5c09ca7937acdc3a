package main

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The build uses upstream's file for Windows instead of the file for other systems. This test checks that the replacement is still
// necessary and sufficient.
func TestTheReplacedFileIsNeededAndItsReplacementIsEnough(t *testing.T) {
	t.Chdir("../../..")
	dir, err := moduleFolder()
	if err != nil {
		t.Fatal(err)
	}
	replaced, replacement := parse(t, filepath.Join(dir, debugger, signalFile)), parse(t, filepath.Join(dir, debugger, signalFileForWindows))
	for _, tag := range []string{"js", "wasm"} {
		if !builds(t, replaced, tag) {
			t.Errorf("%s is not for %s any more, so that the engine can be built without another in its place", signalFile, tag)
		}
		if !builds(t, replacement, tag) {
			t.Errorf("%s has a constraint, and would be left out", signalFileForWindows)
		}
	}
	if diff := cmp.Diff(declared(replaced), declared(replacement)); diff != "" {
		t.Errorf("%s declares something else than %s (-%s +%s):\n%s", signalFileForWindows, signalFile, signalFile, signalFileForWindows, diff)
	}
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// builds reports whether the constraints above the package clause include the file in a build with only this tag.
func builds(t *testing.T, file *ast.File, tag string) bool {
	t.Helper()
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if comment.Pos() > file.Package || !constraint.IsGoBuild(comment.Text) {
				continue
			}
			expr, err := constraint.Parse(comment.Text)
			if err != nil {
				t.Fatal(err)
			}
			return expr.Eval(func(name string) bool { return name == tag })
		}
	}
	return true
}

func declared(file *ast.File) []string {
	var names []string
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			names = append(names, decl.Name.Name)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				}
			}
		}
	}
	return names
}
