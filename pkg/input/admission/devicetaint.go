package admission

import (
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/faultline/faultline/pkg/cluster"
)

// The API server gives a taint of a device the time of day at which it was added. In a simulation that is the time of Admit, from which
// tolerations count.

// deviceTaints returns the taints in the object, by what they are on, which is nothing in a DeviceTaintRule.
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

// undatedTaints returns which of the object's taints nobody has given a time. The object may be of any version.
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

// undate takes the times away that defaults have given these taints.
func undate(obj runtime.Object, undated []bool) {
	taints, _ := deviceTaints(obj)
	for i, taint := range taints {
		if undated[i] {
			taint.TimeAdded = nil
		}
	}
}

// dateTaints gives the taints without a time that of the same taint in the object whose place this one takes, or else the present.
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
