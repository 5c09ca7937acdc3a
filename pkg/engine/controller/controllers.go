package controller

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/input/admission"
)

// Controllers act as kube-controller-manager does. The zero value is ready to use. It serves one simulation at a time.
type Controllers struct {
	// Rand chooses among equals, such as the pods of equal rank of which a ReplicaSet must delete one, and creates the UIDs of new pods, by
	// which upstream breaks ties of age. Nil keeps a fixed order: the newest pod goes first.
	Rand *rand.Rand
	// Seed, if set, decides how long each kubelet takes to end a pod.
	Seed *uint64
	// Arrivals, if set, chooses which controller with something to do acts next. Otherwise they act in the order in which their objects
	// arrived.
	Arrivals *rand.Rand

	nodes       node.Controllers
	memory      memory
	due         due
	knownScales *map[types.UID]controllerScale // the result of the last call of [pass.controllerScales], when [due.scaleChanges] was scaledAt
	scaledAt    int
	guards      budgetPods
	adopts      adoptions
	places      replicaSetTurns
	// These follow the pods from state to state, since building them anew means looking at every pod.
	pods   *cluster.Groups[group]
	names  podNames
	usage  admission.PodUsage // not in memory: other packages charge quotas, too
	admits *admission.Pods
}

// Reconcile does one sync of every controller and returns the next state; it is the same pointer if there was nothing to do. The objects
// must have come through Admit, which sets their defaults. An error says that a controller cannot create an object, for instance because
// its PriorityClass is gone.
func (c *Controllers) Reconcile(s *cluster.State) (*cluster.State, error) {
	c.nodes.Seed = c.Seed
	next := c.syncAttachments(c.evictFromDevices(c.nodes.Reconcile(s, c.Rand)), nil)
	owned := c.ownership(next)
	// ReplicaSets count their pods before Deployments look at the counts, and create and delete pods after the Deployments have acted. In a
	// real cluster the status arrives by an event in between. All controllers that create pods do so in order of arrival.
	syncs := []func(*pass) error{
		(*pass).syncAutoscalers,
		(*pass).syncReplicaSetStatuses,
		(*pass).syncDeployments,
		(*pass).syncWorkloads,
		(*pass).releaseOrphanedJobPods,
		(*pass).syncEphemeralVolumes,
		(*pass).syncVolumes,
		(*pass).syncDeviceClaims,
		(*pass).syncBudgets,
	}
	var problems []error
	var refused []cluster.Refusal
	for _, sync := range syncs {
		p := &pass{Controllers: c, State: next, created: next.Created, owned: owned}
		if err := sync(p); err != nil {
			problems = append(problems, err)
			continue
		}
		next = p.nextState()
		refused = append(refused, p.refused...)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	c.memory.forget(next)
	return withRefused(next, refused), nil
}

// EvictsBoundSince reports whether by the given time a node's taint evicts a pod that got its node since the other time, in the state of the
// last call of Next.
func (c *Controllers) EvictsBoundSince(since, by time.Time) bool {
	return c.nodes.EvictsBoundSince(since, by)
}

// Next returns the earliest moment after s.Now at which something happens although nothing else changes: a toleration of a NoExecute taint
// of a node or a device runs out, the next node gets such a taint, a kubelet has ended a pod, a pod has been ready for minReadySeconds, a
// Job may replace a failed pod, an autoscaler looks at its target, or a volume is detached by force. While requests are refused, it is also
// the moment at which quotas stop counting a Terminating pod. On the way to such a moment, the clock also stops when a Job whose pods
// complete exceeds its deadline.
func (c *Controllers) Next(s *cluster.State) (metav1.Time, bool) {
	var next metav1.Time
	consider := func(at time.Time) {
		if at.After(s.Now.Time) && (next.IsZero() || at.Before(next.Time)) {
			next = metav1.NewTime(at)
		}
	}
	c.nodes.Seed = c.Seed
	consider(c.nodes.Next(s))
	for _, scaling := range c.pendingScalings(s) {
		consider(nextAutoscalerLook(scaling.by, s.Now.Time))
	}
	for _, due := range c.deviceEvictions(s) {
		consider(due.at)
	}
	c.followPods(s)
	considerReady := func(owner types.UID, minReady int32) {
		if minReady == 0 {
			return
		}
		for _, pod := range c.pods.Lookup(group{owner: owner}).Pods() {
			if podutil.IsPodReady(pod) {
				ready := podutil.GetPodReadyCondition(pod.Status).LastTransitionTime
				consider(ready.Add(time.Duration(minReady) * time.Second))
			}
		}
	}
	for r := range c.replicaControllers(s) {
		considerReady(r.set.UID, r.set.Spec.MinReadySeconds)
	}
	for _, set := range s.StatefulSets {
		considerReady(set.UID, set.Spec.MinReadySeconds)
	}
	for _, ds := range s.DaemonSets {
		considerReady(ds.UID, ds.Spec.MinReadySeconds)
	}
	for _, job := range s.Jobs {
		consider(s.JobBackoffs[job.UID].Retry)
		consider(c.nextRestart(s, job))
	}
	for _, held := range s.Attachments {
		if !held.Unused.IsZero() {
			consider(held.Unused.Add(MaxWaitForUnmount))
		}
	}
	if slices.ContainsFunc(s.Refused, cluster.Refusal.IsRetried) {
		for _, pod := range s.Pods {
			consider(quotaExpiry(pod))
		}
	}
	if !next.IsZero() { // the clock advances in any case
		for _, job := range s.Jobs {
			if _, completes, _ := cluster.CompletesAfter(job.Spec.Template.Annotations, &job.Spec.Template.Spec); completes || s.Containers != nil {
				consider(deadline(&job.Spec, &job.Status))
			}
		}
	}
	return next, !next.IsZero()
}

// pass is one sync of all objects of a controller, or of several. It has what they see, and collects what they do to the cluster. The next
// state is derived once, at the end of the pass.
type pass struct {
	*Controllers
	*cluster.State
	owned            *owners
	created          int
	changed, deleted []cluster.Object
	ending           []*v1.Pod
	named            map[types.NamespacedName]bool // names of the pods that the pass creates
	admission        *admission.Pods
	quotas           *admission.Quotas
	refused          []cluster.Refusal
	capacities       *Capacities // for the volume controllers

	// For the controllers that create pods:

	setClaims map[types.NamespacedName]*v1.PersistentVolumeClaim // claims that StatefulSets look up
	backoffs  map[types.UID]cluster.JobBackoff
	waiting   []func() error // actions that wait for their turn
}

// putObject adds an object to the next state, or replaces it.
func (p *pass) putObject(obj cluster.Object) { p.changed = append(p.changed, obj) }

// deletePods requests the deletion of pods.
func (p *pass) deletePods(pods ...*v1.Pod) { p.ending = append(p.ending, pods...) }

// removeObjects takes objects out of the next state at once.
func (p *pass) removeObjects(objs ...cluster.Object) { p.deleted = append(p.deleted, objs...) }

// countActions counts what the pass has done so far.
func (p *pass) countActions() int {
	return len(p.changed) + len(p.deleted) + len(p.ending) + len(p.waiting)
}

// nextState returns the state after the actions of the pass.
func (p *pass) nextState() *cluster.State {
	if p.countActions() == 0 {
		return p.State
	}
	next := *admission.Terminate(p.State.With(p.changed...).Without(p.deleted...), "", p.ending...)
	next.Created = p.created
	return &next
}

// isSettled reports whether the last sync of the subject saw the very same things and had nothing to do.
func (p *pass) isSettled(about subject, seen []any) bool {
	_, settled := recall[struct{}](&p.memory, about, seen...)
	return settled && seen != nil
}

// syncUnlessSettled runs a sync, unless the last sync of the subject saw the very same things and had nothing to do. With nil seen it always
// runs. If pods were refused, the next sync runs again.
func (p *pass) syncUnlessSettled(about subject, seen []any, sync func() error) error {
	if p.isSettled(about, seen) {
		return nil
	}
	before, refused := p.countActions(), len(p.refused)
	if err := sync(); err != nil || p.countActions() > before || len(p.refused) > refused {
		return err
	}
	if seen != nil {
		p.memory.remember(about, struct{}{}, seen...)
	}
	return nil
}
