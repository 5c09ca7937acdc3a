package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// stop is a link of the tour to a function or type, such as [`Engine.Place`](../pkg/engine/sched/engine.go).
var stop = regexp.MustCompile("\\[`([\\w.]+)`\\]\\(\\.\\./([\\w./]+\\.go)\\)")

func TestTheTourNamesDeclarations(t *testing.T) {
	const root = "../../.."
	tour, err := os.ReadFile(filepath.Join(root, "docs/tour.md"))
	if err != nil {
		t.Fatal(err)
	}
	stops := stop.FindAllStringSubmatch(string(tour), -1)
	if len(stops) < 10 {
		t.Errorf("the tour has %d stops, want at least 10", len(stops))
	}
	for _, match := range stops {
		name, file := match[1], match[2]
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		if !declares(parsed, name) {
			t.Errorf("docs/tour.md names %s in %s, which does not declare it", name, file)
		}
	}
}

// declares reports whether the file declares the function, the method (as Type.Method) or the type.
func declares(file *ast.File, name string) bool {
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if receiver(d)+d.Name.Name == name {
				return true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok && s.Name.Name == name {
					return true
				}
			}
		}
	}
	return false
}

// receiver returns the type of a method with a dot, as "Engine.", and "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if named, ok := of.(*ast.Ident); ok {
		return named.Name + "."
	}
	return ""
}
