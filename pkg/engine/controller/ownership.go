package controller

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// group is the key of a group of pods: the pods of a controller (owner "" has pods without one), pods that a Job has not counted yet, pods
// that wait for a node, or pods with volumes that may need a claim or an attachment.
type group struct {
	owner                      types.UID
	tracked, waiting, mounting bool
}

// groupsOf returns the groups that the pod belongs to.
func groupsOf(pod *v1.Pod) []group {
	var owner types.UID
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		owner = ref.UID
	}
	groups := []group{{owner: owner}}
	if admission.HasJobTrackingFinalizer(pod) {
		groups = append(groups, group{tracked: true})
	}
	if cluster.IsUnscheduled(pod) {
		groups = append(groups, group{waiting: true})
	}
	if hasAttachableVolumes(pod) {
		groups = append(groups, group{mounting: true})
	}
	return groups
}

// followPods updates the groups of pods to those of the state, and marks the owners of changed pods as due.
func (c *Controllers) followPods(s *cluster.State) {
	if c.pods == nil {
		c.pods = cluster.NewGroups(groupsOf)
	}
	for _, key := range c.pods.Update(s.Pods) {
		if key.owner != "" {
			c.due.markReplicaSet(key.owner)
			markDue(&c.due.statefulSets, key.owner)
		}
	}
}

// Unscheduled returns the pods of a state that wait for a node. The result is State.Unscheduled's, but only changed pods are looked at.
func (c *Controllers) Unscheduled(s *cluster.State) []*v1.Pod {
	c.followPods(s)
	return c.pods.Lookup(group{waiting: true}).Pods()
}

// owners finds the pods and the ControllerRevisions of a controller by its UID, and the orphans, which have no controller. Each list is in
// order of arrival.
type owners struct {
	groups *cluster.Groups[group]
	// claimed holds the pods of the controllers that have adopted or released some.
	claimed map[types.UID][]*v1.Pod
	// adoptable has, by controller, the orphans that its selector matches; ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets and Jobs
	// adopt orphans. adopted are the orphans that a controller has adopted in this round.
	adoptable map[types.UID][]*v1.Pod
	adopters  []types.UID // controllers that may adopt orphans
	adopted   map[types.UID]bool
	// revisions has orphans under "".
	revisions map[types.UID][]*appsv1.ControllerRevision
}

// ownership returns the owners of the state's pods and ControllerRevisions.
func (c *Controllers) ownership(s *cluster.State) *owners {
	c.followPods(s)
	o := owners{groups: c.pods, claimed: map[types.UID][]*v1.Pod{}, adopted: map[types.UID]bool{}}
	o.revisions = recallOrCompute(&c.memory, subject{fact: ownedRevisions}, []any{newListID(s.ControllerRevisions)}, func() map[types.UID][]*appsv1.ControllerRevision {
		revisions := map[types.UID][]*appsv1.ControllerRevision{}
		for _, revision := range s.ControllerRevisions {
			var owner types.UID
			if ref := metav1.GetControllerOfNoCopy(revision); ref != nil {
				owner = ref.UID
			}
			revisions[owner] = append(revisions[owner], revision)
		}
		return revisions
	})
	if len(o.orphans()) > 0 {
		o.adoptable, o.adopters = c.findAdoptable(s)
	}
	return &o
}

// podsOf returns the pods of a controller.
func (o *owners) podsOf(owner types.UID) []*v1.Pod {
	if claimed, found := o.claimed[owner]; found {
		return claimed
	}
	return o.groups.Lookup(group{owner: owner}).Pods()
}

// orphans returns the pods without a controller.
func (o *owners) orphans() []*v1.Pod { return o.groups.Lookup(group{}).Pods() }

// candidates returns the orphans that the controller may adopt. For a ReplicaSet that a Deployment has created in this round, it returns
// every orphan.
func (o *owners) candidates(owner types.UID) []*v1.Pod {
	if candidates, found := o.adoptable[owner]; found {
		return candidates
	}
	return o.orphans()
}

// ownGroup returns the group of the controller's pods. It returns false if the controller has adopted or released pods in this round, or
// may adopt some.
func (o *owners) ownGroup(owner types.UID) (*cluster.Group, bool) {
	_, claimed := o.claimed[owner]
	return o.groups.Lookup(group{owner: owner}), !claimed && len(o.candidates(owner)) == 0
}

// syncInputs returns what the sync of a StatefulSet or DaemonSet sees: the object, its pods and its ControllerRevisions. It returns nil if the
// object may adopt pods or revisions.
func (p *pass) syncInputs(owner cluster.Object) []any {
	pods, all := p.owned.ownGroup(owner.GetUID())
	if !all || len(p.owned.revisions[""]) > 0 {
		return nil
	}
	seen := []any{owner, pods}
	for _, revision := range p.owned.revisions[owner.GetUID()] {
		seen = append(seen, revision)
	}
	return seen
}

// adoptions caches the orphans that each controller may adopt, for a group of orphans, and the selectors of the controllers.
type adoptions struct {
	selectors cluster.Selectors
	uids      []types.UID // the controllers of the selectors
	others    []types.UID // the owners that adopt no orphan
	adoptable map[types.UID][]*v1.Pod
	adopters  []types.UID
	orphans   *cluster.Group
}

// findAdoptable returns the orphans that each controller may adopt, and the controllers that may adopt any.
func (c *Controllers) findAdoptable(s *cluster.State) (map[types.UID][]*v1.Pod, []types.UID) {
	a, orphans := &c.adopts, c.pods.Lookup(group{})
	c.due.followWorkloads(s)
	if !c.due.adopts && a.orphans == orphans {
		return a.adoptable, a.adopters
	}
	if c.due.adopts || a.orphans == nil {
		c.due.adopts = false
		a.indexSelectors(c, s)
	}
	a.orphans, a.adoptable, a.adopters = orphans, map[types.UID][]*v1.Pod{}, nil
	for _, uid := range a.uids {
		a.adoptable[uid] = nil
	}
	for _, uid := range a.others {
		a.adoptable[uid] = nil
	}
	for _, pod := range orphans.Pods() {
		for _, i := range a.selectors.Matching(pod) {
			if len(a.adoptable[a.uids[i]]) == 0 {
				a.adopters = append(a.adopters, a.uids[i])
			}
			a.adoptable[a.uids[i]] = append(a.adoptable[a.uids[i]], pod)
		}
	}
	return a.adoptable, a.adopters
}

// indexSelectors indexes the selectors of the controllers that adopt orphans.
func (a *adoptions) indexSelectors(c *Controllers, s *cluster.State) {
	a.selectors, a.uids, a.others = cluster.Selectors{}, nil, nil
	add := func(owner cluster.Object, selector *metav1.LabelSelector) {
		if parsed, err := c.parseSelector(owner, selector); err == nil { // [pass.claimPods] returns the error
			a.selectors.AddParsed(owner.GetNamespace(), selector, parsed)
			a.uids = append(a.uids, owner.GetUID())
		}
	}
	for r := range c.replicaControllers(s) {
		add(r.object, r.set.Spec.Selector)
	}
	for _, set := range s.StatefulSets {
		add(set, set.Spec.Selector)
	}
	for _, ds := range s.DaemonSets {
		add(ds, ds.Spec.Selector)
	}
	for _, job := range s.Jobs {
		add(job, job.Spec.Selector)
	}
	for _, owner := range s.UnknownOwners { // its selector is not known, so it adopts no orphan
		a.others = append(a.others, owner.UID)
	}
}

// parseSelector parses the selector of an object, and remembers the result.
func (c *Controllers) parseSelector(owner cluster.Object, of *metav1.LabelSelector) (labels.Selector, error) {
	about := subject{parsedSelector, owner.GetUID()}
	if known, found := recall[labels.Selector](&c.memory, about, of); found {
		return known, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(of)
	if err == nil {
		c.memory.remember(about, selector, of)
	}
	return selector, err
}

// claimPods returns the pods that the controller owns, in order of arrival. Before that, the controller releases pods that its selector does
// not match any more, and adopts orphans that the selector matches, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/controller_ref_manager.go
// does. Pods for which wanted returns false are neither adopted, nor released, nor returned; with nil all pods are wanted. The pods of a Job
// get its finalizer, and lose it.
func (p *pass) claimPods(owner cluster.Object, kind schema.GroupVersionKind, selector *metav1.LabelSelector, wanted func(*v1.Pod) bool) ([]*v1.Pod, error) {
	matching, err := p.parseSelector(owner, selector)
	if err != nil {
		return nil, err
	}
	before := p.countActions()
	owned := p.owned.podsOf(owner.GetUID())
	pods, kept := make([]*v1.Pod, 0, len(owned)), make([]*v1.Pod, 0, len(owned))
	for _, pod := range owned {
		switch {
		case wanted != nil && !wanted(pod):
			kept = append(kept, pod)
		case matching.Matches(labels.Set(pod.Labels)):
			kept = append(kept, pod)
			pods = append(pods, pod)
		default:
			released := *pod
			if kind == jobKind {
				released = *withoutTrackingFinalizer(pod)
			}
			released.OwnerReferences = slices.DeleteFunc(slices.Clone(pod.OwnerReferences), func(r metav1.OwnerReference) bool {
				return r.UID == owner.GetUID()
			})
			p.putObject(&released)
		}
	}
	for _, pod := range p.owned.candidates(owner.GetUID()) {
		if pod.Namespace != owner.GetNamespace() || !matching.Matches(labels.Set(pod.Labels)) || p.owned.adopted[pod.UID] {
			continue
		}
		if pod.DeletionTimestamp != nil || wanted != nil && !wanted(pod) {
			continue
		}
		adopted := *pod
		adopted.OwnerReferences = withController(pod.OwnerReferences, owner, kind)
		if kind == jobKind && !admission.HasJobTrackingFinalizer(pod) {
			adopted.Finalizers = append(slices.Clone(pod.Finalizers), batchv1.JobTrackingFinalizer)
		}
		p.putObject(&adopted)
		p.owned.adopted[pod.UID] = true
		kept = append(kept, &adopted)
		pods = append(pods, &adopted)
	}
	if p.countActions() > before {
		p.owned.claimed[owner.GetUID()] = kept
	}
	return pods, nil
}

// withController returns the references, and one to the controller that adopts the object.
func withController(refs []metav1.OwnerReference, controller metav1.Object, kind schema.GroupVersionKind) []metav1.OwnerReference {
	return append(slices.Clone(refs), *metav1.NewControllerRef(controller, kind))
}
