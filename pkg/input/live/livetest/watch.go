package livetest

import (
	"encoding/json"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/list"
)

// Emit makes an event: ADDED, MODIFIED or DELETED, with the object in JSON. Watches then send the event, and lists have the changed
// object. The cluster must have the kind.
func (c *Cluster) Emit(what, object string) {
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal([]byte(object), &meta); err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.addResource(meta.GroupVersionKind())
	c.lists[at] = list.Without(c.lists[at], func(item json.RawMessage) bool {
		var other metav1.PartialObjectMetadata
		return json.Unmarshal(item, &other) == nil && other.Name == meta.Name && other.Namespace == meta.Namespace
	})
	if what != "DELETED" {
		c.lists[at] = append(c.lists[at], json.RawMessage(object))
	}
	c.events = append(c.events, event{at, what, json.RawMessage(object)})
	close(c.changed)
	c.changed = make(chan struct{})
}

// Expire ends the watches, and makes the cluster forget all events so far, as after a compaction. A watch from an earlier version gets 410
// Gone.
func (c *Cluster) Expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, event{}) // an event elsewhere, so that every known version is too old
	c.expired = len(c.events)
	close(c.changed)
	c.changed = make(chan struct{})
}

type event struct {
	at, what string
	object   json.RawMessage
}

// firstVersion is the version of the lists before anything happened.
const firstVersion = 70000

// serveWatch sends the events of a resource's objects, with a resource version for each event.
func (c *Cluster) serveWatch(w http.ResponseWriter, r *http.Request) {
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	begun := -1
	for next := since - firstVersion; ; {
		c.mu.Lock()
		all, forgotten, woken := c.events, c.expired, c.changed
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

// version returns the resource version of a list.
func (c *Cluster) version() string { return strconv.Itoa(firstVersion + len(c.events)) }
