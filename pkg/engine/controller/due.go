package controller

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// due tracks the objects that may have something to do. Every other object was in sync when it was last looked at, and nothing that its
// sync sees has changed since. Most rounds change a few of thousands of objects.
type due struct {
	// deployments are due for a sync, counts are ReplicaSets whose pods must be counted, and sizes are ReplicaSets that may have too few or
	// too many pods. ReplicationControllers count as ReplicaSets.
	deployments, counts, sizes map[types.UID]bool
	// statefulSets are due for a sync. claims and revisions are the lists that were followed last for them.
	statefulSets map[types.UID]bool
	claims       []*v1.PersistentVolumeClaim
	revisions    []*appsv1.ControllerRevision
	// orphans counts the ReplicaSets without a controller, recreated the Deployments with strategy Recreate.
	orphans, recreated int
	// budgets are due, by their positions in the list.
	budgets map[int]bool
	// adopts and turns mean that the orphans that each workload may adopt, or the workloads' turns, must be computed again.
	adopts, turns bool
	// scaleChanges counts changes: each workload that came, went, or got another number of replicas.
	scaleChanges int

	index *index        // of the state seen; nil if it must be built again
	seen  cluster.State // the last state that was followed
}

// index has the positions of Deployments and ReplicaSets in their lists by UID, and the positions of ReplicaSets by the UID of their
// controller ("" without one). It also has the UIDs of StatefulSets by the names of their claims without ordinals, such as data-web. A sync of a
// few objects then need not look at thousands.
type index struct {
	deployments, sets map[types.UID]int
	owned             map[types.UID][]int
	claiming          map[types.NamespacedName][]types.UID
}

func newIndex(s *cluster.State) *index {
	x := &index{make(map[types.UID]int, len(s.Deployments)), make(map[types.UID]int, len(s.ReplicaSets)), map[types.UID][]int{}, map[types.NamespacedName][]types.UID{}}
	for _, set := range s.StatefulSets {
		for i := range set.Spec.VolumeClaimTemplates {
			name := claimName(set, i, set.Name)
			x.claiming[name] = append(x.claiming[name], set.UID)
		}
	}
	for i, d := range s.Deployments {
		x.deployments[d.UID] = i
	}
	for i, rs := range s.ReplicaSets {
		x.sets[rs.UID] = i
		var owner types.UID
		if ref := metav1.GetControllerOfNoCopy(rs); ref != nil {
			owner = ref.UID
		}
		x.owned[owner] = append(x.owned[owner], i)
	}
	return x
}

// duePositions returns the positions of the objects that are due, in order. UIDs without a position are skipped: they are objects of other kinds.
func duePositions(positions map[types.UID]int, due map[types.UID]bool) []int {
	var found []int
	for uid := range due {
		if i, is := positions[uid]; is {
			found = append(found, i)
		}
	}
	slices.Sort(found)
	return found
}

// markDue marks an object as due.
func markDue[K comparable](to *map[K]bool, key K) {
	if *to == nil {
		*to = map[K]bool{}
	}
	(*to)[key] = true
}

// markReplicaSet marks a ReplicaSet as changed, because it or its pods have.
func (d *due) markReplicaSet(set types.UID) {
	markDue(&d.counts, set)
	markDue(&d.sizes, set)
}

// followWorkloads marks what differs from the state that was last followed.
func (d *due) followWorkloads(s *cluster.State) {
	followKind(d, d.seen.Deployments, s.Deployments, func(was, is *appsv1.Deployment) {
		if was != nil && isRecreate(was) {
			d.recreated--
		}
		if is == nil {
			return
		}
		markDue(&d.deployments, is.UID)
		if isRecreate(is) {
			d.recreated++
		}
	})
	owned := func(set *appsv1.ReplicaSet, n int) {
		if set == nil {
			return
		}
		if ref := metav1.GetControllerOfNoCopy(set); ref != nil {
			markDue(&d.deployments, ref.UID)
		} else {
			d.orphans += n
		}
	}
	followKind(d, d.seen.ReplicaSets, s.ReplicaSets, func(was, is *appsv1.ReplicaSet) {
		owned(was, -1)
		owned(is, 1)
		if is != nil {
			d.markReplicaSet(is.UID)
		}
	})
	followKind(d, d.seen.ReplicationControllers, s.ReplicationControllers, func(_, is *v1.ReplicationController) {
		if is != nil {
			d.markReplicaSet(is.UID)
		}
	})
	followKind(d, d.seen.StatefulSets, s.StatefulSets, func(was, is *appsv1.StatefulSet) {
		if is == nil {
			return
		}
		markDue(&d.statefulSets, is.UID)
		if was != nil && newListID(was.Spec.VolumeClaimTemplates) != newListID(is.Spec.VolumeClaimTemplates) {
			d.index = nil
		}
	})
	followKind(d, d.seen.DaemonSets, s.DaemonSets, func(*appsv1.DaemonSet, *appsv1.DaemonSet) {})
	cluster.VisitChanges(d.seen.Jobs, s.Jobs, func(was, is *batchv1.Job, _ int) {
		d.adopts = d.adopts || was == nil || is == nil || !sameSelector(was.Spec.Selector, is.Spec.Selector)
	})
	followKind(d, d.seen.UnknownOwners, s.UnknownOwners, func(*cluster.UnknownOwner, *cluster.UnknownOwner) {})
	if d.seen = *s; d.index == nil {
		d.index = newIndex(s)
	}
}

// followStatefulSets marks the StatefulSets of which a sync may see something else than the last one, beside the sets and their own pods.
func (d *due) followStatefulSets(s *cluster.State, owned *owners) {
	d.followWorkloads(s)
	for _, uid := range owned.adopters {
		markDue(&d.statefulSets, uid)
	}
	cluster.VisitChanges(d.claims, s.PersistentVolumeClaims, func(was, is *v1.PersistentVolumeClaim, _ int) {
		claim := cmp.Or(is, was)
		of := types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name[:max(0, strings.LastIndexByte(claim.Name, '-'))]}
		for _, uid := range d.index.claiming[of] {
			markDue(&d.statefulSets, uid)
		}
	})
	orphaned := false // an orphan may be any set's
	cluster.VisitChanges(d.revisions, s.ControllerRevisions, func(was, is *appsv1.ControllerRevision, _ int) {
		for _, revision := range []*appsv1.ControllerRevision{was, is} {
			if revision == nil {
				continue
			}
			if ref := metav1.GetControllerOfNoCopy(revision); ref != nil {
				markDue(&d.statefulSets, ref.UID)
			} else {
				orphaned = true
			}
		}
	})
	d.claims, d.revisions = s.PersistentVolumeClaims, s.ControllerRevisions
	if !orphaned && len(d.statefulSets) <= len(s.StatefulSets) {
		return
	}
	before := d.statefulSets // it also has the owners of other changed pods and revisions
	d.statefulSets = map[types.UID]bool{}
	for _, set := range s.StatefulSets {
		if orphaned || before[set.UID] {
			d.statefulSets[set.UID] = true
		}
	}
}

// followKind calls f for each workload that has changed, and marks what is computed from all workloads.
func followKind[T interface {
	cluster.Object
	comparable
}](d *due, before, now []T, f func(was, is T)) {
	var none T
	cluster.VisitChanges(before, now, func(was, is T, _ int) {
		if was == none || is == none || was.GetUID() != is.GetUID() || !sameOwner(was, is) {
			d.scaleChanges++
			d.adopts, d.turns, d.index = true, true, nil
		} else {
			before, _ := cluster.Replicas(was)
			now, _ := cluster.Replicas(is)
			if before != now {
				d.scaleChanges++
			}
			d.adopts = d.adopts || !sameSelector(cluster.Selector(was), cluster.Selector(is))
		}
		f(was, is)
	})
}

// sameSelector reports whether both select the same. A StatefulSet has a new copy of its selector whenever its status changes.
func sameSelector(a, b *metav1.LabelSelector) bool {
	return a == b || equality.Semantic.DeepEqual(a, b)
}

// sameOwner reports whether both have the same controller, or none.
func sameOwner(a, b metav1.Object) bool {
	x, y := metav1.GetControllerOfNoCopy(a), metav1.GetControllerOfNoCopy(b)
	return x == nil && y == nil || x != nil && y != nil && *x == *y
}
