package admission

import (
	"github.com/go-logr/logr"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"

	"github.com/faultline/faultline/pkg/cluster"
)

// Upstream's evaluator of ResourceClaims counts a pod's request for an extended resource only once: for the pod, and not again for the
// claim that the scheduler creates for the pod. So it needs the classes of extended resources, and these pods and claims.

// ExtendedResources returns the cache of device classes that serve extended resources.
func ExtendedResources(s *cluster.State) *extendedresourcecache.ExtendedResourceCache {
	classes := extendedresourcecache.NewExtendedResourceCache(logr.Discard())
	for _, class := range s.DeviceClasses {
		classes.OnAdd(class, true)
	}
	return classes
}

// podsWithExtendedClaims lists the pods for which the scheduler created claims on extended resources.
func podsWithExtendedClaims(s *cluster.State) corev1listers.PodLister {
	owners := map[types.UID]bool{}
	for _, claim := range s.ResourceClaims {
		if owner := metav1.GetControllerOfNoCopy(claim); owner != nil && claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" {
			owners[owner.UID] = true
		}
	}
	pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if len(owners) > 0 {
		for _, pod := range s.Pods {
			if owners[pod.UID] {
				_ = pods.Add(pod) // fails only for an object without a name
			}
		}
	}
	return corev1listers.NewPodLister(pods)
}

// extendedResourceClaims returns a function that finds the claims on extended resources that the scheduler created for a pod.
func extendedResourceClaims(s *cluster.State) func(namespace string, pod types.UID) ([]*resourcev1.ResourceClaim, error) {
	return func(namespace string, pod types.UID) (owned []*resourcev1.ResourceClaim, _ error) {
		for _, claim := range s.ResourceClaims {
			owner := metav1.GetControllerOfNoCopy(claim)
			if claim.Namespace == namespace && owner != nil && owner.UID == pod && claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" {
				owned = append(owned, claim)
			}
		}
		return owned, nil
	}
}
