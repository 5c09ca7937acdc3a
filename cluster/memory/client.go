package memory

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
)

// NewClient returns a client of the store with the calls that upstream's store for etcd makes, and no others: it is built as upstream's client
// for etcd is, but has no connection. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apiserver/pkg/storage/storagebackend/factory/etcd3.go.
func NewClient(store *Store) *kubernetes.Client {
	inner := clientv3.NewCtxClient(context.Background())
	c := &client{store: store}
	inner.KV, inner.Watcher, inner.Lease, inner.Maintenance = kv{client: c}, c, lease{client: c}, maintenance{store: store}
	return &kubernetes.Client{Client: inner, Kubernetes: c}
}

// client has the calls of one resource's storage.
type client struct {
	store *Store

	mu      sync.Mutex
	watches map[*watch]bool
}

var _ kubernetes.Interface = (*client)(nil)
var _ clientv3.Watcher = (*client)(nil)

// Get reads a key.
func (c *client) Get(_ context.Context, key string, opts kubernetes.GetOptions) (kubernetes.GetResponse, error) {
	read, err := c.store.read(span{from: key}, opts.Revision, 0)
	response := kubernetes.GetResponse{Revision: read.revision}
	if len(read.keys) > 0 {
		response.KV = read.keys[0]
	}
	return response, err
}

// List reads the keys with a prefix.
func (c *client) List(_ context.Context, prefix string, opts kubernetes.ListOptions) (kubernetes.ListResponse, error) {
	keys := span{prefix, clientv3.GetPrefixRangeEnd(prefix)}
	if opts.Continue != "" {
		keys.from = opts.Continue
	}
	read, err := c.store.read(keys, opts.Revision, opts.Limit)
	return kubernetes.ListResponse{Kvs: read.keys, Count: read.count, Revision: read.revision}, err
}

// Count counts the keys with a prefix.
func (c *client) Count(_ context.Context, prefix string, _ kubernetes.CountOptions) (int64, error) {
	read, err := c.store.read(span{prefix, clientv3.GetPrefixRangeEnd(prefix)}, 0, 0)
	return read.count, err
}

// OptimisticPut writes a key unless it has changed after the expected revision; 0 means that the key must be new.
func (c *client) OptimisticPut(_ context.Context, key string, value []byte, expected int64, opts kubernetes.PutOptions) (kubernetes.PutResponse, error) {
	var response kubernetes.PutResponse
	err := c.store.Update(func(w *Writer) error {
		now := w.Get(key)
		if response.Succeeded = modRevision(now) == expected; response.Succeeded {
			c.store.put(key, value, opts.LeaseID)
		} else if opts.GetOnFailure {
			response.KV = now
		}
		response.Revision = w.Revision()
		return nil
	})
	return response, err
}

// OptimisticDelete deletes a key unless it has changed after the expected revision.
func (c *client) OptimisticDelete(_ context.Context, key string, expected int64, opts kubernetes.DeleteOptions) (kubernetes.DeleteResponse, error) {
	var response kubernetes.DeleteResponse
	err := c.store.Update(func(w *Writer) error {
		now := w.Get(key)
		if response.Succeeded = modRevision(now) == expected; response.Succeeded {
			w.Delete(key)
		} else if opts.GetOnFailure {
			response.KV = now
		}
		response.Revision = w.Revision()
		return nil
	})
	return response, err
}

// modRevision is the revision of the key's latest change, or 0 if there is no such key.
func modRevision(kv *mvccpb.KeyValue) int64 {
	if kv == nil {
		return 0
	}
	return kv.ModRevision
}

// deletedKey is the key of an event that says that the key is gone.
func deletedKey(change Change) *mvccpb.KeyValue {
	return &mvccpb.KeyValue{Key: change.Before.Key, ModRevision: change.Revision}
}

// Watch sends the changes of a key, or of the keys with a prefix.
func (c *client) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	op := clientv3.OpGet(key, opts...)
	w := &watch{span: span{key, string(op.RangeBytes())}, prevKV: op.IsPrevKV(), wake: make(chan struct{}, 1)}
	to := make(chan clientv3.WatchResponse, 1)
	if compacted := c.store.open(w, op.Rev()); compacted > 0 {
		to <- clientv3.WatchResponse{Header: header(c.store.currentRevision()), CompactRevision: compacted, Canceled: true}
		close(to)
		return to
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watches == nil {
		c.watches = map[*watch]bool{}
	}
	c.watches[w] = true
	context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watches, w)
	})
	go w.deliver(ctx, c.store, to)
	return to
}

// RequestProgress makes the client's watches say that they have seen everything up to now.
func (c *client) RequestProgress(context.Context) error {
	c.store.mu.Lock() // so that no change comes between the revision and the watches
	defer c.store.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watches {
		w.askProgress(c.store.revision)
	}
	return nil
}

// Close closes nothing: the contexts of the watches end them.
func (c *client) Close() error { return nil }

// kv has the calls with the options of etcd's own client, with which watches read the keys at their beginning.
type kv struct {
	clientv3.KV // nil: the calls that nobody makes
	client      *client
}

// Get reads a key or a range.
func (k kv) Get(_ context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	op := clientv3.OpGet(key, opts...)
	read, err := k.client.store.read(span{key, string(op.RangeBytes())}, op.Rev(), op.Limit())
	if err != nil {
		return nil, err
	}
	response := &clientv3.GetResponse{Header: header(read.revision), Count: read.count, More: read.count > int64(len(read.keys))}
	if !op.IsCountOnly() {
		response.Kvs = read.keys
	}
	return response, nil
}

// GetStream reads a range in one piece.
func (k kv) GetStream(ctx context.Context, key string, opts ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	response, err := k.Get(ctx, key, opts...)
	if err != nil {
		return nil, err
	}
	to := make(chan clientv3.RangeStreamResponse, 1)
	to <- clientv3.RangeStreamResponse{RangeResponse: (*etcdserverpb.RangeResponse)(response)}
	close(to)
	return to, nil
}

// lease has the call that gives events and leases of API servers their end.
type lease struct {
	clientv3.Lease // nil: the calls that nobody makes
	client         *client
}

// Grant returns a lease of some seconds.
func (l lease) Grant(_ context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) {
	return &clientv3.LeaseGrantResponse{ID: l.client.store.grant(time.Duration(seconds) * time.Second), TTL: seconds}, nil
}

// Close ends no lease.
func (lease) Close() error { return nil }

// maintenance has the call with which the API server measures its storage, for /metrics.
type maintenance struct {
	clientv3.Maintenance // nil: the calls that nobody makes
	store                *Store
}

// Status returns the size of the keys and their values, in bytes.
func (m maintenance) Status(context.Context, string) (*clientv3.StatusResponse, error) {
	return &clientv3.StatusResponse{DbSize: m.store.size()}, nil
}
