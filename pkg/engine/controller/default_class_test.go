package controller_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
)

// Of several default classes a claim that names none gets the one that was created last, and of those created together the first by name.
// What is no default does not count, however new, and a claim that asks for no class by an empty name gets none.
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
			state, _, err := controller.Admit(&cluster.State{Now: cluster.Epoch}, append(test.classes, claim)...)
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
