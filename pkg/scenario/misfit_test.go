package scenario_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
)

// Whatever stands in place of the right value, the error uses the words of the field: it names no Go type and no function.
func TestMisfitsAreInWords(t *testing.T) {
	foreign := regexp.MustCompile(`json: |\bGo\b|unmarshal|struct|interface|parsing|strconv|int32|int64|float|bool\b|reflect|nil\b`)
	seen := map[reflect.Type]bool{}
	fields := 0
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			field := typ.Field(i)
			walk(field.Type)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			fields++
			for _, value := range []string{"true", "5", "1.5", "-1", "1e400", "99999999999999999999", `"x"`, `"\u003cx\u003e"`, "[]", "[null]", "[true]", "[[1]]", "{}", `{"a": 5}`, `{"a": true}`, `{"a": [null]}`} {
				err := manifest.Unmarshal("file", fmt.Appendf(nil, "{%q: %s}", name, value), reflect.New(typ).Interface())
				if err == nil {
					continue
				}
				said := strings.ReplaceAll(err.Error(), name, "")
				if found := foreign.FindString(said); found != "" {
					t.Errorf("%s.%s = %s: the error says %q:\n%s", typ, field.Name, value, found, err)
				}
				if !strings.Contains(err.Error(), "file: ") || strings.Contains(err.Error(), `\u003c`) {
					t.Errorf("%s.%s = %s: the error says neither where nor what:\n%s", typ, field.Name, value, err)
				}
			}
		}
	}
	for _, of := range []any{
		scenario.File{}, configv1.KubeSchedulerConfiguration{}, v1.Pod{}, v1.Node{}, v1.PersistentVolume{}, v1.PersistentVolumeClaim{}, v1.ResourceQuota{}, v1.LimitRange{},
		v1.Service{}, appsv1.Deployment{}, appsv1.StatefulSet{}, appsv1.DaemonSet{}, batchv1.CronJob{}, policyv1.PodDisruptionBudget{},
		autoscalingv2.HorizontalPodAutoscaler{}, resourcev1.ResourceSlice{}, resourcev1.ResourceClaimTemplate{}, resourcev1.DeviceClass{},
		storagev1.CSINode{}, storagev1.StorageClass{},
	} {
		walk(reflect.TypeOf(of))
	}
	if fields < 1000 {
		t.Errorf("only %d fields were tried", fields)
	}
}
