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

// comeback is when a pod, or another in its place, certainly has a node or waits for one after a zone is lost.
type comeback int

const (
	perhaps    comeback = iota // it may be gone for good
	unlessLost                 // if its own node is not in the zone
	certain
)

// comebacks returns what is certain of the state's pods. That is nothing for those that no controller replaces at once, wherever they are lost
// or preempted: bare pods, those of Jobs and those that a quota might refuse. A StatefulSet may wait for the pods before.
func (z *sizer) comebacks() func(*v1.Pod) comeback {
	s := z.state
	if s.Federation != nil {
		return func(*v1.Pod) comeback { return perhaps }
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
	whole := map[types.UID]bool{} // not in the middle of a rollout, in which the old one may still shrink
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
		if by == nil || limited[pod.Namespace] || !cluster.Active(pod) {
			return perhaps
		}
		switch together, isSet := parallel[by.UID]; {
		case whole[by.UID] && (z.opts.Mode == node.Deleted || node.Leaves(pod)):
			return certain
		case whole[by.UID], isSet && (together || corev1.PodPriority(pod) == highest):
			return unlessLost
		}
		return perhaps
	}
}
