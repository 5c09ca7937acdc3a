package memory

import (
	"context"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// maxUnread is how many changes a watch may lag behind. A watch that lags further ends as if the changes were compacted, and its client lists
// anew, so that a client that never reads does not fill the memory.
const maxUnread = keptChanges

// watch hands the changes of some keys to a channel.
type watch struct {
	span   span
	prevKV bool
	wake   chan struct{} // has room for one

	mu     sync.Mutex
	unread []Change
	asked  int64 // the revision of a progress notification that is due, or 0
	lags   bool
}

// send adds a change to the unread ones. The caller holds the store's mu.
func (w *watch) send(change Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.unread) >= maxUnread {
		w.unread, w.lags = nil, true
	} else if !w.lags {
		w.unread = append(w.unread, change)
	}
	w.wakeUp()
}

// askProgress makes the watch say that it has seen everything up to a revision.
func (w *watch) askProgress(revision int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = revision
	w.wakeUp()
}

func (w *watch) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default: // it is awake
	}
}

// next returns what the watch has to say.
func (w *watch) next() (unread []Change, progress int64, lags bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	unread, progress, lags = w.unread, w.asked, w.lags
	w.unread, w.asked = nil, 0
	return unread, progress, lags
}

// open opens a watch of the changes from a revision on; 0 means from now on.
func (s *Store) open(w *watch, from int64) (compacted int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from > 0 && from <= s.compacted {
		return s.compacted
	}
	if from > 0 && from <= s.revision {
		for _, change := range s.changes[from-s.compacted-1:] {
			if w.span.contains(change.Key()) {
				w.unread = append(w.unread, change)
			}
		}
		w.wakeUp()
	}
	s.watches[w] = true
	return 0
}

func (s *Store) close(w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watches, w)
}

// deliver sends what the watch has to say until the context ends or the watch lags too far behind.
func (w *watch) deliver(ctx context.Context, store *Store, to chan<- clientv3.WatchResponse) {
	defer close(to)
	defer store.close(w)
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		}
		unread, progress, lags := w.next()
		var responses []clientv3.WatchResponse
		if len(unread) > 0 {
			responses = append(responses, w.response(unread))
		}
		if progress > 0 {
			if len(unread) > 0 {
				progress = max(progress, unread[len(unread)-1].Revision) // a change may have come after the question
			}
			responses = append(responses, clientv3.WatchResponse{Header: header(progress)})
		}
		if lags {
			responses = []clientv3.WatchResponse{{Header: header(store.currentRevision()), CompactRevision: store.currentRevision(), Canceled: true}}
		}
		for _, response := range responses {
			select {
			case <-ctx.Done():
				return
			case to <- response:
			}
		}
		if lags {
			return
		}
	}
}

func (w *watch) response(changes []Change) clientv3.WatchResponse {
	response := clientv3.WatchResponse{Header: header(changes[len(changes)-1].Revision)}
	for _, change := range changes {
		event := &clientv3.Event{Type: clientv3.EventTypePut, Kv: change.After}
		if change.After == nil {
			event.Type = clientv3.EventTypeDelete
			event.Kv = deletedKey(change)
		}
		if w.prevKV {
			event.PrevKv = change.Before
		}
		response.Events = append(response.Events, event)
	}
	return response
}

func header(revision int64) *etcdserverpb.ResponseHeader {
	return &etcdserverpb.ResponseHeader{Revision: revision}
}
