package manifest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/faultline/faultline/pkg/input/admission"
)

// Go programs that write objects as client-go returns them, such as OpenShift's Insights operator, leave out apiVersion and kind. What an API
// server has stored shows its kind by its fields.

// signs lists the kinds of such objects, and the fields that an API server gives each object of the kind and none of another. An object has
// one of the alternatives, and all fields of that; spec.strategy! is a field that it must not have.
var signs = []struct {
	kind         string
	alternatives []string
}{
	{"Node", []string{"status.nodeInfo", "status.daemonEndpoints", "status.capacity status.allocatable spec.podCIDR", "status.capacity status.allocatable spec.providerID"}},
	{"Pod", []string{"spec.containers status.phase", "spec.containers spec.restartPolicy"}},
	{"Deployment", []string{"spec.template.spec.containers spec.strategy"}},
	{"StatefulSet", []string{"spec.template.spec.containers spec.podManagementPolicy", "spec.template.spec.containers spec.serviceName"}},
	{"DaemonSet", []string{"spec.template.spec.containers status.desiredNumberScheduled"}},
	{"Job", []string{"spec.template.spec.containers spec.backoffLimit"}},
	{"ReplicaSet", []string{"spec.template.spec.containers spec.selector.matchLabels spec.strategy! spec.updateStrategy! spec.podManagementPolicy! spec.backoffLimit! status.desiredNumberScheduled!",
		"spec.template.spec.containers spec.selector.matchExpressions spec.strategy! spec.updateStrategy! spec.podManagementPolicy! spec.backoffLimit! status.desiredNumberScheduled!"}},
	{"ReplicationController", []string{"spec.template.spec.containers spec.selector spec.selector.matchLabels! spec.selector.matchExpressions! spec.strategy! spec.backoffLimit! status.desiredNumberScheduled!"}},
	{"CronJob", []string{"spec.jobTemplate spec.schedule"}},
	{"HorizontalPodAutoscaler", []string{"spec.scaleTargetRef spec.maxReplicas"}},
	{"PodDisruptionBudget", []string{"status.expectedPods status.disruptionsAllowed"}},
	{"PersistentVolumeClaim", []string{"spec.accessModes spec.resources.requests.storage"}},
	{"PersistentVolume", []string{"spec.accessModes spec.capacity.storage"}},
	{"Service", []string{"spec.sessionAffinity spec.type"}},
	{"Namespace", []string{"spec.finalizers status.phase"}},
	{"LimitRange", []string{"spec.limits"}},
	{"ResourceQuota", []string{"spec.hard"}},
	{"PriorityClass", []string{"value preemptionPolicy"}},
	{"StorageClass", []string{"provisioner"}},
	{"CSINode", []string{"spec.drivers"}},
	{"CSIDriver", []string{"spec.attachRequired"}},
	{"CSIStorageCapacity", []string{"storageClassName nodeTopology"}},
	{"RuntimeClass", []string{"handler"}},
	{"ControllerRevision", []string{"revision data"}},
	{"ResourceSlice", []string{"spec.driver spec.pool"}},
	{"ResourceClaim", []string{"spec.devices.requests"}},
	{"ResourceClaimTemplate", []string{"spec.spec.devices.requests"}},
}

// giveKind gives an object of a dump the apiVersion and kind that it lacks, and reports whether its fields show them.
func (it *item) giveKind() bool {
	object, err := fieldsOfJSON(it.json)
	if err != nil {
		return false
	}
	var found []schema.GroupVersionKind
	for _, sign := range signs {
		known := admission.KindNamed(sign.kind)
		gvk := known.GroupVersion().WithKind(sign.kind)
		spec, _ := object["spec"].(map[string]any)
		status, _ := object["status"].(map[string]any)
		_, listed := spec["metrics"]
		_, current := status["currentMetrics"] // null where nothing was measured
		if sign.kind == "HorizontalPodAutoscaler" && !listed && !current {
			gvk.Version = "v1" // which has one metric, and that not in a list
		}
		of := it.header
		if (of.Kind == "" || of.Kind == sign.kind) && (of.APIVersion == "" || of.APIVersion == gvk.GroupVersion().String()) && hasOneOf(object, sign.alternatives) &&
			(!strings.Contains(sign.alternatives[0], "spec.template.") || fits(it.json, gvk)) {
			found = append(found, gvk)
		}
	}
	if len(found) != 1 {
		return false
	}
	it.header.APIVersion, it.header.Kind = found[0].ToAPIVersionAndKind()
	return true
}

// hasOneOf reports whether the object has all fields of one of the alternatives.
func hasOneOf(object map[string]any, alternatives []string) bool {
	return slices.ContainsFunc(alternatives, func(fields string) bool {
		for _, field := range strings.Fields(fields) {
			name, without := strings.CutSuffix(field, "!")
			if hasField(object, strings.Split(name, ".")) == without {
				return false
			}
		}
		return true
	})
}

func hasField(value any, path []string) bool {
	if len(path) == 0 {
		return value != nil
	}
	fields, _ := value.(map[string]any)
	return hasField(fields[path[0]], path[1:])
}

// fits reports whether the kind's spec has all fields of the object's. A custom resource with a pod template has others, as a DeploymentConfig
// of OpenShift has triggers.
func fits(object []byte, gvk schema.GroupVersionKind) bool {
	var parts map[string]json.RawMessage
	if json.Unmarshal(object, &parts) != nil {
		return false
	}
	typed, err := legacyscheme.Scheme.New(gvk)
	if err != nil {
		return false
	}
	of, found := place{typ: element(reflect.TypeOf(typed))}.find("spec")
	var fields map[string]json.RawMessage
	if !found || json.Unmarshal(parts["spec"], &fields) != nil {
		return false
	}
	for name := range fields {
		if _, known := of.find(name); !known {
			return false
		}
	}
	return true
}

// unlistedItems returns the items of a list that lacks apiVersion and kind, as its items do, and nil for anything else.
func (it item) unlistedItems() []item {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if it.header.APIVersion != "" || it.header.Kind != "" || json.Unmarshal(it.json, &list) != nil || len(list.Items) == 0 {
		return nil
	}
	items := make([]item, 0, len(list.Items))
	for i, value := range list.Items {
		member := it.member(i, value)
		if !member.readHeader() || !member.dumped() {
			return nil // no objects of an API server
		}
		items = append(items, member)
	}
	return items
}
