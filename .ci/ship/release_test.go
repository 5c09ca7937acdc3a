package ship

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// The configuration of the release has only fields that goreleaser knows, by the schema that `goreleaser jsonschema` of v2.16.0 writes. make release
// runs goreleaser itself, which takes longer to compile than all else here.
func TestReleaseConfiguration(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("testdata/goreleaser.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	validate := func(config []byte) error {
		var fields any
		if err := yaml.Unmarshal(config, &fields); err != nil {
			t.Fatal(err)
		}
		return schema.Validate(fields)
	}
	config := read(t, ".goreleaser.yaml")
	if err := validate(config); err != nil {
		t.Error(err)
	}
	if err := validate([]byte(strings.Replace(string(config), "\nbuilds:", "\nbuildz:", 1))); err == nil {
		t.Error("an unknown field is no error")
	}
}
