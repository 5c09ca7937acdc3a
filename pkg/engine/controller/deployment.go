package controller

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
	labelsutil "k8s.io/kubernetes/pkg/util/labels"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

var deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// maxRevisionHistory is upstream's limit, in characters, of the revision-history annotation.
const maxRevisionHistory = 2000

// syncDeployments syncs every Deployment, as syncDeployment in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/deployment/deployment_controller.go does.
func (p *pass) syncDeployments() error {
	seen := []any{newListID(p.Deployments), newListID(p.ReplicaSets)}
	p.due.followWorkloads(p.State)
	if p.due.recreated > 0 { // these look at pods, too
		seen = nil
	}
	return p.syncUnlessSettled(subject{fact: deploymentsInSync}, seen, p.syncDueDeployments)
}

// syncDueDeployments syncs the Deployments that are due. Each first adopts the orphaned ReplicaSets that its selector matches.
func (p *pass) syncDueDeployments() error {
	if p.due.recreated > 0 || p.due.orphans > 0 { // any Deployment may adopt an orphan
		for _, d := range p.Deployments {
			markDue(&p.due.deployments, d.UID)
		}
	}
	setsOf := func(owner types.UID) (sets []*appsv1.ReplicaSet) {
		for _, i := range p.due.index.owned[owner] {
			sets = append(sets, p.ReplicaSets[i])
		}
		return sets
	}
	orphans := setsOf("")
	for _, i := range duePositions(p.due.index.deployments, p.due.deployments) {
		d := p.Deployments[i]
		selector, err := p.parseSelector(d, d.Spec.Selector)
		if err != nil {
			return fmt.Errorf("%s: spec.selector: %w", cluster.RefTo(d).Describe(), err)
		}
		sets := setsOf(d.UID)
		orphans = slices.DeleteFunc(orphans, func(rs *appsv1.ReplicaSet) bool {
			if rs.Namespace != d.Namespace || !selector.Matches(labels.Set(rs.Labels)) {
				return false
			}
			adopted := *rs
			adopted.OwnerReferences = withController(rs.OwnerReferences, d, deploymentKind)
			p.putObject(&adopted)
			sets = append(sets, &adopted)
			return true
		})
		seen := []any{d}
		for _, rs := range sets {
			seen = append(seen, rs)
			if isRecreate(d) {
				for _, pod := range p.owned.podsOf(rs.UID) {
					seen = append(seen, pod)
				}
			}
		}
		about := subject{inSync, d.UID}
		if err := p.syncUnlessSettled(about, seen, func() error { return p.syncDeployment(d, sets) }); err != nil {
			return fmt.Errorf("%s: %w", cluster.RefTo(d).Describe(), err)
		}
		if p.isSettled(about, seen) {
			delete(p.due.deployments, d.UID)
		}
	}
	return nil
}

// isRecreate reports whether the Deployment waits for its old pods to end before it creates new ones.
func isRecreate(d *appsv1.Deployment) bool {
	return d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
}

// deploymentSync is one sync of one Deployment.
type deploymentSync struct {
	*pass
	// deployment is a copy whose annotations and status the sync may change.
	deployment *appsv1.Deployment
	sets       []*appsv1.ReplicaSet
}

// syncDeployment does one sync of a Deployment with its ReplicaSets.
func (p *pass) syncDeployment(original *appsv1.Deployment, sets []*appsv1.ReplicaSet) error {
	d := *original
	d.Annotations = maps.Clone(original.Annotations)
	r := deploymentSync{pass: p, deployment: &d, sets: sets}
	var err error
	scaled, _ := findStaleScale(&d, sets)
	switch {
	case d.Spec.Paused, scaled != nil:
		r.scaleSets()
	case isRecreate(&d):
		err = r.rolloutRecreate()
	default:
		err = r.rolloutRolling()
	}
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(original.Status, d.Status) || !maps.Equal(original.Annotations, d.Annotations) {
		p.putObject(&d)
	}
	return nil
}

// syncRevisions returns the Deployment's new ReplicaSet and its old ones. If the new one does not exist, it is created, or nil without create.
// This is getAllReplicaSetsAndSyncRevision in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/deployment/sync.go.
func (r *deploymentSync) syncRevisions(create bool) (current *appsv1.ReplicaSet, old []*appsv1.ReplicaSet, err error) {
	d, logger := r.deployment, klog.Background()
	existing := r.findNewReplicaSet(r.deployment, r.sets)
	for _, rs := range r.sets { // as FindOldReplicaSets, without comparing all templates once more
		if existing == nil || rs.UID != existing.UID {
			old = append(old, rs)
		}
	}
	revision := strconv.FormatInt(deploymentutil.MaxRevision(logger, old)+1, 10)

	if existing != nil {
		rs := *existing
		rs.Annotations = maps.Clone(existing.Annotations)
		updated := deploymentutil.SetNewReplicaSetAnnotations(context.Background(), d, &rs, revision, true, maxRevisionHistory)
		if updated || rs.Spec.MinReadySeconds != d.Spec.MinReadySeconds {
			rs.Spec.MinReadySeconds = d.Spec.MinReadySeconds
			r.replaceSet(&rs)
			return &rs, old, nil
		}
		deploymentutil.SetDeploymentRevision(d, existing.Annotations[deploymentutil.RevisionAnnotation])
		return existing, old, nil
	}
	if create {
		current, err = r.newReplicaSet(old, revision)
	}
	return current, old, err
}

// findNewReplicaSet is upstream's FindNewReplicaSet, which compares whole templates. It remembers the answer for the same templates.
func (c *Controllers) findNewReplicaSet(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) *appsv1.ReplicaSet {
	templates := []any{newTemplateID(d, &d.Spec.Template)}
	for _, rs := range sets {
		templates = append(templates, newTemplateID(rs, &rs.Spec.Template))
	}
	sort.Sort(controller.ReplicaSetsByCreationTimestamp(sets)) // FindNewReplicaSet sorts them, too
	current := recallOrCompute(&c.memory, subject{currentSet, d.UID}, templates, func() types.UID {
		if existing := deploymentutil.FindNewReplicaSet(d, sets); existing != nil {
			return existing.UID
		}
		return ""
	})
	for _, rs := range sets {
		if rs.UID == current {
			return rs
		}
	}
	return nil
}

// templateID identifies a template. A changed template has another generation of its object, or another list of containers.
type templateID struct {
	owner      types.UID
	generation int64
	containers *v1.Container
}

// newTemplateID returns the identity of an object's template.
func newTemplateID(owner metav1.Object, template *v1.PodTemplateSpec) templateID {
	return templateID{owner.GetUID(), owner.GetGeneration(), &template.Spec.Containers[0]}
}

// newReplicaSet creates the ReplicaSet of the Deployment's current template. It returns nil if another template has the same hash: as
// upstream, the collision is counted, and the next sync tries another hash. It also returns nil if the API server refuses the ReplicaSet.
func (r *deploymentSync) newReplicaSet(old []*appsv1.ReplicaSet, revision string) (*appsv1.ReplicaSet, error) {
	d := r.deployment
	template := *d.Spec.Template.DeepCopy()
	hash := controller.ComputeHash(&template, d.Status.CollisionCount)
	template.Labels = labelsutil.CloneAndAddLabel(d.Spec.Template.Labels, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	name := replicaSetName(d.Name, hash)
	for _, other := range r.ReplicaSets {
		if other.Namespace == d.Namespace && other.Name == name {
			d.Status.CollisionCount = ptr.To(ptr.Deref(d.Status.CollisionCount, 0) + 1)
			return nil, nil
		}
	}
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name:              name,
			Namespace:         d.Namespace,
			UID:               r.newUID("ReplicaSet", d.Namespace, name),
			CreationTimestamp: r.Now,
			Generation:        1,
			OwnerReferences:   []metav1.OwnerReference{*metav1.NewControllerRef(d, deploymentKind)},
			Labels:            template.Labels,
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas:        new(int32),
			MinReadySeconds: d.Spec.MinReadySeconds,
			Selector:        labelsutil.CloneSelectorAndAddLabel(d.Spec.Selector, appsv1.DefaultDeploymentUniqueLabelKey, hash),
			Template:        template,
		},
	}
	replicas, err := deploymentutil.NewRSNewReplicas(d, append(old, rs), rs)
	if err != nil {
		return nil, err
	}
	rs.Spec.Replicas = &replicas
	deploymentutil.SetNewReplicaSetAnnotations(context.Background(), d, rs, revision, false, maxRevisionHistory)
	if err := r.admitAndCharge(rs); err != nil {
		return nil, r.refuseSet(rs, err)
	}
	deploymentutil.SetDeploymentRevision(d, revision)
	r.sets = append(r.sets, rs)
	r.putObject(rs)
	return rs, nil
}

// replicaSetName is upstream's generateReplicaSetName, with its limit on the length.
func replicaSetName(deployment, hash string) string {
	return deployment[:min(len(deployment), validation.DNS1123SubdomainMaxLength-1-len(hash))] + "-" + hash
}

// replaceSet replaces a ReplicaSet by its new form.
func (r *deploymentSync) replaceSet(rs *appsv1.ReplicaSet) {
	for i := range r.sets {
		if r.sets[i].UID == rs.UID {
			r.sets[i] = rs
		}
	}
	r.putObject(rs)
}

// findStaleScale returns the ReplicaSet that was last scaled for another spec.replicas than the Deployment has now, and that number; nil if
// there is none. In that case, upstream's isScalingEvent, the controller only scales. It writes the annotation only together with a new
// size, and so waits forever if the size is right and the annotation is not.
func findStaleScale(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) (*appsv1.ReplicaSet, int32) {
	for _, rs := range controller.FilterActiveReplicaSets(sets) {
		if desired, ok := deploymentutil.GetDesiredReplicasAnnotation(klog.Background(), rs); ok && desired != *d.Spec.Replicas {
			return rs, desired
		}
	}
	return nil, 0
}

// DesiredReplicasAnnotation on a ReplicaSet is the number of replicas that its Deployment asked for when it last scaled the ReplicaSet.
const DesiredReplicasAnnotation = deploymentutil.DesiredReplicasAnnotation

// FindStuckScale returns the ReplicaSet for which the Deployment's controller waits in vain: it was scaled for another spec.replicas than
// the Deployment has now, and already has the right size. It returns nil if there is none.
func FindStuckScale(s *cluster.State, d *appsv1.Deployment) *appsv1.ReplicaSet {
	var sets []*appsv1.ReplicaSet
	for _, rs := range s.ReplicaSets {
		if metav1.IsControlledBy(rs, d) {
			sets = append(sets, rs)
		}
	}
	set, _ := findStaleScale(d, sets)
	return set
}

// rolloutRolling is rolloutRolling in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/deployment/rolling.go.
func (r *deploymentSync) rolloutRolling() error {
	current, old, err := r.syncRevisions(true)
	if err != nil {
		return err
	}
	if current == nil { // a hash collision, or the API server refuses it
		return nil
	}
	all := append(old, current)
	scaled, err := r.growNew(all, current)
	if err != nil {
		return err
	}
	if !scaled {
		before := r.countActions()
		r.shrinkOld(all, controller.FilterActiveReplicaSets(old), current)
		if r.countActions() == before {
			r.cleanUpComplete(old)
		}
	}
	r.updateStatus(all, current)
	return nil
}

// cleanUpComplete removes the oldest ReplicaSets without pods once the rollout is complete, so that as many remain as the Deployment keeps.
func (r *deploymentSync) cleanUpComplete(old []*appsv1.ReplicaSet) {
	if deploymentutil.DeploymentComplete(r.deployment, &r.deployment.Status) {
		r.cleanUp(old)
	}
}

// cleanUp is upstream's cleanupDeployment in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/deployment/sync.go.
func (r *deploymentSync) cleanUp(old []*appsv1.ReplicaSet) {
	if !deploymentutil.HasRevisionHistoryLimit(r.deployment) {
		return
	}
	alive := slices.DeleteFunc(slices.Clone(old), func(rs *appsv1.ReplicaSet) bool { return rs.DeletionTimestamp != nil })
	excess := len(alive) - int(*r.deployment.Spec.RevisionHistoryLimit)
	if excess <= 0 {
		return
	}
	sort.Sort(deploymentutil.ReplicaSetsByRevision(alive))
	for _, rs := range alive[:excess] {
		if rs.Status.Replicas == 0 && *rs.Spec.Replicas == 0 && rs.Generation <= rs.Status.ObservedGeneration {
			r.removeObjects(rs)
		}
	}
}

// growNew is upstream's reconcileNewReplicaSet.
func (r *deploymentSync) growNew(all []*appsv1.ReplicaSet, current *appsv1.ReplicaSet) (bool, error) {
	if *current.Spec.Replicas == *r.deployment.Spec.Replicas {
		return false, nil
	}
	if *current.Spec.Replicas > *r.deployment.Spec.Replicas {
		_, scaled := r.scaleSet(current, *r.deployment.Spec.Replicas, false)
		return scaled, nil
	}
	replicas, err := deploymentutil.NewRSNewReplicas(r.deployment, all, current)
	if err != nil {
		return false, err
	}
	_, scaled := r.scaleSet(current, replicas, false)
	return scaled, nil
}

// shrinkOld is upstream's reconcileOldReplicaSets: it deletes unhealthy old pods first, then healthy ones as far as maxUnavailable allows.
// Pods of the new revision that are not yet available count as unavailable.
func (r *deploymentSync) shrinkOld(all, old []*appsv1.ReplicaSet, current *appsv1.ReplicaSet) {
	if deploymentutil.GetReplicaCountForReplicaSets(old) == 0 {
		return
	}
	minAvailable := *r.deployment.Spec.Replicas - deploymentutil.MaxUnavailable(*r.deployment)
	newUnavailable := *current.Spec.Replicas - current.Status.AvailableReplicas
	most := deploymentutil.GetReplicaCountForReplicaSets(all) - minAvailable - newUnavailable
	if most <= 0 {
		return
	}
	if old, done := r.cleanupUnhealthy(old, most); done {
		r.shrinkHealthy(append(old, current), old, minAvailable)
	}
}

// cleanupUnhealthy is upstream's cleanupUnhealthyReplicas. It returns false if a ReplicaSet has more available pods than its size, since it
// has yet to delete some. Upstream makes an error of that, and goes on in another sync.
func (r *deploymentSync) cleanupUnhealthy(old []*appsv1.ReplicaSet, most int32) (shrunk []*appsv1.ReplicaSet, done bool) {
	sort.Sort(controller.ReplicaSetsByCreationTimestamp(old))
	removed := int32(0)
	for i, rs := range old {
		if removed >= most {
			break
		}
		unhealthy := *rs.Spec.Replicas - rs.Status.AvailableReplicas
		if *rs.Spec.Replicas == 0 || unhealthy == 0 {
			continue
		}
		if unhealthy < 0 {
			return nil, false
		}
		count := min(most-removed, unhealthy)
		old[i], _ = r.scaleSet(rs, *rs.Spec.Replicas-count, false)
		removed += count
	}
	return old, true
}

// shrinkHealthy is upstream's scaleDownOldReplicaSetsForRollingUpdate.
func (r *deploymentSync) shrinkHealthy(all, old []*appsv1.ReplicaSet, minAvailable int32) {
	most := deploymentutil.GetAvailableReplicaCountForReplicaSets(all) - minAvailable
	sort.Sort(controller.ReplicaSetsByCreationTimestamp(old))
	removed := int32(0)
	for _, rs := range old {
		if removed >= most {
			break
		}
		count := min(*rs.Spec.Replicas, most-removed)
		r.scaleSet(rs, *rs.Spec.Replicas-count, false)
		removed += count
	}
}

// rolloutRecreate is rolloutRecreate in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/deployment/recreate.go: it creates
// the new ReplicaSet only when no old pod is left.
func (r *deploymentSync) rolloutRecreate() error {
	current, old, err := r.syncRevisions(false)
	if err != nil {
		return err
	}
	scaled := false
	for _, rs := range old {
		if *rs.Spec.Replicas > 0 {
			r.scaleSet(rs, 0, false)
			scaled = true
		}
	}
	if !scaled && !r.oldPodsRunning(old) {
		if current == nil {
			if current, old, err = r.syncRevisions(true); err != nil {
				return err
			}
		}
		if current != nil {
			r.scaleSet(current, *r.deployment.Spec.Replicas, false)
			r.cleanUpComplete(old)
		}
	}
	r.updateStatus(append(old, current), current)
	return nil
}

// oldPodsRunning reports whether pods of old ReplicaSets have not ended yet; upstream's function of that name.
func (r *deploymentSync) oldPodsRunning(old []*appsv1.ReplicaSet) bool {
	for _, rs := range old {
		if rs.Status.Replicas > 0 {
			return true
		}
		for _, pod := range r.owned.podsOf(rs.UID) {
			if pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
				return true
			}
		}
	}
	return false
}
