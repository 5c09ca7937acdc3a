package scenario

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/internal/golden"
)

const docs = "../../docs/scenario.md"

// reference writes the tables of all fields, from the schema.
func reference(schema *jsonschema.Schema) string {
	var out strings.Builder
	out.WriteString("| Field | Value | Meaning |\n|---|---|---|\n")
	names := []string{"Scenario"}
	for i := 0; i < len(names); i++ { // it grows
		definition := schema.Definitions[names[i]]
		if names[i] == "Scenario" {
			definition = schema
		}
		fmt.Fprintf(&out, "| <a id=%q></a>**%s** | | %s |\n", strings.ToLower(names[i]), names[i], prose(definition.Description))
		for field := definition.Properties.Oldest(); field != nil; field = field.Next() {
			required := ""
			if slices.Contains(definition.Required, field.Key) {
				required = ", required"
			}
			fmt.Fprintf(&out, "| `%s` | %s%s | %s |\n", field.Key, value(field.Value, &names), required, prose(field.Value.Description))
		}
		if i == len(names)-1 && !slices.Contains(names, "Synthetic") {
			names = append(names, "Synthetic") // it and what is in it come last
		}
	}
	return out.String()
}

// prose returns the text on one line, without examples on their own lines and the sentences that announce them.
func prose(text string) string {
	var kept []string
	for _, line := range strings.Split(text, "\n") {
		if strings.HasSuffix(line, ":") {
			line = line[:strings.LastIndex(line, ".")+1]
		}
		if line != "" && !strings.HasPrefix(line, "\t") {
			kept = append(kept, line)
		}
	}
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(strings.Join(kept, " "))
}

// value describes the values that a field takes, and adds the names of types that are new.
func value(s *jsonschema.Schema, names *[]string) string {
	name, isRef := strings.CutPrefix(s.Ref, "#/$defs/")
	switch {
	case name == "Taint":
		return "[taint](https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/)"
	case isRef:
		if name != "Synthetic" && !slices.Contains(*names, name) {
			*names = append(*names, name)
		}
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	case s.Const != nil:
		return fmt.Sprintf("`%s`", s.Const)
	case len(s.Enum) > 0:
		var all []string
		for _, one := range s.Enum {
			all = append(all, fmt.Sprintf("`%s`", one))
		}
		return strings.Join(all, ", ")
	case len(s.OneOf) == 2 && s.OneOf[1].Type == "number":
		return "quantity"
	case len(s.OneOf) == 3:
		return "text, number, true, false"
	case len(s.OneOf) == 2:
		return "object or list"
	case s.Type == "array":
		return "list of " + value(s.Items, names)
	case s.Type == "object" && s.AdditionalProperties != nil:
		return "map of " + value(s.AdditionalProperties, names)
	}
	return map[string]string{"string": "text", "integer": "whole number", "number": "number", "boolean": "true, false", "object": "object"}[s.Type]
}

const begin, end = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"

func readDocs(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestDocsReference(t *testing.T) {
	before, rest, found := strings.Cut(readDocs(t), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s lacks the lines\n%s%s", docs, begin, end)
	}
	golden.Compare(t, docs, before+begin+reference(reflectSchema(readComments(t)))+end+after)
}

var fenced = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// Every field occurs in an example.
func TestDocsShowEveryField(t *testing.T) {
	shown := map[string]bool{}
	var collect func(value any)
	collect = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, inner := range v {
				shown[key] = true
				collect(inner)
			}
		case []any:
			for _, inner := range v {
				collect(inner)
			}
		}
	}
	for _, match := range fenced.FindAllStringSubmatch(readDocs(t), -1) {
		var value any
		if err := yaml.Unmarshal([]byte(match[1]), &value); err != nil {
			t.Fatal(err)
		}
		collect(value)
	}
	schema := reflectSchema(readComments(t))
	check := func(name string, s *jsonschema.Schema) {
		for field := s.Properties.Oldest(); field != nil; field = field.Next() {
			if !shown[field.Key] && name != "Taint" {
				t.Errorf("no example has %s.%s", name, field.Key)
			}
		}
	}
	check("Scenario", schema)
	for name, definition := range schema.Definitions {
		check(name, definition)
	}
}

// Readers look things up in the reference, but read all of the text before it.
func TestDocsLength(t *testing.T) {
	text, _, _ := strings.Cut(readDocs(t), begin)
	if lines := strings.Count(text, "\n"); lines > 415 {
		t.Errorf("%s has %d lines before its reference, which nobody reads; 415 are enough", docs, lines)
	}
}
