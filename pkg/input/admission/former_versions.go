package admission

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	_ "k8s.io/kubernetes/pkg/apis/extensions/install"
)

// formerVersions lists, by kind, the API versions that only earlier releases served. An API server of that time wrote them into dumps: up to
// 1.15, kubectl get deployments gives extensions/v1beta1. Upstream's scheme still has their types, defaults and conversions. These differ
// from the present ones: an empty selector of a budget of policy/v1beta1 selects no pod, and one of policy/v1 selects every pod.
var formerVersions = map[string][]schema.GroupVersion{
	"Deployment":                       {{Group: "extensions", Version: "v1beta1"}, {Group: "apps", Version: "v1beta1"}, {Group: "apps", Version: "v1beta2"}},
	"ReplicaSet":                       {{Group: "extensions", Version: "v1beta1"}, {Group: "apps", Version: "v1beta2"}},
	"DaemonSet":                        {{Group: "extensions", Version: "v1beta1"}, {Group: "apps", Version: "v1beta2"}},
	"StatefulSet":                      {{Group: "apps", Version: "v1beta1"}, {Group: "apps", Version: "v1beta2"}},
	"ControllerRevision":               {{Group: "apps", Version: "v1beta1"}, {Group: "apps", Version: "v1beta2"}},
	"CronJob":                          {{Group: "batch", Version: "v1beta1"}},
	"PodDisruptionBudget":              {{Group: "policy", Version: "v1beta1"}},
	"PriorityClass":                    {{Group: "scheduling.k8s.io", Version: "v1beta1"}},
	"RuntimeClass":                     {{Group: "node.k8s.io", Version: "v1beta1"}, {Group: "node.k8s.io", Version: "v1alpha1"}},
	"StorageClass":                     {{Group: "storage.k8s.io", Version: "v1beta1"}},
	"CSINode":                          {{Group: "storage.k8s.io", Version: "v1beta1"}},
	"CSIDriver":                        {{Group: "storage.k8s.io", Version: "v1beta1"}},
	"CSIStorageCapacity":               {{Group: "storage.k8s.io", Version: "v1alpha1"}},
	validatingPolicies:                 {{Group: "admissionregistration.k8s.io", Version: "v1alpha1"}},
	"ValidatingAdmissionPolicyBinding": {{Group: "admissionregistration.k8s.io", Version: "v1alpha1"}},
	mutatingPolicies:                   {{Group: "admissionregistration.k8s.io", Version: "v1alpha1"}},
	"MutatingAdmissionPolicyBinding":   {{Group: "admissionregistration.k8s.io", Version: "v1alpha1"}},
}

// ServedFormerly reports whether only an API server of an earlier release served the kind under the group and version. [Create] accepts
// such objects.
func (k *Kind) ServedFormerly(gv schema.GroupVersion) bool {
	return slices.Contains(formerVersions[k.name], gv)
}
