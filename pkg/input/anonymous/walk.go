package anonymous

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/faultline/faultline/pkg/input/admission"
)

// walker walks through a JSON value together with its Go type. It leaves out fields that the type lacks.
type walker struct{ *vocabulary }

// object returns the value of a struct in new words.
func (w *walker) object(of reflect.Type, value map[string]any) map[string]any {
	made := make(map[string]any, len(value))
	for name, inner := range value {
		field, found := fieldOf(of, name)
		if !found || inner == nil {
			continue
		}
		if inner = w.field(of, name, field, inner, value); inner != nil {
			made[name] = inner
		}
	}
	if of == reflect.TypeFor[v1.Container]() || of == reflect.TypeFor[v1.EphemeralContainer]() {
		w.container(value, made)
	}
	return made
}

// container replaces the commands, variables and probes of a container by a single variable. Two templates that differ in these still
// differ, as revisions of a rollout do.
func (w *walker) container(value, made map[string]any) {
	what := map[string]any{}
	for _, name := range []string{"env", "envFrom", "command", "args", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe"} {
		delete(made, name)
		if value[name] != nil {
			what[name] = value[name]
		}
	}
	if len(what) == 0 {
		return
	}
	text, _ := json.Marshal(what) // it was JSON
	made["env"] = []any{map[string]any{"name": "RUNS", "value": w.text(string(text))}}
}

// field returns the value of a field in new words, or nil to leave the field out.
func (w *walker) field(of reflect.Type, name string, field reflect.Type, value any, around map[string]any) any {
	text, isText := value.(string)
	switch ruleFor(of, name) {
	case drop:
		return nil
	case keep:
		return value
	case asText:
		return mapTexts(value, w.text)
	case asPath:
		return mapTexts(value, func(path string) string { return "/" + w.text(path) })
	case asKey:
		return mapTexts(value, w.key)
	case asDriver:
		return w.deviceDriver(text)
	case asExpression:
		return w.expression(text)
	case asAttributes:
		return w.attributes(value)
	case asAttribute:
		return w.attribute(text)
	case asKind:
		if isText {
			return w.kind(text)
		}
	case asReason:
		if of := around["type"]; isText && (of == nil || slices.Contains(conditions, of.(string))) && machineWord.MatchString(text) {
			return text
		}
		return nil
	case asCondition:
		if slices.Contains(conditions, text) {
			return text
		}
		return w.key(text)
	case asValue:
		key, _ := around["key"].(string)
		if operator := around["operator"]; !w.closed && (operator == string(v1.NodeSelectorOpGt) || operator == string(v1.NodeSelectorOpLt)) {
			w.numbers[key] = true
		}
		return mapTexts(value, func(text string) string { return w.value(key, text) })
	case asResource:
		return w.resource(text)
	case asNone:
		if list, is := value.([]any); value == v1.ClusterIPNone || is && slices.Contains(list, any(v1.ClusterIPNone)) {
			return value
		}
		return nil
	case asHandle:
		return mapTexts(value, w.handle)
	case asLabels:
		return mapKeys(value, func(key, value string) (string, string, bool) { return w.key(key), w.value(key, value), true })
	case asAnnotations:
		return mapKeys(value, w.annotation)
	case asRevision:
		return w.revision(value)
	}
	return w.any(field, value)
}

// any returns a value without a rule in new words, as its type demands.
func (w *walker) any(of reflect.Type, value any) any {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch v := value.(type) {
	case string:
		switch {
		case of == uidType:
			return w.uid(v)
		case of == resourceType:
			return w.resource(v)
		case of.Kind() == reflect.Slice: // bytes as base64
			return nil
		case of == intOrStringType && !strings.HasSuffix(v, "%"):
		case of.Kind() != reflect.String, of.PkgPath() != "":
			return v // a quantity, a time, a constant
		}
		return w.name(v)
	case []any:
		if of.Kind() != reflect.Slice {
			return nil
		}
		made := make([]any, len(v))
		for i := range v {
			made[i] = w.any(of.Elem(), v[i])
		}
		return made
	case map[string]any:
		switch of.Kind() {
		case reflect.Struct:
			return w.object(of, v)
		case reflect.Map:
			made := make(map[string]any, len(v))
			for key, inner := range v {
				made[w.any(of.Key(), key).(string)] = w.any(of.Elem(), inner)
			}
			return made
		}
		return nil
	}
	return value // a number or a boolean
}

// key replaces a label key, or another name that may have a domain.
func (w *walker) key(key string) string {
	domain, name, found := strings.Cut(key, "/")
	switch {
	case slices.Contains(plainKeys, key):
		return key
	case !found && isPublic(domain):
		return w.driver(key)
	case !isPublic(domain):
		return w.name(key)
	case slices.Contains(rolesOf, domain) && !slices.Contains(roles, name):
		return domain + "/" + w.name(name)
	}
	return key
}

// driver keeps the name of a driver, and also keeps it in the names of objects.
func (w *walker) driver(name string) string {
	if !w.closed {
		w.drivers[name] = true
	}
	return name
}

// value replaces the value of a label or a taint.
func (w *walker) value(key, value string) string {
	domain, _, _ := strings.Cut(key, "/")
	if slices.Contains(keptValues, key) || slices.Contains(keptValues, domain) || w.numbers[key] && integer.MatchString(value) {
		return value
	}
	return w.name(value)
}

// annotation replaces an annotation, or leaves it out. A value becomes a new text as a whole, since nobody takes it apart, except for the
// annotations in the tables.
func (w *walker) annotation(key, value string) (newKey, newValue string, kept bool) {
	domain, _, _ := strings.Cut(key, "/")
	switch {
	case slices.Contains(droppedAnnotations, key):
		return "", "", false
	case slices.Contains(namingAnnotations, key):
		return key, w.key(value), true
	case slices.Contains(keptAnnotations, key), slices.Contains(keptAnnotations, domain):
		return key, value, true
	}
	return w.key(key), w.text(value), true
}

// resource replaces the name of a resource, such as in requests or in a quota.
func (w *walker) resource(name string) string {
	before, after, _ := strings.Cut(name, "/")
	if strings.TrimPrefix(before+"/", "requests.") == resourcev1.ResourceDeviceClassPrefix {
		return before + "/" + w.name(after)
	}
	if before == "count" || native.MatchString(name) {
		return name
	}
	for _, suffix := range []string{".storageclass.storage.k8s.io", ".deviceclass.resource.k8s.io"} {
		if class, of := strings.CutSuffix(before, suffix); of {
			return w.name(class) + suffix + "/" + after
		}
	}
	domain, quota := strings.CutPrefix(before, "requests.")
	switch {
	case isPublic(domain):
		return name
	case quota:
		return "requests." + w.name(domain+"/"+after)
	}
	return w.name(name)
}

// kind replaces the kind or the API version of a custom resource.
func (w *walker) kind(name string) string {
	group, _, versioned := strings.Cut(name, "/")
	if admission.KindNamed(name) != nil || slices.Contains(kinds, name) || versioned && (isPublic(group) || admission.IsGroup(group)) || admission.IsGroup(name) || isPublic(name) {
		return name
	}
	return w.name(name)
}

// handle replaces the handle of a volume on a node, which consists of a driver and the driver's own name for the volume.
func (w *walker) handle(name string) string {
	driver, volume, found := strings.Cut(name, "^")
	if !found {
		return w.text(name)
	}
	return w.key(driver) + "^" + w.text(volume)
}

// revision replaces the words of the template in a ControllerRevision. Controllers compare its bytes with those of the workload's template.
func (w *walker) revision(value any) any {
	data, is := value.(map[string]any)
	if !is {
		return nil
	}
	made := w.object(reflect.TypeFor[appsv1.DaemonSet](), data) // the data for a StatefulSet has the same fields
	if spec, is := made["spec"].(map[string]any); is {
		if template, is := spec["template"].(map[string]any); is {
			template["$patch"] = "replace"
		}
	}
	return made
}

// mapTexts replaces a text, or each text of a list. Numbers stay.
func mapTexts(value any, replace func(string) string) any {
	switch v := value.(type) {
	case string:
		return replace(v)
	case []any:
		made := make([]any, len(v))
		for i := range v {
			made[i] = mapTexts(v[i], replace)
		}
		return made
	case map[string]any:
		return nil
	}
	return value
}

// mapKeys replaces the keys and values of labels or annotations.
func mapKeys(value any, replace func(key, value string) (string, string, bool)) any {
	all, _ := value.(map[string]any)
	made := make(map[string]any, len(all))
	for key, inner := range all {
		if text, is := inner.(string); is {
			if key, text, kept := replace(key, text); kept {
				made[key] = text
			}
		}
	}
	return made
}
