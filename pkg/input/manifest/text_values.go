package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// Tools that convert a dump by way of a table, XML or an untyped language write numbers and booleans as texts, such as replicas: "3". An API
// server refuses them. In a dump, where the API server has accepted the object before, the text can only mean the value.

// wholeNumber matches a text that can only mean a whole number.
var wholeNumber = regexp.MustCompile(`^(?:0|-?[1-9][0-9]{0,18})$`)

// readTexts returns the item of a dump with the numbers and booleans that are written as texts, and a flaw for each of these fields. It returns
// false if there is none.
func (it item) readTexts(gvk schema.GroupVersionKind) (item, []Flaw, bool) {
	typed, err := legacyscheme.Scheme.New(gvk)
	if err != nil || !it.dumped() {
		return it, nil, false
	}
	object, err := decodeFields(it.json)
	if err != nil {
		return it, nil, false
	}
	var flaws []Flaw
	readTextsAt(reflect.TypeOf(typed).Elem(), object, "", func(path, text string) {
		flaws = append(flaws, it.flaw(fmt.Sprintf("%s: the text %q is read as the value", path, text), false))
	})
	if len(flaws) == 0 {
		return it, nil, false
	}
	if it.json, err = json.Marshal(object); err != nil {
		return it, nil, false
	}
	return it, flaws, true
}

// readTextsAt replaces the texts in a value of the type by the numbers and booleans that they mean, and returns the value.
func readTextsAt(t reflect.Type, value any, path string, found func(path, text string)) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := value.(type) {
	case string:
		isNumber := isInteger(t) && wholeNumber.MatchString(v)
		if decodesItself(t) || !isNumber && !(t.Kind() == reflect.Bool && (v == "true" || v == "false")) {
			return v
		}
		found(path, v)
		return json.RawMessage(v)
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if typ := memberType(t, name); typ != nil {
				v[name] = readTextsAt(typ, v[name], strings.TrimPrefix(path+"."+name, "."), found)
			}
		}
	case []any:
		for i := range v {
			if t.Kind() == reflect.Slice {
				v[i] = readTextsAt(t.Elem(), v[i], fmt.Sprintf("%s[%d]", path, i), found)
			}
		}
	}
	return value
}

// memberType returns the type of a field or of a map's values, or nil if the type has no such field.
func memberType(t reflect.Type, name string) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	for _, f := range fieldsOf(t) {
		if f.name == name {
			return f.typ
		}
	}
	return nil
}
