package owner

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind says how controllers of a kind behave.
type kind struct {
	// keepsNames means that the controller replaces a pod by a pod of the same name.
	keepsNames bool
	// unscaled means that the kind has no scale subresource.
	unscaled bool
	// ignoresRestartPolicy means that the controller replaces a pod even if the pod's restartPolicy is Never.
	ignoresRestartPolicy bool
	// partLabels are labels of pods. The first one that a pod has says from which of several templates the controller has made the pod; the
	// pods of each template are an owner of their own. Default: the controller has one template.
	partLabels []string
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
	// https://github.com/ray-project/kuberay/pull/3872; labelPod in
	// https://github.com/ray-project/kuberay/blob/v1.7.0/ray-operator/controllers/ray/common/pod.go
	{Group: "ray.io", Kind: "RayCluster"}: {unscaled: true, ignoresRestartPolicy: true, partLabels: []string{"ray.io/group"}},
	// A launcher of v2beta1 is a Job. See getOrCreateWorker in
	// https://github.com/kubeflow/mpi-operator/blob/v0.8.0/pkg/controller/mpi_job_controller.go
	{Group: "kubeflow.org", Kind: "MPIJob"}: training(true),
	// https://github.com/kubeflow/trainer/blob/v1.9.2/pkg/controller.v1/common/pod.go
	{Group: "kubeflow.org", Kind: "PyTorchJob"}: training(false),
	{Group: "kubeflow.org", Kind: "TFJob"}:      training(true),
	{Group: "kubeflow.org", Kind: "XGBoostJob"}: training(true),
	{Group: "kubeflow.org", Kind: "PaddleJob"}:  training(true),
	{Group: "kubeflow.org", Kind: "JAXJob"}:     training(true),
	// createJobPod in https://github.com/volcano-sh/volcano/blob/v1.12.1/pkg/controllers/job/job_controller_util.go
	{Group: "batch.volcano.sh", Kind: "Job"}: {keepsNames: true, unscaled: true, ignoresRestartPolicy: true, partLabels: []string{"volcano.sh/task-spec"}},
}

// training returns the behaviour of the controllers of Kubeflow's jobs: they replace each pod by its index, until the pod has succeeded.
func training(unscaled bool) kind {
	return kind{keepsNames: true, unscaled: unscaled, ignoresRestartPolicy: true, partLabels: []string{"training.kubeflow.org/replica-type", "training.kubeflow.org/job-role"}}
}

// partOf returns from which of the controller's templates the pod is made; "" if the controller has one template.
func (k kind) partOf(labels map[string]string) string {
	for _, label := range k.partLabels {
		if part := labels[label]; part != "" {
			return strings.ToLower(part)
		}
	}
	return ""
}
