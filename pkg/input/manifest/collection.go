package manifest

import (
	"bytes"
	"context"
	"runtime"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"

	"github.com/faultline/faultline/pkg/cluster"
)

// collection gathers the objects in the files, and the problems with them.
type collection struct {
	ctx   context.Context // ends the reading when it is done; may be nil
	stop  context.CancelCauseFunc
	most  map[string]int           // maximum number of objects by kind
	left  map[string]*atomic.Int64 // how many more objects may be read, by kind
	set   Set
	errs  []error
	names map[cluster.Ref]Object
}

func newCollection(ctx context.Context, most map[string]int) *collection {
	c := &collection{most: most, left: map[string]*atomic.Int64{}}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	for kind, n := range most {
		c.left[kind] = new(atomic.Int64)
		c.left[kind].Store(int64(n))
	}
	return c
}

// ended reports whether the reading must end.
func (c *collection) ended() bool { return c.ctx != nil && c.ctx.Err() != nil }

// count ends the reading if there are too many objects of a kind. Several goroutines call it as soon as objects are decoded.
func (c *collection) count(made outcome) {
	for _, obj := range made.Objects {
		kind := cluster.KindOf(obj.Object)
		if left := c.left[kind]; left != nil && left.Add(-1) < 0 {
			c.stop(&TooManyError{kind, c.most[kind]})
		}
	}
}

// decode adds the content of one file and returns the number of its documents.
func (c *collection) decode(file string, data []byte) int {
	if c.decodeList(file, bytes.NewReader(data)) {
		return 1
	}
	return c.decodeWhole(file, data)
}

// decodeWhole is decode for a file that is not a List.
func (c *collection) decodeWhole(file string, data []byte) int {
	documents, errs := documentsOf(file, data)
	c.errs = append(c.errs, errs...)
	var items []item
	for _, d := range documents {
		items = append(items, expand(d)...)
	}
	// Objects do not depend on each other, and a dump can have tens of thousands.
	outcomes := make([]outcome, len(items))
	workqueue.ParallelizeUntil(c.ctx, runtime.GOMAXPROCS(0), len(items), func(i int) {
		outcomes[i] = items[i].decode()
		c.count(outcomes[i])
	})
	for _, o := range outcomes {
		c.add(o)
	}
	return len(documents)
}

func (c *collection) add(o outcome) {
	c.errs = append(c.errs, o.errs...)
	c.set.Ignored = append(c.set.Ignored, o.Ignored...)
	c.set.Flaws = append(c.set.Flaws, o.Flaws...)
	c.set.Kind = c.set.Kind || o.Kind
	c.set.SchedulerConfigs = append(c.set.SchedulerConfigs, o.SchedulerConfigs...)
	for _, obj := range o.Objects {
		id := cluster.RefTo(obj.Object)
		first, found := c.names[id]
		if !found {
			if c.names == nil {
				c.names = map[cluster.Ref]Object{}
			}
			c.names[id] = obj
			c.set.Objects = append(c.set.Objects, obj)
			continue
		}
		// Helm charts and kustomizations often bring the same namespace along.
		if _, namespace := obj.Object.(*v1.Namespace); namespace && apiequality.Semantic.DeepEqual(first.Object, obj.Object) {
			continue
		}
		c.errs = append(c.errs, obj.Source.errorf("%s: already defined in %s; remove or rename one of them",
			id.Describe(), first.Source))
	}
}

func (c *collection) result() (*Set, error) {
	if c.ended() {
		return nil, context.Cause(c.ctx)
	}
	if len(c.errs) > 0 {
		return nil, join(c.errs)
	}
	return &c.set, nil
}
