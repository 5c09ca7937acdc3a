package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"runtime"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	v1 "k8s.io/api/core/v1"
)

// decodeList decodes a file that is a single List in JSON, as kubectl writes a dump. It decodes each item as soon as it is read, so that
// the whole text is never in memory. It reports whether the file is such a List. It also returns false for a List with a problem outside of
// its items: decoding the whole file then gives a better error.
func (c *collection) decodeList(file string, in io.Reader) (decoded, bool) {
	l := listReader{in: c, item: item{source: Source{File: file, Line: 1}}, fields: map[string]json.RawMessage{}}
	ok := l.readFields(in, l.decodeItems)
	switch {
	case l.tooLarge != nil:
		return decoded{file: file, errs: []error{l.tooLarge}}, true
	case !ok:
		return decoded{}, false
	}
	read := decoded{file: file, documents: 1, outcomes: []outcome{{page: l.asPage().page}}}
	for _, member := range l.members {
		read.outcomes = append(read.outcomes, member.outcomes...)
	}
	read.movePages()
	return read, true
}

// ListHead returns the apiVersion and the kind of a file that is a single List in JSON, and "" for any other file. It stores no items.
func ListHead(fsys fs.FS, file string) (apiVersion, kind string) {
	f := fileTree{fsys}.reopenText(file)
	if f == nil {
		return "", ""
	}
	defer f.Close()
	l := listReader{fields: map[string]json.RawMessage{}}
	skip := func(decoder *jsontext.Decoder) bool {
		for decoder.PeekKind() != jsontext.KindEndArray {
			l.text.left = maxObject
			if decoder.SkipValue() != nil {
				return false
			}
		}
		return true
	}
	if !l.readFields(f, skip) {
		return "", ""
	}
	return l.header.APIVersion, l.header.Kind
}

// listReader is a List while it is read.
type listReader struct {
	in      *collection
	item                               // the List without its members
	fields  map[string]json.RawMessage // its fields read so far
	members []*member
	text    *objectText
	// tooLarge is the error of an item that is larger than any object may be.
	tooLarge error
}

// objectText is a reader that allows only so many bytes until the next object begins, so that no object is larger than the maximum. A decoder
// reads some of the bytes ahead.
type objectText struct {
	in       io.Reader
	left     int
	exceeded bool // the decoder wanted more bytes
}

// Read reads at most as many bytes as are left.
func (p *objectText) Read(into []byte) (int, error) {
	if p.left == 0 {
		p.exceeded = true
		return 0, errObjectTooLarge
	}
	n, err := p.in.Read(into[:min(len(into), p.left)])
	p.left -= n
	return n, err
}

// member is an item of a List. It may be a List itself.
type member struct {
	item     item // until it is decoded
	outcomes []outcome
}

// skipToObject skips everything before the object.
func (l *listReader) skipToObject(text *bufio.Reader) bool {
	if mark, _ := text.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = text.Discard(len(mark)) // cannot fail: the mark was peeked
	}
	for {
		switch next, err := text.ReadByte(); {
		case err == nil && next == '{':
			return text.UnreadByte() == nil
		case err == nil && next == '\n':
			l.source.Line++
		case err != nil || !bytes.ContainsRune([]byte(" \t\r"), rune(next)):
			return false
		}
	}
}

// readFields reads the fields of the file, and reports whether it is a List. It calls items to read the items.
func (l *listReader) readFields(in io.Reader, items func(*jsontext.Decoder) bool) bool {
	text := bufio.NewReader(in)
	if !l.skipToObject(text) {
		return false
	}
	l.text = &objectText{in: text, left: maxObject}
	decoder := jsontext.NewDecoder(l.text, jsontext.AllowDuplicateNames(true)) // decoding the object reports them
	_, _ = decoder.ReadToken()                                                 // the brace
	var readAs header                                                          // the header with which the items were read
	for decoder.PeekKind() != jsontext.KindEndObject {
		l.text.left = maxObject
		name, err := decoder.ReadToken()
		if err != nil {
			return false
		}
		field := name.String()
		if l.fields[field] != nil {
			return false
		}
		if field == "items" {
			l.fields[field] = json.RawMessage("[]")
			if begin, err := decoder.ReadToken(); err != nil || begin.Kind() != jsontext.KindBeginArray || !l.isList() || !items(decoder) {
				return false
			}
			readAs = l.header
			if _, err := decoder.ReadToken(); err != nil {
				return false
			}
			continue
		}
		value, err := decoder.ReadValue()
		if err != nil {
			return false
		}
		if l.fields[field] = json.RawMessage(value.Clone()); field == "kind" && !l.isList() {
			return false
		}
	}
	if _, err := decoder.ReadToken(); err != nil || l.fields["apiVersion"] == nil || l.fields["kind"] == nil || l.fields["items"] == nil {
		return false
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return false // there is more in the file
	}
	return l.isList() && l.header.Kind == readAs.Kind && l.header.APIVersion == readAs.APIVersion
}

// isList reads the header, and reports whether it is that of a List. kubectl writes the kind after the items; until then, isList assumes
// kubectl's general List of API version v1.
func (l *listReader) isList() bool {
	fields := map[string]json.RawMessage{"apiVersion": json.RawMessage(`"v1"`), "kind": json.RawMessage(`"List"`)}
	maps.Copy(fields, l.fields)
	var err error
	l.header = header{}
	l.json, err = json.Marshal(fields)
	return err == nil && l.readHeader() && strings.HasSuffix(l.header.Kind, "List")
}

// decodeItems reads the items, and decodes them on all cores at the same time.
func (l *listReader) decodeItems(decoder *jsontext.Decoder) bool {
	read := make(chan *member)
	var decoding sync.WaitGroup
	var family siblings
	for range runtime.GOMAXPROCS(0) {
		decoding.Go(func() {
			for m := range read {
				m.decode(&family)
				for _, o := range m.outcomes {
					l.in.countObjects(o)
				}
			}
		})
	}
	defer decoding.Wait()
	defer close(read)
	for decoder.PeekKind() != jsontext.KindEndArray {
		value, err := decoder.ReadValue()
		if l.text.exceeded || len(value) > maxObject {
			l.tooLarge = l.memberAt(len(l.members), value).source.errorf("%v", errObjectTooLarge)
			return false
		}
		if err != nil || l.in.ended() {
			return false
		}
		l.text.left = maxObject
		m := &member{item: l.memberAt(len(l.members), value.Clone())}
		l.members = append(l.members, m)
		read <- m
	}
	return true
}

// decode decodes the member's objects, and drops its text.
func (m *member) decode(family *siblings) {
	if o, ok := m.item.decodeUnread(); ok {
		m.outcomes = []outcome{o}
	} else {
		for _, it := range m.item.expandMember(1) {
			m.outcomes = append(m.outcomes, it.decode())
		}
	}
	m.item = item{}
	for _, o := range m.outcomes {
		for _, obj := range o.Objects {
			if pod, ok := obj.Object.(*v1.Pod); ok {
				family.sharePod(pod)
			}
		}
	}
}
