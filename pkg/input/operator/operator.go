// Package operator turns custom resources into what their operators would make of them: workloads, with the origin of every rule by
// which their pods are placed. Each operator has a package below this one.
//
//	manifest.Ignored ─ Operator.Expand ─▶ Expansion          (the objects, as the operator writes them, and where their rules come from)
//	                 ─ Expand ──────────▶ []manifest.Object  (defaulted and validated by the API server's code, annotated)
//
// What an operator's documentation leaves open is an assumption, and said to be one.
package operator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// Operator makes objects of the custom resources of some kinds.
type Operator struct {
	// Name is the operator's, for errors and notes: KafScale.
	Name string
	// Kinds are the resources that it expands, whatever their version; Expand refuses versions that there are not.
	Kinds []schema.GroupKind
	// Misspelt are groups that documents of the operator name by mistake, with the right one.
	Misspelt map[string]string
	// Install makes what is there without any resource: the workloads of the operator's own chart. Nil makes nothing.
	Install func() (*Expansion, error)
	// Expand makes the objects of one resource. Those are the others that were read together with it, for references. The error tells
	// all that keeps the operator, or the API server before it, from making them, a line each, without the resource's name.
	Expand func(resource *Resource, those []*Resource) (*Expansion, error)
}

// Resource is a custom resource.
type Resource struct {
	manifest.Ignored
}

// Decode reads the resource into a Go type of its shape, strictly as far as types go. Unknown fields are returned as warnings: an API
// server would prune them.
func (r *Resource) Decode(into any) (warnings []string, err error) {
	return manifest.DecodeResource(r.JSON, into)
}

// String is the resource in a sentence: KafscaleCluster kafka/main.
func (r *Resource) String() string {
	return fmt.Sprintf("%s %s/%s", r.Kind, cmp.Or(r.Namespace, v1.NamespaceDefault), r.Name)
}

// Name tells a custom resource from all others, whatever its version.
func Name(i manifest.Ignored) string {
	group, _, _ := strings.Cut(i.APIVersion, "/")
	return fmt.Sprintf("%s.%s %s/%s", i.Kind, group, cmp.Or(i.Namespace, v1.NamespaceDefault), i.Name)
}

// Expansion is what an operator makes of one resource.
type Expansion struct {
	Objects []Made
	// Warnings are what of the resource has no effect, or another one than it seems, a sentence each.
	Warnings []string
	// Assumptions are what is not published and was taken for granted, a sentence each.
	Assumptions []string
}

// Made is an object that an operator makes, as it writes it: without what the API server adds.
type Made struct {
	cluster.Object
	// Origins say where the rules of its pods come from.
	Origins []Origin
}

// Origin says which level set a field that decides where pods go.
type Origin struct {
	// Field is its place in the pod's spec: affinity.podAntiAffinity, nodeSelector.
	Field string
	// Level is who set it, such as "operator default", "role servers" or "role group default".
	Level string
}

// Dropped begins the level of a default rule that is gone, since something else was set: dropped by chart values.
const Dropped = "dropped by "

// OriginAnnotation begins the annotation on a workload that says which level set a field of its pods' spec:
// origin.faultline.dev/affinity.podAntiAffinity: operator default.
const OriginAnnotation = "origin.faultline.dev/"

// OwnerAnnotation on an object names the resource from which it was expanded: KafscaleCluster kafka/main.
const OwnerAnnotation = "faultline.dev/expanded-from"

// Result is what came of the custom resources of some files.
type Result struct {
	// Objects are what they were expanded to, in order, ready to be applied. Their source is the resource's.
	Objects []manifest.Object
	// Ignored are the resources that no operator knows.
	Ignored []manifest.Ignored
	// Notes are warnings and assumptions, each with the resource that it is about.
	Notes []string
	// Made are the same objects as their operators write them, in the same order.
	Made []Made
}

// Expand expands the resources that one of the operators knows. Those among which they are can be referred to, too. The error tells all that
// is wrong, a line each.
func Expand(operators []Operator, ignored []manifest.Ignored, among ...manifest.Ignored) (*Result, error) {
	result := &Result{}
	var resources []*Resource
	for _, i := range ignored {
		resources = append(resources, &Resource{i})
	}
	given, there := len(resources), map[string]bool{}
	for _, r := range resources {
		there[Name(r.Ignored)] = true
	}
	for _, i := range among {
		if !there[Name(i)] {
			resources = append(resources, &Resource{i})
		}
	}
	var problems []error
	for _, r := range resources[:given] {
		o, err := find(operators, r)
		switch {
		case err != nil:
			problems = append(problems, err)
		case o == nil:
			result.Ignored = append(result.Ignored, r.Ignored)
		default:
			if err := result.make(r, func() (*Expansion, error) { return o.Expand(r, resources) }); err != nil {
				problems = append(problems, err)
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return result, nil
}

// Install returns what the operators' own charts bring along, to be applied before anything else. The error tells all that is wrong.
func Install(operators []Operator) (*Result, error) {
	result := &Result{}
	var problems []error
	for i := range operators {
		o := &operators[i]
		if o.Install == nil {
			continue
		}
		chart := &Resource{manifest.Ignored{Ref: cluster.Ref{Kind: o.Name, Name: "chart"}, Source: manifest.Source{File: o.Name}}}
		if err := result.make(chart, o.Install); err != nil {
			problems = append(problems, err)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return result, nil
}

// Knows tells whether the resource is of one of the operators, or of one by mistake, so that Expand has something to say of it.
func Knows(operators []Operator, ignored manifest.Ignored) bool {
	o, err := find(operators, &Resource{ignored})
	return o != nil || err != nil
}

// find returns the operator of the resource, nil if there is none.
func find(operators []Operator, r *Resource) (*Operator, error) {
	if r.JSON == nil {
		return nil, nil
	}
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	if err != nil {
		return nil, nil // whoever reads manifests has said so
	}
	for i := range operators {
		o := &operators[i]
		if right, found := o.Misspelt[gv.Group]; found {
			return nil, fmt.Errorf("%s: %s: there is no API group %s, though a document of %s says so; give apiVersion: %s/%s", r.Source, r, gv.Group, o.Name, right, gv.Version)
		}
		if slices.Contains(o.Kinds, gv.WithKind(r.Kind).GroupKind()) {
			return o, nil
		}
	}
	return nil, nil
}

// make adds what an operator makes of the resource.
func (result *Result) make(r *Resource, expand func() (*Expansion, error)) error {
	expansion, err := expand()
	if err != nil {
		var lines []error
		for line := range strings.Lines(err.Error()) {
			lines = append(lines, fmt.Errorf("%s: %s: %s", r.Source, r, strings.TrimSpace(line)))
		}
		return errors.Join(lines...)
	}
	var problems []error
	for _, made := range expansion.Objects {
		obj, err := made.create(r)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		result.Objects = append(result.Objects, obj)
		result.Made = append(result.Made, made)
	}
	for _, warning := range expansion.Warnings {
		result.Notes = append(result.Notes, fmt.Sprintf("%s: %s", r, warning))
	}
	for _, assumption := range expansion.Assumptions {
		result.Notes = append(result.Notes, fmt.Sprintf("%s: assumed: %s", r, assumption))
	}
	return errors.Join(problems...)
}

// create lets the API server's code default and validate the object. What it refuses is told with the resource from which it comes.
func (m *Made) create(r *Resource) (manifest.Object, error) {
	obj := m.annotated()
	obj.SetAnnotations(with(obj.GetAnnotations(), OwnerAnnotation, r.String()))
	if _, clusterWide := obj.(*schedulingv1.PriorityClass); obj.GetNamespace() == "" && !clusterWide {
		obj.SetNamespace(cmp.Or(r.Namespace, v1.NamespaceDefault))
	}
	data, err := manifest.Encode(obj)
	if err != nil {
		return manifest.Object{}, err
	}
	created, err := manifest.DecodeObject(fmt.Sprintf("%s: %s", r.Source, r), data)
	if err != nil {
		return manifest.Object{}, err
	}
	created.Source = r.Source
	return created, nil
}

// annotated is a copy of the object that carries the origins.
func (m *Made) annotated() cluster.Object {
	obj := m.Object.DeepCopyObject().(cluster.Object)
	for _, origin := range m.Origins {
		obj.SetAnnotations(with(obj.GetAnnotations(), OriginAnnotation+origin.Field, origin.Level))
	}
	return obj
}

func with(annotations map[string]string, key, value string) map[string]string {
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	return annotations
}

// OriginsOf returns what the annotations of an object say of the origin of its rules, sorted by field; nil if it was not expanded from
// a custom resource.
func OriginsOf(obj metav1.Object) []Origin {
	var origins []Origin
	for key, value := range obj.GetAnnotations() {
		if field, found := strings.CutPrefix(key, OriginAnnotation); found {
			origins = append(origins, Origin{field, value})
		}
	}
	slices.SortFunc(origins, func(a, b Origin) int { return cmp.Compare(a.Field, b.Field) })
	return origins
}

// Term is the one that operators give to pods that shall keep apart, or together, over hosts: preferred, by labels, in the
// pod's own namespace.
func Term(weight int32, matchLabels map[string]string) v1.WeightedPodAffinityTerm {
	return v1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: v1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: matchLabels}, TopologyKey: v1.LabelHostname,
	}}
}
