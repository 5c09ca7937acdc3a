package manifest

import (
	"bytes"
	"context"
	"runtime"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"

	"github.com/faultline/faultline/pkg/cluster"
)

// collection gathers what the files hold and all that is wrong with them.
type collection struct {
	set   Set
	errs  []error
	names map[cluster.Ref]Object
}

// decode adds what one file holds and returns the number of its documents.
func (c *collection) decode(file string, data []byte) int {
	if c.decodeList(file, bytes.NewReader(data)) {
		return 1
	}
	return c.decodeWhole(file, data)
}

// decodeWhole is decode for what is no List.
func (c *collection) decodeWhole(file string, data []byte) int {
	documents, errs := split(file, data)
	c.errs = append(c.errs, errs...)
	var items []item
	for _, d := range documents {
		items = append(items, expand(d)...)
	}
	// Objects do not depend on each other, and a dump can have tens of thousands.
	outcomes := make([]outcome, len(items))
	workqueue.ParallelizeUntil(context.Background(), runtime.GOMAXPROCS(0), len(items), func(i int) { outcomes[i] = items[i].decode() })
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
	if len(c.errs) > 0 {
		return nil, join(c.errs)
	}
	return &c.set, nil
}
