package rebalance

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/topology"
)

// heldPods finds the pods whose next pod stays in their domain, since it has the same claims, and only nodes of the domain reach a volume of
// these. The deletion of such a pod lowers no count of its own workload.
type heldPods struct {
	key     string // the topology key of the domains
	nodes   map[string]*v1.Node
	claims  map[types.NamespacedName]*v1.PersistentVolumeClaim
	volumes map[string]*v1.PersistentVolume
}

// newHeldPods returns the held pods of a state, for domains of the topology key.
func newHeldPods(state *cluster.State, key string) *heldPods {
	return &heldPods{
		key: key, nodes: state.NodesByName(),
		claims:  list.IndexBy(state.PersistentVolumeClaims, func(claim *v1.PersistentVolumeClaim) types.NamespacedName { return cluster.NameOf(claim) }),
		volumes: list.IndexBy(state.PersistentVolumes, func(volume *v1.PersistentVolume) string { return volume.Name }),
	}
}

// holds reports whether a volume holds the next pod in the pod's domain. Only the pods of StatefulSets keep their names, and with them the
// claims of volumeClaimTemplates.
func (h *heldPods) holds(pod *v1.Pod) bool {
	if owner := metav1.GetControllerOfNoCopy(pod); owner == nil || owner.Kind != "StatefulSet" {
		return false
	}
	for i := range pod.Spec.Volumes {
		of := pod.Spec.Volumes[i].PersistentVolumeClaim
		if of == nil || !strings.HasSuffix(of.ClaimName, "-"+pod.Name) {
			continue
		}
		claim := h.claims[types.NamespacedName{Namespace: pod.Namespace, Name: of.ClaimName}]
		if claim != nil && claim.Status.Phase == v1.ClaimBound && h.reachesOnly(h.volumes[claim.Spec.VolumeName], h.nodes[pod.Spec.NodeName]) {
			return true
		}
	}
	return false
}

// reachesOnly reports whether only nodes in the domain of the node reach the volume.
func (h *heldPods) reachesOnly(volume *v1.PersistentVolume, node *v1.Node) bool {
	if volume == nil || volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return false
	}
	own, labelled := topology.Value(node.Labels, h.key)
	reaches, err := nodeaffinity.NewNodeSelector(volume.Spec.NodeAffinity.Required)
	if err != nil || !labelled {
		return false
	}
	for _, other := range h.nodes {
		if value, _ := topology.Value(other.Labels, h.key); value != own && reaches.Match(other) {
			return false
		}
	}
	return true
}
