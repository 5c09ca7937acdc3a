package owner

import "k8s.io/apimachinery/pkg/runtime/schema"

// kind says how controllers of a kind behave.
type kind struct {
	// keepsNames means that the controller replaces a pod by a pod of the same name.
	keepsNames bool
	// unscaled means that the kind has no scale subresource.
	unscaled bool
	// ignoresRestartPolicy means that the controller replaces a pod even if the pod's restartPolicy is Never.
	ignoresRestartPolicy bool
}

// kinds has the kinds whose behaviour is documented, with the sources. docs/model.md has the same table.
var kinds = map[schema.GroupKind]kind{
	// https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#stable-network-id
	{Group: "apps", Kind: "StatefulSet"}: {keepsNames: true},
	// https://openkruise.io/docs/user-manuals/advancedstatefulset
	{Group: "apps.kruise.io", Kind: "StatefulSet"}: {keepsNames: true},
	// https://openkruise.io/docs/user-manuals/cloneset
	{Group: "apps.kruise.io", Kind: "CloneSet"}: {},
	// https://github.com/strimzi/proposals/blob/main/031-statefulset-removal.md
	{Group: "core.strimzi.io", Kind: "StrimziPodSet"}: {keepsNames: true, unscaled: true},
	// https://cloudnative-pg.io/documentation/current/failure_modes/
	{Group: "postgresql.cnpg.io", Kind: "Cluster"}: {keepsNames: true},
	// https://kubevirt.io/user-guide/compute/run_strategies/: a VirtualMachine makes another instance, with another virt-launcher.
	{Group: "kubevirt.io", Kind: "VirtualMachineInstance"}: {unscaled: true, ignoresRestartPolicy: true},
	// https://github.com/ray-project/kuberay/pull/3872
	{Group: "ray.io", Kind: "RayCluster"}: {unscaled: true},
}
