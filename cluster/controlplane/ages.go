package controlplane

import (
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// ages has when objects of the world came to be, by the cluster's time, to the second. Their own timestamps are in the clock's time, in which
// much may happen in one second. It is safe for concurrent use.
type ages struct {
	mu sync.Mutex
	of map[types.UID]times
}

// times are the times of one object.
type times struct {
	created time.Time
	// first and last are when an event happened first and last; of a Job, when it began and ended.
	first, last time.Time
}

func newAges() *ages { return &ages{of: map[types.UID]times{}} }

// note keeps the times of an object.
func (a *ages) note(obj cluster.Object) {
	t := times{created: obj.GetCreationTimestamp().Time}
	if job, is := obj.(*batchv1.Job); is && job.Status.StartTime != nil {
		t.first = job.Status.StartTime.Time
		if end := job.Status.CompletionTime; end != nil {
			t.last = end.Time
		}
	}
	a.set(obj.GetUID(), t)
}

func (a *ages) set(uid types.UID, t times) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of[uid] = t
}

func (a *ages) forget(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.of, uid)
}

func (a *ages) find(uid types.UID) (times, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, known := a.of[uid]
	return t, known
}
