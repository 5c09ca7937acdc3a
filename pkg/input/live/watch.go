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

// maxWatchAttempts is how often to restart a watch while no server answers: for two minutes.
const maxWatchAttempts = 15

// Watch sends the objects of the dump, and then the events after it, until the context ends. The order is that in which they arrive.
func (c *Client) Watch(ctx context.Context, d *Dump) (<-chan Change, error) {
	served, err := c.discoverResources(ctx)
	if err != nil {
		return nil, err
	}
	changes := make(chan Change, 1000)
	watched := map[string]*watch{}
	for _, k := range kinds {
		version, read := d.ResourceVersions[k.name]
		if gv, found := served.versions[k.GroupResource]; found && read {
			watched[k.name] = &watch{Client: c, kind: k, version: gv, lastVersion: version, knownVersions: map[string]string{}, changes: changes}
		}
	}
	go func() {
		err := ForEachItem(d.Open(), func(object []byte) error {
			meta, err := decodeMetadata(object)
			if err != nil {
				return err
			}
			w := watched[meta.Kind]
			if w == nil { // a parameter of policies; its changes are not watched
				w = &watch{Client: c, knownVersions: map[string]string{}, changes: changes}
			}
			return w.sendEvent(ctx, recording.Add, object, meta)
		})
		if err != nil {
			_ = sendChange(ctx, changes, Change{Err: err}) // the watch ends either way
			return
		}
		for _, w := range watched {
			go w.keepWatching(ctx)
		}
	}()
	return changes, nil
}

// watch is the watch of one kind.
type watch struct {
	*Client
	kind
	version       schema.GroupVersion
	lastVersion   string            // the resource version up to which events are known
	knownVersions map[string]string // the resource version of each object, by namespace/name
	changes       chan<- Change
}

// errExpired means that the server has forgotten the events since the version that the watch asks for.
var errExpired = errors.New("expired")

// keepWatching watches the kind until the context ends, and restarts the watch when the connection ends.
func (w *watch) keepWatching(ctx context.Context) {
	for failed := 0; ctx.Err() == nil; {
		before, begun := w.lastVersion, time.Now()
		err := w.follow(ctx)
		if errors.Is(err, errExpired) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			err = w.relist(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil, w.lastVersion != before:
			failed = 0
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), failed == maxWatchAttempts:
			_ = sendChange(ctx, w.changes, Change{Err: w.wrapError(watchPrefix+w.Resource, err)}) // the watch ends either way
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
	stream, err := w.rest.Get().AbsPath(w.path()).Param("watch", "true").Param("allowWatchBookmarks", "true").Param("resourceVersion", w.lastVersion).Stream(ctx)
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
		meta, err := decodeMetadata(event.Object)
		if err != nil {
			return &unreadableError{err}
		}
		what := map[string]string{"ADDED": recording.Add, "MODIFIED": recording.Update, "DELETED": recording.Delete}[event.Type]
		if what != "" {
			if err := w.sendEvent(ctx, what, event.Object, meta); err != nil {
				return err
			}
		}
		w.lastVersion = meta.ResourceVersion // also for a bookmark
	}
}

// relist reads all objects of the kind again, and sends the differences as events.
func (w *watch) relist(ctx context.Context) error {
	r := &reader{Client: w.Client, dump: &Dump{ResourceVersions: map[string]string{}, Counts: map[string]int{}}}
	packed, err := r.readKind(ctx, w.kind, w.version)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	take := func(object []byte) error {
		meta, err := decodeMetadata(object)
		if err != nil {
			return err
		}
		name := meta.Namespace + "/" + meta.Name
		there[name] = true
		version, known := w.knownVersions[name]
		switch {
		case !known:
			return w.sendEvent(ctx, recording.Add, object, meta)
		case version != meta.ResourceVersion:
			return w.sendEvent(ctx, recording.Update, object, meta)
		}
		return nil
	}
	if err := forEachStoredItem(packed, take); err != nil {
		return err
	}
	for name := range w.knownVersions {
		if there[name] {
			continue
		}
		namespace, name, _ := strings.Cut(name, "/")
		meta := watchedObject{TypeMeta: metav1.TypeMeta{APIVersion: w.version.String(), Kind: w.kind.name}}
		meta.Namespace, meta.Name = namespace, name
		gone := fmt.Appendf(nil, `{"apiVersion":%s,"kind":%s,"metadata":{"namespace":%s,"name":%s}}`, strconv.Quote(meta.APIVersion), strconv.Quote(meta.Kind), strconv.Quote(namespace), strconv.Quote(name))
		if err := w.sendEvent(ctx, recording.Delete, gone, meta); err != nil {
			return err
		}
	}
	w.lastVersion = r.dump.ResourceVersions[w.kind.name]
	return nil
}

// sendEvent sends an event about an object, and records the version of the object.
func (w *watch) sendEvent(ctx context.Context, what string, resource []byte, meta watchedObject) error {
	name := meta.Namespace + "/" + meta.Name
	if what == recording.Delete {
		delete(w.knownVersions, name)
	} else {
		w.knownVersions[name] = meta.ResourceVersion
	}
	event, err := recording.New(time.Now(), what, resource)
	if err != nil {
		return &unreadableError{err}
	}
	return sendChange(ctx, w.changes, Change{Event: event})
}

// sendChange sends a change, unless the context ends first.
func sendChange(ctx context.Context, changes chan<- Change, change Change) error {
	select {
	case changes <- change:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watchedObject has the fields of an object that a watch needs.
type watchedObject struct {
	metav1.TypeMeta `json:",inline"`
	metadataOf      `json:"metadata"`
}

type metadataOf struct{ Namespace, Name, ResourceVersion string }

func decodeMetadata(value []byte) (watchedObject, error) {
	var o watchedObject
	err := json.Unmarshal(value, &o)
	return o, err
}
