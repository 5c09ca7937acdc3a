package scenario

import (
	"go/doc/comment"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/internal/golden"
)

// readComments finds the Go comments of the types of a scenario file in the source.
func readComments(t *testing.T) func(typ reflect.Type, field string) string {
	t.Helper()
	var reader jsonschema.Reflector
	for _, folder := range []string{".", "../topology", "../input/operator/generic"} {
		if err := reader.AddGoComments("github.com/faultline/faultline/pkg/scenario", folder, jsonschema.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	return func(typ reflect.Type, field string) string {
		key := strings.TrimSuffix(typ.Name()+"."+field, ".")
		text := oneLineEach(reader.CommentMap[typ.PkgPath()+"."+key])
		for inGo, inDocs := range map[string]string{"File": "A scenario file", "Spec": "Synthetic"} {
			if rest, ok := strings.CutPrefix(text, inGo+" "); ok && key == inGo {
				return inDocs + " " + rest
			}
		}
		return text
	}
}

// oneLineEach puts each paragraph on one line.
func oneLineEach(text string) string {
	printer := comment.Printer{TextWidth: -1}
	return strings.TrimSpace(string(printer.Text(new(comment.Parser).Parse(text))))
}

func TestSchemaFile(t *testing.T) {
	data, err := marshal(reflectSchema(readComments(t)))
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../../docs/scenario.schema.json", string(data))
}

// Every field, ours and Kubernetes', says what it means.
func TestSchemaDescribesEverything(t *testing.T) {
	schema := reflectSchema(readComments(t))
	check := func(name string, s *jsonschema.Schema) {
		if s.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for field := s.Properties.Oldest(); field != nil; field = field.Next() {
			if field.Value.Description == "" {
				t.Errorf("%s.%s has no description", name, field.Key)
			}
		}
	}
	check("File", schema)
	for name, definition := range schema.Definitions {
		check(name, definition)
	}
}

func compileSchema(t *testing.T) *validator.Schema {
	t.Helper()
	data, err := marshal(reflectSchema(readComments(t)))
	if err != nil {
		t.Fatal(err)
	}
	document, err := validator.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("scenario.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("scenario.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validate(t *testing.T, schema *validator.Schema, text string) error {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	document, err := validator.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(document)
}

func TestSchemaAccepts(t *testing.T) {
	schema := compileSchema(t)
	var files []string
	for _, pattern := range []string{"../loader/testdata/ok/*.yaml", "../../scenarios/*/scenario.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, schema, string(data)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	schema := compileSchema(t)
	const valid = `{apiVersion: faultline/v1alpha1, kind: Scenario, ties: random, cluster: [{synthetic: {nodeGroups: [{count: 1, cpu: 4}]}}],
steps: [{name: a, patch: {target: deploy/web, type: json, patch: [{op: remove}]}}, {name: b, scale: {target: deploy/web, replicas: 2}}]}`
	if err := validate(t, schema, valid); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"another version":         {"faultline/v1alpha1", "faultline/v1"},
		"another kind":            {"kind: Scenario", "kind: Report"},
		"no cluster":              {"cluster:", "workloads:"},
		"a cluster and clusters":  {"ties: random", "clusters: [{name: a, cluster: [{files: [a.yaml]}]}]"},
		"an empty cluster":        {"cluster: [{synthetic: {nodeGroups: [{count: 1, cpu: 4}]}}]", "cluster: []"},
		"an unknown field":        {"ties: random", "tie: random"},
		"an unknown field inside": {"replicas: 2", "replicas: 2, replica: 2"},
		"other ties":              {"ties: random", "ties: fair"},
		"another type of patch":   {"type: json", "type: apply"},
		"a patch that is text":    {"patch: [{op: remove}]", "patch: text"},
		"negative replicas":       {"replicas: 2", "replicas: -2"},
		"replicas as text":        {"replicas: 2", "replicas: two"},
		"a step without a name":   {"name: b, ", ""},
		"a quantity that is true": {"cpu: 4", "cpu: true"},
	} {
		changed := strings.Replace(valid, change[0], change[1], 1)
		if changed == valid {
			t.Errorf("%s: nothing was changed", name)
		} else if validate(t, schema, changed) == nil {
			t.Errorf("%s passes", name)
		}
	}
}
