package workload

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/faultline/faultline/pkg/cluster"
)

// claimRevisions returns the ControllerRevisions of the StatefulSet or DaemonSet, in order of arrival, after it has adopted
// the orphans that the selector matches.
func (p *pass) claimRevisions(owner cluster.Object, kind schema.GroupVersionKind, selector *metav1.LabelSelector) ([]*appsv1.ControllerRevision, error) {
	matching, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, err
	}
	revisions := slices.Clone(p.owned.revisions[owner.GetUID()])
	for _, orphan := range p.owned.revisions[""] {
		if orphan.Namespace == owner.GetNamespace() && matching.Matches(labels.Set(orphan.Labels)) {
			adopted := *orphan
			adopted.OwnerReferences = withController(orphan, owner, kind)
			p.put(&adopted)
			revisions = append(revisions, &adopted)
		}
	}
	return revisions, nil
}

// addRevision identifies a new ControllerRevision, which has its name, and puts it into the state.
func (p *pass) addRevision(revision *appsv1.ControllerRevision) {
	revision.UID = p.uid("ControllerRevision", revision.Namespace, revision.Name)
	revision.CreationTimestamp = p.Now
	p.put(revision)
}

// hasRevision tells whether the name is taken.
func (p *pass) hasRevision(namespace, name string) bool {
	return slices.ContainsFunc(p.ControllerRevisions, func(r *appsv1.ControllerRevision) bool {
		return r.Namespace == namespace && r.Name == name
	})
}

// templatePatch is what a ControllerRevision holds: getPatch in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/daemon/update.go.
func templatePatch(ds *appsv1.DaemonSet) ([]byte, error) {
	data, err := json.Marshal(ds)
	if err != nil {
		return nil, err
	}
	var raw struct {
		Spec struct {
			Template map[string]any `json:"template"`
		} `json:"spec"`
	}
	if err := utiljson.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	raw.Spec.Template["$patch"] = "replace"
	return json.Marshal(raw)
}

// revision writes the template in a ControllerRevision of a StatefulSet or a DaemonSet as this version of Kubernetes would.
// Controllers compare revisions by their bytes, and a dump has another white space, and perhaps another version's defaults.
func (a *admitting) revision(revision *appsv1.ControllerRevision) {
	ref := metav1.GetControllerOfNoCopy(revision)
	if ref == nil || ref.APIVersion != appsv1.SchemeGroupVersion.String() {
		return // what it holds is known to its owner alone
	}
	var holder appsv1.DaemonSet // the two kinds write a template alike
	if err := json.Unmarshal(revision.Data.Raw, &holder); err != nil {
		a.problem(revision, "data: %w", err)
		return
	}
	legacyscheme.Scheme.Default(&holder)
	patch, err := templatePatch(&holder)
	if err != nil {
		a.problem(revision, "data: %w", err)
		return
	}
	revision.Data.Raw = patch
}
