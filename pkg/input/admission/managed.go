package admission

import (
	"encoding/json"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// usedManagedFields returns the managed fields that Faultline uses: who set the taints and the cordon of a node, and when. It drops all others, since
// managed fields are often more than half of a dump.
func usedManagedFields(obj cluster.Object) []metav1.ManagedFieldsEntry {
	node, ok := obj.(*v1.Node)
	if !ok || len(node.Spec.Taints) == 0 && !node.Spec.Unschedulable {
		return nil
	}
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range node.ManagedFields {
		spec := managedSpec(entry)
		maps.DeleteFunc(spec.Fields, func(field string, _ json.RawMessage) bool { return field != "f:taints" && field != "f:unschedulable" })
		if raw, err := json.Marshal(spec); err == nil && len(spec.Fields) > 0 {
			entry.FieldsV1 = metav1.NewFieldsV1(string(raw))
			kept = append(kept, entry)
		}
	}
	return kept
}

// managedSpecFields holds the managed fields of a spec.
type managedSpecFields struct {
	Fields map[string]json.RawMessage `json:"f:spec"`
}

// managedSpec returns the managed fields of the spec in the entry, and none if the entry has no time.
func managedSpec(entry metav1.ManagedFieldsEntry) (spec managedSpecFields) {
	if entry.Time == nil || entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &spec) != nil {
		return managedSpecFields{}
	}
	return spec
}

// UnchangedSince returns a time, in whole seconds, since which a node's taints or its cordon (the field "taints" or "unschedulable") have not
// changed, or zero if the managed fields do not show it. Whoever changes a field becomes its manager, and an entry has the time at which
// any of its fields last changed. So the field itself has not changed since then. See ManagedFieldsEntry in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/types.go.
func UnchangedSince(node *v1.Node, field string) time.Time {
	var last time.Time
	for _, entry := range node.ManagedFields {
		if managedSpec(entry).Fields["f:"+field] != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}
