package live

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/words"
)

// chunk is the number of objects that one request asks for, as in kubectl.
const chunk = 500

// reader reads one cluster once.
type reader struct {
	*Client
	progress         func(what string, done, total int)
	dump             *Dump
	parts            [][]byte // per kind, followed by the parameters
	unreadableParams []string // the parameters that the user may not read, as arguments of simulate rbac

	done, kindCount int // the number of kinds read so far, and of all kinds

	podsByOwner map[string]map[types.UID][]types.UID // the pods of controllers that are not read yet, by kind and UID of the controller
	podNames    map[types.UID]string                 // the namespaces and names of these pods
}

// readKind lists a kind. If the list expires before its end, read starts it again, once.
func (r *reader) readKind(ctx context.Context, k kind, gv schema.GroupVersion) ([]byte, error) {
	for again := false; ; again = true {
		if k.stage == podStage {
			r.podsByOwner = nil
		}
		l := &list{reader: r, kind: k, version: gv.String()}
		switch err := l.readAll(ctx, gv); {
		case err == nil:
			r.dump.Counts[k.name] = l.count
			r.dump.ResourceVersions[k.name] = l.header.ResourceVersion
			return l.compressedData(), nil
		case apierrors.IsForbidden(err) && k.absenceNote != "":
			r.dump.Unread = append(r.dump.Unread, k.name)
			r.dump.Forbidden = append(r.dump.Forbidden, k.plural())
			r.dump.Notes = append(r.dump.Notes, fmt.Sprintf("%s may not be read: %s.", k.plural(), k.absenceNote))
			return nil, nil
		case apierrors.IsResourceExpired(err) && !again:
		default:
			return nil, r.wrapError(k.Resource, err)
		}
	}
}

// completeDump completes the dump.
func (r *reader) completeDump() (*Dump, error) {
	if len(r.dump.Forbidden) > 0 {
		r.dump.Notes = append(r.dump.Notes, "simulate rbac"+r.rbacFlags()+" prints the ClusterRole that allows to read everything.")
	}
	if gone := r.orphanedPods(); len(gone) > 0 {
		at := slices.IndexFunc(kinds, func(k kind) bool { return k.stage == podStage })
		if err := r.dropObjects(at, func(m metav1.ObjectMeta) bool { return gone[m.UID] }); err != nil {
			return nil, err
		}
		var names []string
		for uid := range gone {
			names = append(names, r.podNames[uid])
		}
		slices.Sort(names)
		r.dump.Notes = append(r.dump.Notes, fmt.Sprintf("set aside: Pod (%s): %s controller was deleted while the cluster was read.", words.Few(names), words.Pick(len(names), "its", "their")))
	}
	for _, part := range r.parts {
		if len(part) > 0 {
			r.dump.parts = append(r.dump.parts, part)
		}
	}
	return r.dump, nil
}

// orphanedPods returns the pods whose controller was deleted after the pods and before the controllers were read. The garbage collector deletes
// such pods.
func (r *reader) orphanedPods() map[types.UID]bool {
	gone := map[types.UID]bool{}
	for kind, owners := range r.podsByOwner {
		if _, read := r.dump.ResourceVersions[kind]; !read {
			continue
		}
		for _, pods := range owners {
			for _, pod := range pods {
				gone[pod] = true
			}
		}
	}
	return gone
}

// dropObjects writes a part again, except for some objects.
func (r *reader) dropObjects(part int, gone func(metav1.ObjectMeta) bool) error {
	kept := &list{reader: &reader{}, kind: kinds[part]}
	err := forEachStoredItem(r.parts[part], func(value []byte) error {
		var object struct{ Metadata metav1.ObjectMeta }
		if err := json.Unmarshal(value, &object); err != nil {
			return err
		}
		if !gone(object.Metadata) {
			kept.appendObject(value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.parts[part], r.dump.Counts[kinds[part].name] = kept.compressedData(), kept.count
	return nil
}

// list reads the list of a kind.
type list struct {
	*reader
	kind
	version   string
	namespace string     // "" for all namespaces
	selectors url.Values // selectors, such as fieldSelector
	header    metav1.ListMeta
	count     int

	data   bytes.Buffer
	packer *gzip.Writer
}

// readAll reads the list, chunk by chunk.
func (l *list) readAll(ctx context.Context, gv schema.GroupVersion) error {
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	if l.namespace != "" {
		path += "/namespaces/" + l.namespace
	}
	for {
		if l.progress != nil {
			what := "reading " + l.Resource
			if left := l.header.RemainingItemCount; left != nil {
				what += fmt.Sprintf(", %d of %d", l.count, l.count+int(*left))
			}
			l.progress(what, l.done, l.kindCount)
		}
		request := l.rest.Get().AbsPath(path, l.Resource).Param("limit", strconv.Itoa(chunk))
		if l.header.Continue != "" {
			request.Param("continue", l.header.Continue)
		}
		for name := range l.selectors {
			request.Param(name, l.selectors.Get(name))
		}
		result := request.Do(ctx)
		if err := result.Error(); err != nil {
			return err
		}
		data, _ := result.Raw() // the error is the one that was checked
		if err := l.readChunk(data); err != nil {
			return &unreadableError{err}
		}
		if l.header.Continue == "" {
			return nil
		}
	}
}

// readChunk reads the objects of one chunk.
func (l *list) readChunk(data []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(data))
	l.header = metav1.ListMeta{}
	items := false
	if begin, err := decoder.ReadToken(); err != nil || begin.Kind() != jsontext.KindBeginObject {
		return errors.New("it is no object in JSON")
	}
	for decoder.PeekKind() != jsontext.KindEndObject {
		name, err := decoder.ReadToken()
		if err != nil {
			return err
		}
		switch field := name.String(); {
		case field == "items" && decoder.PeekKind() == jsontext.KindBeginArray:
			items = true
			if err := forEachElement(decoder, l.writeItem); err != nil {
				return err
			}
		default:
			value, err := decoder.ReadValue()
			if err != nil {
				return err
			}
			items = items || field == "items"
			if field == "metadata" {
				if err := json.Unmarshal(value, &l.header); err != nil {
					return err
				}
			}
		}
	}
	if !items {
		return errors.New("it is no list")
	}
	return nil
}

// writeItem writes an object as kubectl get -o json does: with its apiVersion and kind, which the items of a list lack, and without the
// managedFields.
func (l *list) writeItem(value jsontext.Value) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, `{"apiVersion":%q,"kind":%q`, l.version, l.name)
	var meta struct {
		UID             types.UID
		Namespace, Name string
		OwnerReferences []metav1.OwnerReference
	}
	err := forEachField(value, func(name string, value jsontext.Value) error {
		switch name {
		case `"apiVersion"`, `"kind"`:
			return nil
		case `"metadata"`:
			text.WriteString(`,"metadata":{`)
			first := text.Len()
			err := forEachField(value, func(name string, value jsontext.Value) (err error) {
				switch name {
				case `"managedFields"`:
					return nil
				case `"uid"`:
					err = json.Unmarshal(value, &meta.UID)
				case `"name"`:
					err = json.Unmarshal(value, &meta.Name)
				case `"namespace"`:
					err = json.Unmarshal(value, &meta.Namespace)
				case `"ownerReferences"`:
					err = json.Unmarshal(value, &meta.OwnerReferences)
				}
				if text.Len() > first {
					text.WriteByte(',')
				}
				fmt.Fprintf(&text, "%s:%s", name, value)
				return err
			})
			text.WriteByte('}')
			return err
		}
		fmt.Fprintf(&text, ",%s:%s", name, value)
		return nil
	})
	if err != nil {
		return err
	}
	text.WriteByte('}')
	l.appendObject(text.Bytes())
	owner := metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: meta.OwnerReferences})
	switch {
	case l.stage == podStage && owner != nil:
		l.recordOwner(owner, meta.UID, meta.Namespace+"/"+meta.Name)
	case l.makesPods():
		delete(l.podsByOwner[l.name], meta.UID)
	}
	return nil
}

// recordOwner records that the controller owns the pod. The record is removed when the controller itself is read.
func (r *reader) recordOwner(owner *metav1.OwnerReference, pod types.UID, name string) {
	if gv, err := schema.ParseGroupVersion(owner.APIVersion); err != nil || !slices.ContainsFunc(kinds, func(k kind) bool {
		return k.makesPods() && k.name == owner.Kind && k.Group == gv.Group
	}) {
		return
	}
	if r.podsByOwner == nil {
		r.podsByOwner, r.podNames = map[string]map[types.UID][]types.UID{}, map[types.UID]string{}
	}
	if r.podsByOwner[owner.Kind] == nil {
		r.podsByOwner[owner.Kind] = map[types.UID][]types.UID{}
	}
	r.podsByOwner[owner.Kind][owner.UID] = append(r.podsByOwner[owner.Kind][owner.UID], pod)
	r.podNames[pod] = name
}

// appendObject adds the text of an object to the compressed data.
func (l *list) appendObject(object []byte) {
	if l.packer == nil {
		l.packer, _ = gzip.NewWriterLevel(&l.data, gzip.BestSpeed) // fails only for an invalid level
	} else {
		_, _ = l.packer.Write([]byte{','}) // writes to memory cannot fail
	}
	_, _ = l.packer.Write([]byte{'\n'})
	_, _ = l.packer.Write(object)
	l.count++
}

// compressedData returns the compressed data, and ends the compression.
func (l *list) compressedData() []byte {
	if l.packer != nil {
		_ = l.packer.Close() // writes to memory cannot fail
	}
	return l.data.Bytes()
}

// forEachField calls a function for each field of an object. The function gets the name in quotes.
func forEachField(object jsontext.Value, each func(name string, value jsontext.Value) error) error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(object))
	if begin, err := decoder.ReadToken(); err != nil || begin.Kind() != jsontext.KindBeginObject {
		return errors.New("an item is no object")
	}
	for decoder.PeekKind() != jsontext.KindEndObject {
		quoted, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		name := string(quoted)
		value, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		if err := each(name, value); err != nil {
			return err
		}
	}
	return nil
}
