// Package crd admits custom resources by their definitions, as the API server does: it sets defaults, and says what the schema and its rules
// refuse.
package crd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/faultline/faultline/deciders/kit"
)

// Definitions are the definitions of a set of kinds.
type Definitions struct {
	versions map[runtimeschema.GroupVersionKind]*version
	served   map[runtimeschema.GroupKind][]string
}

type version struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator // nil: none
}

// New reads definitions.
func New(definitions ...*apiextensionsv1.CustomResourceDefinition) (*Definitions, error) {
	d := &Definitions{map[runtimeschema.GroupVersionKind]*version{}, map[runtimeschema.GroupKind][]string{}}
	for _, definition := range definitions {
		for _, v := range definition.Spec.Versions {
			if !v.Served {
				continue
			}
			gvk := runtimeschema.GroupVersionKind{Group: definition.Spec.Group, Version: v.Name, Kind: definition.Spec.Names.Kind}
			read, err := newVersion(v.Schema)
			if err != nil {
				return nil, fmt.Errorf("the definition of %s: %w", gvk, err)
			}
			d.versions[gvk] = read
			d.served[gvk.GroupKind()] = append(d.served[gvk.GroupKind()], gvk.GroupVersion().String())
		}
	}
	return d, nil
}

func newVersion(of *apiextensionsv1.CustomResourceValidation) (*version, error) {
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(of, internal, nil); err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	return &version{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// Admit sets the defaults of the objects in place, and returns what is wrong with them. It leaves alone objects of a kind without a
// definition.
func (d *Definitions) Admit(objects []*unstructured.Unstructured) []kit.Problem {
	var problems []kit.Problem
	for i, object := range objects {
		for _, problem := range d.admit(object) {
			problem.Index = i
			problems = append(problems, problem)
		}
	}
	return problems
}

func (d *Definitions) admit(object *unstructured.Unstructured) []kit.Problem {
	gvk := object.GroupVersionKind()
	v := d.versions[gvk]
	if v == nil {
		if served := d.served[gvk.GroupKind()]; len(served) > 0 {
			return []kit.Problem{{Field: "apiVersion", Message: fmt.Sprintf("%s has no version %s; it has %s", gvk.Kind, gvk.Version, strings.Join(served, ", "))}}
		}
		return nil
	}
	var problems []kit.Problem
	unknown := pruning.PruneWithOptions(object.Object, v.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	slices.Sort(unknown)
	for _, path := range unknown {
		problems = append(problems, kit.Problem{Field: path, Message: "unknown field"})
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, v.structural)
	defaulting.Default(object.Object, v.structural)
	wrong := validation.ValidateCustomResource(nil, object.Object, v.validator)
	wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, v.structural, object.Object)...)
	if v.rules != nil && !hasBlockingErr(wrong) {
		broken, _ := v.rules.Validate(context.Background(), nil, v.structural, object.Object, nil, celconfig.RuntimeCELCostBudget)
		wrong = append(wrong, broken...)
	}
	for _, err := range wrong {
		problem := kit.Problem{Field: err.Field, Message: err.ErrorBody()}
		if problem.Field == "<nil>" {
			problem.Field = ""
		}
		problems = append(problems, problem)
	}
	return problems
}

// hasBlockingErr says whether the schema's errors leave the rules out: hasBlockingErr of
// k8s.io/apiextensions-apiserver/pkg/registry/customresource/strategy.go.
func hasBlockingErr(errs field.ErrorList) bool {
	return slices.ContainsFunc(errs, func(err *field.Error) bool {
		return err.Type == field.ErrorTypeNotSupported || err.Type == field.ErrorTypeRequired || err.Type == field.ErrorTypeTooLong ||
			err.Type == field.ErrorTypeTooMany || err.Type == field.ErrorTypeTypeInvalid
	})
}
