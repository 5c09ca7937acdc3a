package capacity

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/variant"
)

// comeback says how certain it is that, after the loss of a zone, a pod still takes part: the pod, or another in its place, has a node or
// is Pending.
type comeback int

const (
	returnsMaybe      comeback = iota // the pod may be gone for good
	returnsUnlessLost                 // certain if the pod's own node is not in the lost zone
	returnsCertainly
)

// comebacks returns a function that says how certain the comeback of a pod of the state is. It is [returnsMaybe] for a pod that no controller
// replaces at once, wherever it is lost or preempted: bare pods, pods of Jobs, and pods that a quota might refuse. A StatefulSet may first
// wait for the pods with lower ordinals.
func (z *sizer) comebacks() func(*v1.Pod) comeback {
	s := z.state
	if s.Federation != nil {
		return func(*v1.Pod) comeback { return returnsMaybe }
	}
	limited, active, highest := map[string]bool{}, map[types.UID]int{}, int32(math.MinInt32)
	for _, quota := range s.ResourceQuotas {
		limited[quota.Namespace] = true
	}
	for _, rs := range s.ReplicaSets {
		if by := metav1.GetControllerOfNoCopy(rs); by != nil && rs.Spec.Replicas != nil && *rs.Spec.Replicas > 0 {
			active[by.UID]++
		}
	}
	whole := map[types.UID]bool{} // ReplicaSets outside a rollout; during one, the old ReplicaSet may still shrink
	for _, rs := range s.ReplicaSets {
		by := metav1.GetControllerOfNoCopy(rs)
		whole[rs.UID] = by == nil || active[by.UID] == 1
	}
	for _, rc := range s.ReplicationControllers {
		whole[rc.UID] = metav1.GetControllerOfNoCopy(rc) == nil
	}
	parallel := map[types.UID]bool{}
	for _, set := range s.StatefulSets {
		parallel[set.UID] = set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
	}
	for _, pod := range s.Pods {
		if !variant.FollowsNodes(pod) {
			highest = max(highest, corev1.PodPriority(pod))
		}
	}
	return func(pod *v1.Pod) comeback {
		by := metav1.GetControllerOfNoCopy(pod)
		if by == nil || limited[pod.Namespace] || !cluster.IsActive(pod) {
			return returnsMaybe
		}
		switch together, isSet := parallel[by.UID]; {
		case whole[by.UID] && (z.opts.Mode == node.Deleted || node.IsEvictedWhenUnreachable(pod)):
			return returnsCertainly
		case whole[by.UID], isSet && (together || corev1.PodPriority(pod) == highest):
			return returnsUnlessLost
		}
		return returnsMaybe
	}
}
