package controller

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// syncDeviceClaims creates the ResourceClaims that pods ask for by a template, and releases claims that no pod uses any more, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/resourceclaim/controller.go
// and the garbage collector do. That controller needs a cluster to watch, so it is written again; the names here are those of its
// functions.
func (p *pass) syncDeviceClaims() error {
	if len(p.ResourceClaims) == 0 && len(p.ResourceClaimTemplates) == 0 {
		return nil
	}
	seen := []any{newListID(p.Pods), newListID(p.ResourceClaims), newListID(p.ResourceClaimTemplates), newListID(p.PodGroups)}
	return p.syncUnlessSettled(subject{fact: claimsInSync}, seen, p.syncEachDeviceClaim)
}

// syncEachDeviceClaim syncs every pod with claims on devices, then every such claim.
func (p *pass) syncEachDeviceClaim() error {
	c := &claimSync{pass: p, claims: map[types.NamespacedName]*resourcev1.ResourceClaim{}, ofOwners: map[types.UID][]*resourcev1.ResourceClaim{},
		pods: map[types.UID]*v1.Pod{}, groups: map[types.NamespacedName]*schedulingv1beta1.PodGroup{}, templates: map[types.NamespacedName]*resourcev1.ResourceClaimTemplate{}}
	for _, claim := range p.ResourceClaims {
		c.indexClaim(claim)
	}
	for _, template := range p.ResourceClaimTemplates {
		c.templates[cluster.NameOf(template)] = template
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.DRAWorkloadResourceClaims) {
		for _, group := range p.PodGroups {
			c.syncGroup(group)
		}
	}
	for _, pod := range p.Pods {
		c.pods[pod.UID] = pod
		if len(pod.Spec.ResourceClaims) > 0 && pod.DeletionTimestamp == nil && !cluster.IsTerminal(pod) {
			c.syncPod(pod)
		}
	}
	for _, claim := range p.ResourceClaims {
		c.syncClaim(c.claims[cluster.NameOf(claim)])
	}
	return errors.Join(c.problems...)
}

// claimSync is one sync of all claims.
type claimSync struct {
	*pass
	claims    map[types.NamespacedName]*resourcev1.ResourceClaim
	ofOwners  map[types.UID][]*resourcev1.ResourceClaim // by the UID of the pod or the pod group that owns them
	pods      map[types.UID]*v1.Pod
	groups    map[types.NamespacedName]*schedulingv1beta1.PodGroup // only under the feature gate DRAWorkloadResourceClaims
	templates map[types.NamespacedName]*resourcev1.ResourceClaimTemplate
	problems  []error
}

// indexClaim adds a claim to the claims that the sync looks up.
func (c *claimSync) indexClaim(claim *resourcev1.ResourceClaim) {
	c.claims[cluster.NameOf(claim)] = claim
	if owner := cmp.Or(owningPod(claim), owningGroup(claim)); owner != "" {
		c.ofOwners[owner] = append(c.ofOwners[owner], claim)
	}
}

// owningPod returns the UID of the pod for which the claim was created; "" if there is none.
func owningPod(claim *resourcev1.ResourceClaim) types.UID {
	if owner := metav1.GetControllerOfNoCopy(claim); owner != nil && owner.Kind == "Pod" && owner.APIVersion == "v1" {
		return owner.UID
	}
	return ""
}

// syncPod creates the claims that the pod lacks. If the pod already has a node, syncPod also reserves the pod's allocated claims for it.
func (c *claimSync) syncPod(pod *v1.Pod) {
	made := map[string]string{}
	for i := range pod.Spec.ResourceClaims {
		name, complete := c.handleClaim(pod, &pod.Spec.ResourceClaims[i])
		if !complete {
			return // upstream records the names only when all are there
		}
		if name != "" {
			made[pod.Spec.ResourceClaims[i].Name] = name
		}
	}
	if len(made) > 0 {
		pod = withClaimNames(pod, made)
		c.putObject(pod)
		c.pods[pod.UID] = pod
	}
	if pod.Spec.NodeName == "" {
		return // the scheduler reserves the claims
	}
	for i := range pod.Spec.ResourceClaims {
		claim := c.claimFor(pod, &pod.Spec.ResourceClaims[i])
		if claim == nil || claim.Status.Allocation == nil || resourceclaim.IsReservedForPod(pod, claim, c.claimsOfGroups()) {
			continue
		}
		consumer, err := resourceclaim.BindTo(pod, c.groupOf(pod), &pod.Spec.ResourceClaims[i])
		if err != nil {
			continue
		}
		claim = claim.DeepCopy()
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, consumer)
		c.putObject(claim)
		c.claims[cluster.NameOf(claim)] = claim
	}
}

// claimFor returns the claim that the pod names; nil if there is no such claim, or it belongs to another pod.
func (c *claimSync) claimFor(pod *v1.Pod, of *v1.PodResourceClaim) *resourcev1.ResourceClaim {
	name, mustCheckOwner, err := resourceclaim.Name(pod, of)
	if err != nil || name == nil {
		return nil
	}
	claim := c.claims[types.NamespacedName{Namespace: pod.Namespace, Name: *name}]
	if claim == nil || mustCheckOwner && resourceclaim.IsForPod(pod, claim, c.claimsOfGroups()) != nil {
		return nil
	}
	return claim
}

// handleClaim creates the claim that the pod wants by a template, unless the claim exists. It returns the claim's name if the pod's status
// lacks it. It returns false if the template is missing, or the API server refuses the claim.
func (c *claimSync) handleClaim(pod *v1.Pod, of *v1.PodResourceClaim) (name string, complete bool) {
	known, _, err := resourceclaim.Name(pod, of)
	switch {
	case of.ResourceClaimTemplateName == nil, err != nil && !errors.Is(err, resourceclaim.ErrClaimNotFound), err == nil && known == nil:
		return "", true // there is nothing to create
	case err == nil && c.claimFor(pod, of) != nil:
		return "", true
	}
	if consumer, err := resourceclaim.BindTo(pod, c.groupOf(pod), of); err == nil && consumer.Resource == "podgroups" {
		return c.findClaim(consumer.UID, of.Name), true
	}
	return c.findOrMakeClaim(pod, v1.SchemeGroupVersion.WithKind("Pod"), of.Name, *of.ResourceClaimTemplateName)
}

// findClaim returns the name of the claim that was created for the owner; "" if there is none.
func (c *claimSync) findClaim(owner types.UID, name string) string {
	for _, claim := range c.ofOwners[owner] {
		if claim.Annotations[resourcev1.PodResourceClaimAnnotation] == name {
			return claim.Name
		}
	}
	return ""
}

// findOrMakeClaim returns the name of the claim for the owner, a pod or a pod group, which it creates unless it exists. It returns false if the
// template is missing, or the API server refuses the claim.
func (c *claimSync) findOrMakeClaim(owner cluster.Object, kind schema.GroupVersionKind, name, from string) (string, bool) {
	if known := c.findClaim(owner.GetUID(), name); known != "" {
		return known, true
	}
	template := c.templates[types.NamespacedName{Namespace: owner.GetNamespace(), Name: from}]
	if template == nil {
		return "", false
	}
	claim := c.newClaim(owner, kind, name, template)
	unnamed := *claim
	unnamed.Name = "" // in upstream's messages a generated name ends before its random part
	if err := c.admitAndCharge(&unnamed); err != nil {
		if pod, is := owner.(*v1.Pod); !is || !c.refuseDevices(pod, name, err) {
			c.problems = append(c.problems, err)
		}
		return "", false
	}
	c.putObject(claim)
	c.indexClaim(claim)
	return claim.Name, true
}

// newClaim returns a new claim of the template for the owner, with a generated name.
func (c *claimSync) newClaim(owner cluster.Object, kind schema.GroupVersionKind, name string, template *resourcev1.ResourceClaimTemplate) *resourcev1.ResourceClaim {
	const longest = 57
	of := owner.GetName()
	base := of + "-" + name + "-"
	if len(base) > longest { // both names are shortened in proportion
		base = of[:len(of)*longest/len(base)] + "-" + name[:len(name)*longest/len(base)]
	}
	annotations := maps.Clone(template.Spec.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[resourcev1.PodResourceClaimAnnotation] = name
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName:      base,
			Namespace:         owner.GetNamespace(),
			Labels:            template.Spec.Labels,
			Annotations:       annotations,
			CreationTimestamp: c.Now,
			OwnerReferences:   []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)},
		},
		Spec: template.Spec.Spec,
	}
	claim.OwnerReferences[0].BlockOwnerDeletion = nil
	for claim.Name == "" || c.claims[cluster.NameOf(claim)] != nil {
		claim.Name = admission.GenerateName(base, c.created)
		claim.UID = c.newUID("ResourceClaim", claim.Namespace, claim.Name)
	}
	return claim
}

// withClaimNames returns the pod with the names of the claims that were created for it, sorted as upstream applies them.
func withClaimNames(pod *v1.Pod, made map[string]string) *v1.Pod {
	named := *pod
	named.Status.ResourceClaimStatuses = slices.DeleteFunc(slices.Clone(pod.Status.ResourceClaimStatuses), func(s v1.PodResourceClaimStatus) bool {
		return made[s.Name] != ""
	})
	for claim, name := range made {
		named.Status.ResourceClaimStatuses = append(named.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: claim, ResourceClaimName: &name})
	}
	slices.SortFunc(named.Status.ResourceClaimStatuses, func(a, b v1.PodResourceClaimStatus) int { return cmp.Compare(a.Name, b.Name) })
	return &named
}

// syncClaim removes the reservations of pods that are gone or have ended. A claim without reservations loses its devices. It is removed if
// it was created for a pod, or is being deleted.
func (c *claimSync) syncClaim(claim *resourcev1.ResourceClaim) {
	reserved := slices.DeleteFunc(slices.Clone(claim.Status.ReservedFor), func(by resourcev1.ResourceClaimConsumerReference) bool {
		return by.APIGroup == "" && by.Resource == "pods" && !c.podMayRun(by.UID) || c.isForGoneGroup(claim, by)
	})
	if len(reserved) == 0 && (claim.DeletionTimestamp != nil || owningPod(claim) != "" && !c.podMayRun(owningPod(claim)) || c.groupIsGone(claim, owningGroup(claim))) {
		c.removeObjects(claim)
		return
	}
	if len(reserved) == len(claim.Status.ReservedFor) {
		return
	}
	c.putObject(releaseClaim(claim, reserved))
}

// releaseClaim returns the claim with the given reservations alone. Without any it also loses its devices.
func releaseClaim(claim *resourcev1.ResourceClaim, reserved []resourcev1.ResourceClaimConsumerReference) *resourcev1.ResourceClaim {
	released := *claim
	released.Status.ReservedFor = reserved
	if i := slices.Index(released.Finalizers, resourcev1.Finalizer); i >= 0 && len(reserved) == 0 {
		released.Status.Allocation, released.Status.Devices = nil, nil
		released.Finalizers = slices.Delete(slices.Clone(released.Finalizers), i, i+1)
	}
	return &released
}

// ClaimsInUse returns the claims of a state as if only the pods that are on nodes had ever used them.
func ClaimsInUse(s *cluster.State) []*resourcev1.ResourceClaim {
	if len(s.ResourceClaims) == 0 {
		return nil
	}
	onNode := map[types.UID]bool{}
	for _, pod := range s.Pods {
		onNode[pod.UID] = pod.Spec.NodeName != ""
	}
	var claims []*resourcev1.ResourceClaim
	for _, claim := range s.ResourceClaims {
		if claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" && !onNode[owningPod(claim)] {
			continue // the scheduler creates it with the placement
		}
		reserved := slices.DeleteFunc(slices.Clone(claim.Status.ReservedFor), func(by resourcev1.ResourceClaimConsumerReference) bool {
			return by.APIGroup == "" && by.Resource == "pods" && !onNode[by.UID]
		})
		if len(reserved) < len(claim.Status.ReservedFor) {
			claim = releaseClaim(claim, reserved)
		}
		claims = append(claims, claim)
	}
	return claims
}

// podMayRun reports whether the pod exists and may still run.
func (c *claimSync) podMayRun(uid types.UID) bool {
	pod := c.pods[uid]
	return pod != nil && !cluster.IsTerminal(pod) && (pod.DeletionTimestamp == nil || pod.Spec.NodeName != "")
}
