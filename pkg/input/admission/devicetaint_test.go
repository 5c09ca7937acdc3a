package admission_test

import (
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// A taint has the simulation's time as the time at which it was added, never the time of day.
func TestDeviceTaintsAreDated(t *testing.T) {
	at := func(minutes int) *metav1.Time {
		return &metav1.Time{Time: cluster.Epoch.Add(time.Duration(minutes) * time.Minute)}
	}
	rule := func(effect resourcev1.DeviceTaintEffect, added *metav1.Time) cluster.Object {
		return &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "hot"},
			Spec: resourcev1.DeviceTaintRuleSpec{Taint: resourcev1.DeviceTaint{Key: "hot", Effect: effect, TimeAdded: added}}}
	}
	slice := func(device string, added *metav1.Time) cluster.Object {
		return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: new("n1"), Pool: resourcev1.ResourcePool{Name: "n1", Generation: 1, ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: device, Taints: []resourcev1.DeviceTaint{{Key: "hot", Effect: resourcev1.DeviceTaintEffectNoExecute, TimeAdded: added}}}}}}
	}
	const execute, schedule = resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoSchedule
	for name, test := range map[string]struct {
		objs []cluster.Object // one a minute
		want int
	}{
		"new":                         {[]cluster.Object{rule(execute, nil)}, 0},
		"dated":                       {[]cluster.Object{rule(execute, at(-5))}, -5},
		"the same again":              {[]cluster.Object{rule(execute, nil), rule(execute, nil)}, 0},
		"another effect":              {[]cluster.Object{rule(schedule, nil), rule(execute, nil)}, 1},
		"a device":                    {[]cluster.Object{slice("d0", nil)}, 0},
		"the same device again":       {[]cluster.Object{slice("d0", nil), slice("d0", nil)}, 0},
		"another device":              {[]cluster.Object{slice("d0", nil), slice("d1", nil)}, 1},
		"a device that is dated":      {[]cluster.Object{slice("d0", at(-5))}, -5},
		"a device that was undated":   {[]cluster.Object{slice("d0", nil), slice("d0", at(-5))}, -5},
		"a device that keeps its own": {[]cluster.Object{slice("d0", at(-5)), slice("d0", nil)}, -5},
	} {
		t.Run(name, func(t *testing.T) {
			state := &cluster.State{}
			for minute, obj := range test.objs {
				state.Now = *at(minute)
				created, problems := admission.Create(obj, resourcev1.SchemeGroupVersion, "test")
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				next, _, err := admission.Admit(state, created)
				if err != nil {
					t.Fatal(err)
				}
				copied := *next
				state = &copied
			}
			var got *metav1.Time
			for _, rule := range state.DeviceTaintRules {
				got = rule.Spec.Taint.TimeAdded
			}
			for _, slice := range state.ResourceSlices {
				got = slice.Spec.Devices[0].Taints[0].TimeAdded
			}
			if got == nil || !got.Equal(at(test.want)) {
				t.Errorf("the taint was added at %v, want %v", got, at(test.want))
			}
		})
	}
}
