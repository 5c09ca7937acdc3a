package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// due are the objects that may have something to do. All others were in sync when they were last looked at, and nothing that their sync sees
// has changed since. Most rounds change a few of thousands of objects.
type due struct {
	// deployments are due for a sync, counts are ReplicaSets whose pods are to be counted, and sizes those that may lack pods or have too
	// many. ReplicationControllers are among the ReplicaSets.
	deployments, counts, sizes map[types.UID]bool
	// orphans is the number of ReplicaSets without a controller, recreated that of the Deployments with strategy Recreate.
	orphans, recreated int
	// budgets are due by their positions.
	budgets map[int]bool

	// The lists in which these are up to date.
	seen struct {
		deployments []*appsv1.Deployment
		sets        []*appsv1.ReplicaSet
		controllers []*v1.ReplicationController
		budgets     []*policyv1.PodDisruptionBudget
	}
}

// mark adds an object to those that are due.
func mark[K comparable](to *map[K]bool, key K) {
	if *to == nil {
		*to = map[K]bool{}
	}
	(*to)[key] = true
}

// resize marks a ReplicaSet, or its pods, as changed.
func (d *due) resize(set types.UID) {
	mark(&d.counts, set)
	mark(&d.sizes, set)
}

// follow marks what differs from the state before.
func (d *due) follow(s *cluster.State) {
	cluster.Changes(d.seen.deployments, s.Deployments, func(was, is *appsv1.Deployment, _ int) {
		if was != nil && recreates(was) {
			d.recreated--
		}
		if is == nil {
			return
		}
		mark(&d.deployments, is.UID)
		if recreates(is) {
			d.recreated++
		}
	})
	owned := func(set *appsv1.ReplicaSet, n int) {
		if set == nil {
			return
		}
		if ref := metav1.GetControllerOfNoCopy(set); ref != nil {
			mark(&d.deployments, ref.UID)
		} else {
			d.orphans += n
		}
	}
	cluster.Changes(d.seen.sets, s.ReplicaSets, func(was, is *appsv1.ReplicaSet, _ int) {
		owned(was, -1)
		owned(is, 1)
		if is != nil {
			d.resize(is.UID)
		}
	})
	cluster.Changes(d.seen.controllers, s.ReplicationControllers, func(_, is *v1.ReplicationController, _ int) {
		if is != nil {
			d.resize(is.UID)
		}
	})
	d.seen.deployments, d.seen.sets, d.seen.controllers = s.Deployments, s.ReplicaSets, s.ReplicationControllers
}

// changed reports whether an object came, went or gave way to one that is not the same to the caller, and keeps the list for the next time.
func changed[T interface {
	cluster.Object
	comparable
}](last *[]T, now []T, same func(was, is T) bool) bool {
	var none T
	different := false
	cluster.Changes(*last, now, func(was, is T, _ int) {
		different = different || was == none || is == none || !same(was, is)
	})
	*last = now
	return different
}

// sameOwner reports whether both have the same controller, or none.
func sameOwner(a, b metav1.Object) bool {
	x, y := metav1.GetControllerOfNoCopy(a), metav1.GetControllerOfNoCopy(b)
	return x == nil && y == nil || x != nil && y != nil && *x == *y
}
