package admission

import (
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/faultline/faultline/pkg/cluster"
)

// The API server sets the time at which a device taint was added. Tolerations last from this time. In a simulation, it is the logical time
// of Admit.

// deviceTaints returns the taints in the object and, for each, the name of the tainted device. The name is "" for a DeviceTaintRule.
func deviceTaints(obj runtime.Object) (taints []*resourcev1.DeviceTaint, on []string) {
	switch o := obj.(type) {
	case *resourcev1.DeviceTaintRule:
		return []*resourcev1.DeviceTaint{&o.Spec.Taint}, []string{""}
	case *resourcev1.ResourceSlice:
		for i := range o.Spec.Devices {
			for j := range o.Spec.Devices[i].Taints {
				taints, on = append(taints, &o.Spec.Devices[i].Taints[j]), append(on, o.Spec.Devices[i].Name)
			}
		}
	}
	return taints, on
}

// undatedTaints returns which of the object's taints have no time. The object may be of any version.
func undatedTaints(obj cluster.Object, kind *Kind) (undated []bool, err error) {
	if kind.name != "DeviceTaintRule" && kind.name != "ResourceSlice" {
		return nil, nil
	}
	stored, err := legacyscheme.Scheme.ConvertToVersion(obj, kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	taints, _ := deviceTaints(stored)
	for _, taint := range taints {
		undated = append(undated, taint.TimeAdded == nil)
	}
	return undated, nil
}

// clearTaintTimes removes the times that defaulting has set in the undated taints.
func clearTaintTimes(obj runtime.Object, undated []bool) {
	taints, _ := deviceTaints(obj)
	for i, taint := range taints {
		if undated[i] {
			taint.TimeAdded = nil
		}
	}
}

// dateTaints sets the time of each taint that has none: the time of the same taint in the old object, or now.
func dateTaints(obj, old cluster.Object, now metav1.Time) {
	type id struct {
		on, key, value string
		effect         resourcev1.DeviceTaintEffect
	}
	known := map[id]*metav1.Time{}
	if old != nil {
		taints, on := deviceTaints(old)
		for i, taint := range taints {
			known[id{on[i], taint.Key, taint.Value, taint.Effect}] = taint.TimeAdded
		}
	}
	taints, on := deviceTaints(obj)
	for i, taint := range taints {
		if taint.TimeAdded != nil {
			continue
		}
		taint.TimeAdded = known[id{on[i], taint.Key, taint.Value, taint.Effect}]
		if taint.TimeAdded == nil {
			taint.TimeAdded = now.DeepCopy()
		}
	}
}
