package manifest

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/input/admission"
)

// removedVersions lists API versions for which upstream has no types any more, each with the version as which they are read.
var removedVersions = map[schema.GroupVersionKind]struct {
	as schema.GroupVersion
	// edit converts the fields to those of the other version; nil if the fields are the same.
	edit func(object map[string]any)
}{
	{Group: "scheduling.k8s.io", Version: "v1alpha1", Kind: "PriorityClass"}:    {schema.GroupVersion{Group: "scheduling.k8s.io", Version: "v1"}, nil},
	{Group: "batch", Version: "v2alpha1", Kind: "CronJob"}:                      {schema.GroupVersion{Group: "batch", Version: "v1beta1"}, nil},
	{Group: "autoscaling", Version: "v2beta2", Kind: "HorizontalPodAutoscaler"}: {schema.GroupVersion{Group: "autoscaling", Version: "v2"}, nil},
	{Group: "autoscaling", Version: "v2beta1", Kind: "HorizontalPodAutoscaler"}: {schema.GroupVersion{Group: "autoscaling", Version: "v2"}, nestTargets},
}

// decodeFormerVersion decodes an object of a dump with an API version that only earlier releases served. It reports whether the version is such a
// one.
func (it item) decodeFormerVersion(gvk schema.GroupVersionKind) (outcome, bool) {
	if known := admission.KindNamed(gvk.Kind); known != nil && known.ServedFormerly(gvk.GroupVersion()) {
		return it.decodeObject(gvk), true
	}
	version, found := removedVersions[gvk]
	if !found {
		return outcome{}, false
	}
	err := it.editJSON(func(object map[string]any) {
		object["apiVersion"] = version.as.String()
		if version.edit != nil {
			version.edit(object)
		}
	})
	if err != nil {
		return it.refuse(it.header.describe(), err.Error()), true
	}
	return it.decodeObject(version.as.WithKind(gvk.Kind)), true
}

// editJSON changes the object's JSON.
func (it *item) editJSON(change func(object map[string]any)) error {
	object, err := decodeFields(it.json)
	if err != nil {
		return err
	}
	change(object)
	it.json, err = json.Marshal(object)
	return err
}

// nestTargets converts the metrics of an autoscaler of autoscaling/v2beta1, whose fields are side by side, to the nested fields of later
// versions. See https://github.com/kubernetes/kubernetes/blob/v1.24.0/pkg/apis/autoscaling/v2beta1/conversion.go. It leaves out the current
// metrics of the status.
func nestTargets(object map[string]any) {
	spec, _ := object["spec"].(map[string]any)
	metrics, _ := spec["metrics"].([]any)
	for _, metric := range metrics {
		fields, _ := metric.(map[string]any)
		for _, kind := range []string{"object", "pods", "resource", "containerResource", "external"} {
			if source, is := fields[kind].(map[string]any); is {
				nestTarget(kind, source)
			}
		}
	}
	if status, is := object["status"].(map[string]any); is {
		delete(status, "currentMetrics")
	}
}

// nestTarget converts one metric.
func nestTarget(kind string, source map[string]any) {
	move := func(into map[string]any, to, from string) {
		if value, found := source[from]; found {
			into[to] = value
			delete(source, from)
		}
	}
	target, metric := map[string]any{}, map[string]any{}
	if kind == "object" {
		move(source, "describedObject", "target")
	}
	move(metric, "name", "metricName")
	move(metric, "selector", "metricSelector")
	move(metric, "selector", "selector")
	move(target, "value", "targetValue")
	move(target, "averageValue", "averageValue")
	move(target, "averageValue", "targetAverageValue")
	move(target, "averageUtilization", "targetAverageUtilization")
	switch {
	case target["averageUtilization"] != nil:
		target["type"] = "Utilization"
	case target["averageValue"] != nil:
		target["type"] = "AverageValue"
		delete(target, "value") // a metric of an object always has a target value
	default:
		target["type"] = "Value"
	}
	source["target"] = target
	if len(metric) > 0 {
		source["metric"] = metric
	}
}
