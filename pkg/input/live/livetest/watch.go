package livetest

import (
	"encoding/json"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/list"
)

// Happen has something happen to an object, whose kind the cluster has: ADDED, MODIFIED or DELETED. Watches send it, lists have it.
func (c *Cluster) Happen(what, object string) {
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal([]byte(object), &meta); err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.resource(meta.GroupVersionKind())
	c.lists[at] = list.Without(c.lists[at], func(item json.RawMessage) bool {
		var other metav1.PartialObjectMetadata
		return json.Unmarshal(item, &other) == nil && other.Name == meta.Name && other.Namespace == meta.Namespace
	})
	if what != "DELETED" {
		c.lists[at] = append(c.lists[at], json.RawMessage(object))
	}
	c.happened = append(c.happened, happened{at, what, json.RawMessage(object)})
	close(c.woken)
	c.woken = make(chan struct{})
}

// Expire ends the watches, and has the cluster forget what happened so far, as after a compaction: watches that begin before get 410 Gone.
func (c *Cluster) Expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.happened = append(c.happened, happened{}) // something elsewhere, so that every watch has to begin before
	c.forgotten = len(c.happened)
	close(c.woken)
	c.woken = make(chan struct{})
}

type happened struct {
	at, what string
	object   json.RawMessage
}

// firstVersion is the version of the lists before anything happened.
const firstVersion = 70000

// watch sends what happens to the objects of a resource, with a version for each event.
func (c *Cluster) watch(w http.ResponseWriter, r *http.Request) {
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	begun := -1
	for next := since - firstVersion; ; {
		c.mu.Lock()
		all, forgotten, woken := c.happened, c.forgotten, c.woken
		c.mu.Unlock()
		if begun < 0 {
			begun = forgotten
			if next < forgotten {
				_ = encoder.Encode(map[string]any{"type": "ERROR", "object": metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired}})
				return
			}
		}
		for ; next < len(all); next++ {
			if all[next].at != r.URL.Path {
				continue
			}
			var fields map[string]any
			_ = json.Unmarshal(all[next].object, &fields) // it was read before
			fields["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(firstVersion + next + 1)
			_ = encoder.Encode(map[string]any{"type": all[next].what, "object": fields})
		}
		w.(http.Flusher).Flush()
		if begun < forgotten {
			return
		}
		select {
		case <-woken:
		case <-r.Context().Done():
			return
		}
	}
}

// version returns that of a list.
func (c *Cluster) version() string { return strconv.Itoa(firstVersion + len(c.happened)) }
