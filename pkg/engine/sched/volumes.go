package sched

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"

	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// binder is upstream's volume binder. It also records what the Reserve plugins decided about the volumes of the current pod.
type binder struct {
	volumebinding.SchedulerVolumeBinder
	assumed *volumebinding.PodVolumes // nil if every volume is bound already
}

// AssumePodVolumes records the pod's volumes. The Reserve plugin calls it.
func (b *binder) AssumePodVolumes(logger klog.Logger, pod *v1.Pod, node string, volumes *volumebinding.PodVolumes) (bool, error) {
	bound, err := b.SchedulerVolumeBinder.AssumePodVolumes(logger, pod, node, volumes)
	if err == nil && !bound {
		b.assumed = volumes
	}
	return bound, err
}

// RunReservePluginsReserve also records what the plugins decide about the volumes of the pod.
func (p *profile) RunReservePluginsReserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	if p.binder != nil {
		p.binder.assumed = nil
	}
	return p.Framework.RunReservePluginsReserve(ctx, state, pod, node)
}

// bindVolumes binds the claims of a pod that got its node. It does at once what PreBind requests from the API server and what the volume
// controllers then do. If the driver has no room for a claim, bindVolumes returns the refusal of the pod; the pod's other claims are bound
// all the same.
func (e *Engine) bindVolumes(profile *profile, pod *v1.Pod, volumes *placement.Volumes) (*failedCycle, error) {
	if profile.binder == nil || profile.binder.assumed == nil {
		return nil, nil
	}
	// BindPodVolumes first writes its decisions, then waits for the controllers. captureWrites receives the writes. The canceled context
	// ends the wait at once, so the error is expected.
	ended, end := context.WithCancel(e.ctx)
	end()
	e.client.ClearActions()
	_ = profile.binder.BindPodVolumes(ended, pod, profile.binder.assumed)
	profile.binder.RevertAssumedPodVolumes(profile.binder.assumed)
	var refused *failedCycle
	bound := false
	for _, action := range e.client.Actions() {
		update, ok := action.(clienttesting.UpdateAction)
		if !ok {
			continue
		}
		var pv *v1.PersistentVolume
		var claim *v1.PersistentVolumeClaim
		var err error
		switch obj := update.GetObject().(type) {
		case *v1.PersistentVolume:
			pv, claim, err = e.bindReserved(obj)
		case *v1.PersistentVolumeClaim:
			pv, claim, err = e.provision(obj, pod.Spec.NodeName, volumes)
		}
		switch {
		case err != nil:
			return nil, err
		case pv == nil:
			refused = e.recordNoRoom(refused, pod, update.GetObject().(*v1.PersistentVolumeClaim))
			continue
		}
		e.volumesWritten = true
		core := e.informers.Core().V1()
		if err := core.PersistentVolumes().Informer().GetIndexer().Update(pv); err != nil {
			return nil, err
		}
		if err := core.PersistentVolumeClaims().Informer().GetIndexer().Update(claim); err != nil {
			return nil, err
		}
		bound = true
		volumes.PersistentVolumes = append(volumes.PersistentVolumes, pv)
		volumes.PersistentVolumeClaims = append(volumes.PersistentVolumeClaims, claim)
	}
	if refused != nil && bound {
		e.countChange()
		refused.mayRetry = true
	}
	return refused, nil
}

// recordNoRoom adds a note that a claim is not provisioned, and returns the refusal of the pod, which is that of its first such claim. The
// scheduler compares each claim of a pod alone with the capacities: if 10Gi are left, two claims of 8Gi pass, and only one of them is
// provisioned. The message is that of checkBindings in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/volumebinding/binder.go.
func (e *Engine) recordNoRoom(before *failedCycle, pod *v1.Pod, claim *v1.PersistentVolumeClaim) *failedCycle {
	e.notes = append(e.notes, fmt.Sprintf("the driver of class %s has no room on node %s for claim %s/%s once the other claims of pod %s have theirs: "+
		"kube-scheduler compares each claim alone with the CSIStorageCapacities, and the pod waits.",
		volume.GetPersistentVolumeClaimClass(claim), pod.Spec.NodeName, claim.Namespace, claim.Name, pod.Name))
	if before != nil {
		return before
	}
	return &failedCycle{message: fmt.Sprintf("running PreBind plugin %q: binding volumes: provisioning failed for PVC %q", names.VolumeBinding, claim.Name), failed: true}
}

// bindReserved completes the binding of a volume that upstream reserved for a claim.
func (e *Engine) bindReserved(volume *v1.PersistentVolume) (*v1.PersistentVolume, *v1.PersistentVolumeClaim, error) {
	ref := volume.Spec.ClaimRef
	claim, err := e.informers.Core().V1().PersistentVolumeClaims().Lister().PersistentVolumeClaims(ref.Namespace).Get(ref.Name)
	if err != nil {
		return nil, nil, err
	}
	volume, claim = controller.BindVolume(volume, claim)
	return volume, claim, nil
}

// provision creates the volume of a claim for which upstream selected a node, and subtracts the volume's size from the storage capacity
// there. It returns no volume if there is no room.
func (e *Engine) provision(claim *v1.PersistentVolumeClaim, nodeName string, volumes *placement.Volumes) (*v1.PersistentVolume, *v1.PersistentVolumeClaim, error) {
	node := e.state.Node(nodeName)
	var class *storagev1.StorageClass
	for _, candidate := range e.state.StorageClasses {
		if claim.Spec.StorageClassName != nil && candidate.Name == *claim.Spec.StorageClassName {
			class = candidate
		}
	}
	if node == nil || class == nil {
		return nil, nil, fmt.Errorf("claim %s/%s has been given node %q, but the node or its class is unknown", claim.Namespace, claim.Name, nodeName)
	}
	informer := e.informers.Storage().V1().CSIStorageCapacities()
	listed, err := informer.Lister().List(labels.Everything())
	if err != nil {
		return nil, nil, err
	}
	capacities := controller.NewCapacities(e.state, listed)
	if !capacities.HaveRoom(claim, class, node) {
		return nil, nil, nil
	}
	volume, claim := capacities.Provision(claim, class, node)
	for _, capacity := range capacities.Changed() {
		e.volumesWritten = true
		if err := informer.Informer().GetIndexer().Update(capacity); err != nil {
			return nil, nil, err
		}
		volumes.CSIStorageCapacities = append(volumes.CSIStorageCapacities, capacity)
	}
	return volume, claim, nil
}

// captureWrites makes the clientset answer every write with the written object and record the action; the clientset stores no object.
// Upstream patches pods, to clear nominations of pods with a lower priority than the preemptor, and patches the conditions of pod groups.
func captureWrites(e *Engine) {
	e.client.PrependReactor("update", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, action.(clienttesting.UpdateAction).GetObject(), nil
	})
	e.client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		pod, err := e.informers.Core().V1().Pods().Lister().Pods(patch.GetNamespace()).Get(patch.GetName())
		if err != nil {
			return true, nil, err
		}
		if nominee := e.nominees[pod.UID]; nominee != nil && extendedResourceStatus(patch) == nil {
			e.nominate(nominee, "")
		}
		return true, pod, nil
	})
	e.client.PrependReactor("patch", "podgroups", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		group, err := e.patchPodGroup(types.NamespacedName{Namespace: patch.GetNamespace(), Name: patch.GetName()}, patch.GetPatch())
		return true, group, err
	})
}
