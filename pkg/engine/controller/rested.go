package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// rested remembers which Deployments had nothing to do. For as long as they and their ReplicaSets stay the same they still have not, whatever
// their pods.
type rested struct {
	deployments []*appsv1.Deployment
	sets        []*appsv1.ReplicaSet
	// owned are the ReplicaSets of each Deployment, in their order.
	owned map[types.UID][]*appsv1.ReplicaSet
	// restless are the Deployments to look at again: those that had something to do, or that have changed since, or that look at pods.
	restless map[types.UID]bool
	// whole reports whether all Deployments have been looked at, and there were no ReplicaSets for them to adopt.
	whole bool
}

// begin forgets everything, and returns the ReplicaSets that have no controller.
func (r *rested) begin(deployments []*appsv1.Deployment, sets []*appsv1.ReplicaSet) (orphans []*appsv1.ReplicaSet) {
	*r = rested{deployments: deployments, sets: sets, owned: map[types.UID][]*appsv1.ReplicaSet{}, restless: map[types.UID]bool{}}
	for _, rs := range sets {
		if ref := metav1.GetControllerOfNoCopy(rs); ref != nil {
			r.owned[ref.UID] = append(r.owned[ref.UID], rs)
		} else {
			orphans = append(orphans, rs)
		}
	}
	return orphans
}

// follow adds the Deployments that have changed, or whose ReplicaSets have, to those that are restless. It reports whether that is all that can
// have anything to do. It is not where ReplicaSets came, went or have another controller.
func (r *rested) follow(deployments []*appsv1.Deployment, sets []*appsv1.ReplicaSet) bool {
	if !r.whole {
		return false
	}
	cluster.Changes(r.deployments, deployments, func(_, is *appsv1.Deployment, _ int) {
		if is != nil {
			r.restless[is.UID] = true
		}
	})
	whole := true
	cluster.Changes(r.sets, sets, func(was, is *appsv1.ReplicaSet, _ int) {
		whole = whole && was != nil && is != nil && r.replace(was, is)
	})
	r.deployments, r.sets = deployments, sets
	r.whole = false // until they have been looked at
	return whole
}

// replace puts a ReplicaSet in the place of what it was, if it has the same controller.
func (r *rested) replace(was, is *appsv1.ReplicaSet) bool {
	before, now := metav1.GetControllerOfNoCopy(was), metav1.GetControllerOfNoCopy(is)
	if before == nil || now == nil || before.UID != now.UID {
		return false
	}
	for i, rs := range r.owned[now.UID] {
		if rs == was {
			r.owned[now.UID][i] = is
		}
	}
	r.restless[now.UID] = true
	return true
}
