package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"

	"github.com/faultline/faultline/pkg/cluster"
)

// Change is a change that an admission plugin makes in a pod.
type Change struct {
	// Plugin is the API server's name of the plugin.
	Plugin string `json:"plugin"`
	// Field is the path of the field in the pod.
	Field string `json:"field"`
	// From and To are the values before and after, as JSON; "" if the field was missing.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Trace returns what each plugin changes in a new pod of the same controller, in order. It returns nothing for a pod whose template is not
// in the state. It also returns nothing if only Priority and DefaultTolerationSeconds change the pod, since they change every pod.
func Trace(s *cluster.State, pod *v1.Pod) []Change {
	by := metav1.GetControllerOfNoCopy(pod)
	if by == nil {
		return nil
	}
	template := podTemplatesOf(s)[by.UID]
	if template == nil {
		return nil
	}
	made, err := template.newPod()
	if err != nil {
		return nil
	}
	if made.OwnerReferences == nil {
		made.OwnerReferences = pod.OwnerReferences
	}
	legacyscheme.Scheme.Default(made)
	before, telling := podFields(made), false
	var changes []Change
	seen := func(plugin string, obj runtime.Object) error {
		external, err := legacyscheme.Scheme.ConvertToVersion(obj, v1.SchemeGroupVersion)
		if err != nil {
			return err
		}
		after := podFields(external.(*v1.Pod))
		found := diffFields(plugin, "", before, after)
		telling = telling || len(found) > 0 && plugin != priorityPlugin && plugin != defaulttolerationseconds.PluginName
		changes, before = append(changes, found...), after
		return nil
	}
	if _, err := NewPods(s).admit(made, seen); err != nil || !telling {
		return nil
	}
	return changes
}

// podFields returns the pod's labels, annotations and spec as decoded JSON.
func podFields(pod *v1.Pod) map[string]any {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": pod.Labels, "annotations": pod.Annotations}, "spec": pod.Spec})
	if err != nil {
		panic(err) // JSON can encode every pod
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		panic(err)
	}
	return fields
}

// diffFields compares two values field by field. A field that only one of them has is a single change.
func diffFields(plugin, path string, from, to any) (changes []Change) {
	switch was := from.(type) {
	case map[string]any:
		if is, same := to.(map[string]any); same {
			fields := maps.Clone(was)
			maps.Copy(fields, is)
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				changes = append(changes, diffFields(plugin, strings.TrimPrefix(path+"."+name, "."), was[name], is[name])...)
			}
			return changes
		}
	case []any:
		if is, same := to.([]any); same {
			item := func(all []any, i int) any {
				if i < len(all) {
					return all[i]
				}
				return nil
			}
			for i := range max(len(was), len(is)) {
				changes = append(changes, diffFields(plugin, fmt.Sprintf("%s[%d]", path, i), item(was, i), item(is, i))...)
			}
			return changes
		}
	}
	if reflect.DeepEqual(from, to) {
		return nil
	}
	return []Change{{plugin, path, encodeJSON(from), encodeJSON(to)}}
}

// encodeJSON returns the value as JSON, and "" for nil.
func encodeJSON(value any) string {
	if value == nil {
		return ""
	}
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return string(data)
}
