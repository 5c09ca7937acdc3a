package playground_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/faultline/faultline/pkg/internal/golden"
	"github.com/faultline/faultline/pkg/playground"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/compare"
	"github.com/faultline/faultline/pkg/report/explain"
	"github.com/faultline/faultline/pkg/report/run"
)

// contract lists the requests and responses.
type contract struct {
	Load    exchange[playground.LoadRequest, playground.LoadResponse]       `json:"load"`
	Run     exchange[playground.RunRequest, playground.RunResponse]         `json:"run"`
	Fail    exchange[playground.FailRequest, playground.FailResponse]       `json:"fail"`
	Explain exchange[playground.ExplainRequest, playground.ExplainResponse] `json:"explain"`
	Compare exchange[playground.CompareRequest, playground.CompareResponse] `json:"compare"`
	Quiz    exchange[playground.QuizRequest, playground.QuizResponse]       `json:"quiz"`
	Keep    exchange[playground.KeepRequest, playground.KeepResponse]       `json:"keep"`
	Failure playground.Failure                                              `json:"failure"`
}

type exchange[Request, Response any] struct {
	Request  Request  `json:"request"`
	Response Response `json:"response"`
}

// reportSchemas has the schemas of reports, which have their own files.
var reportSchemas = map[reflect.Type]string{
	reflect.TypeFor[run.Report]():     "report.schema.json",
	reflect.TypeFor[blast.Report]():   "blast-report.schema.json",
	reflect.TypeFor[explain.Report](): "explain-report.schema.json",
	reflect.TypeFor[compare.Report](): "compare-report.schema.json",
}

// The file under docs is generated from the Go types and their comments.
func TestSchema(t *testing.T) {
	var reader jsonschema.Reflector
	for name, dir := range map[string]string{"pkg/playground": ".", "": "../../scenarios"} {
		if err := reader.AddGoComments("github.com/faultline/faultline/"+name, dir, jsonschema.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	reflector := jsonschema.Reflector{
		ExpandedStruct: true,
		LookupComment: func(of reflect.Type, field string) string {
			return strings.Join(strings.Fields(reader.CommentMap[strings.TrimSuffix(of.PkgPath()+"."+of.Name()+"."+field, ".")]), " ")
		},
		Namer: func(of reflect.Type) string {
			if strings.HasPrefix(of.Name(), "exchange") {
				return strings.TrimSuffix(of.Field(0).Type.Name(), "Request")
			}
			return of.Name()
		},
		Mapper: func(of reflect.Type) *jsonschema.Schema {
			switch file, is := reportSchemas[of]; {
			case is:
				return &jsonschema.Schema{Ref: "https://github.com/faultline/faultline/blob/main/docs/" + file}
			case of == reflect.TypeFor[json.RawMessage]():
				return &jsonschema.Schema{Type: "object"}
			}
			return nil
		},
	}
	schema := reflector.Reflect(&contract{})
	schema.ID = "https://github.com/faultline/faultline/blob/main/docs/playground.schema.json"
	schema.Title = "What the playground's page asks, by method, and what is answered"
	data, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../../docs/playground.schema.json", string(data)+"\n")
}
