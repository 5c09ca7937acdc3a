package anonymous

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// keptTexts lists the only free texts that a dump keeps: users do not choose them, or expressions and clocks depend on them.
var keptTexts = []string{
	"CELDeviceSelector.expression", "CronJobSpec.schedule", "CronJobSpec.timeZone", "DeviceAttribute.string", "DeviceAttribute.strings", "DeviceAttribute.version", "DeviceAttribute.versions",
	"JobStatus.completedIndexes", "JobStatus.failedIndexes",
	"NodeStatus.declaredFeatures", "NodeSystemInfo.architecture", "NodeSystemInfo.containerRuntimeVersion", "NodeSystemInfo.kubeProxyVersion", "NodeSystemInfo.kubeletVersion",
	"NodeSystemInfo.operatingSystem", "ObjectMeta.resourceVersion", "ObjectReference.resourceVersion", "ResourceClaimConsumerReference.resource", "SuccessPolicyRule.succeededIndexes",
}

// TestNothingElseStays fills each text of each kind with a secret, and finds every field whose secret is in the anonymous dump.
func TestNothingElseStays(t *testing.T) {
	f := filler{seen: map[reflect.Type]int{}, of: map[string]string{}}
	var objects []cluster.Object
	for gvk := range legacyscheme.Scheme.AllKnownTypes() {
		kind := admission.KindNamed(gvk.Kind)
		if kind == nil || kind.GroupVersion() != gvk.GroupVersion() {
			continue
		}
		obj, err := legacyscheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		f.fill(reflect.ValueOf(obj).Elem(), "")
		objects = append(objects, obj.(cluster.Object))
	}
	if len(objects) < 30 || f.n < 1500 {
		t.Fatalf("%d kinds with %d texts", len(objects), f.n)
	}
	dump, err := NewDump(context.Background(), objects)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(dump.Objects)
	if err != nil {
		t.Fatal(err)
	}
	var through []string
	for secret, field := range f.of {
		if strings.Contains(string(text), secret) && !slices.Contains(through, field) {
			through = append(through, field)
		}
	}
	slices.Sort(through)
	if diff := cmp.Diff(keptTexts, through); diff != "" {
		t.Errorf("fields that keep their text (-want +got):\n%s", diff)
	}
}

// filler fills texts with secrets.
type filler struct {
	n    int
	of   map[string]string // the field of a secret
	seen map[reflect.Type]int
}

func (f *filler) secret(field string) string {
	f.n++
	secret := "planted"
	for n := f.n; n > 0; n /= 26 {
		secret += string(rune('a' + n%26))
	}
	secret += "end"
	f.of[secret] = field
	return secret
}

func (f *filler) fill(v reflect.Value, field string) {
	switch v.Interface().(type) {
	case resource.Quantity, metav1.Time, metav1.MicroTime, metav1.FieldsV1:
		return
	case runtime.RawExtension:
		v.Set(reflect.ValueOf(runtime.RawExtension{Raw: fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"name":%q}}},"other":%q}`, f.secret(field), f.secret(field))}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		if of := v.Type(); of.PkgPath() == "" || slices.Contains([]string{"UID", "ResourceName", "UniqueVolumeName", "FinalizerName", "PodConditionType", "NodeConditionType"}, of.Name()) {
			secret := f.secret(field)
			if of.Name() == "ResourceName" {
				secret += ".com/" + f.secret(field)
			}
			v.SetString(secret)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), field)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0), field)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, field)
		f.fill(value, field)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if f.seen[v.Type()] > 1 { // it contains itself
			return
		}
		f.seen[v.Type()]++
		defer func() { f.seen[v.Type()]-- }()
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if v.Field(i).CanSet() && name != "-" {
				f.fill(v.Field(i), v.Type().Name()+"."+name)
			}
		}
	}
}
