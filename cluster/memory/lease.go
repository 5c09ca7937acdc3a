package memory

import (
	"container/heap"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// leaseEnd is when a lease ends, in the time of leases.
type leaseEnd struct {
	at    time.Time
	lease clientv3.LeaseID
}

// leaseEnds is a heap whose first lease ends first.
type leaseEnds []leaseEnd

func (e leaseEnds) Len() int           { return len(e) }
func (e leaseEnds) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e leaseEnds) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *leaseEnds) Push(end any)      { *e = append(*e, end.(leaseEnd)) }
func (e *leaseEnds) Pop() any {
	last := len(*e) - 1
	end := (*e)[last]
	*e = (*e)[:last]
	return end
}

// grant returns a lease. Keys that are written with the lease are deleted when it ends.
func (s *Store) grant(length time.Duration) clientv3.LeaseID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leased++
	s.leases[s.leased] = map[string]bool{}
	heap.Push(&s.ends, leaseEnd{time.Now().Add(s.skipped + length), s.leased})
	s.setAlarm()
	return s.leased
}

// Skip makes leases end so much earlier: as if that time had passed.
func (s *Store) Skip(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skipped += by
	s.setAlarm()
}

// setAlarm sets the alarm to the end of the next lease. The caller holds mu.
func (s *Store) setAlarm() {
	switch {
	case len(s.ends) == 0:
	case s.alarm == nil:
		s.alarm = time.AfterFunc(s.untilNextEnd(), s.endLeases)
	default:
		s.alarm.Reset(s.untilNextEnd())
	}
}

// untilNextEnd returns how long the clock runs until the next lease ends. The caller holds mu.
func (s *Store) untilNextEnd() time.Duration { return time.Until(s.ends[0].at.Add(-s.skipped)) }

// endLeases ends the leases whose time has come, and deletes their keys.
func (s *Store) endLeases() {
	s.writing.Lock()
	defer s.writing.Unlock()
	var keys []string
	s.mu.Lock()
	for len(s.ends) > 0 && s.untilNextEnd() <= 0 {
		lease := heap.Pop(&s.ends).(leaseEnd).lease
		for key := range s.leases[lease] {
			keys = append(keys, key)
		}
		delete(s.leases, lease)
	}
	s.setAlarm()
	s.mu.Unlock()
	slices.Sort(keys)
	for _, key := range keys {
		s.delete(key)
	}
}
