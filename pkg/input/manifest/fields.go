package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agext/levenshtein"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"

	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// jsonField is a field of a Go type, with its JSON name.
type jsonField struct {
	name string
	typ  reflect.Type
}

// fieldsOf returns the fields of a struct, including the fields of inlined structs. It returns none for any other type.
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
			fields = append(fields, fieldsOf(elementType(f.Type))...)
		default:
			fields = append(fields, jsonField{name, f.Type})
		}
	}
	return fields
}

// elementType returns the type inside pointers, lists and maps.
func elementType(t reflect.Type) reflect.Type {
	for !decodesItself(t) && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		t = t.Elem()
	}
	return t
}

// decodesItself reports whether the type has its own decoder for JSON.
func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) && t.Kind() != reflect.Pointer
}

// findMisfits returns a problem, with its path, for each value that does not fit the type. The decoder itself stops at the first such value, and
// gives no path for an invalid quantity or time.
func findMisfits(t reflect.Type, value []byte) []string { return findMisfitsAt(t, value, "") }

func findMisfitsAt(t reflect.Type, value []byte, path string) (problems []string) {
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
					problems = append(problems, findMisfitsAt(f.typ, v, strings.TrimPrefix(path+"."+f.name, "."))...)
				}
			}
		}
	case t.Kind() == reflect.Map:
		var values map[string]json.RawMessage
		if err = json.Unmarshal(value, &values); err == nil {
			for _, key := range slices.Sorted(maps.Keys(values)) {
				problems = append(problems, findMisfitsAt(t.Elem(), values[key], fmt.Sprintf("%s[%s]", path, key))...)
			}
		}
	case t.Kind() == reflect.Slice && value[0] == '[':
		var values []json.RawMessage
		if err = json.Unmarshal(value, &values); err == nil {
			for i, v := range values {
				problems = append(problems, findMisfitsAt(t.Elem(), v, fmt.Sprintf("%s[%d]", path, i))...)
			}
		}
	default:
		err = kjson.UnmarshalCaseSensitivePreserveInts(value, reflect.New(t).Interface())
	}
	if err != nil {
		problems = append(problems, strings.TrimPrefix(describeMisfit(t, value, path, err), ": ")) // a problem of the whole object has no path
	}
	return problems
}

// selfDescribing is a type that decodes itself and describes the values that it accepts.
type selfDescribing interface{ Wanted() string }

// describeWanted describes the values that a type accepts.
func describeWanted(t reflect.Type) string {
	switch t {
	case quantityType:
		return topology.Quantity("").Wanted()
	case reflect.TypeFor[intstr.IntOrString]():
		return "a whole number or a percentage such as 25%"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return "a time such as 2006-01-02T15:04:05Z"
	case reflect.TypeFor[metav1.Duration]():
		return "a duration such as 90s"
	case reflect.TypeFor[[]byte]():
		return "a text in base64"
	}
	if own, is := reflect.New(t).Interface().(selfDescribing); is {
		return own.Wanted()
	}
	switch {
	case decodesItself(t):
		return ""
	case isInteger(t):
		return "a whole number"
	}
	return map[reflect.Kind]string{
		reflect.String: "a string", reflect.Bool: "true or false", reflect.Slice: "a list", reflect.Map: "an object", reflect.Struct: "an object",
		reflect.Float64: "a number", reflect.Float32: "a number",
	}[t.Kind()]
}

func isInteger(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 }

// maxDigits is how many characters of a number are looked at. No integer has as many.
const maxDigits = 400

// describeMisfit returns the problem of a value of the wrong type, without the decoder's words.
func describeMisfit(t reflect.Type, value []byte, path string, err error) string {
	problem := fmt.Sprintf("%s: Invalid value: %s: ", path, shortenValue(value))
	whole := t
	if t == reflect.TypeFor[intstr.IntOrString]() {
		whole = reflect.TypeFor[int32]()
	}
	// YAML decoders write whole numbers from 1e21 with an exponent. Parsing takes a time that is quadratic in the number of digits.
	number, ok := new(big.Float).SetString(string(value[:min(len(value), maxDigits)]))
	if ok && isInteger(whole) {
		least, most := integerRange(whole)
		switch {
		case number.Cmp(new(big.Float).SetInt(least)) < 0:
			return fmt.Sprintf("%sis too small; the least is %s", problem, least)
		case number.Cmp(new(big.Float).SetInt(most)) > 0:
			return fmt.Sprintf("%sis too large; the most is %s", problem, most)
		}
	}
	is, wanted := jsonType(value), describeWanted(t)
	if isText := is == "a string" || is == "a number"; wanted == "" || decodesItself(t) && isText && explainsErrors(t, err) {
		return problem + err.Error()
	}
	problem += is + " where " + wanted + " is wanted"
	switch {
	case t.Kind() != reflect.String || decodesItself(t) || strings.IndexByte("tf-0123456789", value[0]) < 0:
	case value[0] == 't' || value[0] == 'f':
		problem += "; put it in quotes, since YAML takes y, n, yes, no, on and off for booleans, too"
	default:
		problem += "; put it in quotes"
	}
	return problem
}

// explainsErrors reports whether the type's own error for a string or number describes the problem. The errors of Go's packages do not.
func explainsErrors(t reflect.Type, err error) bool {
	return t == quantityType || t.PkgPath() != reflect.TypeFor[metav1.Time]().PkgPath() && !errors.As(err, new(*json.UnmarshalTypeError))
}

// shortenValue returns a JSON value as an error shows it.
func shortenValue(value []byte) string {
	if value[0] == '"' {
		return words.ShortenValues(string(value))
	}
	return words.Shorten(string(value), 100)
}

// integerRange returns the minimum and the maximum of an integer type.
func integerRange(t reflect.Type) (least, most *big.Int) {
	beyond := func(bits int) *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(bits)) }
	least, most = new(big.Int), beyond(t.Bits())
	if t.Kind() < reflect.Uint {
		most = beyond(t.Bits() - 1)
		least.Neg(most)
	}
	return least, most.Sub(most, big.NewInt(1))
}

var pathIndex = regexp.MustCompile(`\[[^\]]*\]`)

// suggestions caches the results of suggestField by type and path: the objects of a dump repeat the same unknown fields.
var suggestions sync.Map

// suggestField returns the known field that the user probably meant by an unknown one: a sibling with a similar name, or a field of the
// same name one level up or down. It returns "" if there is none.
func suggestField(root reflect.Type, path string) string {
	type field struct {
		root reflect.Type
		path string
	}
	unknown := field{root, pathIndex.ReplaceAllString(path, "")}
	if known, found := suggestions.Load(unknown); found {
		return known.(string)
	}
	suggestion := formatSuggestion(findMeantField(elementType(root), strings.Split(unknown.path, ".")))
	suggestions.Store(unknown, suggestion)
	return suggestion
}

// fieldPlace is a field of a type, with the path that leads to it.
type fieldPlace struct {
	path string
	typ  reflect.Type // the type of the field, or of the elements of a list
}

// placeOf returns the place of a field of the place's type.
func (p fieldPlace) placeOf(f jsonField) fieldPlace {
	return fieldPlace{strings.TrimPrefix(p.path+"."+f.name, "."), elementType(f.typ)}
}

// findField returns the place of the field with that name.
func (p fieldPlace) findField(name string) (fieldPlace, bool) {
	for _, f := range fieldsOf(p.typ) {
		if f.name == name {
			return p.placeOf(f), true
		}
	}
	return fieldPlace{}, false
}

// inside returns the place from which the fields inside a field start. The path of a list gets "[]".
func (p fieldPlace) inside(f jsonField) fieldPlace {
	in := p.placeOf(f)
	if f.typ.Kind() == reflect.Slice {
		in.path += "[]"
	}
	return in
}

// findMeantField computes the result of suggestField.
func findMeantField(root reflect.Type, path []string) string {
	above := []fieldPlace{{"", root}}
	for _, name := range path[:len(path)-1] {
		here := above[len(above)-1]
		for _, f := range fieldsOf(here.typ) {
			if f.name == name {
				above = append(above, here.inside(f))
				break
			}
		}
	}
	unknown, here := path[len(path)-1], above[len(above)-1]
	var neighbours []string
	for _, f := range fieldsOf(here.typ) {
		neighbours = append(neighbours, f.name)
	}
	if name := nearestName(unknown, neighbours); name != "" {
		return name
	}
	var found []string
	for _, near := range slices.Concat(placesAbove(above), placesBelow(here)) {
		if field, is := near.findField(unknown); is {
			found = append(found, field.path)
		}
	}
	if len(found) != 1 {
		return "" // none, or ambiguous
	}
	return found[0]
}

// isTemplate reports whether the place is a pod template. A template and its spec count as one level, so that a field of a Deployment's
// spec is one level from the spec of its pods.
func isTemplate(p fieldPlace) bool { return strings.HasSuffix(p.path, "emplate") }

// placesAbove returns the level above the last place. Each place is inside the one before it.
func placesAbove(above []fieldPlace) []fieldPlace {
	if len(above) < 2 {
		return nil
	}
	up := above[len(above)-2:][:1]
	if isTemplate(up[0]) && len(above) > 2 {
		return above[len(above)-3:][:2]
	}
	return up
}

// rarelyMeant lists fields that suggestField does not search: users rarely mean a field inside them.
var rarelyMeant = map[string]bool{"status": true, "initContainers": true, "ephemeralContainers": true}

// placesBelow returns the places one level below a place.
func placesBelow(here fieldPlace) []fieldPlace {
	var down []fieldPlace
	for _, f := range fieldsOf(here.typ) {
		if rarelyMeant[f.name] {
			continue
		}
		in := here.inside(f)
		down = append(down, in)
		if spec, is := in.findField("spec"); is && isTemplate(in) {
			down = append(down, spec)
		}
	}
	return down
}

// DidYouMean returns the end of an error that suggests the known name most similar to the word: `; did you mean "name"?`. It returns "" if
// no name is similar; the first of several wins.
func DidYouMean(word string, names []string) string {
	return formatSuggestion(nearestName(word, names))
}

// nearestName returns the name most similar to the word, or "" if no name is similar. The first of several wins.
func nearestName(word string, names []string) string {
	best, distance := "", 3
	for _, name := range names {
		if d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(name), nil); d < min(distance, len(word)) {
			best, distance = name, d
		}
	}
	return best
}

func formatSuggestion(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", name)
}
