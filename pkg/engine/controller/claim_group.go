package controller

import (
	"cmp"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/cluster"
)

// Under the feature gate DRAWorkloadResourceClaims a pod group has claims that its pods share. The names here are those of functions of
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/resourceclaim/controller.go.

var podGroupKind = schedulingv1beta1.SchemeGroupVersion.WithKind("PodGroup")

// claimsOfGroups reports whether claims can belong to pod groups.
func (c *claimSync) claimsOfGroups() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.DRAWorkloadResourceClaims)
}

// groupOf returns the pod's group; nil if it has none, or claims cannot belong to groups.
func (c *claimSync) groupOf(pod *v1.Pod) *schedulingv1beta1.PodGroup {
	return c.groups[types.NamespacedName{Namespace: pod.Namespace, Name: cluster.PodGroupOf(pod)}]
}

// syncGroup creates the claims that the group lacks; upstream's syncPodGroup.
func (c *claimSync) syncGroup(group *schedulingv1beta1.PodGroup) {
	c.groups[cluster.NameOf(group)] = group
	named := *group
	named.Status.ResourceClaimStatuses = slices.Clone(group.Status.ResourceClaimStatuses)
	for i := range group.Spec.ResourceClaims {
		of := &group.Spec.ResourceClaims[i]
		known, mustCheckOwner, err := resourceclaim.NameFromPodGroup(group, of)
		if of.ResourceClaimTemplateName == nil || err != nil && !errors.Is(err, resourceclaim.ErrClaimNotFound) || err == nil && known == nil {
			continue // there is nothing to create
		}
		if err == nil {
			if claim := c.claims[types.NamespacedName{Namespace: group.Namespace, Name: *known}]; claim != nil && (!mustCheckOwner || resourceclaim.IsForPodGroup(group, claim) == nil) {
				continue
			}
		}
		name, complete := c.findOrMakeClaim(group, podGroupKind, of.Name, *of.ResourceClaimTemplateName)
		if !complete {
			return // upstream records the names only when all are there
		}
		named.Status.ResourceClaimStatuses = slices.DeleteFunc(named.Status.ResourceClaimStatuses, func(s schedulingv1beta1.PodGroupResourceClaimStatus) bool { return s.Name == of.Name })
		named.Status.ResourceClaimStatuses = append(named.Status.ResourceClaimStatuses, schedulingv1beta1.PodGroupResourceClaimStatus{Name: of.Name, ResourceClaimName: &name})
	}
	slices.SortFunc(named.Status.ResourceClaimStatuses, func(a, b schedulingv1beta1.PodGroupResourceClaimStatus) int { return cmp.Compare(a.Name, b.Name) })
	if !slices.EqualFunc(named.Status.ResourceClaimStatuses, group.Status.ResourceClaimStatuses, func(a, b schedulingv1beta1.PodGroupResourceClaimStatus) bool {
		return a.Name == b.Name && *a.ResourceClaimName == *b.ResourceClaimName
	}) {
		c.putObject(&named)
		c.groups[cluster.NameOf(group)] = &named
	}
}

// owningGroup returns the UID of the pod group for which the claim was created; "" if there is none.
func owningGroup(claim *resourcev1.ResourceClaim) types.UID {
	if owner := metav1.GetControllerOfNoCopy(claim); owner != nil && owner.Kind == podGroupKind.Kind && owner.APIVersion == podGroupKind.GroupVersion().String() {
		return owner.UID
	}
	return ""
}

// isForGoneGroup reports whether the reservation is for a pod group that is gone.
func (c *claimSync) isForGoneGroup(claim *resourcev1.ResourceClaim, by resourcev1.ResourceClaimConsumerReference) bool {
	return by.APIGroup == podGroupKind.Group && by.Resource == "podgroups" && c.groupIsGone(claim, by.UID)
}

// groupIsGone reports whether claims can belong to pod groups, and there is no group of that UID.
func (c *claimSync) groupIsGone(claim *resourcev1.ResourceClaim, group types.UID) bool {
	return c.claimsOfGroups() && group != "" && !slices.ContainsFunc(c.PodGroups, func(g *schedulingv1beta1.PodGroup) bool { return g.UID == group && g.Namespace == claim.Namespace })
}
