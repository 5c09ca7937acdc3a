package manifest

import (
	"encoding/json"
	"fmt"
	"io"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/cluster"
)

// snapshot is the format of kube-scheduler-simulator's export and import; see
// https://github.com/kubernetes-sigs/kube-scheduler-simulator/blob/master/simulator/snapshot/snapshot.go.
type snapshot struct {
	Pods            []*v1.Pod                     `json:"pods"`
	Nodes           []*v1.Node                    `json:"nodes"`
	PVs             []*v1.PersistentVolume        `json:"pvs"`
	PVCs            []*v1.PersistentVolumeClaim   `json:"pvcs"`
	StorageClasses  []*storagev1.StorageClass     `json:"storageClasses"`
	PriorityClasses []*schedulingv1.PriorityClass `json:"priorityClasses"`
	SchedulerConfig json.RawMessage               `json:"schedulerConfig"`
	Namespaces      []*v1.Namespace               `json:"namespaces"`
}

// IsSnapshot reports whether the first document of a file is a snapshot: it has no type, and a field that only snapshots have.
func IsSnapshot(data []byte) bool {
	documents, _ := splitDocuments("", data)
	if len(documents) == 0 {
		return false
	}
	it := item{text: documents[0].text, json: documents[0].json, source: documents[0].source}
	if !it.readHeader() || it.header.APIVersion != "" || it.header.Kind != "" {
		return false
	}
	_, is := expandSnapshot(it)
	return is
}

// WriteSnapshot writes the state as JSON that kube-scheduler-simulator imports and [Decode] reads, with objects in the order of the state.
// schedulerConfig is a KubeSchedulerConfiguration, JSON or YAML, or nil. The format has no place for workloads, services, budgets and
// CSINodes. WriteSnapshot leaves out UIDs and resource versions, which the import refuses, and owners, since the garbage collector would
// delete a pod with a missing owner.
func WriteSnapshot(w io.Writer, state *cluster.State, schedulerConfig []byte) error {
	s := snapshot{
		Pods:            withoutServerFields(state.Pods),
		Nodes:           withoutServerFields(state.Nodes),
		PVs:             withoutServerFields(state.PersistentVolumes),
		PVCs:            withoutServerFields(state.PersistentVolumeClaims),
		StorageClasses:  withoutServerFields(state.StorageClasses),
		PriorityClasses: withoutServerFields(state.PriorityClasses),
		SchedulerConfig: json.RawMessage("null"),
		Namespaces:      withoutServerFields(state.Namespaces),
	}
	for _, pv := range s.PVs {
		if pv.Spec.ClaimRef != nil {
			pv.Spec.ClaimRef.UID, pv.Spec.ClaimRef.ResourceVersion = "", ""
		}
	}
	if schedulerConfig != nil {
		documents, errs := splitDocuments("scheduler configuration", schedulerConfig)
		if len(errs) == 0 && len(documents) != 1 {
			errs = append(errs, Source{File: "scheduler configuration"}.errorf("%d documents where one is wanted", len(documents)))
		}
		if len(errs) > 0 {
			return joinErrors(errs)
		}
		s.SchedulerConfig = documents[0].json
	}
	encoder := json.NewEncoder(NewEscaper(w))
	encoder.SetIndent("", "  ")
	return encoder.Encode(s)
}

// WritePods writes each pod of the state as a YAML document. It leaves out UIDs, resource versions and owners, as [WriteSnapshot] does.
func WritePods(w io.Writer, state *cluster.State) error {
	for _, pod := range withoutServerFields(state.Pods) {
		pod.APIVersion, pod.Kind = "v1", "Pod"
		data, err := json.Marshal(pod)
		if err != nil {
			return err
		}
		if data, err = yaml.JSONToYAML(MarkInvisible(data)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "---\n%s", EscapeMarked(data)); err != nil {
			return err
		}
	}
	return nil
}

// withoutServerFields returns copies of the objects without the fields that have a meaning only in one API server.
func withoutServerFields[T cluster.Object](objs []T) []T {
	list := make([]T, 0, len(objs))
	for _, obj := range objs {
		o := obj.DeepCopyObject().(T)
		o.SetUID("")
		o.SetResourceVersion("")
		o.SetOwnerReferences(nil)
		list = append(list, o)
	}
	return list
}
