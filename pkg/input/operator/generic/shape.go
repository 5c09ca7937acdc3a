package generic

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
)

// Shape describes an object that an operator creates for a resource: its constant content, and the paths of the rest in the resource. A
// path has dots between the fields, or brackets around a name that contains dots, and list items by index or by their type:
// spec.volumes.0, metadata.labels[example.com/cluster], status.conditions.Failed.status.
type Shape struct {
	// Each is the path of a list or an object in the resource. The shape makes an object for each of its items. In paths and texts, item is
	// the item, and key its index in the list or its name in lower case. Default: the shape makes one object.
	Each string `json:"each,omitempty"`
	// Times is the number of objects to make: a number, or the path of a number. In paths and texts, index is the number of the object,
	// from 0. Default: 1.
	Times string `json:"times,omitempty"`
	// With is a path that the resource must have for the object to be created, for example spec.entityOperator. Default: none.
	With string `json:"with,omitempty"`
	// Without is a path that the resource must not have for the object to be created. Default: none.
	Without string `json:"without,omitempty"`
	// Object is the object, as a manifest. In its texts, {PATH} stands for the resource's value at the path, as in {metadata.name}.
	Object runtime.RawExtension `json:"object"`
	// Cases change the object for resources with certain values, in order. Default: none.
	Cases []Case `json:"cases,omitempty"`
	// Fields maps places in the object to paths in the resource, whose values go there if present. Of several paths, separated by commas,
	// the first present one counts. A path can be calculated: spec.size - 1, item.replicas * item.hosts, and spec.tasks.*.replicas, which
	// is a sum. If a place ends in +, the value is merged over the object's own value, or appended to it. Default: none.
	Fields map[string]string `json:"fields,omitempty"`
}

// Case changes the object for resources with a certain value.
type Case struct {
	// Path is the path in the resource.
	Path string `json:"path"`
	// Is is the value that the resource must have there. Default: any.
	Is string `json:"is,omitempty"`
	// Not is the value that the resource must not have there. Default: none.
	Not string `json:"not,omitempty"`
	// Patch is merged over the object: null removes a field; list items are merged by name, or appended. Default: none.
	Patch *runtime.RawExtension `json:"patch,omitempty"`
	// Last means that the patch comes after Fields, whose values it replaces. Default: it comes before them.
	Last bool `json:"last,omitempty"`
	// Note is a sentence for the report about something that is not simulated. Default: none.
	Note string `json:"note,omitempty"`
}

// Validate reports a problem of the shape that does not depend on a resource: an object of an unknown kind, or a path with an empty part.
func (s *Shape) Validate() error {
	var head runtime.TypeMeta
	if err := json.Unmarshal(s.Object.Raw, &head); err != nil {
		return errors.New("object: missing; give the object that the operator creates, with apiVersion and kind")
	}
	if !scheme.Scheme.Recognizes(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)) {
		return fmt.Errorf("object: unknown kind %q of apiVersion %q; give a Kubernetes kind, such as StatefulSet of apps/v1", head.Kind, head.APIVersion)
	}
	paths := slices.Concat(strings.Split(s.With, ", "), strings.Split(s.Without, ", "), strings.Split(s.Each, ", "), strings.Split(s.Times, ", "))
	for _, c := range s.Cases {
		if c.Path == "" {
			return errors.New("cases: path: missing; give the fields with dots between them, for example spec.shards")
		}
		paths = append(paths, c.Path)
	}
	for place, from := range s.Fields {
		paths = append(append(paths, place), strings.Split(from, ", ")...)
	}
	slices.Sort(paths)
	for _, path := range paths {
		if path != "" && slices.Contains(splitPath(path+"."), "") {
			return fmt.Errorf("path %q has an empty part; give the fields with dots between them, for example spec.replicas", path)
		}
	}
	return nil
}

// makeObject creates the object for a resource, or nil if With or Without exclude the resource. Unknown fields are warnings, and notes are
// assumptions.
func (s *Shape) makeObject(resource map[string]any) (obj cluster.Object, warnings, assumptions []string, err error) {
	_, with := findFirstValue(resource, s.With)
	if _, without := findFirstValue(resource, s.Without); s.With != "" && !with || s.Without != "" && without {
		return nil, nil, nil, nil
	}
	text, err := fillPlaceholders(string(s.Object.Raw), resource)
	if err != nil {
		return nil, nil, nil, err
	}
	var made any
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		return nil, nil, nil, err
	}
	cases := list.Where(s.Cases, func(c Case) bool { return c.matches(resource) })
	for _, c := range cases {
		if made, err = c.patchUnless(c.Last, made, resource); err != nil {
			return nil, nil, nil, err
		}
		if c.Note != "" {
			assumptions = append(assumptions, c.Note)
		}
	}
	kept := func(place string) bool { return strings.HasSuffix(place, "+") }
	places := slices.Sorted(maps.Keys(s.Fields))
	slices.SortStableFunc(places, func(a, b string) int { // merged places come after the places that they are merged into
		switch {
		case kept(a) == kept(b):
			return 0
		case kept(a):
			return 1
		}
		return -1
	})
	for _, place := range places {
		if value, found := findFirstValue(resource, s.Fields[place]); found {
			made, _ = putValue(made, splitPath(strings.TrimSuffix(place, "+")), runtime.DeepCopyJSONValue(value), kept(place))
		}
	}
	for _, c := range cases {
		if made, err = c.patchUnless(!c.Last, made, resource); err != nil {
			return nil, nil, nil, err
		}
	}
	obj, warnings, err = decodeTyped(made)
	return obj, warnings, assumptions, err
}

// patchUnless returns the object with the patch of the case, if there is one, or as it is if the patch has another turn.
func (c *Case) patchUnless(otherTurn bool, made any, resource map[string]any) (any, error) {
	if c.Patch == nil || otherTurn {
		return made, nil
	}
	patch, err := fillPlaceholders(string(c.Patch.Raw), resource)
	if err != nil {
		return nil, err
	}
	var over any
	if err := json.Unmarshal([]byte(patch), &over); err != nil {
		return nil, err
	}
	return mergeValues(made, over), nil
}

// decodeTyped decodes the object into its Kubernetes type. The API server's code validates its fields when the object is created.
func decodeTyped(made any) (cluster.Object, []string, error) {
	data, err := json.Marshal(made)
	if err != nil {
		return nil, nil, err
	}
	var head runtime.TypeMeta
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, nil, err
	}
	into, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind))
	if err != nil {
		return nil, nil, err // Validate has reported it
	}
	obj, ok := into.(cluster.Object)
	if !ok {
		return nil, nil, fmt.Errorf("objects: %s has no metadata", head.Kind)
	}
	warnings, err := manifest.DecodeResource(data, obj)
	if err != nil {
		var problems []error
		for line := range strings.Lines(err.Error()) {
			problems = append(problems, fmt.Errorf("%s %s: %s", head.Kind, obj.GetName(), strings.TrimSpace(line)))
		}
		return nil, nil, errors.Join(problems...)
	}
	return obj, warnings, nil
}

// matches reports whether the resource has the value of the case.
func (c *Case) matches(resource map[string]any) bool {
	value, found := findFirstValue(resource, c.Path)
	text := fmt.Sprint(value)
	return found && (c.Is == "" || text == c.Is) && (c.Not == "" || text != c.Not)
}

var placeholder = regexp.MustCompile(`\{([a-z]\w*(?:[.\[][^{}"]+)?)\}`)

// fillPlaceholders replaces {PATH} by the resource's value at the path. A missing value is an error.
func fillPlaceholders(text string, resource map[string]any) (string, error) {
	missing := map[string]bool{}
	filled := placeholder.ReplaceAllStringFunc(text, func(holder string) string {
		value, found := findValue(resource, holder[1:len(holder)-1])
		if !found {
			missing[holder[1:len(holder)-1]] = true
			return ""
		}
		return jsonText(value)
	})
	var problems []error
	for _, path := range slices.Sorted(maps.Keys(missing)) {
		problems = append(problems, fmt.Errorf("%s: missing; the operator derives names from it", path))
	}
	return filled, errors.Join(problems...)
}

// splitPath splits a path into names and indexes.
func splitPath(path string) []string {
	var all []string
	for path != "" {
		name, rest := path, ""
		switch at := strings.IndexAny(path, ".["); {
		case path[0] == '[':
			name, rest, _ = strings.Cut(path[1:], "]")
			rest = strings.TrimPrefix(rest, ".")
		case at >= 0 && path[at] == '.':
			name, rest = path[:at], path[at+1:]
		case at >= 0:
			name, rest = path[:at], path[at:]
		}
		all, path = append(all, name), rest
	}
	return all
}

// findValue returns the value at the path; null counts as missing.
func findValue(value any, path string) (any, bool) {
	for _, step := range splitPath(path) {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := listIndex(step, len(v))
			if err != nil {
				i = slices.IndexFunc(v, func(item any) bool { fields, _ := item.(map[string]any); return fields["type"] == any(step) })
			}
			if i < 0 {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, value != nil
}
