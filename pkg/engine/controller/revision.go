package controller

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/daemon"
	labelsutil "k8s.io/kubernetes/pkg/util/labels"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// claimRevisions returns the ControllerRevisions of the StatefulSet or DaemonSet, in order of arrival, after it has adopted the orphans
// that the selector matches.
func (p *pass) claimRevisions(owner cluster.Object, kind schema.GroupVersionKind, selector *metav1.LabelSelector) ([]*appsv1.ControllerRevision, error) {
	matching, err := p.parseSelector(owner, selector)
	if err != nil {
		return nil, err
	}
	revisions := slices.Clone(p.owned.revisions[owner.GetUID()])
	for _, orphan := range p.owned.revisions[""] {
		if orphan.Namespace == owner.GetNamespace() && matching.Matches(labels.Set(orphan.Labels)) {
			adopted := *orphan
			adopted.OwnerReferences = withController(orphan.OwnerReferences, owner, kind)
			p.putObject(&adopted)
			revisions = append(revisions, &adopted)
		}
	}
	return revisions, nil
}

// addRevision adds a new ControllerRevision, which has a name, to the state with UID and creation time.
func (p *pass) addRevision(revision *appsv1.ControllerRevision) {
	revision.UID = p.newUID("ControllerRevision", revision.Namespace, revision.Name)
	revision.CreationTimestamp = p.Now
	p.putObject(revision)
}

// hasRevision reports whether a ControllerRevision of that name exists.
func (p *pass) hasRevision(namespace, name string) bool {
	return slices.ContainsFunc(p.ControllerRevisions, func(r *appsv1.ControllerRevision) bool {
		return r.Namespace == namespace && r.Name == name
	})
}

// daemonHash returns the hash that labels the pods of the DaemonSet's current template. The hash is that of the template's
// ControllerRevision, which becomes the newest, or is created if it does not exist: constructHistory in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/daemon/update.go.
func (p *pass) daemonHash(ds *appsv1.DaemonSet, revisions []*appsv1.ControllerRevision, pods []*v1.Pod) (string, error) {
	from := []any{newTemplateID(ds, &ds.Spec.Template)}
	for _, revision := range revisions {
		from = append(from, revision)
	}
	current, known := recall[*appsv1.ControllerRevision](&p.memory, subject{templateRevision, ds.UID}, from...)
	if !known {
		var err error
		if current, err = matchingRevision(ds, revisions); err != nil {
			return "", err
		}
		p.memory.remember(subject{templateRevision, ds.UID}, current, from...)
	}
	number := int64(1)
	for _, revision := range revisions {
		if revision != current {
			number = max(number, revision.Revision+1)
		}
	}
	if current != nil {
		if current.Revision < number {
			newest := *current
			newest.Revision = number
			p.putObject(&newest)
		}
		return current.Labels[appsv1.DefaultDaemonSetUniqueLabelKey], nil
	}
	hash := ""
	// A DaemonSet of a running cluster may come without its revisions. If its rollout is complete, its pods have the hash.
	if len(revisions) == 0 && len(pods) > 0 && ds.Status.ObservedGeneration == ds.Generation && ds.Status.UpdatedNumberScheduled >= int32(len(pods)) {
		hash = pods[0].Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	}
	collisions := ds.Status.CollisionCount
	for hash == "" || p.hasRevision(ds.Namespace, ds.Name+"-"+hash) {
		hash = controller.ComputeHash(&ds.Spec.Template, collisions)
		collisions = ptr.To(ptr.Deref(collisions, 0) + 1)
	}
	patch, err := admission.TemplatePatch(ds)
	if err != nil {
		return "", err
	}
	p.addRevision(&appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name:            ds.Name + "-" + hash,
			Namespace:       ds.Namespace,
			Labels:          labelsutil.CloneAndAddLabel(ds.Spec.Template.Labels, appsv1.DefaultDaemonSetUniqueLabelKey, hash),
			Annotations:     ds.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ds, daemonSetKind)},
		},
		Data:     runtime.RawExtension{Raw: patch},
		Revision: number,
	})
	return hash, nil
}

// matchingRevision returns the newest revision that holds the DaemonSet's current template; nil if none does.
func matchingRevision(ds *appsv1.DaemonSet, revisions []*appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	var newest *appsv1.ControllerRevision
	for _, revision := range revisions {
		matches, err := daemon.Match(ds, revision)
		if err != nil {
			return nil, err
		}
		if matches && (newest == nil || revision.Revision >= newest.Revision) {
			newest = revision
		}
	}
	return newest, nil
}
