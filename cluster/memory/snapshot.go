package memory

import (
	"container/heap"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Snapshot is what a store has at one moment, without what came before.
type Snapshot struct {
	Revision int64 `json:"revision"`
	Keys     []Key `json:"keys"`
}

// Key is a key of a snapshot.
type Key struct {
	Name    string `json:"name"`
	Value   []byte `json:"value"`
	Created int64  `json:"created"` // revision
	Changed int64  `json:"changed"` // revision
	Version int64  `json:"version"`
	// Ends is the time after which the store deletes the key, in seconds; 0 if it never does.
	Ends float64 `json:"ends,omitempty"`
}

// Snapshot returns what the store has.
func (w *Writer) Snapshot() Snapshot {
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	ends := map[int64]float64{}
	for _, end := range s.ends {
		ends[int64(end.lease)] = max(0.001, time.Until(end.at.Add(-s.skipped)).Seconds())
	}
	taken := Snapshot{Revision: s.revision}
	s.keys.Ascend(func(kv *mvccpb.KeyValue) bool {
		taken.Keys = append(taken.Keys, Key{string(kv.Key), kv.Value, kv.CreateRevision, kv.ModRevision, kv.Version, ends[kv.Lease]})
		return true
	})
	return taken
}

// Restore returns a store with what a snapshot has. Watches and lists of an earlier revision begin anew.
func Restore(from Snapshot) *Store {
	s := NewStore()
	s.revision, s.compacted = from.Revision, from.Revision
	for _, key := range from.Keys {
		kv := &mvccpb.KeyValue{Key: []byte(key.Name), Value: key.Value, CreateRevision: key.Created, ModRevision: key.Changed, Version: key.Version}
		if key.Ends > 0 {
			s.leased++
			kv.Lease = int64(s.leased)
			s.leases[s.leased] = map[string]bool{key.Name: true}
			heap.Push(&s.ends, leaseEnd{time.Now().Add(time.Duration(key.Ends * float64(time.Second))), s.leased})
		}
		s.keys.ReplaceOrInsert(kv)
	}
	s.setAlarm()
	return s
}
