package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
	"k8s.io/kubernetes/pkg/controller/replicaset"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// admitAndCharge lets a new object pass the policies (a pod has passed them before), and charges it to the quotas of its namespace. The error says
// why the object is refused.
func (p *pass) admitAndCharge(obj cluster.Object) error {
	if _, isPod := obj.(*v1.Pod); !isPod {
		if err := p.admitter().AdmitOther(obj); err != nil {
			return err
		}
	}
	if len(p.ResourceQuotas) == 0 {
		return nil
	}
	if p.quotas == nil {
		if p.usage == nil || len(p.usage) > 2*len(p.Pods) { // most entries are about pods that are gone
			p.Controllers.usage = admission.PodUsage{}
		}
		p.quotas = admission.NewQuotas(p.State, p.usage)
	}
	return p.quotas.Admit(obj)
}

// refusePods records pods that the API server refuses to create, in the words of the controller's event. It returns any other error. A real
// controller tries again after a back-off. Here it tries in each sync, so that pods come as soon as the API server allows them, but its
// message changes only after the back-off; see withRefused.
func (p *pass) refusePods(owner cluster.Object, pods int, err error) error {
	if !admission.IsRefusal(err) {
		return err
	}
	p.refused = append(p.refused, cluster.Refusal{Ref: refusedFor(owner), Pods: pods, Message: "Error creating: " + err.Error(), Retried: true})
	return nil
}

// refusedFor names the workload for which an owner of pods creates them: the Deployment of a ReplicaSet.
func refusedFor(owner cluster.Object) cluster.Ref {
	of := cluster.RefTo(owner)
	if ref := metav1.GetControllerOfNoCopy(owner); ref != nil {
		of.Kind, of.Name = ref.Kind, ref.Name
	}
	return of
}

// refuseSet records the ReplicaSet that the API server refuses to create for a Deployment. It returns any other error.
func (r *deploymentSync) refuseSet(rs *appsv1.ReplicaSet, err error) error {
	if !admission.IsRefusal(err) {
		return err
	}
	have := int(deploymentutil.GetReplicaCountForReplicaSets(r.sets))
	r.refused = append(r.refused, cluster.Refusal{Ref: cluster.RefTo(r.deployment), Pods: max(0, int(*r.deployment.Spec.Replicas)-have),
		Message: fmt.Sprintf("Failed to create new replica set %q: %s", rs.Name, err), Retried: true})
	return nil
}

// refuseDevices records the ResourceClaim that the API server refuses to create for a pod. It returns false for any other error.
func (c *claimSync) refuseDevices(pod *v1.Pod, claim string, err error) bool {
	if !admission.IsRefusal(err) {
		return false
	}
	message := fmt.Sprintf("PodResourceClaim %s: create ResourceClaim : %s", claim, err) // upstream's claim has no name yet, since the name is generated
	c.refused = append(c.refused, cluster.Refusal{Ref: cluster.RefTo(pod), Message: message, Retried: true})
	return true
}

// refusePod and refuseClaim record the pod or the claim that the API server refuses to create for a StatefulSet. They return false for any
// other error.

func (s *statefulSetSync) refusePod(pod *v1.Pod, err error) bool {
	if !admission.IsRefusal(err) {
		return false
	}
	s.refusal = cmp.Or(s.refusal, fmt.Sprintf("Create Pod %s in StatefulSet %s failed error: %s", pod.Name, s.set.Name, err))
	return true
}

func (s *statefulSetSync) refuseClaim(claim *v1.PersistentVolumeClaim, err error) bool {
	if !admission.IsRefusal(err) {
		return false
	}
	for _, template := range s.set.Spec.VolumeClaimTemplates {
		if pod, found := strings.CutPrefix(claim.Name, template.Name+"-"); found && strings.HasPrefix(pod, s.set.Name+"-") {
			s.claimless[pod] = true
			s.refusal = cmp.Or(s.refusal, fmt.Sprintf("Create Claim %s for Pod %s in StatefulSet %s failed error: %s", claim.Name, pod, s.set.Name, err))
		}
	}
	return true
}

// awaitsClaim reports whether upstream's control gave up because a claim is being deleted, which it tries again until the claim is gone. If the
// pod of the claim does not exist, awaitsClaim records that the pod is not created. See createPersistentVolumeClaims in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/statefulset/stateful_pod_control.go.
func (s *statefulSetSync) awaitsClaim(err error) (awaits bool) {
	for _, name := range slices.SortedFunc(maps.Keys(s.claims), func(a, b types.NamespacedName) int { return strings.Compare(a.Name, b.Name) }) {
		says := fmt.Sprintf("pvc %s is being deleted", name.Name)
		if s.claims[name].DeletionTimestamp == nil || !strings.Contains(err.Error(), says) {
			continue
		}
		awaits = true
		for _, template := range s.set.Spec.VolumeClaimTemplates {
			pod, found := strings.CutPrefix(name.Name, template.Name+"-")
			if !found || !strings.HasPrefix(pod, s.set.Name+"-") {
				continue
			}
			if _, err := s.GetPod(name.Namespace, pod); err != nil {
				s.refusal = cmp.Or(s.refusal, fmt.Sprintf("Create Pod %s in StatefulSet %s failed error: %s", pod, s.set.Name, says))
			}
		}
	}
	return awaits
}

// WithRefusedBefore returns the state of a dump with the pods that its ReplicaSets were refused before it was made: their ReplicaFailure
// condition says since when, and quotes the API server. So their controller is in its back-off, and does not know yet that, for instance, a
// quota is lower now.
func WithRefusedBefore(s *cluster.State) *cluster.State {
	next := *s
	next.Refused = slices.Clone(s.Refused)
	for _, rs := range s.ReplicaSets {
		failure := replicaset.GetCondition(rs.Status, appsv1.ReplicaSetReplicaFailure)
		lacking := int(*rs.Spec.Replicas - rs.Status.Replicas)
		if failure == nil || failure.Status != v1.ConditionTrue || lacking <= 0 {
			continue
		}
		// The API server says the whole name of a pod that is invalid, which differs in each attempt. Here a name ends before that part.
		before, name, found := strings.Cut(failure.Message, `"`+rs.Name+"-")
		if _, after, closed := strings.Cut(name, `"`); found && closed {
			next.Refused = append(next.Refused, cluster.Refusal{Ref: refusedFor(rs), Pods: lacking, Retried: true,
				Message: fmt.Sprintf(`Error creating: %s"%s-"%s`, before, rs.Name, after), Since: failure.LastTransitionTime.Unix()})
		}
	}
	if len(next.Refused) == len(s.Refused) {
		return s
	}
	return &next
}

// withRefused returns the state with the requests that were refused in this round. While a controller is in its back-off and nothing of its
// own has changed, its last message stays: the controller does not know yet that a quota, or the level of a namespace, has become stricter.
func withRefused(s *cluster.State, refused []cluster.Refusal) *cluster.State {
	all := slices.DeleteFunc(slices.Clone(s.Refused), cluster.Refusal.IsRetried)
	for _, r := range refused {
		r.Since = s.Now.Unix()
		if i := slices.IndexFunc(s.Refused, r.Repeats); i >= 0 {
			if was := s.Refused[i]; was.Until > s.Now.Unix() {
				r = was
			} else {
				r.Since = was.Since
			}
		}
		all = append(all, r)
	}
	if slices.Equal(all, s.Refused) {
		return s
	}
	next := *s
	next.Refused = all
	return &next
}

// quotaExpiry returns when quotas stop counting a Terminating pod, in whole seconds; the zero time for any other pod. See QuotaV1Pod in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/quota/v1/evaluator/core/pods.go.
func quotaExpiry(pod *v1.Pod) time.Time {
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return time.Time{}
	}
	return pod.DeletionTimestamp.Add(time.Duration(*pod.DeletionGracePeriodSeconds+1) * time.Second)
}
