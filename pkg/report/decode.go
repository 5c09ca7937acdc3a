package report

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// Decode reads a report back from its JSON or YAML. It is strict. Each of these is an error: another apiVersion or kind, an unknown or a
// duplicate field, a null in a list, an impossible count, and a second document. Errors are one per line, each with the file's name in
// front.
func Decode[R any](file string, data []byte, kind string) (*R, error) {
	data, head, err := decodeHead(file, data)
	if err != nil {
		return nil, err
	}
	if head.APIVersion != APIVersion || head.Kind != kind {
		return nil, fmt.Errorf("%s: apiVersion %q and kind %q; give a report of apiVersion %s and kind %s",
			file, head.APIVersion, head.Kind, APIVersion, kind)
	}
	r := new(R)
	if err := manifest.Unmarshal(file, data, r); err != nil {
		return nil, err
	}
	problems := Problems{File: file}
	problems.checkValue("", reflect.ValueOf(r).Elem())
	return r, problems.Err()
}

// KindOf returns the kind that the JSON or YAML names, such as Report. It may be the kind of something other than a report.
func KindOf(file string, data []byte) (string, error) {
	_, head, err := decodeHead(file, data)
	return head.Kind, err
}

// decodeHead returns the only document in the data, as JSON, and its apiVersion and kind.
func decodeHead(file string, data []byte) ([]byte, metav1.TypeMeta, error) {
	var head metav1.TypeMeta
	data, err := manifest.Document(file, data)
	if err != nil {
		return nil, head, err
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &head) != nil {
		head = metav1.TypeMeta{} // they are not strings, so this is not a report
	}
	return data, head, nil
}

// Problems collects the problems of a report that was read back. A report that Faultline wrote has none.
type Problems struct {
	File string
	errs []error
}

// maxProblems is the largest number of problems that are listed for one file.
const maxProblems = 100

// Add adds a problem at the path.
func (p *Problems) Add(path, format string, args ...any) {
	if len(p.errs) < maxProblems {
		p.errs = append(p.errs, fmt.Errorf("%s: %s: %s; write the report again", p.File, path, fmt.Sprintf(format, args...)))
	}
}

// Err returns all problems as one error, a line each, or nil.
func (p *Problems) Err() error { return errors.Join(p.errs...) }

// checkValue finds values that no field of a report can have: an empty element of a list, which a null becomes, and an int that is negative or
// larger than any simulation. Only counts have the type int; values that may be negative, such as scores, have another type.
func (p *Problems) checkValue(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p.checkValue(path, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case !field.IsExported():
			case name == "": // embedded
				p.checkValue(path, v.Field(i))
			default:
				p.checkValue(strings.TrimPrefix(path+"."+name, "."), v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if at, element := fmt.Sprintf("%s[%d]", path, i), v.Index(i); element.Kind() == reflect.Struct && element.IsZero() {
				p.Add(at, "nothing is in it")
			} else {
				p.checkValue(at, element)
			}
		}
	case reflect.Int:
		if n := v.Int(); n < 0 {
			p.Add(path, "Invalid value: %d: must not be negative", n)
		} else if n > math.MaxInt32 {
			p.Add(path, "Invalid value: %d: must be at most %d", n, math.MaxInt32)
		}
	}
}

// CheckSteps adds a problem if there are no steps, if a step has no name, or if two have the same name. Steps are identified by their names.
func CheckSteps[S any](p *Problems, steps []S, name func(*S) string) {
	if steps == nil {
		p.Add("steps", "is missing")
	}
	at := map[string]int{}
	for i := range steps {
		name, path := name(&steps[i]), fmt.Sprintf("steps[%d].name", i)
		first, again := at[name]
		switch {
		case name == "":
			p.Add(path, "is missing")
		case again:
			p.Add(path, "Invalid value: %q: steps[%d] has the same name", name, first)
		default:
			at[name] = i
		}
	}
}
