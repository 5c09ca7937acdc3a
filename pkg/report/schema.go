package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
)

// source is the model as it was written; its comments describe the schema's fields.
//
//go:embed report.go
var source string

// Schema returns the JSON Schema of a Report, indented.
func Schema() ([]byte, error) {
	comments, err := comments()
	if err != nil {
		return nil, err
	}
	reflector := jsonschema.Reflector{
		ExpandedStruct: true,
		LookupComment: func(t reflect.Type, field string) string {
			return comments[strings.TrimSuffix(t.Name()+"."+field, ".")]
		},
	}
	schema := reflector.Reflect(&Report{})
	schema.ID = "https://github.com/faultline/faultline/blob/main/docs/report.schema.json"
	schema.Title = "Faultline report"
	constant(schema, "apiVersion", APIVersion)
	constant(schema, "kind", Kind)
	data, err := json.MarshalIndent(schema, "", "  ")
	return append(data, '\n'), err
}

func constant(schema *jsonschema.Schema, property, value string) {
	if field, ok := schema.Properties.Get(property); ok {
		field.Const = value
	}
}

// comments are those of the model's types, as "Step", and of their fields, as "Step.Name", each on one line. The library's own
// AddGoComments wants the source on disk, where a built program has none.
func comments() (map[string]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "report.go", source, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("report: reading the model's comments: %w", err)
	}
	found := map[string]string{}
	oneLine := func(comment *ast.CommentGroup) string { return strings.Join(strings.Fields(comment.Text()), " ") }
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			typ, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			found[typ.Name.Name] = oneLine(general.Doc)
			structure, ok := typ.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range structure.Fields.List {
				for _, name := range field.Names {
					found[typ.Name.Name+"."+name.Name] = oneLine(field.Doc)
				}
			}
		}
	}
	return found, nil
}
