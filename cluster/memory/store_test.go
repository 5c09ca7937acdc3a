package memory

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
)

// keysAt returns the keys with a prefix at a revision, with their values.
func keysAt(t *testing.T, c *kubernetes.Client, prefix string, opts kubernetes.ListOptions) (found []string, count int64) {
	t.Helper()
	list, err := c.Kubernetes.List(t.Context(), prefix, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range list.Kvs {
		found = append(found, string(kv.Key)+"="+string(kv.Value))
	}
	return found, list.Count
}

func put(t *testing.T, c *kubernetes.Client, key, value string, expected int64) kubernetes.PutResponse {
	t.Helper()
	response, err := c.Kubernetes.OptimisticPut(t.Context(), key, []byte(value), expected, kubernetes.PutOptions{GetOnFailure: true})
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// Each change has the next revision. What has changed since the expected revision stays as it is, and the answer has it.
func TestOptimisticChanges(t *testing.T) {
	c := NewClient(NewStore())
	first := put(t, c, "/a", "1", 0)
	if !first.Succeeded || first.Revision != 2 {
		t.Errorf("%+v", first)
	}
	if again := put(t, c, "/a", "2", 0); again.Succeeded || string(again.KV.Value) != "1" || again.Revision != 2 {
		t.Errorf("a second creation: %+v", again)
	}
	if second := put(t, c, "/a", "2", 2); !second.Succeeded || second.Revision != 3 {
		t.Errorf("%+v", second)
	}
	deleted, err := c.Kubernetes.OptimisticDelete(t.Context(), "/a", 2, kubernetes.DeleteOptions{GetOnFailure: true})
	if err != nil || deleted.Succeeded || string(deleted.KV.Value) != "2" {
		t.Errorf("%+v, %v", deleted, err)
	}
	if deleted, err = c.Kubernetes.OptimisticDelete(t.Context(), "/a", 3, kubernetes.DeleteOptions{}); err != nil || !deleted.Succeeded || deleted.Revision != 4 {
		t.Errorf("%+v, %v", deleted, err)
	}
	got, err := c.Kubernetes.Get(t.Context(), "/a", kubernetes.GetOptions{})
	if err != nil || got.KV != nil || got.Revision != 4 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A list sees the keys as they were at its revision, in pieces if there is a limit.
func TestListAtRevision(t *testing.T) {
	c := NewClient(NewStore())
	put(t, c, "/p/a", "1", 0) // revision 2
	put(t, c, "/p/b", "1", 0)
	put(t, c, "/q/a", "1", 0)
	put(t, c, "/p/a", "2", 2) // revision 5
	if _, err := c.Kubernetes.OptimisticDelete(t.Context(), "/p/b", 3, kubernetes.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	put(t, c, "/p/c", "1", 0) // revision 7
	for _, test := range []struct {
		opts  kubernetes.ListOptions
		want  []string
		count int64
	}{
		{kubernetes.ListOptions{}, []string{"/p/a=2", "/p/c=1"}, 2},
		{kubernetes.ListOptions{Revision: 7}, []string{"/p/a=2", "/p/c=1"}, 2},
		{kubernetes.ListOptions{Revision: 5}, []string{"/p/a=2", "/p/b=1"}, 2},
		{kubernetes.ListOptions{Revision: 4}, []string{"/p/a=1", "/p/b=1"}, 2},
		{kubernetes.ListOptions{Revision: 2}, []string{"/p/a=1"}, 1},
		{kubernetes.ListOptions{Revision: 5, Limit: 1}, []string{"/p/a=2"}, 2},
		{kubernetes.ListOptions{Revision: 5, Limit: 1, Continue: "/p/a\x00"}, []string{"/p/b=1"}, 1},
	} {
		found, count := keysAt(t, c, "/p/", test.opts)
		if diff := cmp.Diff(test.want, found); diff != "" || count != test.count {
			t.Errorf("%+v: count %d, want %d (-want +got):\n%s", test.opts, count, test.count, diff)
		}
	}
	if _, err := c.Kubernetes.List(t.Context(), "/p/", kubernetes.ListOptions{Revision: 8}); !errors.Is(err, rpctypes.ErrFutureRev) {
		t.Errorf("a revision to come: %v", err)
	}
}

// describe returns an event as its type, key and values.
func describe(e *clientv3.Event) string {
	value := func(kv *mvccpb.KeyValue) string {
		if kv == nil {
			return "-"
		}
		return string(kv.Value)
	}
	return fmt.Sprintf("%s %s %s>%s @%d", e.Type, e.Kv.Key, value(e.PrevKv), value(e.Kv), e.Kv.ModRevision)
}

// A watch has all changes of its keys from its revision on, in order, and says how far it is when it is asked.
func TestWatch(t *testing.T) {
	c := NewClient(NewStore())
	put(t, c, "/p/a", "1", 0)
	put(t, c, "/q/a", "1", 0)
	put(t, c, "/p/a", "2", 2)
	watch := c.Watch(t.Context(), "/p/", clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithRev(3))
	put(t, c, "/q/b", "1", 0)
	if _, err := c.Kubernetes.OptimisticDelete(t.Context(), "/p/a", 4, kubernetes.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.RequestProgress(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for response := range watch {
		for _, e := range response.Events {
			got = append(got, describe(e))
		}
		if response.IsProgressNotify() {
			got = append(got, fmt.Sprint("progress ", response.Header.Revision))
			break
		}
	}
	if diff := cmp.Diff([]string{"PUT /p/a 1>2 @4", "DELETE /p/a 2> @6", "progress 6"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What the store does not keep any more is an error that makes clients list anew: for a list, for a watch that begins there, and for a watch whose
// client does not read.
func TestCompaction(t *testing.T) {
	store := NewStore()
	c := NewClient(store)
	put(t, c, "/a", "0", 0)
	unread := c.Watch(t.Context(), "/a")
	if err := store.Update(func(w *Writer) error {
		for range 2 * keptChanges {
			w.Put("/a", []byte("1"))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Kubernetes.List(t.Context(), "/", kubernetes.ListOptions{Revision: 2}); !errors.Is(err, rpctypes.ErrCompacted) {
		t.Errorf("a list: %v", err)
	}
	for what, watch := range map[string]clientv3.WatchChan{"from the start": c.Watch(t.Context(), "/a", clientv3.WithRev(2)), "unread": unread} {
		var err error
		for response := range watch {
			err = response.Err()
		}
		if !errors.Is(err, rpctypes.ErrCompacted) {
			t.Errorf("a watch %s: %v", what, err)
		}
	}
	if len(store.watches) > 0 {
		t.Errorf("%d watches are open", len(store.watches))
	}
	if len(store.changes) > 2*keptChanges {
		t.Errorf("%d changes are kept", len(store.changes))
	}
}

// A watch ends with its context, and the store forgets it.
func TestWatchEnds(t *testing.T) {
	store := NewStore()
	ctx, cancel := context.WithCancel(t.Context())
	watch := NewClient(store).Watch(ctx, "/a")
	cancel()
	for range watch { // until it is closed
	}
	store.mu.Lock()
	defer store.mu.Unlock()
	if len(store.watches) > 0 {
		t.Errorf("%d watches are open", len(store.watches))
	}
}

// A key ends with its lease, unless it was written again without one. Leases end in their order, whichever was granted first.
func TestLeases(t *testing.T) {
	store := NewStore()
	for i, key := range []string{"/later", "/kept", "/lost"} {
		lease := store.grant(time.Duration(3-i) * time.Hour)
		if _, err := NewClient(store).Kubernetes.OptimisticPut(t.Context(), key, nil, 0, kubernetes.PutOptions{LeaseID: lease}); err != nil {
			t.Fatal(err)
		}
	}
	put(t, NewClient(store), "/kept", "1", 3)
	for skipped, want := range [][]string{{"/kept=1", "/later=", "/lost="}, {"/kept=1", "/later="}, {"/kept=1", "/later="}, {"/kept=1"}} {
		store.endLeases()
		if found, _ := keysAt(t, NewClient(store), "/", kubernetes.ListOptions{}); !cmp.Equal(found, want) {
			t.Errorf("after %d h: %q, want %q", skipped, found, want)
		}
		store.Skip(time.Hour)
	}
}

// While a writer writes, others read and wait with their changes.
func TestUpdateExcludesWriters(t *testing.T) {
	store := NewStore()
	c, written := NewClient(store), make(chan int64)
	if err := store.Update(func(w *Writer) error {
		go func() {
			response, _ := c.Kubernetes.OptimisticPut(context.Background(), "/b", nil, 0, kubernetes.PutOptions{})
			written <- response.Revision
		}()
		w.Put("/a", []byte("1"))
		if found, _ := keysAt(t, c, "/", kubernetes.ListOptions{}); !cmp.Equal(found, []string{"/a=1"}) {
			t.Errorf("%q", found)
		}
		if w.Put("/a", []byte("2")) != 3 {
			t.Error("somebody wrote between")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if revision := <-written; revision != 4 {
		t.Errorf("revision %d", revision)
	}
}
