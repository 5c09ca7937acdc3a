package sched

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/admission"
)

// bindClaims lets DynamicResources write the allocations and reservations to the claims of a pod that got its node. captureClaims receives
// the writes.
func (e *Engine) bindClaims(profile *profile, state fwk.CycleState, pod *v1.Pod) *fwk.Status {
	if profile.claims == nil {
		return nil
	}
	e.client.ClearActions()
	switch status := profile.claims.PreBind(e.ctx, state, pod, pod.Spec.NodeName); {
	case status.IsRejected():
		return status
	case !status.IsSuccess():
		// The message is that of upstream's RunPreBindPlugins.
		return fwk.AsStatus(fmt.Errorf("running PreBind plugin %q: %w", profile.claims.Name(), status.AsError()))
	}
	for _, action := range e.client.Actions() {
		if patch, ok := action.(clienttesting.PatchAction); ok {
			if made := extendedResourceStatus(patch); made != nil {
				pod.Status.ExtendedResourceClaimStatus = made
			}
		}
	}
	return nil
}

// extendedResourceStatus returns the status of the claim for the pod's extended resources from a patch of the pod's status, or nil if the patch
// has none.
func extendedResourceStatus(patch clienttesting.PatchAction) *v1.PodExtendedResourceClaimStatus {
	var pod v1.Pod
	if patch.GetResource().Resource != "pods" || json.Unmarshal(patch.GetPatch(), &pod) != nil {
		return nil
	}
	return pod.Status.ExtendedResourceClaimStatus
}

// captureClaims makes the clientset apply writes of ResourceClaims to the engine's claims, as an API server would.
func captureClaims(e *Engine) {
	on := func(verb string, do func(clienttesting.Action) (*resourcev1.ResourceClaim, error)) {
		e.client.PrependReactor(verb, "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
			claim, err := do(action)
			if err != nil {
				return true, nil, err
			}
			e.countChange()
			e.writtenClaims = append(e.writtenClaims, cluster.NameOf(claim))
			return true, claim.DeepCopy(), nil // upstream writes to the returned object
		})
	}
	on("create", func(action clienttesting.Action) (*resourcev1.ResourceClaim, error) {
		claim := action.(clienttesting.CreateAction).GetObject().(*resourcev1.ResourceClaim).DeepCopy()
		for n := 0; claim.Name == "" || e.devices.Claim(cluster.NameOf(claim)) != nil; n++ {
			claim.Name = admission.GenerateName(claim.GenerateName, n)
		}
		owner := metav1.GetControllerOfNoCopy(claim)
		claim.UID = admission.UID("ResourceClaim", claim.Namespace, claim.Name+"/"+string(owner.UID), 0)
		claim.CreationTimestamp = e.state.Now
		e.devices.Write(claim)
		return claim, nil
	})
	on("update", func(action clienttesting.Action) (*resourcev1.ResourceClaim, error) {
		claim := action.(clienttesting.UpdateAction).GetObject().(*resourcev1.ResourceClaim).DeepCopy()
		if reserved := len(claim.Status.ReservedFor); reserved > resourcev1.ResourceClaimReservedForMaxSize {
			return nil, apierrors.NewInvalid(resourcev1.SchemeGroupVersion.WithKind("ResourceClaim").GroupKind(), claim.Name, field.ErrorList{
				field.TooMany(field.NewPath("status", "reservedFor"), reserved, resourcev1.ResourceClaimReservedForMaxSize)})
		}
		e.settleAllocation(claim)
		e.devices.Write(claim)
		return claim, nil
	})
	on("patch", func(action clienttesting.Action) (*resourcev1.ResourceClaim, error) { // Unreserve removes reservations
		patch := action.(clienttesting.PatchAction)
		claim := e.devices.Claim(types.NamespacedName{Namespace: patch.GetNamespace(), Name: patch.GetName()})
		if claim == nil {
			return nil, apierrors.NewNotFound(resourcev1.Resource("resourceclaims"), patch.GetName())
		}
		before, err := json.Marshal(claim)
		if err != nil {
			return nil, err
		}
		after, err := strategicpatch.StrategicMergePatch(before, patch.GetPatch(), claim)
		if err != nil {
			return nil, err
		}
		patched := &resourcev1.ResourceClaim{}
		if err := json.Unmarshal(after, patched); err != nil {
			return nil, err
		}
		e.devices.Write(patched)
		return patched, nil
	})
	on("delete", func(action clienttesting.Action) (*resourcev1.ResourceClaim, error) {
		deleted := action.(clienttesting.DeleteAction)
		claim := e.devices.Claim(types.NamespacedName{Namespace: deleted.GetNamespace(), Name: deleted.GetName()})
		if claim == nil {
			return nil, apierrors.NewNotFound(resourcev1.Resource("resourceclaims"), deleted.GetName())
		}
		e.devices.Delete(cluster.NameOf(claim))
		return claim, nil
	})
}

// settleAllocation replaces the wall-clock time and the random share IDs in a new allocation.
func (e *Engine) settleAllocation(claim *resourcev1.ResourceClaim) {
	allocation := claim.Status.Allocation
	known := e.devices.Claim(cluster.NameOf(claim))
	if allocation == nil || known == nil || known.Status.Allocation != nil {
		return
	}
	allocation.AllocationTimestamp = e.state.Now.DeepCopy()
	for i := range allocation.Devices.Results {
		if result := &allocation.Devices.Results[i]; result.ShareID != nil {
			id := admission.UID("share", string(claim.UID), result.Driver+"/"+result.Pool+"/"+result.Device, i)
			result.ShareID = &id
		}
	}
}

// takeClaims moves the claims that the scheduler has written or deleted to the result.
func (e *Engine) takeClaims(result *placement.Result) {
	seen := map[types.NamespacedName]bool{}
	for _, name := range e.writtenClaims {
		if seen[name] {
			continue
		}
		seen[name] = true
		if claim := e.devices.Claim(name); claim != nil {
			result.Claims = append(result.Claims, claim)
		} else {
			result.Unclaimed = append(result.Unclaimed, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}})
		}
	}
}

// pickUnavailableClaim leaves DynamicResources' PostFilter only one claim to choose. The plugin deallocates a claim that keeps the pod from
// all nodes and that no other pod has reserved, and picks one in random map order if there are several. The engine takes the first such
// claim in the pod's spec or, with random ties, any of them.
func (e *Engine) pickUnavailableClaim(state fwk.CycleState, pod *v1.Pod) {
	data, err := state.Read(names.DynamicResources)
	if err != nil {
		return
	}
	unavailable := reflect.ValueOf(data).Elem().FieldByName("unavailableClaims")
	if !unavailable.IsValid() || unavailable.Len() < 2 {
		return
	}
	indexes := *(*sets.Set[int])(unavailable.Addr().UnsafePointer())
	var free []int
	for _, index := range slices.Sorted(maps.Keys(indexes)) {
		if claim := e.claimOf(pod, index); claim != nil && (len(claim.Status.ReservedFor) == 0 ||
			len(claim.Status.ReservedFor) == 1 && claim.Status.ReservedFor[0].UID == pod.UID) {
			free = append(free, index)
		}
	}
	if len(free) < 2 {
		return
	}
	chosen := free[0]
	if e.random != nil {
		chosen = free[e.random.IntN(len(free))]
	}
	for _, index := range free {
		if index != chosen {
			indexes.Delete(index)
		}
	}
}

// claimOf returns the pod's claim with the plugin's index, or nil.
func (e *Engine) claimOf(pod *v1.Pod, index int) *resourcev1.ResourceClaim {
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		if index == 0 {
			return e.devices.Claim(types.NamespacedName{Namespace: pod.Namespace, Name: *name})
		}
		index--
	}
	return nil
}

// withoutTimeouts returns the profiles without the timeout for finding devices on a node, so that an answer does not depend on the speed of the
// machine. boundedClaims bounds the search by its steps.
func withoutTimeouts(profiles []schedulerapi.KubeSchedulerProfile) []schedulerapi.KubeSchedulerProfile {
	all := slices.Clone(profiles)
	for i := range all {
		all[i].PluginConfig = slices.Clone(all[i].PluginConfig)
		for j, config := range all[i].PluginConfig {
			if args, ok := config.Args.(*schedulerapi.DynamicResourcesArgs); ok {
				untimed := *args
				untimed.FilterTimeout = nil
				all[i].PluginConfig[j].Args = &untimed
			}
		}
	}
	return all
}
