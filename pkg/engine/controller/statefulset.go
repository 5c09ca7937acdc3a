package controller

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/controller/history"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

var statefulSetKind = appsv1.SchemeGroupVersion.WithKind("StatefulSet")

// syncDueStatefulSet syncs a StatefulSet that may have something to do. With minReadySeconds pods become available with time.
func (p *pass) syncDueStatefulSet(set *appsv1.StatefulSet) error {
	if !p.due.statefulSets[set.UID] && set.Spec.MinReadySeconds == 0 && set.Spec.Template.Spec.NodeName == "" {
		return nil
	}
	return p.syncStatefulSet(set)
}

// syncStatefulSet syncs a StatefulSet with upstream's own control loop,
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/statefulset/stateful_set_control.go,
// which reads and changes the state through a statefulSetSync. Feature gates have upstream's defaults, so
// spec.updateStrategy.rollingUpdate.maxUnavailable takes effect. With podManagementPolicy Parallel upstream creates and deletes pods in no
// particular order; here it is the order of the ordinals.
func (p *pass) syncStatefulSet(set *appsv1.StatefulSet) error {
	if p.setClaims == nil {
		p.setClaims = make(map[types.NamespacedName]*v1.PersistentVolumeClaim, len(p.PersistentVolumeClaims))
		for _, claim := range p.PersistentVolumeClaims {
			p.setClaims[cluster.NameOf(claim)] = claim
		}
	}
	claims := p.setClaims
	seen := p.syncInputs(set)
	if seen != nil {
		seen = append(seen, p.Node(set.Spec.Template.Spec.NodeName))
		for i := range set.Spec.VolumeClaimTemplates {
			for _, pod := range p.owned.podsOf(set.UID) {
				seen = append(seen, claims[claimName(set, i, pod.Name)])
			}
			for n := range int(*set.Spec.Replicas) { // a pod that is missing may wait until its old claim is gone
				seen = append(seen, claims[claimName(set, i, fmt.Sprintf("%s-%d", set.Name, firstOrdinal(set)+n))])
			}
		}
	}
	if seen != nil && set.Spec.MinReadySeconds > 0 {
		seen = append(seen, p.Now)
	}
	about := subject{inSync, set.UID}
	err := p.syncUnlessSettled(about, seen, func() error {
		before, inputs := p.countActions(), listSetInputs(seen)
		if p.repeatSetSync(set, inputs) {
			return nil
		}
		// As in upstream's isMemberOf, the pod's name before the ordinal must be the set's.
		isMember := func(pod *v1.Pod) bool { return parentName(pod) == set.Name }
		pods, err := p.claimPods(set, statefulSetKind, set.Spec.Selector, isMember)
		if err != nil {
			return fmt.Errorf("spec.selector: %w", err)
		}
		revisions, err := p.claimRevisions(set, statefulSetKind, set.Spec.Selector)
		if err != nil {
			return fmt.Errorf("spec.selector: %w", err)
		}
		s := &statefulSetSync{pass: p, set: set, claims: claims, revisions: revisions, have: len(pods), claimless: map[string]bool{}}
		control := statefulset.NewDefaultStatefulSetControl(
			statefulset.NewStatefulPodControlFromManager(s, &record.FakeRecorder{}), s, s)
		if _, err := control.UpdateStatefulSet(context.Background(), set, pods, p.Now.Time); err != nil && s.refusal == "" && !s.awaitsClaim(err) {
			return err
		}
		if len(s.newPods)+len(s.newClaims) > 0 {
			return p.doInTurn(set, s.commitChanges)
		}
		err = s.commitChanges()
		if err == nil && seen != nil && s.refusal == "" && p.countActions() == before+1 && s.hasFinalStatus() {
			seen[0] = s.updated
			p.memory.remember(about, struct{}{}, seen...) // the next sync would do nothing
		}
		if err == nil && s.refusal == "" && (p.countActions() == before || p.countActions() == before+1 && s.created != nil) {
			p.rememberSetSync(set, setSync{inputs, s.created})
		}
		return err
	})
	if p.isSettled(about, seen) {
		delete(p.due.statefulSets, set.UID)
	}
	return err
}

// setSync is a sync of a StatefulSet that had nothing to do, or only created a revision.
type setSync struct {
	inputs  []any
	created *appsv1.ControllerRevision // nil: it had nothing to do
}

// keptSetSyncs is how many syncs of a StatefulSet are kept. Each of many runs of one scenario returns to the same pods, and creates the revisions
// anew that a dump lacks: in a cluster of 155 StatefulSets, their syncs took a third of the time of advise.
const keptSetSyncs = 4

// revisionContent is what a sync reads of a ControllerRevision.
type revisionContent struct {
	name    string
	data    listID // copies of a revision share its data
	number  int64
	created int64
}

// listSetInputs returns what a sync has seen, with the pods in place of their group, and the content of revisions in place of the revisions:
// when pods return, their group is another one, and a revision that is created once more has another UID.
func listSetInputs(seen []any) []any {
	var inputs []any
	for _, input := range seen {
		switch of := input.(type) {
		case *cluster.Group:
			for _, pod := range of.Pods() {
				inputs = append(inputs, pod)
			}
		case *appsv1.ControllerRevision:
			inputs = append(inputs, revisionContent{of.Name, newListID(of.Data.Raw), of.Revision, of.CreationTimestamp.Unix()})
		default:
			inputs = append(inputs, input)
		}
	}
	return inputs
}

// repeatSetSync does what an earlier sync with the same inputs did, and reports whether there was one.
func (p *pass) repeatSetSync(set *appsv1.StatefulSet, inputs []any) bool {
	known, _ := recall[[]setSync](&p.memory, subject{earlierSetSyncs, set.UID})
	i := slices.IndexFunc(known, func(s setSync) bool { return inputs != nil && slices.Equal(s.inputs, inputs) })
	if i < 0 || known[i].created != nil && p.hasRevision(set.Namespace, known[i].created.Name) {
		return false
	}
	if revision := known[i].created; revision != nil {
		created := *revision
		p.addRevision(&created)
	}
	return true
}

// rememberSetSync keeps a sync, and drops the oldest if there are too many.
func (p *pass) rememberSetSync(set *appsv1.StatefulSet, done setSync) {
	if done.inputs == nil {
		return
	}
	about := subject{earlierSetSyncs, set.UID}
	known, _ := recall[[]setSync](&p.memory, about)
	if len(known) == keptSetSyncs {
		known = known[1:]
	}
	p.memory.remember(about, append(slices.Clone(known), done))
}

// hasFinalStatus reports whether another sync of the same pods and revisions would compute the status that this sync has set. Of the old
// status, upstream's control reads the current revision and the collisions, keeps the conditions, and reads the current replicas only to
// choose between two revisions for a new pod.
func (s *statefulSetSync) hasFinalStatus() bool {
	if s.updated == nil {
		return false
	}
	was, is := &s.set.Status, &s.updated.Status
	current := is.CurrentRevision
	return was.CurrentRevision == current && is.UpdateRevision == current &&
		ptr.Deref(is.CollisionCount, 0) == ptr.Deref(was.CollisionCount, 0) && equality.Semantic.DeepEqual(is.Conditions, was.Conditions)
}

// firstOrdinal returns the ordinal of the first pod.
func firstOrdinal(set *appsv1.StatefulSet) int {
	if set.Spec.Ordinals == nil {
		return 0
	}
	return int(set.Spec.Ordinals.Start)
}

// claimName returns the name of the pod's claim of a template.
func claimName(set *appsv1.StatefulSet, template int, pod string) types.NamespacedName {
	name := set.Spec.VolumeClaimTemplates[template].Name + "-" + pod
	return types.NamespacedName{Namespace: set.Namespace, Name: name}
}

// parentName returns the pod's name without its ordinal.
func parentName(pod *v1.Pod) string {
	if i := strings.LastIndexByte(pod.Name, '-'); i > 0 && ordinal(pod) >= 0 {
		return pod.Name[:i]
	}
	return ""
}

// ordinal returns the number at the end of the pod's name, or -1.
func ordinal(pod *v1.Pod) int {
	n, err := strconv.ParseInt(pod.Name[strings.LastIndexByte(pod.Name, '-')+1:], 10, 32)
	if err != nil || n < 0 {
		return -1
	}
	return int(n)
}

// statefulSetSync is one sync of one StatefulSet. Upstream's control sees and changes the cluster through it: it is the control's object
// manager, its status updater and its history. With Parallel management upstream calls it from several goroutines.
type statefulSetSync struct {
	*pass
	set       *appsv1.StatefulSet
	mu        sync.Mutex
	claims    map[types.NamespacedName]*v1.PersistentVolumeClaim
	revisions []*appsv1.ControllerRevision

	updated          *appsv1.StatefulSet        // the set with its new status; nil if that stays
	created          *appsv1.ControllerRevision // the new revision; nil if there is none
	newPods, oldPods []*v1.Pod
	newClaims        []*v1.PersistentVolumeClaim
	// have counts the set's pods. claimless has the new pods for which a claim was refused. refusal is the controller's first event about a
	// refusal.
	have      int
	claimless map[string]bool
	refusal   string
}

// commitChanges passes what was created and deleted on to the pass, in the order of the ordinals. It charges quotas only now, since with Parallel
// management upstream creates pods in any order.
func (s *statefulSetSync) commitChanges() error {
	byOrdinal := func(a, b *v1.Pod) int { return ordinal(a) - ordinal(b) }
	slices.SortFunc(s.newPods, byOrdinal)
	slices.SortFunc(s.oldPods, byOrdinal)
	slices.SortFunc(s.newClaims, func(a, b *v1.PersistentVolumeClaim) int { return strings.Compare(a.Name, b.Name) })
	for _, claim := range s.newClaims {
		if claim.UID == "" {
			if err := s.admitAndCharge(claim); err != nil {
				if !s.refuseClaim(claim, err) {
					return err
				}
				continue
			}
			claim.UID = s.newUID("PersistentVolumeClaim", claim.Namespace, claim.Name)
			claim.CreationTimestamp = s.Now
		}
		s.putObject(claim)
	}
	for _, pod := range s.newPods {
		switch {
		case pod.UID != "": // an update
			s.putObject(pod)
			continue
		case s.claimless[pod.Name]:
			continue
		}
		if err := s.admitAndCharge(pod); err != nil {
			if !s.refusePod(pod, err) {
				return err
			}
			continue
		}
		s.putNewPod(pod)
		s.have++
	}
	s.deletePods(s.oldPods...)
	if s.refusal != "" {
		lacking := max(1, int(*s.set.Spec.Replicas)-s.have)
		s.refused = append(s.refused, cluster.Refusal{Ref: cluster.RefTo(s.set), Pods: lacking, Message: s.refusal, Retried: true})
	}
	return nil
}

func (s *statefulSetSync) CreatePod(_ context.Context, pod *v1.Pod, _ *appsv1.StatefulSet) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	admitted := pod.DeepCopy() // upstream goes on to use its own
	if err := s.admitPod(admitted); err != nil {
		s.refusePod(admitted, err)
		return err
	}
	s.newPods = append(s.newPods, admitted)
	return nil
}

func (s *statefulSetSync) GetPod(namespace, name string) (*v1.Pod, error) {
	for _, pod := range s.Pods {
		if pod.Namespace == namespace && pod.Name == name {
			return pod, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
}

func (s *statefulSetSync) UpdatePod(pod *v1.Pod, _ *appsv1.StatefulSet) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newPods = append(s.newPods, pod)
	return nil
}

func (s *statefulSetSync) DeletePod(pod *v1.Pod) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldPods = append(s.oldPods, pod)
	return nil
}

func (s *statefulSetSync) CreateClaim(claim *v1.PersistentVolumeClaim, _ *appsv1.StatefulSet) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	created := claim.DeepCopy() // upstream reuses the variable
	if err := admission.AdmitClaim(s.State, created); err != nil {
		s.refuseClaim(created, err)
		return err
	}
	s.claims[cluster.NameOf(claim)] = created
	s.newClaims = append(s.newClaims, created)
	return nil
}

func (s *statefulSetSync) GetClaim(namespace, name string) (*v1.PersistentVolumeClaim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if claim := s.claims[types.NamespacedName{Namespace: namespace, Name: name}]; claim != nil {
		return claim, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "persistentvolumeclaims"}, name)
}

func (s *statefulSetSync) UpdateClaim(claim *v1.PersistentVolumeClaim, _ *appsv1.StatefulSet) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims[cluster.NameOf(claim)] = claim
	s.newClaims = slices.DeleteFunc(s.newClaims, func(c *v1.PersistentVolumeClaim) bool { return c.Name == claim.Name })
	s.newClaims = append(s.newClaims, claim)
	return nil
}

func (s *statefulSetSync) UpdateStatefulSetStatus(_ context.Context, _ *appsv1.StatefulSet, status *appsv1.StatefulSetStatus) error {
	updated := *s.set
	updated.Status = *status
	s.updated = &updated
	s.putObject(s.updated)
	return nil
}

func (s *statefulSetSync) ListControllerRevisions(metav1.Object, schema.GroupVersionKind, labels.Selector) ([]*appsv1.ControllerRevision, error) {
	return slices.Clone(s.revisions), nil // upstream sorts them
}

func (s *statefulSetSync) CreateControllerRevision(_ metav1.Object, revision *appsv1.ControllerRevision, collisions *int32) (*appsv1.ControllerRevision, error) {
	hashed := func() string {
		return history.ControllerRevisionName(s.set.Name, history.HashControllerRevision(revision, collisions))
	}
	created := revision.DeepCopy()
	created.Namespace, created.Name = s.set.Namespace, hashed()
	for s.hasRevision(created.Namespace, created.Name) {
		*collisions++
		created.Name = hashed()
	}
	// A set of a running cluster may come without its revisions. Its status then names the revision of its template, and its pods have that
	// name.
	if status := s.set.Status; status.UpdateRevision != "" && status.ObservedGeneration == s.set.Generation && !s.hasRevision(s.set.Namespace, status.UpdateRevision) {
		created.Name = status.UpdateRevision
	}
	s.addRevision(created)
	s.created = created
	return created, nil
}

func (s *statefulSetSync) UpdateControllerRevision(revision *appsv1.ControllerRevision, number int64) (*appsv1.ControllerRevision, error) {
	updated := *revision
	updated.Revision = number
	s.putObject(&updated)
	return &updated, nil
}

func (s *statefulSetSync) DeleteControllerRevision(revision *appsv1.ControllerRevision) error {
	s.deleted = append(s.deleted, revision)
	return nil
}

// Adoption is the job of claimRevisions, and upstream's control releases nothing.

func (s *statefulSetSync) AdoptControllerRevision(_ metav1.Object, _ schema.GroupVersionKind, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	return revision, nil
}

func (s *statefulSetSync) ReleaseControllerRevision(_ metav1.Object, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	return revision, nil
}
