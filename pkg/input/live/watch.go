package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/input/recording"
)

// Change is an event in the cluster. If Err is set, it is the last one, and says why there are no more.
type Change struct {
	recording.Event
	Err error
}

// maxAttempts is how often to restart a watch while no server answers: for two minutes.
const maxAttempts = 15

// Watch sends the objects of the dump, and then the events after it, until the context ends. The order is that in which they arrive.
func (c *Client) Watch(ctx context.Context, d *Dump) (<-chan Change, error) {
	served, err := c.served(ctx)
	if err != nil {
		return nil, err
	}
	changes := make(chan Change, 1000)
	watched := map[string]*watch{}
	for _, k := range kinds {
		version, read := d.ResourceVersions[k.name]
		if gv, found := served.versions[k.GroupResource]; found && read {
			watched[k.name] = &watch{Client: c, kind: k, version: gv, since: version, known: map[string]string{}, changes: changes}
		}
	}
	go func() {
		err := Items(d.Open(), func(object []byte) error {
			meta, err := metadata(object)
			if err != nil {
				return err
			}
			w := watched[meta.Kind]
			if w == nil { // a parameter of policies; its changes are not watched
				w = &watch{Client: c, known: map[string]string{}, changes: changes}
			}
			return w.send(ctx, recording.Add, object, meta)
		})
		if err != nil {
			_ = send(ctx, changes, Change{Err: err}) // the watch ends either way
			return
		}
		for _, w := range watched {
			go w.run(ctx)
		}
	}()
	return changes, nil
}

// watch is the watch of one kind.
type watch struct {
	*Client
	kind
	version schema.GroupVersion
	since   string            // the resource version up to which events are known
	known   map[string]string // the resource version of each object, by namespace/name
	changes chan<- Change
}

// errExpired means that the server has forgotten the events since the version that the watch asks for.
var errExpired = errors.New("expired")

// run watches the kind until the context ends, and restarts the watch when the connection ends.
func (w *watch) run(ctx context.Context) {
	for failed := 0; ctx.Err() == nil; {
		before, begun := w.since, time.Now()
		err := w.follow(ctx)
		if errors.Is(err, errExpired) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			err = w.relist(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil, w.since != before:
			failed = 0
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), failed == maxAttempts:
			_ = send(ctx, w.changes, Change{Err: w.problem(watching+w.Resource, err)}) // the watch ends either way
			return
		default:
			failed++
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(begun.Add(time.Duration(failed+1) * time.Second))): // a server that ends each watch at once gets few requests
		}
	}
}

func (w *watch) path() string {
	if w.version.Group == "" {
		return path.Join("/api", w.version.Version, w.Resource)
	}
	return path.Join("/apis", w.version.String(), w.Resource)
}

// follow sends the events of one connection, until the connection ends.
func (w *watch) follow(ctx context.Context) error {
	stream, err := w.rest.Get().AbsPath(w.path()).Param("watch", "true").Param("allowWatchBookmarks", "true").Param("resourceVersion", w.since).Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	decoder := json.NewDecoder(stream)
	for {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := decoder.Decode(&event); err != nil {
			return nil // the caller restarts the watch where this one ended
		}
		if event.Type == "ERROR" {
			var status metav1.Status
			if err := json.Unmarshal(event.Object, &status); err == nil && status.Code == 410 {
				return errExpired
			}
			return errors.New(cmp.Or(status.Message, "the server ended the watch"))
		}
		meta, err := metadata(event.Object)
		if err != nil {
			return &unreadable{err}
		}
		what := map[string]string{"ADDED": recording.Add, "MODIFIED": recording.Update, "DELETED": recording.Delete}[event.Type]
		if what != "" {
			if err := w.send(ctx, what, event.Object, meta); err != nil {
				return err
			}
		}
		w.since = meta.ResourceVersion // also for a bookmark
	}
}

// relist reads all objects of the kind again, and sends the differences as events.
func (w *watch) relist(ctx context.Context) error {
	r := &reader{Client: w.Client, dump: &Dump{ResourceVersions: map[string]string{}, Counts: map[string]int{}}}
	packed, err := r.read(ctx, w.kind, w.version)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	take := func(object []byte) error {
		meta, err := metadata(object)
		if err != nil {
			return err
		}
		name := meta.Namespace + "/" + meta.Name
		there[name] = true
		version, known := w.known[name]
		switch {
		case !known:
			return w.send(ctx, recording.Add, object, meta)
		case version != meta.ResourceVersion:
			return w.send(ctx, recording.Update, object, meta)
		}
		return nil
	}
	if err := itemsOf(packed, take); err != nil {
		return err
	}
	for name := range w.known {
		if there[name] {
			continue
		}
		namespace, name, _ := strings.Cut(name, "/")
		meta := object{TypeMeta: metav1.TypeMeta{APIVersion: w.version.String(), Kind: w.kind.name}}
		meta.Namespace, meta.Name = namespace, name
		gone := fmt.Appendf(nil, `{"apiVersion":%s,"kind":%s,"metadata":{"namespace":%s,"name":%s}}`, strconv.Quote(meta.APIVersion), strconv.Quote(meta.Kind), strconv.Quote(namespace), strconv.Quote(name))
		if err := w.send(ctx, recording.Delete, gone, meta); err != nil {
			return err
		}
	}
	w.since = r.dump.ResourceVersions[w.kind.name]
	return nil
}

// send sends an event about an object, and records the version of the object.
func (w *watch) send(ctx context.Context, what string, resource []byte, meta object) error {
	name := meta.Namespace + "/" + meta.Name
	if what == recording.Delete {
		delete(w.known, name)
	} else {
		w.known[name] = meta.ResourceVersion
	}
	event, err := recording.New(time.Now(), what, resource)
	if err != nil {
		return &unreadable{err}
	}
	return send(ctx, w.changes, Change{Event: event})
}

// send sends a change, unless the context ends first.
func send(ctx context.Context, changes chan<- Change, change Change) error {
	select {
	case changes <- change:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// object has the fields of an object that a watch needs.
type object struct {
	metav1.TypeMeta `json:",inline"`
	metadataOf      `json:"metadata"`
}

type metadataOf struct{ Namespace, Name, ResourceVersion string }

func metadata(value []byte) (object, error) {
	var o object
	err := json.Unmarshal(value, &o)
	return o, err
}
