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

// Go programs that write objects as client-go returns them, such as OpenShift's Insights operator, leave out apiVersion and kind. If an API
// server has stored an object, its fields show its kind.

// kindSigns lists, for each kind, fields that an API server gives every object of this kind and no object of another kind. An object of the
// kind has all fields of at least one alternative; a field with "!", such as spec.strategy!, must be missing.
var kindSigns = []struct {
	kind         string
	alternatives []string
}{
	{"Node", []string{"status.nodeInfo", "status.daemonEndpoints", "status.capacity status.allocatable spec.podCIDR", "status.capacity status.allocatable spec.providerID",
		"status.capacity status.allocatable status.conditions spec.nodeClassRef!"}}, // which a NodeClaim of Karpenter has
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

// inferKind gives an object of a dump the apiVersion and kind that it lacks, and reports whether its fields show them.
func (it *item) inferKind() bool {
	object, err := decodeFields(it.json)
	if err != nil {
		return false
	}
	var found []schema.GroupVersionKind
	for _, sign := range kindSigns {
		known := admission.KindNamed(sign.kind)
		gvk := known.GroupVersion().WithKind(sign.kind)
		spec, _ := object["spec"].(map[string]any)
		status, _ := object["status"].(map[string]any)
		_, listed := spec["metrics"]
		_, current := status["currentMetrics"] // null if nothing was measured
		if sign.kind == "HorizontalPodAutoscaler" && !listed && !current {
			gvk.Version = "v1" // v1 has a single metric, which is not in a list
		}
		of := it.header
		if (of.Kind == "" || of.Kind == sign.kind) && (of.APIVersion == "" || of.APIVersion == gvk.GroupVersion().String()) && hasAlternative(object, sign.alternatives) &&
			(!strings.Contains(sign.alternatives[0], "spec.template.") || hasOnlySpecFields(it.json, gvk)) {
			found = append(found, gvk)
		}
	}
	if len(found) != 1 {
		return false
	}
	it.header.APIVersion, it.header.Kind = found[0].ToAPIVersionAndKind()
	return true
}

// hasAlternative reports whether the object satisfies one of the alternatives.
func hasAlternative(object map[string]any, alternatives []string) bool {
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

// hasOnlySpecFields reports whether the kind's spec has all fields of the object's spec. It is false for a custom resource with a pod template, which
// has other fields: a DeploymentConfig of OpenShift has triggers.
func hasOnlySpecFields(object []byte, gvk schema.GroupVersionKind) bool {
	var parts map[string]json.RawMessage
	if json.Unmarshal(object, &parts) != nil {
		return false
	}
	typed, err := legacyscheme.Scheme.New(gvk)
	if err != nil {
		return false
	}
	of, found := fieldPlace{typ: elementType(reflect.TypeOf(typed))}.findField("spec")
	var fields map[string]json.RawMessage
	if !found || json.Unmarshal(parts["spec"], &fields) != nil {
		return false
	}
	for name := range fields {
		if _, known := of.findField(name); !known {
			return false
		}
	}
	return true
}

// kindlessItems returns the items of a list if the list and its items lack apiVersion and kind, and nil otherwise.
func (it item) kindlessItems() []item {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if it.header.APIVersion != "" || it.header.Kind != "" || json.Unmarshal(it.json, &list) != nil || len(list.Items) == 0 {
		return nil
	}
	items := make([]item, 0, len(list.Items))
	for i, value := range list.Items {
		member := it.memberAt(i, value)
		if !member.readHeader() || !member.dumped() {
			return nil // not from an API server
		}
		items = append(items, member)
	}
	return items
}
