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

// Unmarshal decodes a file of exactly one document, YAML or JSON, into a struct that is not a Kubernetes object. It is as strict as
// [Decode], and its errors have the same form: one line each, with the field, and a suggestion for an unknown field.
func Unmarshal(file string, data []byte, into any) error {
	document, err := Document(file, data)
	if err != nil {
		return err
	}
	fail := func(problems []string) error {
		var errs []error
		for _, problem := range problems {
			errs = append(errs, Source{File: file}.errorf("%s", oneLine(problem)))
		}
		return joinErrors(errs)
	}
	t := reflect.TypeOf(into)
	strict, err := kjson.UnmarshalStrict(document, into)
	switch {
	case err != nil:
		return fail(describeDecodeError(t, document, err))
	case len(strict) > 0:
		return fail(strictProblems(t, strict))
	}
	return nil
}

// Document returns the only document of a file, YAML or JSON, as JSON. It must be an object.
func Document(file string, data []byte) ([]byte, error) {
	document, err := ToJSON(file, data)
	if err != nil {
		return nil, err
	}
	switch first := jsonType(document); first {
	case "an object":
		return document, nil
	case "null":
		return nil, Source{File: file}.errorf("nothing is in it")
	default:
		return nil, Source{File: file}.errorf("an object is wanted at the top, and this is %s", first)
	}
}

// ToJSON returns the only document of a file, YAML or JSON, as JSON, and null if the file is empty.
func ToJSON(file string, data []byte) ([]byte, error) {
	documents, errs := splitDocuments(file, data)
	switch {
	case len(errs) > 0:
		return nil, joinErrors(errs)
	case len(documents) == 0:
		return []byte("null"), nil
	case len(documents) > 1:
		return nil, Source{File: file}.errorf("%d documents where one is wanted; give each a file of its own", len(documents))
	}
	return documents[0].json, nil
}

// DecodeResource decodes a custom resource into a struct with its fields. An unknown field is a warning, since an API server prunes fields
// that a CustomResourceDefinition does not have. A value of the wrong type is an error, with one line for each.
func DecodeResource(data []byte, into any) (warnings []string, err error) {
	t := reflect.TypeOf(into)
	strict, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		var errs []error
		for _, problem := range describeDecodeError(t, data, err) {
			errs = append(errs, errors.New(oneLine(problem)))
		}
		return nil, joinErrors(errs)
	}
	for _, problem := range strictProblems(t, strict) {
		warnings = append(warnings, oneLine(problem)+"; the API server would leave it out")
	}
	return warnings, nil
}

// CheckPatchTypes returns an error, with one line for each, for values of a patch that have the wrong type for the object. The patch is JSON in the
// shape of the object.
func CheckPatchTypes(patch []byte, obj any) error {
	var errs []error
	for _, problem := range findMisfits(reflect.TypeOf(obj), patch) {
		errs = append(errs, errors.New(oneLine(problem)))
	}
	return joinErrors(errs)
}

// Encode returns the object as JSON with its apiVersion and kind, so that [Decode] can read it.
func Encode(obj cluster.Object) ([]byte, error) {
	if err := cluster.CheckChangeable(obj); err != nil {
		return nil, err
	}
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", obj, err)
	}
	typed := obj.DeepCopyObject()
	typed.GetObjectKind().SetGroupVersionKind(preferredKind(kinds))
	return json.Marshal(typed)
}

// preferredKind returns the first kind with an external version.
func preferredKind(kinds []schema.GroupVersionKind) schema.GroupVersionKind {
	for _, kind := range kinds {
		if kind.Version != runtime.APIVersionInternal {
			return kind
		}
	}
	return kinds[0]
}
