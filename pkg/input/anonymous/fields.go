package anonymous

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// rule says how to replace a field. Without a rule, the type of the field decides: a plain string is a name and gets new words; a constant,
// a number, a quantity or a time stays.
type rule int

const (
	byType rule = iota
	drop
	keep
	asText
	asPath
	asKey
	asKind
	asReason
	asCondition
	asValue
	asHandle
	asLabels
	asAnnotations
	asDriver
	asExpression
	asAttributes
	asAttribute
	asResource
	asRevision
	asNone
)

// fieldRules has the rule of a field by its type and name. An entry without a type is for all types without an entry of their own.
var fieldRules = map[string]rule{
	"apiVersion": asKind, "apiGroup": asKind, "kind": asKind, "key": asKey, "topologyKey": asKey, "topologyKeys": asKey, "matchLabelKeys": asKey,
	"mismatchLabelKeys": asKey, "finalizers": asKey, "reason": asReason, "conditionType": asCondition,
	"labels": asLabels, "matchLabels": asLabels, "nodeSelector": asLabels, "selector": asLabels, "annotations": asAnnotations,
	"resourceVersion": keep, "generation": keep, "schedule": keep, "timeZone": keep, "completedIndexes": keep, "failedIndexes": keep, "succeededIndexes": keep,

	"managedFields": drop, "selfLink": drop, "message": drop, "description": drop, "parameters": drop, "volumeAttributes": drop, "mountOptions": drop,
	"items": drop, "options": drop,

	"NodeSelector.nodeSelectorTerms": byType, "ResourceSliceSpec.nodeSelector": byType, "AllocationResult.nodeSelector": byType,
	"DeploymentSpec.selector": byType, "ReplicaSetSpec.selector": byType, "StatefulSetSpec.selector": byType, "DaemonSetSpec.selector": byType,
	"JobSpec.selector": byType, "PodDisruptionBudgetSpec.selector": byType, "PersistentVolumeClaimSpec.selector": byType, "MetricIdentifier.selector": byType,

	"Taint.value": asValue, "Toleration.value": asValue, "DeviceTaint.value": asValue, "DeviceToleration.value": asValue,
	"NodeSelectorRequirement.values": asValue, "LabelSelectorRequirement.values": asValue, "TopologySelectorLabelRequirement.values": asValue,
	"PodCondition.type": asCondition, "NodeCondition.type": asCondition, "DeploymentCondition.type": asCondition, "ReplicaSetCondition.type": asCondition,
	"StatefulSetCondition.type": asCondition, "DaemonSetCondition.type": asCondition, "JobCondition.type": asCondition, "Condition.type": asCondition,
	"HorizontalPodAutoscalerCondition.type": asCondition, "PersistentVolumeClaimCondition.type": asCondition, "NamespaceCondition.type": asCondition,
	"ReplicationControllerCondition.type": asCondition, "PodFailurePolicyOnPodConditionsPattern.type": asCondition,
	"PodSchedulingGate.name": asKey, "JobSpec.managedBy": asKey,

	"NodeSpec.providerID": drop, "NodeSpec.podCIDR": drop, "NodeSpec.podCIDRs": drop, "NodeSpec.externalID": drop, "NodeSpec.configSource": drop,
	"NodeStatus.addresses": drop, "NodeStatus.daemonEndpoints": drop, "NodeStatus.config": drop, "NodeStatus.declaredFeatures": keep,
	"NodeStatus.volumesInUse": asHandle, "AttachedVolume.name": asHandle, "AttachedVolume.devicePath": drop,
	"NodeSystemInfo.machineID": drop, "NodeSystemInfo.systemUUID": drop, "NodeSystemInfo.bootID": drop, "NodeSystemInfo.kernelVersion": drop,
	"NodeSystemInfo.osImage": drop, "NodeSystemInfo.containerRuntimeVersion": keep, "NodeSystemInfo.kubeletVersion": keep,
	"NodeSystemInfo.kubeProxyVersion": keep, "NodeSystemInfo.operatingSystem": keep, "NodeSystemInfo.architecture": keep, "NodeSystemInfo.swap": keep,

	"PodSpec.hostAliases": drop, "PodSpec.dnsConfig": drop, "PodStatus.hostIP": drop, "PodStatus.hostIPs": drop, "PodStatus.podIP": drop, "PodStatus.podIPs": drop,
	"ContainerStatus.containerID": asText, "ContainerStateTerminated.containerID": drop, "ContainerStatus.volumeMounts": drop,
	"ContainerStatus.imageID": asText, "ContainerStatus.allocatedResourcesStatus": drop, "ContainerStatus.user": drop,
	"Container.workingDir": asPath, "Container.terminationMessagePath": drop, "EphemeralContainer.workingDir": asPath,
	"EphemeralContainer.terminationMessagePath": drop, "ContainerPort.name": drop, "VolumeMount.mountPath": asPath, "VolumeMount.subPath": asText,
	"VolumeMount.subPathExpr": drop, "VolumeDevice.devicePath": asPath, "HostPathVolumeSource.path": asPath, "LocalVolumeSource.path": asPath,
	"ProjectedVolumeSource.sources": drop, "CSIPersistentVolumeSource.volumeHandle": asText,

	"ServiceSpec.clusterIP": asNone, "ServiceSpec.clusterIPs": asNone, "ServiceSpec.externalIPs": drop, "ServiceSpec.loadBalancerIP": drop,
	"ServiceSpec.loadBalancerSourceRanges": drop, "Service.status": drop, "ServicePort.targetPort": drop, "ServiceSpec.loadBalancerClass": drop,

	"ControllerRevision.data": asRevision,

	"BasicDevice.attributes": asAttributes, "Device.attributes": asAttributes, "Device.capacity": asAttributes, "CELDeviceSelector.expression": asExpression, "DeviceClassSpec.config": drop,
	"DeviceClaim.config": drop, "DeviceAllocationResult.config": drop, "ResourceClaimStatus.devices": drop, "DeviceConstraint.matchAttribute": asAttribute,
	"DeviceConstraint.distinctAttribute": asAttribute, "ResourceClaimConsumerReference.resource": keep, "ResourceSliceSpec.driver": asDriver,
	"DeviceRequestAllocationResult.driver": asDriver, "CSINodeDriver.name": asKey, "StorageClass.provisioner": asKey,
	"CSIPersistentVolumeSource.driver": asKey, "CSIVolumeSource.driver": asKey, "AzureDiskVolumeSource.kind": keep,
	"DeviceClassSpec.extendedResourceName": asResource, "ContainerExtendedResourceRequest.resourceName": asResource,
}

// These lists contain public words, which stay.
var (
	publicDomains = []string{
		"kubernetes.io", "k8s.io", "x-k8s.io", "aws.com", "aws.amazon.com", "amazonaws.com", "gke.io", "google.com", "azure.com", "microsoft.com", "nvidia.com", "amd.com",
		"intel.com", "karpenter.sh", "openshift.io", "digitalocean.com", "hetzner.cloud", "openstack.org", "vmware.com", "longhorn.io", "ceph.com", "cilium.io",
		"projectcalico.org", "istio.io", "argoproj.io", "kruise.io", "strimzi.io", "cnpg.io", "kubevirt.io", "ray.io", "faultline.dev",
	}
	// publicKinds lists kinds and versions that stay although a dump does not have their objects: those of owners and references.
	publicKinds = []string{"v1", "List", "ConfigMap", "Secret", "ServiceAccount", "CloneSet", "StrimziPodSet", "Cluster", "VirtualMachineInstance", "RayCluster", "Rollout", "Workflow",
		"VolumeSnapshot"}
	// plainKeys are label keys of Kubernetes without a domain. [roleDomains] are domains whose keys users make up.
	plainKeys = []string{"pod-template-hash", "controller-revision-hash", "pod-template-generation", "job-name", "controller-uid", "rollouts-pod-template-hash",
		"metadata.name", "metadata.namespace", "cluster-name"}
	roleDomains = []string{"node-role.kubernetes.io", "node-restriction.kubernetes.io"}
	publicRoles = []string{"control-plane", "master", "worker", "infra"}
	// keptValues are keys and domains of labels whose values must stay, because their meaning decides.
	keptValues = []string{v1.LabelArchStable, v1.LabelOSStable, "beta.kubernetes.io/arch", "beta.kubernetes.io/os", "pod-template-generation",
		"apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index", "pod-security.kubernetes.io"}
	publicConditions = []string{"Ready", "ContainersReady", "PodScheduled", "Initialized", "PodReadyToStartContainers", "DisruptionTarget", "PodResizePending",
		"PodResizeInProgress", "AllContainersRestarting", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "Available", "Progressing", "ReplicaFailure",
		"Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet", "DisruptionAllowed", "AbleToScale", "ScalingActive", "ScalingLimited",
		"Resizing", "FileSystemResizePending", "PodGroupScheduled", "PodGroupInitiallyScheduled"}
	droppedAnnotations = []string{v1.LastAppliedConfigAnnotation, "kubernetes.io/description"}
	// namingAnnotations have names as values. [keptAnnotations], by key or by domain, have values that decide and so stay.
	namingAnnotations = []string{"volume.kubernetes.io/selected-node", "pv.kubernetes.io/provisioned-by", "volume.kubernetes.io/storage-provisioner",
		"volume.beta.kubernetes.io/storage-provisioner", "resource.kubernetes.io/pod-claim-name", "faultline.dev/volume-topology", "faultline.dev/node-group",
		"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", "batch.kubernetes.io/cronjob-scheduled-timestamp", "volume.beta.kubernetes.io/storage-class"}
	keptAnnotations = []string{"deployment.kubernetes.io", "batch.kubernetes.io", "cluster-autoscaler.kubernetes.io", "storageclass.kubernetes.io", "storageclass.beta.kubernetes.io",
		"faultline.dev", "lint.faultline.dev", "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller", "pv.kubernetes.io/migrated-to",
		"resource.kubernetes.io/extended-resource-claim", "controller.kubernetes.io/pod-deletion-cost", "deprecated.daemonset.template.generation"}
)

var (
	machineWord = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)
	// nativeResource matches the resources of Kubernetes, and the other things that a quota counts.
	nativeResource = regexp.MustCompile(`^((requests|limits)\.)?(cpu|memory|storage|ephemeral-storage|hugepages-[0-9A-Za-z]+)$|^attachable-volumes-[a-z-]+$|` +
		`^(pods|services(\.[a-z]+)?|replicationcontrollers|resourcequotas|secrets|configmaps|persistentvolumeclaims)$`)
	integer = regexp.MustCompile(`^-?[0-9]+$`)

	uidType         = reflect.TypeFor[types.UID]()
	resourceType    = reflect.TypeFor[v1.ResourceName]()
	intOrStringType = reflect.TypeFor[intstr.IntOrString]()
)

// isPublic reports whether the domain is a public one, or below one.
func isPublic(domain string) bool {
	return slices.ContainsFunc(publicDomains, func(public string) bool { return domain == public || strings.HasSuffix(domain, "."+public) })
}

func findRule(of reflect.Type, name string) rule {
	if r, found := fieldRules[of.Name()+"."+name]; found {
		return r
	}
	return fieldRules[name]
}

var fieldTypeCache sync.Map // for a struct type, the types of its fields by their names in JSON

// fieldType returns the type of a field of a struct, by its name in JSON.
func fieldType(of reflect.Type, name string) (reflect.Type, bool) {
	known, found := fieldTypeCache.Load(of)
	if !found {
		known, _ = fieldTypeCache.LoadOrStore(of, collectFieldTypes(of))
	}
	field, found := known.(map[string]reflect.Type)[name]
	return field, found
}

func collectFieldTypes(of reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	if of.Kind() != reflect.Struct {
		return all
	}
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" {
			all[name] = field.Type
			continue
		}
		for name, inner := range collectFieldTypes(field.Type) { // inlined
			all[name] = inner
		}
	}
	return all
}
