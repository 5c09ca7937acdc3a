package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/controller/history"
	"k8s.io/kubernetes/pkg/controller/statefulset"
)

var statefulSetKind = appsv1.SchemeGroupVersion.WithKind("StatefulSet")

// revisionsAnnotation holds a StatefulSet's ControllerRevisions as JSON, since a cluster.State has no list of them. Without
// the revisions a pod below the partition could not be made again from the template that it had.
const revisionsAnnotation = "faultline.dev/controller-revisions"

// statefulSets syncs every StatefulSet with upstream's own control loop,
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/statefulset/stateful_set_control.go, which reads
// and writes the state through a statefulWorld. Feature gates are at upstream's defaults, so spec.updateStrategy.
// rollingUpdate.maxUnavailable is honoured. With podManagementPolicy Parallel upstream creates and deletes in no particular
// order; here it is the order of the ordinals.
func (p *pass) statefulSets() error {
	claims := map[types.NamespacedName]*v1.PersistentVolumeClaim{}
	if len(p.StatefulSets) > 0 {
		for _, claim := range p.PersistentVolumeClaims {
			claims[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}] = claim
		}
	}
	for _, set := range p.StatefulSets {
		// As upstream's isMemberOf: the name before the ordinal must be the set's.
		isMember := func(pod *v1.Pod) bool { return parentName(pod) == set.Name }
		pods, err := p.claim(set, statefulSetKind, set.Spec.Selector, isMember)
		if err != nil {
			return fmt.Errorf("statefulset %s/%s: spec.selector: %w", set.Namespace, set.Name, err)
		}
		seen := []any{set}
		for _, pod := range pods {
			seen = append(seen, pod)
			for i := range set.Spec.VolumeClaimTemplates {
				seen = append(seen, claims[claimName(set, i, pod)])
			}
		}
		if set.Spec.MinReadySeconds == 0 && p.asBefore(set.UID, seen) {
			continue
		}
		before := len(p.put) + len(p.gone)
		if err := p.statefulSet(set, pods, claims); err != nil {
			return fmt.Errorf("statefulset %s/%s: %w", set.Namespace, set.Name, err)
		}
		if len(p.put)+len(p.gone) == before {
			p.settle(set.UID, seen)
		}
	}
	return nil
}

func claimName(set *appsv1.StatefulSet, template int, pod *v1.Pod) types.NamespacedName {
	name := set.Spec.VolumeClaimTemplates[template].Name + "-" + pod.Name
	return types.NamespacedName{Namespace: set.Namespace, Name: name}
}

// parentName is the pod's name without its ordinal.
func parentName(pod *v1.Pod) string {
	if i := strings.LastIndexByte(pod.Name, '-'); i > 0 && ordinal(pod) >= 0 {
		return pod.Name[:i]
	}
	return ""
}

// ordinal is the number at the end of the pod's name, or -1.
func ordinal(pod *v1.Pod) int {
	n, err := strconv.ParseInt(pod.Name[strings.LastIndexByte(pod.Name, '-')+1:], 10, 32)
	if err != nil || n < 0 {
		return -1
	}
	return int(n)
}

func (p *pass) statefulSet(original *appsv1.StatefulSet, pods []*v1.Pod, claims map[types.NamespacedName]*v1.PersistentVolumeClaim) error {
	set := *original
	set.Annotations = maps.Clone(original.Annotations)
	delete(set.Annotations, revisionsAnnotation) // a revision copies the annotations of its set
	revisions, err := knownRevisions(original)
	if err != nil {
		return err
	}
	w := &statefulWorld{pass: p, claims: claims, revisions: revisions}
	control := statefulset.NewDefaultStatefulSetControl(
		statefulset.NewStatefulPodControlFromManager(w, &record.FakeRecorder{}), w, w)
	if _, err := control.UpdateStatefulSet(context.Background(), &set, pods, p.Now.Time); err != nil {
		return err
	}
	if err := w.finish(&set); err != nil {
		return err
	}
	if _, kept := original.Annotations[revisionsAnnotation]; w.status != nil || !kept || !slices.Equal(w.revisions, revisions) {
		if w.status != nil {
			set.Status = *w.status
		}
		encoded, err := json.Marshal(w.revisions)
		if err != nil {
			return err
		}
		if set.Annotations == nil {
			set.Annotations = map[string]string{}
		}
		set.Annotations[revisionsAnnotation] = string(encoded)
		p.set(&set)
	}
	return nil
}

// knownRevisions returns the set's ControllerRevisions. A set that comes from a running cluster brings none, but its status
// names the revision of its template.
func knownRevisions(set *appsv1.StatefulSet) ([]*appsv1.ControllerRevision, error) {
	if encoded, ok := set.Annotations[revisionsAnnotation]; ok {
		var revisions []*appsv1.ControllerRevision
		if err := json.Unmarshal([]byte(encoded), &revisions); err != nil {
			return nil, fmt.Errorf("annotation %s: %w; delete the annotation", revisionsAnnotation, err)
		}
		return revisions, nil
	}
	if set.Status.UpdateRevision == "" || set.Status.ObservedGeneration != set.Generation {
		return nil, nil
	}
	patch, err := templatePatch(set)
	if err != nil {
		return nil, err
	}
	return []*appsv1.ControllerRevision{{
		ObjectMeta: metav1.ObjectMeta{Name: set.Status.UpdateRevision, Namespace: set.Namespace},
		Data:       runtime.RawExtension{Raw: patch},
		Revision:   1,
	}}, nil
}

// templatePatch is getPatch in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/statefulset/stateful_set_utils.go: what a
// ControllerRevision holds.
func templatePatch(set runtime.Object) ([]byte, error) {
	data, err := runtime.Encode(scheme.Codecs.LegacyCodec(appsv1.SchemeGroupVersion), set)
	if err != nil {
		return nil, err
	}
	var raw struct {
		Spec struct {
			Template map[string]any `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	raw.Spec.Template["$patch"] = "replace"
	return json.Marshal(raw)
}

// statefulWorld is how upstream's StatefulSet control sees and changes the cluster: it is its object manager, its status
// updater and its history. With Parallel management upstream calls it from several goroutines.
type statefulWorld struct {
	*pass
	mu        sync.Mutex
	claims    map[types.NamespacedName]*v1.PersistentVolumeClaim
	revisions []*appsv1.ControllerRevision
	status    *appsv1.StatefulSetStatus

	newPods, oldPods []*v1.Pod
	newClaims        []*v1.PersistentVolumeClaim
}

// finish hands what was created and deleted to the pass, in the order of the ordinals.
func (w *statefulWorld) finish(set *appsv1.StatefulSet) error {
	byOrdinal := func(a, b *v1.Pod) int { return ordinal(a) - ordinal(b) }
	slices.SortFunc(w.newPods, byOrdinal)
	slices.SortFunc(w.oldPods, byOrdinal)
	slices.SortFunc(w.newClaims, func(a, b *v1.PersistentVolumeClaim) int { return strings.Compare(a.Name, b.Name) })
	for _, claim := range w.newClaims {
		if claim.UID == "" {
			claim.UID = w.uid("PersistentVolumeClaim", claim.Namespace, claim.Name)
			claim.CreationTimestamp = w.Now
		}
		w.set(claim)
	}
	for _, pod := range w.newPods {
		if pod.UID != "" { // an update
			w.set(pod)
			continue
		}
		w.create(pod)
	}
	w.delete(w.oldPods...)
	return nil
}

func (w *statefulWorld) CreatePod(_ context.Context, pod *v1.Pod, _ *appsv1.StatefulSet) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.admission == nil {
		w.admission = newAdmission(w.State)
	}
	admitted := *pod
	if err := w.admission.pod(&admitted); err != nil {
		return err
	}
	w.newPods = append(w.newPods, &admitted)
	return nil
}

func (w *statefulWorld) GetPod(namespace, name string) (*v1.Pod, error) {
	for _, pod := range w.Pods {
		if pod.Namespace == namespace && pod.Name == name {
			return pod, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
}

func (w *statefulWorld) UpdatePod(pod *v1.Pod, _ *appsv1.StatefulSet) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newPods = append(w.newPods, pod)
	return nil
}

func (w *statefulWorld) DeletePod(pod *v1.Pod) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.oldPods = append(w.oldPods, pod)
	return nil
}

func (w *statefulWorld) CreateClaim(claim *v1.PersistentVolumeClaim, _ *appsv1.StatefulSet) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	created := claim.DeepCopy() // upstream reuses the variable
	admitClaim(w.State, created)
	w.claims[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}] = created
	w.newClaims = append(w.newClaims, created)
	return nil
}

func (w *statefulWorld) GetClaim(namespace, name string) (*v1.PersistentVolumeClaim, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if claim := w.claims[types.NamespacedName{Namespace: namespace, Name: name}]; claim != nil {
		return claim, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "persistentvolumeclaims"}, name)
}

func (w *statefulWorld) UpdateClaim(claim *v1.PersistentVolumeClaim, _ *appsv1.StatefulSet) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claims[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}] = claim
	w.newClaims = slices.DeleteFunc(w.newClaims, func(c *v1.PersistentVolumeClaim) bool { return c.Name == claim.Name })
	w.newClaims = append(w.newClaims, claim)
	return nil
}

func (w *statefulWorld) UpdateStatefulSetStatus(_ context.Context, _ *appsv1.StatefulSet, status *appsv1.StatefulSetStatus) error {
	w.status = status
	return nil
}

func (w *statefulWorld) ListControllerRevisions(metav1.Object, schema.GroupVersionKind, labels.Selector) ([]*appsv1.ControllerRevision, error) {
	return slices.Clone(w.revisions), nil
}

func (w *statefulWorld) CreateControllerRevision(parent metav1.Object, revision *appsv1.ControllerRevision, collisions *int32) (*appsv1.ControllerRevision, error) {
	created := revision.DeepCopy()
	created.Namespace = parent.GetNamespace()
	for {
		created.Name = history.ControllerRevisionName(parent.GetName(), history.HashControllerRevision(revision, collisions))
		if !slices.ContainsFunc(w.revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == created.Name }) {
			w.revisions = append(slices.Clone(w.revisions), created)
			return created, nil
		}
		*collisions++
	}
}

func (w *statefulWorld) DeleteControllerRevision(revision *appsv1.ControllerRevision) error {
	w.revisions = slices.DeleteFunc(slices.Clone(w.revisions), func(r *appsv1.ControllerRevision) bool { return r.Name == revision.Name })
	return nil
}

func (w *statefulWorld) UpdateControllerRevision(revision *appsv1.ControllerRevision, number int64) (*appsv1.ControllerRevision, error) {
	updated := revision.DeepCopy()
	updated.Revision = number
	w.revisions = slices.Clone(w.revisions)
	for i := range w.revisions {
		if w.revisions[i].Name == revision.Name {
			w.revisions[i] = updated
		}
	}
	return updated, nil
}

func (w *statefulWorld) AdoptControllerRevision(_ metav1.Object, _ schema.GroupVersionKind, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	return revision, nil
}

func (w *statefulWorld) ReleaseControllerRevision(_ metav1.Object, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	return revision, nil
}
