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
	progress func(what string, done, total int)
	dump     *Dump
	parts    [][]byte // per kind, followed by the parameters
	allow    []string // the parameters that the user may not read, as arguments of simulate rbac

	done, kinds int // the number of kinds read so far, and of all kinds

	owned map[string]map[types.UID][]types.UID // the pods of controllers that are not read yet, by kind and UID of the controller
	names map[types.UID]string                 // the namespaces and names of these pods
}

// read lists a kind. If the list expires before its end, read starts it again, once.
func (r *reader) read(ctx context.Context, k kind, gv schema.GroupVersion) ([]byte, error) {
	for again := false; ; again = true {
		if k.stage == pods {
			r.owned = nil
		}
		l := &list{reader: r, kind: k, version: gv.String()}
		switch err := l.all(ctx, gv); {
		case err == nil:
			r.dump.Counts[k.name] = l.count
			r.dump.ResourceVersions[k.name] = l.header.ResourceVersion
			return l.text(), nil
		case apierrors.IsForbidden(err) && k.without != "":
			r.dump.Unread = append(r.dump.Unread, k.name)
			r.dump.Forbidden = append(r.dump.Forbidden, k.plural())
			r.dump.Notes = append(r.dump.Notes, fmt.Sprintf("%s may not be read: %s.", k.plural(), k.without))
			return nil, nil
		case apierrors.IsResourceExpired(err) && !again:
		default:
			return nil, r.problem(k.Resource, err)
		}
	}
}

// finish completes the dump.
func (r *reader) finish() (*Dump, error) {
	if len(r.dump.Forbidden) > 0 {
		r.dump.Notes = append(r.dump.Notes, "simulate rbac"+r.allowing()+" prints the ClusterRole that allows to read everything.")
	}
	if gone := r.gone(); len(gone) > 0 {
		at := slices.IndexFunc(kinds, func(k kind) bool { return k.stage == pods })
		if err := r.without(at, func(m metav1.ObjectMeta) bool { return gone[m.UID] }); err != nil {
			return nil, err
		}
		var names []string
		for uid := range gone {
			names = append(names, r.names[uid])
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

// gone returns the pods whose controller was deleted after the pods and before the controllers were read. The garbage collector deletes
// such pods.
func (r *reader) gone() map[types.UID]bool {
	gone := map[types.UID]bool{}
	for kind, owners := range r.owned {
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

// without writes a part again, except for some objects.
func (r *reader) without(part int, gone func(metav1.ObjectMeta) bool) error {
	kept := &list{reader: &reader{}, kind: kinds[part]}
	err := itemsOf(r.parts[part], func(value []byte) error {
		var object struct{ Metadata metav1.ObjectMeta }
		if err := json.Unmarshal(value, &object); err != nil {
			return err
		}
		if !gone(object.Metadata) {
			kept.write(value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.parts[part], r.dump.Counts[kinds[part].name] = kept.text(), kept.count
	return nil
}

// list reads the list of a kind.
type list struct {
	*reader
	kind
	version   string
	namespace string     // "" for all namespaces
	only      url.Values // selectors, such as fieldSelector
	header    metav1.ListMeta
	count     int

	data   bytes.Buffer
	packer *gzip.Writer
}

// all reads the list, chunk by chunk.
func (l *list) all(ctx context.Context, gv schema.GroupVersion) error {
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
			l.progress(what, l.done, l.kinds)
		}
		request := l.rest.Get().AbsPath(path, l.Resource).Param("limit", strconv.Itoa(chunk))
		if l.header.Continue != "" {
			request.Param("continue", l.header.Continue)
		}
		for name := range l.only {
			request.Param(name, l.only.Get(name))
		}
		result := request.Do(ctx)
		if err := result.Error(); err != nil {
			return err
		}
		data, _ := result.Raw() // the error is the one that was checked
		if err := l.take(data); err != nil {
			return &unreadable{err}
		}
		if l.header.Continue == "" {
			return nil
		}
	}
}

// take reads the objects of one chunk.
func (l *list) take(data []byte) error {
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
			if err := elements(decoder, l.add); err != nil {
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

// add writes an object as kubectl get -o json does: with its apiVersion and kind, which the items of a list lack, and without the
// managedFields.
func (l *list) add(value jsontext.Value) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, `{"apiVersion":%q,"kind":%q`, l.version, l.name)
	var meta struct {
		UID             types.UID
		Namespace, Name string
		OwnerReferences []metav1.OwnerReference
	}
	err := fields(value, func(name string, value jsontext.Value) error {
		switch name {
		case `"apiVersion"`, `"kind"`:
			return nil
		case `"metadata"`:
			text.WriteString(`,"metadata":{`)
			first := text.Len()
			err := fields(value, func(name string, value jsontext.Value) (err error) {
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
	l.write(text.Bytes())
	owner := metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: meta.OwnerReferences})
	switch {
	case l.stage == pods && owner != nil:
		l.own(owner, meta.UID, meta.Namespace+"/"+meta.Name)
	case l.makesPods():
		delete(l.owned[l.name], meta.UID)
	}
	return nil
}

// own records that the controller owns the pod. The record is removed when the controller itself is read.
func (r *reader) own(owner *metav1.OwnerReference, pod types.UID, name string) {
	if gv, err := schema.ParseGroupVersion(owner.APIVersion); err != nil || !slices.ContainsFunc(kinds, func(k kind) bool {
		return k.makesPods() && k.name == owner.Kind && k.Group == gv.Group
	}) {
		return
	}
	if r.owned == nil {
		r.owned, r.names = map[string]map[types.UID][]types.UID{}, map[types.UID]string{}
	}
	if r.owned[owner.Kind] == nil {
		r.owned[owner.Kind] = map[types.UID][]types.UID{}
	}
	r.owned[owner.Kind][owner.UID] = append(r.owned[owner.Kind][owner.UID], pod)
	r.names[pod] = name
}

// write adds the text of an object to the compressed data.
func (l *list) write(object []byte) {
	if l.packer == nil {
		l.packer, _ = gzip.NewWriterLevel(&l.data, gzip.BestSpeed) // fails only for an invalid level
	} else {
		_, _ = l.packer.Write([]byte{','}) // writes to memory cannot fail
	}
	_, _ = l.packer.Write([]byte{'\n'})
	_, _ = l.packer.Write(object)
	l.count++
}

// text returns the compressed data, and ends the compression.
func (l *list) text() []byte {
	if l.packer != nil {
		_ = l.packer.Close() // writes to memory cannot fail
	}
	return l.data.Bytes()
}

// fields calls a function for each field of an object. The function gets the name in quotes.
func fields(object jsontext.Value, each func(name string, value jsontext.Value) error) error {
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
