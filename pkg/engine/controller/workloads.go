package controller

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/controller"

	"github.com/faultline/faultline/pkg/cluster"
)

// syncWorkloads syncs everything that creates pods, in order of arrival: in a real cluster the controllers of all kinds act at the same time.
func (p *pass) syncWorkloads() error {
	p.due.followStatefulSets(p.State, p.owned)
	err := inOrderOfArrival(p.State, p.Arrivals,
		p.incompleteSets(),
		newKindQueue(p.ReplicationControllers, func(rc *v1.ReplicationController) error {
			return p.manageReplicas(replicaController{p.replicaSetOf(rc), rc, replicationControllerKind})
		}),
		newKindQueue(p.StatefulSets, p.syncDueStatefulSet),
		newKindQueue(p.UnknownOwners, p.syncUnknownOwner),
		newKindQueue(p.DaemonSets, p.syncDaemonSet),
		newKindQueue(p.Jobs, p.syncJob))
	for err == nil && len(p.waiting) > 0 {
		next := p.waiting[0]
		p.waiting = p.waiting[1:]
		err = next()
	}
	if !maps.Equal(p.backoffs, p.JobBackoffs) {
		next := *p.State
		next.JobBackoffs = p.backoffs
		p.State = &next
	}
	return err
}

// incompleteSets returns the ReplicaSets that may have too few or too many pods.
func (p *pass) incompleteSets() *kindQueue {
	p.due.followWorkloads(p.State)
	for _, uid := range p.owned.adopters {
		markDue(&p.due.sizes, uid)
	}
	for uid := range p.owned.claimed {
		markDue(&p.due.sizes, uid)
	}
	var sets []*appsv1.ReplicaSet
	var arrivals []int
	if len(p.due.sizes) > 0 {
		all := p.turns()
		for _, i := range duePositions(p.due.index.sets, p.due.sizes) {
			sets, arrivals = append(sets, p.ReplicaSets[i]), append(arrivals, all[i])
		}
		clear(p.due.sizes) // it also has the owners of other changed pods
		for _, rs := range sets {
			p.due.sizes[rs.UID] = true
		}
	}
	k := newKindQueue(sets, func(rs *appsv1.ReplicaSet) error { return p.manageReplicas(replicaController{rs, rs, replicaSetKind}) })
	k.arrivals = arrivals
	return k
}

// replicaSetTurns has the turns of all ReplicaSets. A ReplicaSet's turn is its arrival or, since ReplicaSets keep their order, the latest arrival
// before it in the list: arrivals 1, 5, 3 give turns 1, 5, 5.
type replicaSetTurns struct {
	state *cluster.State // the state whose order of arrival the turns have
	turns []int
}

// turns returns the turns of all ReplicaSets, which stay the same while their order of arrival does.
func (p *pass) turns() []int {
	if p.due.turns || p.places.state == nil || !p.SameArrivals(p.places.state) {
		p.due.turns = false
		p.places.turns = make([]int, len(p.ReplicaSets))
		latest := 0
		for i, rs := range p.ReplicaSets {
			latest = max(latest, p.Arrival(rs))
			p.places.turns[i] = latest
		}
	}
	p.places.state = p.State
	return p.places.turns
}

// doInTurn does what a controller does for its workload. With random ties it does so only after all controllers have said what they want, so
// that their actions can interleave.
func (p *pass) doInTurn(owner cluster.Object, do func() error) error {
	if p.Rand == nil {
		return do()
	}
	p.waiting = append(p.waiting, func() error {
		if err := do(); err != nil {
			return fmt.Errorf("%s: %w", cluster.RefTo(owner).Describe(), err)
		}
		return nil
	})
	return nil
}

// createPods creates count pods for a controller, up to the first that is refused. It returns how many it has created before it returns.
func (p *pass) createPods(owner cluster.Object, prototype *v1.Pod, count int, pod func(i int) *v1.Pod) (made int, err error) {
	return p.createBatches(owner, prototype, count, controller.SlowStartInitialBatchSize, pod)
}

// createBatches creates the pods in batches, each twice as large as the one before. After each batch other controllers may have their turn.
// See slowStartBatch in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/replicaset/replica_set.go.
func (p *pass) createBatches(owner cluster.Object, prototype *v1.Pod, count, batch int, pod func(i int) *v1.Pod) (made int, err error) {
	err = p.doInTurn(owner, func() error {
		now := count
		if len(p.waiting) > 0 && count > batch && p.Rand.IntN(2) == 0 {
			now = batch
		}
		for made < now {
			if err := p.admitAndCharge(prototype); err != nil {
				return p.refusePods(owner, count-made, err)
			}
			p.putNewPod(pod(made))
			made++
		}
		if now == count {
			return nil
		}
		_, err := p.createBatches(owner, prototype, count-now, 2*batch, func(i int) *v1.Pod { return pod(now + i) })
		return err
	})
	return made, err
}

// kindQueue has the objects of one kind, in order of arrival, and a function that syncs one of them.
type kindQueue struct {
	count int
	get   func(i int) cluster.Object
	sync  func(i int) error
	// arrivals are the turns of the objects; nil if their arrivals are.
	arrivals []int
	// next is the index of the object whose turn is next, and arrival is that turn.
	next, arrival int
}

func newKindQueue[T cluster.Object](objs []T, sync func(T) error) *kindQueue {
	return &kindQueue{count: len(objs), get: func(i int) cluster.Object { return objs[i] }, sync: func(i int) error { return sync(objs[i]) }}
}

// inOrderOfArrival syncs the objects of all kinds. Objects of one kind keep their order, and an error ends the syncs of its kind. With a
// random generator the kind that comes next is random: in a real cluster each kind has its own controller.
func inOrderOfArrival(s *cluster.State, random *rand.Rand, kinds ...*kindQueue) error {
	done := func(k *kindQueue) bool { return k.next == k.count }
	kinds = slices.DeleteFunc(kinds, done)
	arrive := func(k *kindQueue) {
		if k.arrivals != nil {
			k.arrival = k.arrivals[k.next]
		} else {
			k.arrival = s.Arrival(k.get(k.next))
		}
	}
	for _, k := range kinds {
		arrive(k)
	}
	var problems []error
	for len(kinds) > 0 {
		first := slices.MinFunc(kinds, func(a, b *kindQueue) int { return a.arrival - b.arrival })
		if random != nil {
			first = kinds[random.IntN(len(kinds))]
		}
		if err := first.sync(first.next); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", cluster.RefTo(first.get(first.next)).Describe(), err))
			first.next = first.count - 1
		}
		if first.next++; done(first) {
			kinds = slices.DeleteFunc(kinds, done)
		} else if len(kinds) > 1 {
			arrive(first)
		}
	}
	return errors.Join(problems...)
}
