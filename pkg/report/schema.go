package report

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/faultline/faultline/pkg/scenario"
)

// commentsFile holds the Go comments of the model's types, as "Step" and "Step.Name". A built program has no source from which
// to read them; a test keeps the file true to it.
//
//go:embed comments.json
var commentsFile []byte

// schemas are the models that have a schema, by kind.
var schemas = map[string]struct {
	model       any
	file, title string
}{
	Kind:         {&Report{}, "report.schema.json", "Faultline report"},
	BlastKind:    {&BlastReport{}, "blast-report.schema.json", "Faultline report on failures"},
	DrainKind:    {&DrainReport{}, "drain-report.schema.json", "Faultline report on a drain"},
	DiffKind:     {&DiffReport{}, "diff-report.schema.json", "Faultline report on what differs between two others"},
	ExplainKind:  {&ExplainReport{}, "explain-report.schema.json", "Faultline report on why pods are where they are"},
	CompareKind:  {&CompareReport{}, "compare-report.schema.json", "Faultline report that sets variants side by side"},
	SweepKind:    {&SweepReport{}, "sweep-report.schema.json", "Faultline report on the points of a sweep"},
	SizeKind:     {&SizeReport{}, "size-report.schema.json", "Faultline report on how few nodes would do"},
	CapacityKind: {&CapacityReport{}, "capacity-report.schema.json", "Faultline report on how much more fits"},
	OutcomesKind: {&OutcomesReport{}, "outcomes-report.schema.json", "Faultline report on every outcome of a scenario"},
	VerifyKind:   {&VerifyReport{}, "verify-report.schema.json", "Faultline report on how true the simulation is to a cluster"},
	LintKind:     {&LintReport{}, "lint-report.schema.json", "Faultline report on rules that do not do what they say"},
	AdviceKind:   {&AdviceReport{}, "advice-report.schema.json", "Faultline report on how the pods of a workload should keep apart"},
}

// SchemaKinds are the kinds that have a schema, by its name: report, blast-report, ….
func SchemaKinds() map[string]string {
	kinds := map[string]string{}
	for kind, about := range schemas {
		kinds[strings.TrimSuffix(about.file, ".schema.json")] = kind
	}
	return kinds
}

// Schema returns the JSON Schema of a model by its kind, indented. The Go comments of the model are its descriptions.
func Schema(kind string) ([]byte, error) {
	var comments map[string]string
	if err := json.Unmarshal(commentsFile, &comments); err != nil {
		return nil, err
	}
	schema := reflectSchema(kind, func(t reflect.Type, field string) string { return comments[commentKey(t, field)] })
	data, err := json.MarshalIndent(schema, "", "  ")
	return append(data, '\n'), err
}

func reflectSchema(kind string, comment func(t reflect.Type, field string) string) *jsonschema.Schema {
	reflector := jsonschema.Reflector{ExpandedStruct: true, LookupComment: comment, Mapper: func(t reflect.Type) *jsonschema.Schema {
		if t == reflect.TypeFor[scenario.Scalar]() {
			return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
		}
		return nil
	}}
	schema := reflector.Reflect(schemas[kind].model)
	schema.ID = jsonschema.ID("https://github.com/faultline/faultline/blob/main/docs/" + schemas[kind].file)
	schema.Title = schemas[kind].title
	schema.Properties.Value("apiVersion").Const = APIVersion
	schema.Properties.Value("kind").Const = kind
	return schema
}

// commentKey names a type, or a field of it, in the file of comments.
func commentKey(t reflect.Type, field string) string {
	return strings.TrimSuffix(t.Name()+"."+field, ".")
}
