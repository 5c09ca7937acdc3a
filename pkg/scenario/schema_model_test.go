package scenario

import (
	"encoding/json"
	"reflect"

	"github.com/invopop/jsonschema"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/topology"
)

// reflectSchema makes the JSON Schema of a scenario file. comment finds the Go comment of a type, or of a field of it.
func reflectSchema(comment func(t reflect.Type, field string) string) *jsonschema.Schema {
	reflector := jsonschema.Reflector{
		ExpandedStruct: true,
		Namer: func(t reflect.Type) string {
			if t == reflect.TypeFor[topology.Spec]() {
				return "Synthetic"
			}
			return t.Name()
		},
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch t {
			case reflect.TypeFor[runtime.RawExtension]():
				return &jsonschema.Schema{Type: "object"}
			case reflect.TypeFor[topology.Quantity]():
				return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}}}
			case reflect.TypeFor[topology.Attribute]():
				return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}, {Type: "boolean"}}}
			case reflect.TypeFor[Scalar]():
				return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
			case reflect.TypeFor[metav1.Time]():
				return &jsonschema.Schema{Type: "string", Format: "date-time"}
			}
			return nil
		},
		LookupComment: comment,
	}
	schema := reflector.Reflect(&File{})
	schema.ID = "https://github.com/faultline/faultline/blob/main/docs/scenario.schema.json"
	schema.Title = "Faultline scenario"
	schema.Properties.Value("apiVersion").Const = APIVersion
	schema.Properties.Value("kind").Const = Kind
	schema.OneOf = []*jsonschema.Schema{{Required: []string{"cluster"}}, {Required: []string{"clusters"}}}
	// Kubernetes' own types bring their descriptions along, by the names of their fields in JSON.
	taint, described := schema.Definitions["Taint"], v1.Taint{}.SwaggerDoc()
	taint.Description = described[""]
	for field := taint.Properties.Oldest(); field != nil; field = field.Next() {
		field.Value.Description = described[field.Key]
	}
	return schema
}

// marshal returns the value as indented JSON that ends with a newline.
func marshal(value any) ([]byte, error) {
	data, err := json.MarshalIndent(value, "", "  ")
	return append(data, '\n'), err
}
