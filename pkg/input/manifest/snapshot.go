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

// WriteSnapshot writes the state as JSON that kube-scheduler-simulator imports and Decode reads. The format has no place for
// workloads, services, budgets and CSINodes. UIDs and resource versions are left out, since the import refuses them, and so are
// owners, since a pod whose owner is missing would be collected as garbage. schedulerConfig is a KubeSchedulerConfiguration,
// JSON or YAML, or nil. The order is that of the state.
func WriteSnapshot(w io.Writer, state *cluster.State, schedulerConfig []byte) error {
	s := snapshot{
		Pods:            portable(state.Pods),
		Nodes:           portable(state.Nodes),
		PVs:             portable(state.PersistentVolumes),
		PVCs:            portable(state.PersistentVolumeClaims),
		StorageClasses:  portable(state.StorageClasses),
		PriorityClasses: portable(state.PriorityClasses),
		SchedulerConfig: json.RawMessage("null"),
		Namespaces:      portable(state.Namespaces),
	}
	for _, pv := range s.PVs {
		if pv.Spec.ClaimRef != nil {
			pv.Spec.ClaimRef.UID, pv.Spec.ClaimRef.ResourceVersion = "", ""
		}
	}
	if schedulerConfig != nil {
		documents, errs := split("scheduler configuration", schedulerConfig)
		if len(errs) == 0 && len(documents) != 1 {
			errs = append(errs, Source{File: "scheduler configuration"}.errorf("%d documents where one is wanted", len(documents)))
		}
		if len(errs) > 0 {
			return join(errs)
		}
		s.SchedulerConfig = documents[0].json
	}
	encoder := json.NewEncoder(Escaper(w))
	encoder.SetIndent("", "  ")
	return encoder.Encode(s)
}

// WritePods writes the state's pods as a YAML document each, as portable as in a snapshot.
func WritePods(w io.Writer, state *cluster.State) error {
	for _, pod := range portable(state.Pods) {
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

// portable copies the objects without what only one API server gives a meaning to.
func portable[T cluster.Object](objs []T) []T {
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
