// Package operator expands custom resources into the workloads that their operators would create, with the origin of every rule that places
// their pods. Each operator has a package below this one.
//
//	manifest.Ignored ─ Operator.Expand ─▶ Expansion          (the objects as the operator writes them, and the origins of their rules)
//	                 ─ Expand ──────────▶ []manifest.Object  (defaulted and validated by the API server's code, annotated)
//
// Values that an operator's documentation leaves open are assumptions, and reported as such.
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
	"github.com/faultline/faultline/pkg/list"
)

// Operator creates objects for custom resources of some kinds.
type Operator struct {
	// Name is the name of the operator, for errors and notes: KafScale.
	Name string
	// Kinds are the resources that it expands, in any version; Expand rejects unknown versions.
	Kinds []schema.GroupKind
	// Misspelt maps wrong API groups in the operator's documentation to the right ones.
	Misspelt map[string]string
	// Install creates the objects that need no resource: the workloads of the operator's own chart. Nil creates nothing.
	Install func() (*Expansion, error)
	// Expand creates the objects of one resource. all contains all resources that were read, for references. The error lists everything
	// that keeps the operator, or the API server before it, from creating the objects, one line each, without the resource's name.
	Expand func(resource *Resource, all []*Resource) (*Expansion, error)
}

// Resource is a custom resource.
type Resource struct {
	manifest.Ignored
}

// Decode decodes the resource into a Go type. A value of the wrong type is an error. An unknown field, which an API server would prune, is
// a warning.
func (r *Resource) Decode(into any) (warnings []string, err error) {
	return manifest.DecodeResource(r.JSON, into)
}

// String returns the kind, namespace and name of the resource: KafscaleCluster kafka/main.
func (r *Resource) String() string {
	return fmt.Sprintf("%s %s/%s", r.Kind, cmp.Or(r.Namespace, v1.NamespaceDefault), r.Name)
}

// ResourceKey returns a key of the custom resource that is the same for all versions of its API.
func ResourceKey(i manifest.Ignored) string {
	group, _, _ := strings.Cut(i.APIVersion, "/")
	return fmt.Sprintf("%s.%s %s/%s", i.Kind, group, cmp.Or(i.Namespace, v1.NamespaceDefault), i.Name)
}

// Expansion holds the objects that an operator creates for one resource.
type Expansion struct {
	Objects []WrittenObject
	// Warnings has a sentence for each part of the resource that has no effect, or an unexpected one.
	Warnings []string
	// Assumptions has a sentence for each assumption about a value that is not published.
	Assumptions []string
}

// WrittenObject is an object as the operator writes it, without the fields that the API server adds.
type WrittenObject struct {
	cluster.Object
	// Origins lists the origins of the rules of its pods.
	Origins []Origin
}

// Origin is the level that set a field that decides where pods go.
type Origin struct {
	// Field is the path in the pod's spec: affinity.podAntiAffinity, nodeSelector.
	Field string
	// Level is the level that set the field, such as "operator default", "role servers" or "role group default".
	Level string
}

// DroppedPrefix is the prefix of the level of a default rule that another setting removed, as in "dropped by chart values".
const DroppedPrefix = "dropped by "

// OriginAnnotation is the prefix of annotations on a workload. Each says which level set a field of its pods' spec:
// "origin.faultline.dev/affinity.podAntiAffinity: operator default".
const OriginAnnotation = "origin.faultline.dev/"

// OwnerAnnotation is the annotation with the resource from which the object was expanded: KafscaleCluster kafka/main.
const OwnerAnnotation = "faultline.dev/expanded-from"

// Result is the expansion of the custom resources of some files.
type Result struct {
	// Objects are the created objects, in order, ready to be applied. Their source is that of the resource.
	Objects []manifest.Object
	Ignored []manifest.Ignored
	// Notes are warnings and assumptions. Each begins with its resource.
	Notes []string
	// Flaws are the resources of dumps that their operators refuse. What these made of them is in the dump.
	Flaws []manifest.Flaw
	// Made are the same objects in the same order, as their operators write them.
	Made []WrittenObject
}

// Expand expands each resource whose kind belongs to an operator; the others become the result's Ignored. Resources can also refer to the
// resources in among. The error lists all problems, one line each; a problem with a resource of a dump is a flaw.
func Expand(operators []Operator, ignored []manifest.Ignored, among ...manifest.Ignored) (*Result, error) {
	result := &Result{}
	resources := list.Map(ignored, func(i manifest.Ignored) *Resource { return &Resource{i} })
	given, there := len(resources), map[string]bool{}
	for _, r := range resources {
		there[ResourceKey(r.Ignored)] = true
	}
	for _, i := range among {
		if !there[ResourceKey(i)] {
			resources = append(resources, &Resource{i})
		}
	}
	var problems []error
	for _, r := range resources[:given] {
		o, err := findOperator(operators, r)
		switch {
		case err != nil:
			problems = append(problems, err)
		case o == nil:
			result.Ignored = append(result.Ignored, r.Ignored)
		default:
			if err := result.addExpansion(r, func() (*Expansion, error) { return o.Expand(r, resources) }); err != nil {
				if r.ResourceVersion != "" {
					result.Flaws = append(result.Flaws, flawOf(r.Ignored, err))
					result.Ignored = append(result.Ignored, r.Ignored)
					continue
				}
				problems = append(problems, err)
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return result, nil
}

// flawOf returns the flaw of a resource that its operator refuses: the first line of the error, without the place.
func flawOf(resource manifest.Ignored, err error) manifest.Flaw {
	problem, _, _ := strings.Cut(err.Error(), "\n")
	if _, says, found := strings.Cut(problem, resource.Describe()+": "); found {
		problem = says
	}
	return manifest.Flaw{Ref: resource.Ref, Problem: problem, Aside: true, Source: resource.Source}
}

// Install returns the objects that the operators' own charts create, to be applied before anything else. The error lists all problems, one
// line each.
func Install(operators []Operator) (*Result, error) {
	result := &Result{}
	var problems []error
	for i := range operators {
		o := &operators[i]
		if o.Install == nil {
			continue
		}
		chart := &Resource{manifest.Ignored{Ref: cluster.Ref{Kind: o.Name, Name: "chart"}, Source: manifest.Source{File: o.Name}}}
		if err := result.addExpansion(chart, o.Install); err != nil {
			problems = append(problems, err)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return result, nil
}

// Knows reports whether [Expand] handles the resource: one of the operators has its kind, or reports a misspelt group.
func Knows(operators []Operator, ignored manifest.Ignored) bool {
	o, err := findOperator(operators, &Resource{ignored})
	return o != nil || err != nil
}

// findOperator returns the operator of the resource, or nil. A misspelt group is an error.
func findOperator(operators []Operator, r *Resource) (*Operator, error) {
	if r.JSON == nil {
		return nil, nil
	}
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	if err != nil {
		return nil, nil // the reader of the manifests has reported it
	}
	for i := range operators {
		o := &operators[i]
		if right, found := o.Misspelt[gv.Group]; found {
			return nil, fmt.Errorf("%s: %s: unknown API group %s, a mistake in a document of %s: use apiVersion: %s/%s", r.Source, r, gv.Group, o.Name, right, gv.Version)
		}
		if slices.Contains(o.Kinds, gv.WithKind(r.Kind).GroupKind()) {
			return o, nil
		}
	}
	return nil, nil
}

// addExpansion adds the objects that expand creates for the resource, and its notes.
func (result *Result) addExpansion(r *Resource, expand func() (*Expansion, error)) error {
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
		obj, err := made.admit(r)
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

// admit returns the object after the API server's code has defaulted and validated it. Errors name the resource.
func (m *WrittenObject) admit(r *Resource) (manifest.Object, error) {
	obj := m.withOrigins()
	obj.SetAnnotations(setAnnotation(obj.GetAnnotations(), OwnerAnnotation, r.String()))
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

// withOrigins returns a copy of the object with its origins as annotations.
func (m *WrittenObject) withOrigins() cluster.Object {
	obj := m.Object.DeepCopyObject().(cluster.Object)
	for _, origin := range m.Origins {
		obj.SetAnnotations(setAnnotation(obj.GetAnnotations(), OriginAnnotation+origin.Field, origin.Level))
	}
	return obj
}

func setAnnotation(annotations map[string]string, key, value string) map[string]string {
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	return annotations
}

// OriginsOf returns the origins of an object's rules from its annotations, sorted by field; nil if it was not expanded from a custom
// resource.
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

// HostAffinityTerm returns a preferred pod affinity term over hosts, for pods with the labels in the pod's own namespace. Operators use it to keep pods
// apart or together.
func HostAffinityTerm(weight int32, matchLabels map[string]string) v1.WeightedPodAffinityTerm {
	return v1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: v1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: matchLabels}, TopologyKey: v1.LabelHostname,
	}}
}
