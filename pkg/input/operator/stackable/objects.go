package stackable

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	objects "github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/operator"
)

// overrideObjects merges the objects of spec.objectOverrides, as the last step, each into the object with its apiVersion, kind, namespace
// and name: crates/stackable-operator/src/deep_merger of the library. Overrides of objects that this package does not create, such as
// ConfigMaps, do not affect where pods go.
func (c *cluster) overrideObjects() {
	for i, raw := range c.overrides {
		path := fmt.Sprintf("spec.objectOverrides[%d]", i)
		head := &metav1.PartialObjectMetadata{}
		if err := json.Unmarshal(raw, head); err != nil {
			c.addProblem("%s: not an object with apiVersion, kind and metadata", path)
			continue
		}
		alike, found := false, false
		for j := range c.expansion.Objects {
			made := &c.expansion.Objects[j]
			if groupVersionKindOf(made.Object) != head.GroupVersionKind() {
				continue
			}
			alike = true
			if made.GetName() == head.Name && namespaceOf(c.resource) == head.Namespace {
				found = true
				c.overrideObject(path, made, raw)
			}
		}
		if alike && !found {
			c.warn("%s: the operator makes no %s %s/%s, so that it has no effect", path, head.Kind, head.Namespace, head.Name)
		}
	}
}

func groupVersionKindOf(obj runtime.Object) schema.GroupVersionKind {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return schema.GroupVersionKind{}
	}
	return kinds[0]
}

func (c *cluster) overrideObject(path string, made *operator.WrittenObject, raw json.RawMessage) {
	empty := func() runtime.Object {
		return reflect.New(reflect.TypeOf(made.Object).Elem()).Interface().(runtime.Object)
	}
	over, merged := empty(), empty()
	problems := len(c.problems)
	if c.decode(path, raw, over); len(c.problems) > problems {
		return
	}
	if set, is := over.(*appsv1.StatefulSet); is && set.Spec.ServiceName == "" { // Go encodes the field even if it is empty
		set.Spec.ServiceName = made.Object.(*appsv1.StatefulSet).Spec.ServiceName
	}
	if err := mergeObjects(made.Object, over, merged); err != nil {
		c.addProblem("%s: %s", path, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	after := merged.(objects.Object)
	if before, _ := objects.PodSpec(made.Object); before != nil {
		spec, _ := objects.PodSpec(after)
		made.Origins = addChangedOrigins("objectOverrides", before, spec, made.Origins)
	}
	made.Object = after
}
