package decider

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/invopop/jsonschema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/internal/golden"
)

// docs/decider.schema.json describes each line of the protocol.
func TestSchema(t *testing.T) {
	reflector := jsonschema.Reflector{ExpandedStruct: true, Mapper: func(of reflect.Type) *jsonschema.Schema {
		switch of {
		case reflect.TypeFor[json.RawMessage]():
			return &jsonschema.Schema{}
		case reflect.TypeFor[metav1.Time]():
			return &jsonschema.Schema{Type: "string", Format: "date-time"}
		}
		return nil
	}}
	if err := reflector.AddGoComments("github.com/faultline/faultline/pkg/engine/decider", ".", jsonschema.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	schema := reflector.Reflect(&Message{})
	schema.ID = "https://github.com/faultline/faultline/blob/main/docs/decider.schema.json"
	schema.Title = "A line of the protocol between simulate and a decider"
	data, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../../../docs/decider.schema.json", string(data)+"\n")
}
