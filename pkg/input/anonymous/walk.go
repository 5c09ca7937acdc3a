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

// replaceObject returns the value of a struct in new words.
func (w *walker) replaceObject(of reflect.Type, value map[string]any) map[string]any {
	made := make(map[string]any, len(value))
	for name, inner := range value {
		field, found := fieldType(of, name)
		if !found || inner == nil {
			continue
		}
		if inner = w.replaceField(of, name, field, inner, value); inner != nil {
			made[name] = inner
		}
	}
	if of == reflect.TypeFor[v1.Container]() || of == reflect.TypeFor[v1.EphemeralContainer]() {
		w.replaceContainer(value, made)
	}
	return made
}

// replaceContainer replaces the commands, variables and probes of a container by a single variable. Two templates that differ in these still
// differ, as revisions of a rollout do.
func (w *walker) replaceContainer(value, made map[string]any) {
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
	made["env"] = []any{map[string]any{"name": "RUNS", "value": w.replaceText(string(text))}}
}

// replaceField returns the value of a field in new words, or nil to leave the field out.
func (w *walker) replaceField(of reflect.Type, name string, field reflect.Type, value any, around map[string]any) any {
	text, isText := value.(string)
	switch findRule(of, name) {
	case drop:
		return nil
	case keep:
		return value
	case asText:
		return mapTexts(value, w.replaceText)
	case asPath:
		return mapTexts(value, func(path string) string { return "/" + w.replaceText(path) })
	case asKey:
		return mapTexts(value, w.replaceKey)
	case asDriver:
		return w.replaceDeviceDriver(text)
	case asExpression:
		return w.replaceExpression(text)
	case asAttributes:
		return w.replaceAttributes(value)
	case asAttribute:
		return w.replaceAttribute(text)
	case asKind:
		if isText {
			return w.replaceKind(text)
		}
	case asReason:
		if of := around["type"]; isText && (of == nil || slices.Contains(publicConditions, of.(string))) && machineWord.MatchString(text) {
			return text
		}
		return nil
	case asCondition:
		if slices.Contains(publicConditions, text) {
			return text
		}
		return w.replaceKey(text)
	case asValue:
		key, _ := around["key"].(string)
		if operator := around["operator"]; !w.closed && (operator == string(v1.NodeSelectorOpGt) || operator == string(v1.NodeSelectorOpLt)) {
			w.numbers[key] = true
		}
		return mapTexts(value, func(text string) string { return w.replaceLabelValue(key, text) })
	case asResource:
		return w.replaceResource(text)
	case asNone:
		if list, is := value.([]any); value == v1.ClusterIPNone || is && slices.Contains(list, any(v1.ClusterIPNone)) {
			return value
		}
		return nil
	case asHandle:
		return mapTexts(value, w.replaceHandle)
	case asLabels:
		return mapKeys(value, func(key, value string) (string, string, bool) {
			return w.replaceKey(key), w.replaceLabelValue(key, value), true
		})
	case asAnnotations:
		return mapKeys(value, w.replaceAnnotation)
	case asRevision:
		return w.replaceRevision(value)
	}
	return w.replaceByType(field, value)
}

// replaceByType returns a value without a rule in new words, as its type demands.
func (w *walker) replaceByType(of reflect.Type, value any) any {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch v := value.(type) {
	case string:
		switch {
		case of == uidType:
			return w.replaceUID(v)
		case of == resourceType:
			return w.replaceResource(v)
		case of.Kind() == reflect.Slice: // bytes as base64
			return nil
		case of == intOrStringType && !strings.HasSuffix(v, "%"):
		case of.Kind() != reflect.String, of.PkgPath() != "":
			return v // a quantity, a time, a constant
		}
		return w.replaceName(v)
	case []any:
		if of.Kind() != reflect.Slice {
			return nil
		}
		made := make([]any, len(v))
		for i := range v {
			made[i] = w.replaceByType(of.Elem(), v[i])
		}
		return made
	case map[string]any:
		switch of.Kind() {
		case reflect.Struct:
			return w.replaceObject(of, v)
		case reflect.Map:
			made := make(map[string]any, len(v))
			for key, inner := range v {
				made[w.replaceByType(of.Key(), key).(string)] = w.replaceByType(of.Elem(), inner)
			}
			return made
		}
		return nil
	}
	return value // a number or a boolean
}

// replaceKey replaces a label key, or another name that may have a domain.
func (w *walker) replaceKey(key string) string {
	domain, name, found := strings.Cut(key, "/")
	switch {
	case slices.Contains(plainKeys, key):
		return key
	case !found && isPublic(domain):
		return w.keepDriver(key)
	case !isPublic(domain):
		return w.replaceName(key)
	case slices.Contains(roleDomains, domain) && !slices.Contains(publicRoles, name):
		return domain + "/" + w.replaceName(name)
	}
	return key
}

// keepDriver keeps the name of a driver, and also keeps it in the names of objects.
func (w *walker) keepDriver(name string) string {
	if !w.closed {
		w.drivers[name] = true
	}
	return name
}

// replaceLabelValue replaces the value of a label or a taint.
func (w *walker) replaceLabelValue(key, value string) string {
	domain, _, _ := strings.Cut(key, "/")
	if slices.Contains(keptValues, key) || slices.Contains(keptValues, domain) || w.numbers[key] && integer.MatchString(value) {
		return value
	}
	return w.replaceName(value)
}

// replaceAnnotation replaces an annotation, or leaves it out. A value becomes a new text as a whole, since nobody takes it apart, except for the
// annotations in the tables.
func (w *walker) replaceAnnotation(key, value string) (newKey, newValue string, kept bool) {
	domain, _, _ := strings.Cut(key, "/")
	switch {
	case slices.Contains(droppedAnnotations, key):
		return "", "", false
	case slices.Contains(namingAnnotations, key):
		return key, w.replaceKey(value), true
	case slices.Contains(keptAnnotations, key), slices.Contains(keptAnnotations, domain):
		return key, value, true
	}
	return w.replaceKey(key), w.replaceText(value), true
}

// replaceResource replaces the name of a resource, such as in requests or in a quota.
func (w *walker) replaceResource(name string) string {
	before, after, _ := strings.Cut(name, "/")
	if strings.TrimPrefix(before+"/", "requests.") == resourcev1.ResourceDeviceClassPrefix {
		return before + "/" + w.replaceName(after)
	}
	if before == "count" || nativeResource.MatchString(name) {
		return name
	}
	for _, suffix := range []string{".storageclass.storage.k8s.io", ".deviceclass.resource.k8s.io"} {
		if class, of := strings.CutSuffix(before, suffix); of {
			return w.replaceName(class) + suffix + "/" + after
		}
	}
	domain, quota := strings.CutPrefix(before, "requests.")
	switch {
	case isPublic(domain):
		return name
	case quota:
		return "requests." + w.replaceName(domain+"/"+after)
	}
	return w.replaceName(name)
}

// replaceKind replaces the kind or the API version of a custom resource.
func (w *walker) replaceKind(name string) string {
	group, _, versioned := strings.Cut(name, "/")
	if admission.KindNamed(name) != nil || slices.Contains(publicKinds, name) || versioned && (isPublic(group) || admission.IsGroup(group)) || admission.IsGroup(name) || isPublic(name) {
		return name
	}
	return w.replaceName(name)
}

// replaceHandle replaces the handle of a volume on a node, which consists of a driver and the driver's own name for the volume.
func (w *walker) replaceHandle(name string) string {
	driver, volume, found := strings.Cut(name, "^")
	if !found {
		return w.replaceText(name)
	}
	return w.replaceKey(driver) + "^" + w.replaceText(volume)
}

// replaceRevision replaces the words of the template in a ControllerRevision. Controllers compare its bytes with those of the workload's template.
func (w *walker) replaceRevision(value any) any {
	data, is := value.(map[string]any)
	if !is {
		return nil
	}
	made := w.replaceObject(reflect.TypeFor[appsv1.DaemonSet](), data) // the data for a StatefulSet has the same fields
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
