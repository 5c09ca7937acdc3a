package operator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// Write writes the objects as their operators write them, followed by other objects, so that the output can be read again. In YAML, the
// notes are comments at the beginning, and a comment before each rule says which level set it. In JSON, an annotation says so, and there
// are no notes. format is "json" or YAML otherwise.
func Write(w io.Writer, result *Result, others []manifest.Object, format string) error {
	all := append([]WrittenObject(nil), result.Made...)
	for _, other := range others {
		all = append(all, WrittenObject{Object: other.Object})
	}
	var out bytes.Buffer
	var err error
	if format == "json" {
		err = writeJSON(&out, all)
	} else {
		err = writeYAML(&out, result, all)
	}
	if err == nil {
		_, err = out.WriteTo(w)
	}
	return err
}

func writeJSON(w io.Writer, all []WrittenObject) error {
	items := []any{}
	for i := range all {
		item, err := fieldsAsWritten(all[i].withOrigins(), func(data []byte) []byte { return data })
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	encoder := json.NewEncoder(manifest.NewEscaper(w))
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

func writeYAML(out *bytes.Buffer, result *Result, all []WrittenObject) error {
	for _, note := range result.Notes {
		fmt.Fprintf(out, "# %s\n", manifest.Clean(note))
	}
	for _, ignored := range result.Ignored {
		fmt.Fprintf(out, "# %s\n", manifest.Clean(fmt.Sprintf("%s: %s %s is of no operator that is known, and nothing is made of it", ignored.Source, ignored.Kind, ignored.Name)))
	}
	for i := range all {
		if out.Len() > 0 {
			out.WriteString("---\n")
		}
		obj, err := fieldsAsWritten(all[i].Object, manifest.MarkInvisible)
		if err != nil {
			return err
		}
		var document yaml.Node
		if err := document.Encode(obj); err != nil {
			return err
		}
		for _, origin := range all[i].Origins {
			addOriginComment(&document, origin)
		}
		var text bytes.Buffer
		encoder := yaml.NewEncoder(&text)
		encoder.SetIndent(2)
		if err := encoder.Encode(&document); err != nil {
			return err
		}
		out.Write(manifest.EscapeMarked(text.Bytes()))
	}
	return nil
}

// addOriginComment adds a comment before a field of the pod's spec, with the level that set it.
func addOriginComment(object *yaml.Node, origin Origin) {
	node := object
	var key *yaml.Node
	for _, name := range append([]string{"spec", "template", "spec"}, strings.Split(origin.Field, ".")...) {
		if key, node = mappingField(node, name); key == nil {
			return // the template is elsewhere in this kind
		}
	}
	key.HeadComment = "# from: " + origin.Level
}

// mappingField returns a field of a mapping, or nil.
func mappingField(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// fieldsAsWritten returns the fields of an object as in a manifest: without the fields that the API server adds to every object, and without empty
// fields. It applies edit to the object's JSON first.
func fieldsAsWritten(obj cluster.Object, edit func([]byte) []byte) (map[string]any, error) {
	obj = obj.DeepCopyObject().(cluster.Object)
	if obj.GetResourceVersion() == "" {
		obj.SetUID("") // Faultline generated the UID
	}
	data, err := manifest.Encode(obj)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(edit(data)))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, err
	}
	return dropEmptyFields(fields).(map[string]any), nil
}

// omittedIfEmpty lists fields that Go writes even if they are empty.
var omittedIfEmpty = map[string]bool{"creationTimestamp": true, "metadata": true, "resources": true, "status": true, "strategy": true, "updateStrategy": true}

// dropEmptyFields removes the fields of [omittedIfEmpty] that are empty, everywhere, and gives numbers their Go types.
func dropEmptyFields(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // written by Go, so it parses
		return f
	case []any:
		for i := range v {
			v[i] = dropEmptyFields(v[i])
		}
	case map[string]any:
		for name := range v {
			if v[name] = dropEmptyFields(v[name]); omittedIfEmpty[name] && isEmpty(v[name]) {
				delete(v, name)
			}
		}
	}
	return value
}

// isEmpty reports whether the value contains nothing but zeros.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case int64:
		return v == 0
	case float64:
		return v == 0
	case string:
		return v == ""
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, inner := range v {
			if !isEmpty(inner) {
				return false
			}
		}
		return true
	}
	return false
}
