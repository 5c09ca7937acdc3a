package report

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	yamlv2 "go.yaml.in/yaml/v2"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// pieceSize is how many bytes of JSON are converted to YAML at a time.
const pieceSize = 64 << 10

// writeYAML writes the same YAML as sigs.k8s.io/yaml makes of the model's JSON, but a piece at a time. The library keeps the objects of a
// document and every event of writing it, which is 4 GB for 50,000 pods.
func writeYAML(w io.Writer, model any) error {
	var data bytes.Buffer
	if err := writeJSON(&data, model); err != nil {
		return err
	}
	out := pieces{bufio.NewWriter(w)}
	if err := out.value(data.Bytes(), place{within: func(value any) any { return value }}); err != nil {
		return err
	}
	return out.w.Flush()
}

// pieces writes a document in pieces. Each piece is marshalled in its place in a document that is otherwise empty, since the library breaks
// lines by their width, indentation included.
type pieces struct{ w *bufio.Writer }

// place is the position of a value in the document.
type place struct {
	// within returns a document that has only the value, in its place.
	within func(value any) any
	// above is the number of lines of that document that are already written.
	above int
	// item says that the value is an entry of a list. begun says that a part of that entry is written, with its dash.
	item, begun bool
}

// value writes a value: in pieces if it is a large list, or an object with a large member, and otherwise at once.
func (p pieces) value(data jsontext.Value, at place) error {
	if !large(data) {
		return p.whole(data, at)
	}
	if data.Kind() == '[' {
		return p.list(data, at)
	}
	members, err := membersOf(data)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(members)), large) {
		return p.whole(data, at)
	}
	return p.object(members, at)
}

func large(data jsontext.Value) bool {
	return len(data) > pieceSize && (data.Kind() == '{' || data.Kind() == '[')
}

// object writes the members one by one, and a large one below its name. Sorting the names gives the order of YAML, since fields of a model
// have names of letters.
func (p pieces) object(members map[string]jsontext.Value, at place) error {
	for i, name := range slices.Sorted(maps.Keys(members)) {
		member := place{
			within: func(value any) any { return at.within(map[string]any{name: value}) },
			above:  at.above,
			begun:  at.item && i > 0,
		}
		if large(members[name]) {
			title, err := member.lines(nil)
			if err != nil {
				return err
			}
			if _, err := p.w.Write(bytes.Replace(title, []byte(": null"), []byte(":"), 1)); err != nil {
				return err
			}
			member.above, member.begun = at.above+1, false
		}
		if err := p.value(members[name], member); err != nil {
			return err
		}
	}
	return nil
}

// list writes the entries of a list: small ones together until they fill a piece, large ones each in pieces.
func (p pieces) list(data jsontext.Value, at place) error {
	var some []byte // entries, with a comma before each
	write := func() error {
		if len(some) == 0 {
			return nil
		}
		some[0] = '['
		err := p.whole(append(some, ']'), at)
		some = some[:0]
		return err
	}
	entry := place{within: func(value any) any { return at.within([]any{value}) }, above: at.above, item: true}
	decoder := decoderOf(data)
	for decoder.PeekKind() != ']' {
		value, err := next(decoder, data)
		if err != nil {
			return err
		}
		if large(value) && value.Kind() == '{' {
			if err := write(); err != nil {
				return err
			}
			if err := p.value(value, entry); err != nil {
				return err
			}
			continue
		}
		some = append(append(some, ','), value...)
		if len(some) > pieceSize {
			if err := write(); err != nil {
				return err
			}
		}
	}
	return write()
}

// decoderOf returns a decoder that has read the first brace or bracket.
func decoderOf(data jsontext.Value) *jsontext.Decoder {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))
	_, _ = decoder.ReadToken() // the brace or bracket
	return decoder
}

// next returns the next value as a part of data, without a copy.
func next(decoder *jsontext.Decoder, data jsontext.Value) (jsontext.Value, error) {
	value, err := decoder.ReadValue()
	end := decoder.InputOffset()
	return data[end-int64(len(value)) : end], err
}

// membersOf returns the members of an object by name.
func membersOf(data jsontext.Value) (map[string]jsontext.Value, error) {
	members := map[string]jsontext.Value{}
	decoder := decoderOf(data)
	for decoder.PeekKind() != '}' {
		token, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String() // a later read overwrites the token
		if members[name], err = next(decoder, data); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// whole writes the value at once.
func (p pieces) whole(data jsontext.Value, at place) error {
	var value any
	if err := yamlv2.Unmarshal(manifest.MarkInvisible(data), &value); err != nil {
		return err
	}
	lines, err := at.lines(value)
	if err != nil {
		return err
	}
	_, err = p.w.Write(manifest.EscapeMarked(lines))
	return err
}

// lines returns the lines of the value in its place, without those that are already written.
func (at place) lines(value any) ([]byte, error) {
	lines, err := yamlv2.Marshal(at.within(value))
	for range at.above {
		_, lines, _ = bytes.Cut(lines, []byte("\n"))
	}
	if at.begun {
		lines = bytes.Replace(lines, []byte("- "), []byte("  "), 1)
	}
	return lines, err
}
