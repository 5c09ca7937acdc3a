package manifest

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"

	"github.com/faultline/faultline/pkg/cluster"
)

// collection gathers the objects in the files, and the problems with them.
type collection struct {
	ctx  context.Context // its end ends the reading; may be nil
	stop context.CancelCauseFunc
	most map[string]int           // maximum number of objects by kind
	left map[string]*atomic.Int64 // how many more objects may be read, by kind
	set  Set
	errs []error
	// The places of objects and of ignored objects in the set, and the flaws so far, without their sources.
	at        map[cluster.Ref]int
	ignoredAt map[ignoredID]int
	seenFlaws map[Flaw]bool
	pages     []page
	// documents is the number of documents so far. lists means that a folder was read, or a document with several objects, as in dumps.
	documents int
	lists     bool
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

// ended reports whether the reading must end: its context ended, or there are too many objects of a kind.
func (c *collection) ended() bool { return c.ctx != nil && c.ctx.Err() != nil }

// countObjects counts decoded objects, and ends the reading if there are too many of a kind. Several goroutines call it.
func (c *collection) countObjects(made outcome) {
	for _, obj := range made.Objects {
		kind := cluster.KindOf(obj.Object)
		if left := c.left[kind]; left != nil && left.Add(-1) < 0 {
			c.stop(&TooManyError{kind, c.most[kind]})
		}
	}
}

// decodeBytes adds the content of one file and returns the number of its documents.
func (c *collection) decodeBytes(file string, data []byte) int {
	text, err := plainText(data)
	if err != nil {
		c.errs = append(c.errs, readError(file, err))
		return 0
	}
	read, ok := c.decodeList(file, bytes.NewReader(text))
	if !ok {
		read = c.decodeWhole(file, text)
	}
	return c.addFile(read, false)
}

// decodeWhole decodes a file that is not a List.
func (c *collection) decodeWhole(file string, data []byte) decoded {
	documents, errs := readDocuments(file, data)
	read := decoded{file: file, documents: len(documents), errs: errs}
	read.foreign = len(errs) > 0 && !objectFields.Match(data)
	var items []item
	for _, d := range documents {
		items = append(items, expandDocument(d)...)
	}
	// Objects do not depend on each other, and a dump can have tens of thousands.
	read.outcomes = make([]outcome, len(items))
	workqueue.ParallelizeUntil(c.ctx, runtime.GOMAXPROCS(0), len(items), func(i int) {
		read.outcomes[i] = items[i].decode()
		c.countObjects(read.outcomes[i])
	})
	read.movePages()
	return read
}

// addFile adds the content of a file, and returns the number of its documents. It skips a file of a folder that has no Kubernetes object.
func (c *collection) addFile(read decoded, inFolder bool) (documents int) {
	if inFolder && read.isForeign() {
		c.set.Skipped = append(c.set.Skipped, read.asSkipped())
		return 0
	}
	c.errs = append(c.errs, read.errs...)
	c.pages = append(c.pages, read.pages...)
	for _, o := range read.outcomes {
		c.addOutcome(o)
	}
	c.documents += read.documents
	c.lists = c.lists || inFolder || len(read.outcomes) > read.documents
	return read.documents
}

// addOutcome adds the outcome of one item to the set.
func (c *collection) addOutcome(o outcome) {
	c.errs = append(c.errs, o.errs...)
	c.set.Kind = c.set.Kind || o.Kind
	c.set.SchedulerConfigs = append(c.set.SchedulerConfigs, o.SchedulerConfigs...)
	for _, ignored := range o.Ignored {
		c.addIgnored(ignored)
	}
	for _, flaw := range o.Flaws {
		said := flaw
		said.Source = Source{}
		if !c.seenFlaws[said] { // a dump can have an object in several files
			if c.seenFlaws == nil {
				c.seenFlaws = map[Flaw]bool{}
			}
			c.seenFlaws[said] = true
			c.set.Flaws = append(c.set.Flaws, flaw)
		}
	}
	for _, obj := range o.Objects {
		c.addObject(obj)
	}
}

// result returns the set, or one error with all problems.
func (c *collection) result() (*Set, error) {
	if c.ended() {
		return nil, context.Cause(c.ctx)
	}
	if errs := slices.Concat(c.errs, unfinishedPages(c.pages)); len(errs) > 0 {
		return nil, joinErrors(errs)
	}
	c.set.separateUIDs()
	c.set.linkOwners()
	c.orderDump()
	return &c.set, nil
}
