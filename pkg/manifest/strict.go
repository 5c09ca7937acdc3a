package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	kjson "sigs.k8s.io/json"

	"github.com/faultline/faultline/pkg/cluster"
)

// Unmarshal decodes a file of exactly one document, YAML or JSON, into a struct that is no Kubernetes object. It is as strict as
// Decode, and its errors are as Decode's: one line each, with the field, and a proposal where a field is unknown.
func Unmarshal(file string, data []byte, into any) error {
	documents, errs := split(file, data)
	if len(errs) > 0 {
		return join(errs)
	}
	source := Source{File: file}
	if len(documents) == 0 {
		return source.errorf("nothing is in it")
	}
	if len(documents) > 1 {
		return source.errorf("%d documents where one is wanted; give each a file of its own", len(documents))
	}
	fail := func(problems []string) error {
		for _, problem := range problems {
			errs = append(errs, source.errorf("%s", oneLine(problem)))
		}
		return join(errs)
	}
	t := reflect.TypeOf(into)
	if first := jsonType(documents[0].json); first != "an object" {
		return fail([]string{fmt.Sprintf("an object is wanted at the top, and this is %s", first)})
	}
	strict, err := kjson.UnmarshalStrict(documents[0].json, into)
	switch {
	case err != nil:
		return fail(problems(t, documents[0].json, err))
	case len(strict) > 0:
		return fail(strictProblems(t, strict))
	}
	return nil
}

// DecodeResource decodes a custom resource into a struct of its shape. A field that the struct does not have is a warning, since an API
// server prunes what a CustomResourceDefinition does not know; a value of the wrong type is an error, a line for each.
func DecodeResource(data []byte, into any) (warnings []string, err error) {
	t := reflect.TypeOf(into)
	strict, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		var errs []error
		for _, problem := range problems(t, data, err) {
			errs = append(errs, errors.New(oneLine(problem)))
		}
		return nil, join(errs)
	}
	for _, problem := range strictProblems(t, strict) {
		warnings = append(warnings, oneLine(problem)+"; the API server would leave it out")
	}
	return warnings, nil
}

// Encode returns the object as JSON, with its apiVersion and kind, so that Decode reads it back.
func Encode(obj cluster.Object) ([]byte, error) {
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", obj, err)
	}
	typed := obj.DeepCopyObject()
	typed.GetObjectKind().SetGroupVersionKind(preferred(kinds))
	return json.Marshal(typed)
}

func preferred(kinds []schema.GroupVersionKind) schema.GroupVersionKind {
	for _, kind := range kinds {
		if kind.Version != runtime.APIVersionInternal {
			return kind
		}
	}
	return kinds[0]
}
