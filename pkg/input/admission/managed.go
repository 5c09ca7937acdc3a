package admission

import (
	"encoding/json"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// managed returns what is of use of the managed fields of an object, which are often more than half of a dump: who set the taints and the
// cordon that a node has, and when.
func managed(obj cluster.Object) []metav1.ManagedFieldsEntry {
	node, ok := obj.(*v1.Node)
	if !ok || len(node.Spec.Taints) == 0 && !node.Spec.Unschedulable {
		return nil
	}
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range node.ManagedFields {
		spec := managedSpec(entry)
		maps.DeleteFunc(spec.Fields, func(field string, _ json.RawMessage) bool { return field != "f:taints" && field != "f:unschedulable" })
		if raw, err := json.Marshal(spec); err == nil && len(spec.Fields) > 0 {
			entry.FieldsV1 = &metav1.FieldsV1{Raw: raw}
			kept = append(kept, entry)
		}
	}
	return kept
}

// ofSpec are the managed fields of a spec.
type ofSpec struct {
	Fields map[string]json.RawMessage `json:"f:spec"`
}

// managedSpec returns those of an entry that has a time.
func managedSpec(entry metav1.ManagedFieldsEntry) (spec ofSpec) {
	if entry.Time == nil || entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.Raw, &spec) != nil {
		return ofSpec{}
	}
	return spec
}

// LastSet returns the second in which the taints or the cordon of a node, its field "taints" or "unschedulable", were last set at the latest;
// zero if its managed fields do not tell. Whoever changes a field takes it over, and an entry has the time of the last change of any of its
// fields, so this one is unchanged since. See ManagedFieldsEntry in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/types.go.
func LastSet(node *v1.Node, field string) time.Time {
	var last time.Time
	for _, entry := range node.ManagedFields {
		if managedSpec(entry).Fields["f:"+field] != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}
