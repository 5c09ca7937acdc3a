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
	// Rand chooses among equals, such as the pods of equal rank of which a ReplicaSet must delete one, and makes the UIDs of
	// new pods, by which upstream breaks ties of age. Nil keeps a fixed order: the newest pod goes first.
	Rand *rand.Rand
	// Seed, if set, draws how long kubelets take to end a pod.
	Seed *uint64
	// Arrivals, if set, draws which of the controllers that have something to do comes first. Otherwise they act in order of arrival.
	Arrivals *rand.Rand

	nodes    node.Controllers
	memory   memory
	due      due
	scaled   *map[types.UID]scale // the scales that budgets count with, as they were at due.scaled of scaledAt
	scaledAt int
	guards   guards
	adopts   adopts
	places   places
	// These follow the pods from state to state, because making them anew means looking at every pod.
	pods   *cluster.Groups[group]
	names  podNames
	usage  admission.PodUsage // has its own rule, since other packages charge quotas, too
	admits *admission.Pods
}

// Reconcile does one sync of every controller and returns the next state: the same pointer when there was nothing to do.
// The objects must have come through Admit, which defaults them. An error says that an object cannot be created as it is,
// for instance because its PriorityClass is gone.
func (c *Controllers) Reconcile(s *cluster.State) (*cluster.State, error) {
	c.nodes.Seed = c.Seed
	next := c.attach(c.evictFromDevices(c.nodes.Reconcile(s, c.Rand)), nil)
	owned := c.ownership(next)
	// ReplicaSets count their pods before Deployments look at the counts, and create and delete pods after the Deployments
	// have spoken. In a real cluster the status arrives by an event in between. Who makes pods does so in order of arrival.
	syncs := []func(*pass) error{
		(*pass).autoscalers,
		(*pass).replicaSetStatuses,
		(*pass).deployments,
		(*pass).workloads,
		(*pass).releaseOrphans,
		(*pass).ephemeralVolumes,
		(*pass).volumes,
		(*pass).claims,
		(*pass).budgets,
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

// Next returns the earliest moment after s.Now at which something happens although nothing else changes: a toleration of a
// NoExecute taint of a node or a device runs out, the next node gets one, a kubelet has ended a pod, a pod has been ready for
// minReadySeconds, a Job may replace a pod that failed, or a volume is detached by force. Where pods are refused, quotas may stop counting one that stays Terminating. On
// its way there, the clock stops where a Job whose pods complete has run for too long.
func (c *Controllers) Next(s *cluster.State) (metav1.Time, bool) {
	var next metav1.Time
	consider := func(at time.Time) {
		if at.After(s.Now.Time) && (next.IsZero() || at.Before(next.Time)) {
			next = metav1.NewTime(at)
		}
	}
	c.nodes.Seed = c.Seed
	consider(c.nodes.Next(s))
	for _, scaling := range c.scalings(s) {
		consider(looksAfter(scaling.by, s.Now.Time))
	}
	for _, due := range c.deviceEvictions(s) {
		consider(due.at)
	}
	c.follow(s)
	considerReady := func(owner types.UID, minReady int32) {
		if minReady == 0 {
			return
		}
		for _, pod := range c.pods.Of(group{owner: owner}).Pods() {
			if podutil.IsPodReady(pod) {
				ready := podutil.GetPodReadyCondition(pod.Status).LastTransitionTime
				consider(ready.Add(time.Duration(minReady) * time.Second))
			}
		}
	}
	for r := range c.replicated(s) {
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
	}
	for _, held := range s.Attachments {
		if !held.Unused.IsZero() {
			consider(held.Unused.Add(MaxWaitForUnmount))
		}
	}
	if slices.ContainsFunc(s.Refused, cluster.Refusal.IsRetried) {
		for _, pod := range s.Pods {
			consider(uncounted(pod))
		}
	}
	if !next.IsZero() { // the clock moves on in any case
		for _, job := range s.Jobs {
			if _, completes, _ := cluster.CompletesAfter(job.Spec.Template.Annotations, &job.Spec.Template.Spec); completes {
				consider(deadline(&job.Spec, &job.Status))
			}
		}
	}
	return next, !next.IsZero()
}

// pass is one sync of all objects of a controller, or of several: what they see, and what they do to the cluster. The next state is
// derived once, when it is done.
type pass struct {
	*Controllers
	*cluster.State
	owned            *owners
	created          int
	changed, deleted []cluster.Object
	ending           []*v1.Pod
	named            map[types.NamespacedName]bool // the pods that it creates
	admission        *admission.Pods
	quotas           *admission.Quotas
	refused          []cluster.Refusal
	capacities       *Capacities // of the volume controllers

	// Of the controllers that make pods.

	setClaims map[types.NamespacedName]*v1.PersistentVolumeClaim // what StatefulSets look up
	backoffs  map[types.UID]cluster.JobBackoff
	waiting   []func() error // what they do when it is their turn
}

// put adds an object to the state, or replaces it.
func (p *pass) put(obj cluster.Object) { p.changed = append(p.changed, obj) }

// delete asks for the deletion of pods.
func (p *pass) delete(pods ...*v1.Pod) { p.ending = append(p.ending, pods...) }

// remove takes objects out of the state at once.
func (p *pass) remove(objs ...cluster.Object) { p.deleted = append(p.deleted, objs...) }

func (p *pass) actions() int { return len(p.changed) + len(p.deleted) + len(p.ending) + len(p.waiting) }

// nextState is the state with what the pass has done.
func (p *pass) nextState() *cluster.State {
	if p.actions() == 0 {
		return p.State
	}
	next := *admission.Terminate(p.State.With(p.changed...).Without(p.deleted...), "", p.ending...)
	next.Created = p.created
	return &next
}

// settled reports whether the last sync saw the very same things and had nothing to do.
func (p *pass) settled(about subject, seen []any) bool {
	_, settled := recall[struct{}](&p.memory, about, seen...)
	return settled && seen != nil
}

// unlessSettled runs a sync, unless the last one saw the very same things and had nothing to do. Without anything seen it runs. Where pods
// were refused, it is tried again each time.
func (p *pass) unlessSettled(about subject, seen []any, sync func() error) error {
	if p.settled(about, seen) {
		return nil
	}
	before, refused := p.actions(), len(p.refused)
	if err := sync(); err != nil || p.actions() > before || len(p.refused) > refused {
		return err
	}
	if seen != nil {
		p.memory.remember(about, struct{}{}, seen...)
	}
	return nil
}
