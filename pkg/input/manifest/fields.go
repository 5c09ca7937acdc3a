package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agext/levenshtein"
	kjson "sigs.k8s.io/json"
)

// jsonField is a field of a Go type under its name in JSON.
type jsonField struct {
	name string
	typ  reflect.Type
}

// fieldsOf lists the fields of a struct, those of inlined structs included; none for any other type.
func fieldsOf(t reflect.Type) []jsonField {
	if t.Kind() != reflect.Struct || decodesItself(t) {
		return nil
	}
	var fields []jsonField
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			fields = append(fields, fieldsOf(element(f.Type))...)
		default:
			fields = append(fields, jsonField{name, f.Type})
		}
	}
	return fields
}

// element strips pointers, lists and maps off a type.
func element(t reflect.Type) reflect.Type {
	for !decodesItself(t) && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		t = t.Elem()
	}
	return t
}

func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) && t.Kind() != reflect.Pointer
}

// locate finds the values that a type cannot take, and says where they are; the decoder gives up at the first one, and does
// not say where a quantity or a time is that it cannot read.
func locate(t reflect.Type, value []byte) []string { return locateAt(t, value, "") }

func locateAt(t reflect.Type, value []byte, path string) (problems []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if string(value) == "null" {
		return nil
	}
	var err error
	switch {
	case t == quantityType && checkQuantity(value) != nil:
		err = checkQuantity(value)
	case decodesItself(t) || t.Kind() == reflect.Interface:
		err = json.Unmarshal(value, reflect.New(t).Interface())
	case t.Kind() == reflect.Struct:
		var values map[string]json.RawMessage
		if err = json.Unmarshal(value, &values); err == nil {
			for _, f := range fieldsOf(t) {
				if v, found := values[f.name]; found {
					problems = append(problems, locateAt(f.typ, v, strings.TrimPrefix(path+"."+f.name, "."))...)
				}
			}
		}
	case t.Kind() == reflect.Map:
		var values map[string]json.RawMessage
		if err = json.Unmarshal(value, &values); err == nil {
			for _, key := range slices.Sorted(maps.Keys(values)) {
				problems = append(problems, locateAt(t.Elem(), values[key], fmt.Sprintf("%s[%s]", path, key))...)
			}
		}
	case t.Kind() == reflect.Slice && value[0] == '[':
		var values []json.RawMessage
		if err = json.Unmarshal(value, &values); err == nil {
			for i, v := range values {
				problems = append(problems, locateAt(t.Elem(), v, fmt.Sprintf("%s[%d]", path, i))...)
			}
		}
	default:
		err = kjson.UnmarshalCaseSensitivePreserveInts(value, reflect.New(t).Interface())
	}
	if err != nil {
		problems = append(problems, strings.TrimPrefix(misfit(t, value, path, err), ": ")) // of the object as a whole
	}
	return problems
}

// misfit says that a value does not fit.
func misfit(t reflect.Type, value []byte, path string, err error) string {
	wanted := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Bool: "true or false", reflect.Slice: "a list", reflect.Map: "an object", reflect.Struct: "an object",
		reflect.Int32: "a whole number", reflect.Int64: "a whole number", reflect.Int: "a whole number", reflect.Uint64: "a whole number",
		reflect.Float64: "a number",
	}[t.Kind()]
	if decodesItself(t) || wanted == "" {
		return fmt.Sprintf("%s: Invalid value: %s: %v", path, shorten(value), err)
	}
	// From 1e21 on, YAML's whole numbers come with an exponent.
	if number, ok := new(big.Float).SetString(string(value)); ok && wanted == "a whole number" {
		least, most := limits(t)
		switch {
		case number.Cmp(new(big.Float).SetInt(least)) < 0:
			return fmt.Sprintf("%s: Invalid value: %s: is too small; the least is %s", path, shorten(value), least)
		case number.Cmp(new(big.Float).SetInt(most)) > 0:
			return fmt.Sprintf("%s: Invalid value: %s: is too large; the most is %s", path, shorten(value), most)
		}
	}
	problem := fmt.Sprintf("%s: Invalid value: %s: %s where %s is wanted", path, shorten(value), jsonType(value), wanted)
	switch {
	case t.Kind() != reflect.String || strings.IndexByte("tf-0123456789", value[0]) < 0:
	case value[0] == 't' || value[0] == 'f':
		problem += "; put it in quotes, since YAML takes y, n, yes, no, on and off for booleans, too"
	default:
		problem += "; put it in quotes"
	}
	return problem
}

// limits returns the least and the most that a type of whole numbers holds.
func limits(t reflect.Type) (least, most *big.Int) {
	beyond := func(bits int) *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(bits)) }
	least, most = new(big.Int), beyond(t.Bits())
	if t.Kind() != reflect.Uint64 {
		most = beyond(t.Bits() - 1)
		least.Neg(most)
	}
	return least, most.Sub(most, big.NewInt(1))
}

func shorten(value []byte) string {
	if len(value) > 60 {
		return string(value[:60]) + "…"
	}
	return string(value)
}

var indices = regexp.MustCompile(`\[[^\]]*\]`)

// suggestions are the proposals of suggestField by type and path: the objects of a dump have the same unknown fields again and again.
var suggestions sync.Map

// suggestField proposes the known field that an unknown one was meant to be: a neighbour that is spelled nearly alike, or one
// of the same name elsewhere in the object; "" if there is none.
func suggestField(root reflect.Type, path string) string {
	type field struct {
		root reflect.Type
		path string
	}
	unknown := field{root, indices.ReplaceAllString(path, "")}
	if known, found := suggestions.Load(unknown); found {
		return known.(string)
	}
	suggestion := didYouMean(meant(element(root), strings.Split(unknown.path, ".")))
	suggestions.Store(unknown, suggestion)
	return suggestion
}

// meant is the field that suggestField proposes.
func meant(root reflect.Type, path []string) string {
	parent, unknown := root, path[len(path)-1]
	for _, name := range path[:len(path)-1] {
		for _, f := range fieldsOf(parent) {
			if f.name == name {
				parent = element(f.typ)
				break
			}
		}
	}
	var neighbours []string
	for _, f := range fieldsOf(parent) {
		neighbours = append(neighbours, f.name)
	}
	return cmp.Or(nearest(unknown, neighbours), elsewhere(root, unknown))
}

// rarelyMeant are fields inside which nobody misses a field.
var rarelyMeant = map[string]bool{"status": true, "initContainers": true, "ephemeralContainers": true}

// elsewhere returns the path of the field of that name that is the least deep.
func elsewhere(root reflect.Type, name string) string {
	type place struct {
		path string
		typ  reflect.Type
	}
	seen := map[reflect.Type]bool{root: true}
	for queue := []place{{"", root}}; len(queue) > 0; queue = queue[1:] {
		for _, f := range fieldsOf(queue[0].typ) {
			path := strings.TrimPrefix(queue[0].path+"."+f.name, ".")
			if f.name == name {
				return path
			}
			if f.typ.Kind() == reflect.Slice {
				path += "[]"
			}
			if t := element(f.typ); !seen[t] && !rarelyMeant[f.name] {
				seen[t] = true
				queue = append(queue, place{path, t})
			}
		}
	}
	return ""
}

// DidYouMean proposes, as the end of an error, the known name that is spelled most like the word: `; did you mean "name"?`. It
// is empty if none is near; the first of several wins.
func DidYouMean(word string, names []string) string { return didYouMean(nearest(word, names)) }

// nearest returns the name that is spelled most like the word, or "" if none is near. The first of several wins.
func nearest(word string, names []string) string {
	best, distance := "", 3
	for _, name := range names {
		if d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(name), nil); d < min(distance, len(word)) {
			best, distance = name, d
		}
	}
	return best
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", name)
}
