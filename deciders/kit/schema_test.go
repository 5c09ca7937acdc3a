package kit

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// schema is a JSON schema, as far as docs/decider.schema.json uses it.
type schema struct {
	Ref        string            `json:"$ref"`
	Type       string            `json:"type"`
	Properties map[string]schema `json:"properties"`
	Items      json.RawMessage   `json:"items"` // a schema, or true for any
	Defs       map[string]schema `json:"$defs"`
}

// The messages of this package are those of the protocol: each of their fields is in the protocol's schema with the same type, and the schema has
// no other.
func TestMessagesFollowSchema(t *testing.T) {
	content, err := os.ReadFile("../../docs/decider.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root schema
	if err := json.Unmarshal(content, &root); err != nil {
		t.Fatal(err)
	}
	c := &schemaCheck{T: t, defs: root.Defs, seen: map[string]bool{}}
	c.compare("", reflect.TypeFor[message](), root)
	c.compare("", reflect.TypeFor[answer](), root)
	c.expectAll("", root)
}

type schemaCheck struct {
	*testing.T
	defs map[string]schema
	seen map[string]bool // the properties that a message has, by the name of their type and their own
}

func (c *schemaCheck) resolve(s schema) (string, schema) {
	if name, is := strings.CutPrefix(s.Ref, "#/$defs/"); is {
		return name, c.defs[name]
	}
	return "", s
}

// compare compares the fields of a struct with the properties of the type of the schema.
func (c *schemaCheck) compare(name string, of reflect.Type, in schema) {
	for i := range of.NumField() {
		f := of.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "" && f.Anonymous {
			c.compare(name, f.Type, in)
			continue
		}
		property, known := in.Properties[tag]
		if !known {
			c.Errorf("%s.%s is not in the schema", name, tag)
			continue
		}
		c.seen[name+"."+tag] = true
		c.compareType(name+"."+tag, f.Type, property)
	}
}

func (c *schemaCheck) compareType(path string, of reflect.Type, property schema) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	def, resolved := c.resolve(property)
	want := ""
	switch {
	case of == reflect.TypeFor[metav1.Time]() || of == reflect.TypeFor[time.Time]() || of.Kind() == reflect.String:
		want = "string"
	case of == reflect.TypeFor[json.RawMessage]() || of.Kind() == reflect.Interface || of.Kind() == reflect.Map:
		return // any JSON
	case of.Kind() == reflect.Bool:
		want = "boolean"
	case of.Kind() == reflect.Int || of.Kind() == reflect.Uint64:
		want = "integer"
	case of.Kind() == reflect.Slice:
		want = "array"
		var items schema
		if json.Unmarshal(resolved.Items, &items) == nil && items.Ref != "" {
			c.compareType(path, of.Elem(), items)
		}
	case of.Kind() == reflect.Struct:
		want = "object"
		c.compare(def, of, resolved)
	}
	if resolved.Type != want {
		c.Errorf("%s is %s here, and %q in the schema", path, want, resolved.Type)
	}
}

// expectAll reports the properties of the schema that no message has.
func (c *schemaCheck) expectAll(name string, in schema) {
	for property := range in.Properties {
		if !c.seen[name+"."+property] {
			c.Errorf("the schema has %s.%s, and no message does", name, property)
		}
	}
	if name == "" {
		for def, in := range c.defs {
			c.expectAll(def, in)
		}
	}
}
