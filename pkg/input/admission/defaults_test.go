package admission_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// A claim that names no class gets the newest default class; among classes of the same age the first name wins. Other classes never count,
// and a claim with an empty class name gets none.
func TestClaimGetsTheNewestDefaultClass(t *testing.T) {
	class := func(name string, day int, byDefault string) *storagev1.StorageClass {
		return &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, CreationTimestamp: metav1.NewTime(cluster.Epoch.Add(time.Duration(day) * 24 * time.Hour)),
				Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": byDefault},
			},
			Provisioner: "ebs.csi.aws.com",
		}
	}
	none := ""
	for name, test := range map[string]struct {
		classes []cluster.Object
		asked   *string
		want    string
	}{
		"the newest, given last":  {[]cluster.Object{class("old", 1, "true"), class("new", 2, "true")}, nil, "new"},
		"the newest, given first": {[]cluster.Object{class("new", 2, "true"), class("old", 1, "true")}, nil, "new"},
		"by name":                 {[]cluster.Object{class("b", 1, "true"), class("a", 1, "true")}, nil, "a"},
		"no default":              {[]cluster.Object{class("old", 1, "true"), class("other", 2, "false")}, nil, "old"},
		"none wanted":             {[]cluster.Object{class("old", 1, "true")}, &none, ""},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &v1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default"},
				Spec:       v1.PersistentVolumeClaimSpec{StorageClassName: test.asked},
			}
			state, _, err := admission.Admit(&cluster.State{Now: cluster.Epoch}, append(test.classes, claim)...)
			if err != nil {
				t.Fatal(err)
			}
			got := "nothing"
			if named := state.PersistentVolumeClaims[0].Spec.StorageClassName; named != nil {
				got = *named
			}
			if got != test.want {
				t.Errorf("the claim has class %q, want %q", got, test.want)
			}
		})
	}
}

// admitted returns the state after the objects were applied one after the other.
func admitted(t *testing.T, objs ...cluster.Object) *cluster.State {
	t.Helper()
	state := &cluster.State{Now: cluster.Epoch}
	for _, obj := range objs {
		var err error
		if state, _, err = admission.Admit(state, obj); err != nil {
			t.Fatal(err)
		}
	}
	return state
}

func bare(tolerations ...v1.Toleration) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"},
		Spec:       v1.PodSpec{Tolerations: tolerations, Containers: []v1.Container{{Name: "c", Image: "i"}}},
	}
}

// A pod tolerates a node that is not ready or unreachable for 300 s, unless it has its own toleration.
func TestDefaultTolerations(t *testing.T) {
	unreachable, notReady := v1.TaintNodeUnreachable, v1.TaintNodeNotReady
	for name, test := range map[string]struct {
		given []v1.Toleration
		added []string
	}{
		"none":                       {nil, []string{notReady, unreachable}},
		"one":                        {[]v1.Toleration{{Key: unreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}}, []string{notReady}},
		"one, of whatever effect":    {[]v1.Toleration{{Key: notReady, Operator: v1.TolerationOpExists}}, []string{unreachable}},
		"one, of another effect":     {[]v1.Toleration{{Key: notReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}, []string{notReady, unreachable}},
		"everything":                 {[]v1.Toleration{{Operator: v1.TolerationOpExists}}, nil},
		"everything, but NoSchedule": {[]v1.Toleration{{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}, []string{notReady, unreachable}},
	} {
		var got []string
		for _, toleration := range admitted(t, bare(test.given...)).Pods[0].Spec.Tolerations[len(test.given):] {
			if *toleration.TolerationSeconds != 300 || toleration.Effect != v1.TaintEffectNoExecute {
				t.Errorf("%s: added %+v", name, toleration)
			}
			got = append(got, toleration.Key)
		}
		if diff := cmp.Diff(test.added, got); diff != "" {
			t.Errorf("%s: added (-want +got):\n%s", name, diff)
		}
	}
}

// Three things that the cluster has written stay if somebody applies the manifests again, which do not have them: the default class of a
// claim, though there is a newer one now; the claim of a volume; and the template generation of a DaemonSet, which goes up by one with each
// new template.
func TestAppliedAgain(t *testing.T) {
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default"}, Spec: v1.PersistentVolumeClaimSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
		Resources:   v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	class := func(name string, created int64) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{
			Name: name, CreationTimestamp: metav1.Unix(created, 0), Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		}}
	}
	if got := *admitted(t, class("old", 1), claim, class("new", 2), claim).PersistentVolumeClaims[0].Spec.StorageClassName; got != "old" {
		t.Errorf("the claim has class %q, want old", got)
	}

	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}
	bound := volume.DeepCopy()
	bound.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "data"}
	if got := admitted(t, bound, volume).PersistentVolumes[0].Spec.ClaimRef; got == nil || got.Name != "data" {
		t.Errorf("the volume is bound to %v, want data", got)
	}

	agent := func(image, generation string) *appsv1.DaemonSet {
		labels := map[string]string{"app": "agent"}
		ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "default"}, Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: image}}}},
		}}
		if generation != "" {
			ds.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: generation}
		}
		return ds
	}
	for image, want := range map[string]string{"a": "3", "b": "4"} {
		got := admitted(t, agent("a", "3"), agent(image, "")).DaemonSets[0].Annotations[appsv1.DeprecatedTemplateGeneration]
		if got != want {
			t.Errorf("with image %s after a the template is number %q, want %s", image, got, want)
		}
	}
}
