// Package memory keeps what an API server stores in memory: the keys, their values, and the latest changes. It stands where etcd stands, below
// the store that upstream has written for etcd, which is used unchanged:
//
//	k8s.io/apiserver/pkg/storage/etcd3 ─▶ clientv3.Client ─▶ [Store]
package memory

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/google/btree"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// keptChanges is how many changes a store keeps for watches that resume and for lists of an earlier revision. A pod's change is about 1.4 kB.
const keptChanges = 16384

// Store has the keys of an API server. Each change has a revision of its own, one more than the change before. A Store is safe for concurrent
// use. A KeyValue in a store is never changed.
type Store struct {
	// writing is held while something changes, by a request or by Update. It is locked before mu.
	writing sync.Mutex

	mu        sync.Mutex
	keys      *btree.BTreeG[*mvccpb.KeyValue]
	revision  int64
	compacted int64    // the revision before the first kept change
	changes   []Change // the change of revision compacted+1, and the later ones
	watches   map[*watch]bool
	leases    map[clientv3.LeaseID]map[string]bool // the keys that end with a lease
	leased    clientv3.LeaseID                     // the latest lease
	ends      leaseEnds
	skipped   time.Duration // how far the time of leases is ahead of the clock
	alarm     *time.Timer   // goes off when the next lease ends; nil before the first one
}

// Change is a change of one key.
type Change struct {
	// Before is nil if the key is new. After is nil if the key was deleted.
	Before, After *mvccpb.KeyValue
	Revision      int64
}

// Key is the key that has changed.
func (c *Change) Key() string {
	if c.After != nil {
		return string(c.After.Key)
	}
	return string(c.Before.Key)
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{
		keys:     btree.NewG(32, func(a, b *mvccpb.KeyValue) bool { return string(a.Key) < string(b.Key) }),
		revision: 1, compacted: 1, // like etcd, whose empty store has revision 1
		watches: map[*watch]bool{},
		leases:  map[clientv3.LeaseID]map[string]bool{},
	}
}

// Update calls f, which may read and write. Nobody else writes until f returns; reads go on.
func (s *Store) Update(f func(w *Writer) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return f(&Writer{s})
}

// Writer reads and writes a store during Update.
type Writer struct{ store *Store }

// Revision is the revision of the latest change.
func (w *Writer) Revision() int64 { return w.store.currentRevision() }

// Changes returns the changes after a revision. It reports false if the store does not keep all of them any more.
func (w *Writer) Changes(after int64) ([]Change, bool) {
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if after < s.compacted {
		return nil, false
	}
	return slices.Clone(s.changes[after-s.compacted:]), true
}

// Get returns a key's value, or nil if the store lacks the key.
func (w *Writer) Get(key string) *mvccpb.KeyValue { return w.store.get(key) }

// List returns the keys with the prefix, sorted, and their values.
func (w *Writer) List(prefix string) []*mvccpb.KeyValue {
	read, _ := w.store.read(span{prefix, clientv3.GetPrefixRangeEnd(prefix)}, 0, 0)
	return read.keys
}

// Put writes a key, and returns the revision.
func (w *Writer) Put(key string, value []byte) int64 {
	return w.store.put(key, value, clientv3.NoLease)
}

// PutFor writes a key that the store deletes after the given time.
func (w *Writer) PutFor(length time.Duration, key string, value []byte) {
	w.store.put(key, value, w.store.grant(length))
}

// Delete deletes a key, and returns the revision.
func (w *Writer) Delete(key string) int64 { return w.store.delete(key) }

func (s *Store) currentRevision() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// size is the size of the keys and their values, in bytes.
func (s *Store) size() (size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys.Ascend(func(kv *mvccpb.KeyValue) bool {
		size += int64(len(kv.Key) + len(kv.Value))
		return true
	})
	return size
}

func (s *Store) get(key string) *mvccpb.KeyValue {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, _ := s.keys.Get(&mvccpb.KeyValue{Key: []byte(key)})
	return found
}

// put writes a key. The caller holds writing.
func (s *Store) put(key string, value []byte, lease clientv3.LeaseID) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	next := &mvccpb.KeyValue{Key: []byte(key), Value: value, CreateRevision: s.revision, ModRevision: s.revision, Version: 1, Lease: int64(lease)}
	before, existed := s.keys.Get(next)
	if existed {
		next.CreateRevision, next.Version = before.CreateRevision, before.Version+1
		delete(s.leases[clientv3.LeaseID(before.Lease)], key)
	}
	if keys := s.leases[lease]; keys != nil {
		keys[key] = true
	}
	s.keys.ReplaceOrInsert(next)
	s.publish(Change{before, next, s.revision})
	return s.revision
}

// delete deletes a key, if the store has it. The caller holds writing.
func (s *Store) delete(key string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, existed := s.keys.Delete(&mvccpb.KeyValue{Key: []byte(key)})
	if !existed {
		return s.revision
	}
	s.revision++
	delete(s.leases[clientv3.LeaseID(before.Lease)], key)
	s.publish(Change{before, nil, s.revision})
	return s.revision
}

// publish keeps a change and hands it to the watches of its key. The caller holds mu.
func (s *Store) publish(change Change) {
	s.changes = append(s.changes, change)
	if len(s.changes) >= 2*keptChanges { // in one go, so that a change costs constant time
		s.compact(s.revision - keptChanges)
	}
	key := change.Key()
	for w := range s.watches {
		if w.span.contains(key) {
			w.send(change)
		}
	}
}

// compact forgets the changes up to a revision. The caller holds mu.
func (s *Store) compact(revision int64) {
	if revision > s.compacted {
		s.changes = slices.Clone(s.changes[revision-s.compacted:])
		s.compacted = revision
	}
}

// span are the keys from one on and before another. Without an end it is a single key.
type span struct{ from, end string }

func (s span) contains(key string) bool {
	if s.end == "" {
		return key == s.from
	}
	return s.from <= key && key < s.end
}

// reading is the answer to a read.
type reading struct {
	keys []*mvccpb.KeyValue
	// count counts the keys of the span, even those beyond the limit.
	count, revision int64
}

// read returns the keys of a span at a revision, 0 being the latest, and at most limit keys unless limit is 0.
func (s *Store) read(keys span, revision, limit int64) (reading, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case revision > s.revision:
		return reading{}, rpctypes.ErrFutureRev
	case revision > 0 && revision < s.compacted:
		return reading{}, rpctypes.ErrCompacted
	}
	found := s.readLatest(keys)
	if revision > 0 && revision < s.revision {
		found = s.undoChanges(found, keys, revision)
	}
	result := reading{keys: found, count: int64(len(found)), revision: s.revision}
	if limit > 0 && limit < result.count {
		result.keys = found[:limit]
	}
	return result, nil
}

func (s *Store) readLatest(keys span) []*mvccpb.KeyValue {
	from := &mvccpb.KeyValue{Key: []byte(keys.from)}
	if keys.end == "" {
		if one, ok := s.keys.Get(from); ok {
			return []*mvccpb.KeyValue{one}
		}
		return nil
	}
	var found []*mvccpb.KeyValue
	s.keys.AscendRange(from, &mvccpb.KeyValue{Key: []byte(keys.end)}, func(kv *mvccpb.KeyValue) bool {
		found = append(found, kv)
		return true
	})
	return found
}

// undoChanges returns the keys as they were at a revision.
func (s *Store) undoChanges(latest []*mvccpb.KeyValue, keys span, revision int64) []*mvccpb.KeyValue {
	then := make(map[string]*mvccpb.KeyValue, len(latest))
	for _, kv := range latest {
		then[string(kv.Key)] = kv
	}
	for _, change := range slices.Backward(s.changes[revision-s.compacted:]) {
		if key := change.Key(); !keys.contains(key) {
			continue
		} else if change.Before != nil {
			then[key] = change.Before
		} else {
			delete(then, key)
		}
	}
	found := make([]*mvccpb.KeyValue, 0, len(then))
	for _, kv := range then {
		found = append(found, kv)
	}
	slices.SortFunc(found, func(a, b *mvccpb.KeyValue) int { return cmp.Compare(string(a.Key), string(b.Key)) })
	return found
}
