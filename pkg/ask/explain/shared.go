package explain

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Changes for a pod that must run where others are: on the node of a claim's devices, in the zone of a volume.

// claimAlone returns the attempts that give the pod devices of its own, in place of a claim whose devices only other nodes reach.
func (p *pendingPod) claimAlone() []attempt {
	if p.spec == nil || p.member != nil || !p.refusedBy("DynamicResources") {
		return nil
	}
	var all []candidate
	for i := range p.spec.ResourceClaims {
		name := p.spec.ResourceClaims[i].ResourceClaimName
		if name == nil {
			continue
		}
		at := slices.IndexFunc(p.step.State.ResourceClaims, func(claim *resourcev1.ResourceClaim) bool {
			return claim.Namespace == p.pod.Namespace && claim.Name == *name
		})
		if at < 0 || p.step.State.ResourceClaims[at].Status.Allocation == nil {
			continue
		}
		shared := p.step.State.ResourceClaims[at]
		template := &resourcev1.ResourceClaimTemplate{TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaimTemplate"},
			ObjectMeta: metav1.ObjectMeta{Name: shared.Name, Namespace: shared.Namespace}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: *shared.Spec.DeepCopy()}}
		users := list.Map(shared.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) string { return r.Name })
		c := candidate{change: fmt.Sprintf("a claim of its own, by a ResourceClaimTemplate %s like the claim", template.Name),
			objects: []cluster.Object{template}, edit: func(spec *v1.PodSpec) {
				spec.ResourceClaims[i].ResourceClaimName, spec.ResourceClaims[i].ResourceClaimTemplateName = nil, &template.Name
			}}
		if len(users) > 0 {
			c.price = []string{"shares no device with " + words.Few(users)}
		}
		all = append(all, c)
	}
	return p.withStrategies(all)
}

// moveOthers returns the attempt that deletes a pod of another workload on a full node, so that its replacement finds another node and the pod gets
// the room. It tries a few such pods.
func (p *pendingPod) moveOthers() []attempt {
	if p.member != nil || p.refusalUnclear() || !p.refusedBy("NodeResourcesFit") {
		return nil
	}
	hosts := map[string]*v1.Node{}
	for _, node := range p.settableNodes() {
		hosts[node.Name] = node
	}
	var all []candidate
	for _, other := range p.step.State.Pods {
		owner := p.ownerOf(other)
		node := hosts[other.Spec.NodeName]
		if node == nil || owner == p.owner || !slices.Contains([]string{"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"}, owner.Kind) {
			continue
		}
		if other.DeletionTimestamp != nil || cluster.IsTerminal(other) || !p.occupancy.HasRoomFor(p.pod, other)(node) || !p.fitsElsewhere(other) {
			continue
		}
		all = append(all, candidate{change: fmt.Sprintf("delete pod %s on %s, whose replacement finds another node", cluster.Qualify(other.Namespace, other.Name), node.Name),
			price: []string{fmt.Sprintf("replaces 1 pod of %s that runs", owner.Qualified())}, steps: []scenario.Step{action.Delete(other.Namespace, "pod/"+other.Name)}})
		if len(all) == maxPerDomain {
			break
		}
	}
	return p.attemptFirst(all)
}

// fitsElsewhere reports whether another node has room for the pod.
func (p *pendingPod) fitsElsewhere(pod *v1.Pod) bool {
	hasRoom := p.occupancy.HasRoomFor(pod)
	return slices.ContainsFunc(p.step.State.Nodes, func(node *v1.Node) bool {
		return node.Name != pod.Spec.NodeName && !node.Spec.Unschedulable && hasRoom(node) && !cluster.Repels(node, pod) && cluster.Attracts(node, pod)
	})
}
