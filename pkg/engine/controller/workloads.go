package controller

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/controller"

	"github.com/faultline/faultline/pkg/cluster"
)

// workloads syncs all that makes pods, in order of arrival: each kind has a controller of its own, and in a real cluster they all act at the
// same time.
func (p *pass) workloads() error {
	err := inOrderOfArrival(p.State,
		ofKind(p.ReplicaSets, func(rs *appsv1.ReplicaSet) error { return p.replicaSet(replicated{rs, rs, replicaSetKind}) }),
		ofKind(p.ReplicationControllers, func(rc *v1.ReplicationController) error {
			return p.replicaSet(replicated{p.replicaSetOf(rc), rc, replicationControllerKind})
		}),
		ofKind(p.StatefulSets, p.statefulSet),
		ofKind(p.UnknownOwners, p.unknownOwner),
		ofKind(p.DaemonSets, p.daemonSet),
		ofKind(p.Jobs, p.job))
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

// inTurn does what a controller does for its workload. With random ties it does so only when all controllers have said what they want, so that
// they can come between each other.
func (p *pass) inTurn(owner cluster.Object, do func() error) error {
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

// createPods makes the pods for a controller, up to the first that is refused, and returns how many it has made at once.
func (p *pass) createPods(owner cluster.Object, prototype *v1.Pod, count int, pod func(i int) *v1.Pod) (made int, err error) {
	return p.createBatches(owner, prototype, count, controller.SlowStartInitialBatchSize, pod)
}

// createBatches makes them in batches, each twice as large as the one before, after each of which it may be the turn of others that wait:
// slowStartBatch in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/replicaset/replica_set.go.
func (p *pass) createBatches(owner cluster.Object, prototype *v1.Pod, count, batch int, pod func(i int) *v1.Pod) (made int, err error) {
	err = p.inTurn(owner, func() error {
		now := count
		if len(p.waiting) > 0 && count > batch && p.Rand.IntN(2) == 0 {
			now = batch
		}
		for made < now {
			if err := p.charge(prototype); err != nil {
				return p.refuse(owner, count-made, err)
			}
			p.create(pod(made))
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

// kind are the objects of one kind, in order of arrival, and what syncs one of them.
type kind struct {
	count int
	get   func(i int) cluster.Object
	sync  func(i int) error
	// next is the object whose turn it is, and when it arrived.
	next, arrival int
}

func ofKind[T cluster.Object](objs []T, sync func(T) error) *kind {
	return &kind{count: len(objs), get: func(i int) cluster.Object { return objs[i] }, sync: func(i int) error { return sync(objs[i]) }}
}

// inOrderOfArrival syncs the objects of all kinds. Those of one kind keep their order, and an error ends the syncs of its kind.
func inOrderOfArrival(s *cluster.State, kinds ...*kind) error {
	done := func(k *kind) bool { return k.next == k.count }
	kinds = slices.DeleteFunc(kinds, done)
	for _, k := range kinds {
		k.arrival = s.Arrival(k.get(0))
	}
	var problems []error
	for len(kinds) > 0 {
		first := slices.MinFunc(kinds, func(a, b *kind) int { return a.arrival - b.arrival })
		if err := first.sync(first.next); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", cluster.RefTo(first.get(first.next)).Describe(), err))
			first.next = first.count - 1
		}
		if first.next++; done(first) {
			kinds = slices.DeleteFunc(kinds, done)
		} else if len(kinds) > 1 {
			first.arrival = s.Arrival(first.get(first.next))
		}
	}
	return errors.Join(problems...)
}
