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
	out := pieceWriter{bufio.NewWriter(w)}
	if err := out.writeValue(data.Bytes(), valuePlace{within: func(value any) any { return value }}); err != nil {
		return err
	}
	return out.w.Flush()
}

// pieceWriter writes a document in pieces. Each piece is marshalled in its place in a document that is otherwise empty, since the library breaks
// lines by their width, indentation included.
type pieceWriter struct{ w *bufio.Writer }

// valuePlace is the position of a value in the document.
type valuePlace struct {
	// within returns a document that has only the value, in its place.
	within func(value any) any
	// above is the number of lines of that document that are already written.
	above int
	// item says that the value is an entry of a list. begun says that a part of that entry is written, with its dash.
	item, begun bool
}

// writeValue writes a value: in pieces if it is a large list, or an object with a large member, and otherwise at once.
func (p pieceWriter) writeValue(data jsontext.Value, at valuePlace) error {
	if !needsPieces(data) {
		return p.writeAtOnce(data, at)
	}
	if data.Kind() == '[' {
		return p.writeList(data, at)
	}
	members, err := readMembers(data)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(members)), needsPieces) {
		return p.writeAtOnce(data, at)
	}
	return p.writeObject(members, at)
}

func needsPieces(data jsontext.Value) bool {
	return len(data) > pieceSize && (data.Kind() == '{' || data.Kind() == '[')
}

// writeObject writes the members one by one, and a large one below its name. Sorting the names gives the order of YAML, since fields of a model
// have names of letters.
func (p pieceWriter) writeObject(members map[string]jsontext.Value, at valuePlace) error {
	for i, name := range slices.Sorted(maps.Keys(members)) {
		member := valuePlace{
			within: func(value any) any { return at.within(map[string]any{name: value}) },
			above:  at.above,
			begun:  at.item && i > 0,
		}
		if needsPieces(members[name]) {
			title, err := member.lines(nil)
			if err != nil {
				return err
			}
			if _, err := p.w.Write(bytes.Replace(title, []byte(": null"), []byte(":"), 1)); err != nil {
				return err
			}
			member.above, member.begun = at.above+1, false
		}
		if err := p.writeValue(members[name], member); err != nil {
			return err
		}
	}
	return nil
}

// writeList writes the entries of a list: small ones together until they fill a piece, large ones each in pieces.
func (p pieceWriter) writeList(data jsontext.Value, at valuePlace) error {
	var some []byte // entries, with a comma before each
	write := func() error {
		if len(some) == 0 {
			return nil
		}
		some[0] = '['
		err := p.writeAtOnce(append(some, ']'), at)
		some = some[:0]
		return err
	}
	entry := valuePlace{within: func(value any) any { return at.within([]any{value}) }, above: at.above, item: true}
	decoder := newDecoder(data)
	for decoder.PeekKind() != ']' {
		value, err := nextValue(decoder, data)
		if err != nil {
			return err
		}
		if needsPieces(value) && value.Kind() == '{' {
			if err := write(); err != nil {
				return err
			}
			if err := p.writeValue(value, entry); err != nil {
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

// newDecoder returns a decoder that has read the first brace or bracket.
func newDecoder(data jsontext.Value) *jsontext.Decoder {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))
	_, _ = decoder.ReadToken() // the brace or bracket
	return decoder
}

// nextValue returns the next value as a part of data, without a copy.
func nextValue(decoder *jsontext.Decoder, data jsontext.Value) (jsontext.Value, error) {
	value, err := decoder.ReadValue()
	end := decoder.InputOffset()
	return data[end-int64(len(value)) : end], err
}

// readMembers returns the members of an object by name.
func readMembers(data jsontext.Value) (map[string]jsontext.Value, error) {
	members := map[string]jsontext.Value{}
	decoder := newDecoder(data)
	for decoder.PeekKind() != '}' {
		token, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String() // a later read overwrites the token
		if members[name], err = nextValue(decoder, data); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// writeAtOnce writes the value at once.
func (p pieceWriter) writeAtOnce(data jsontext.Value, at valuePlace) error {
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
func (at valuePlace) lines(value any) ([]byte, error) {
	lines, err := yamlv2.Marshal(at.within(value))
	for range at.above {
		_, lines, _ = bytes.Cut(lines, []byte("\n"))
	}
	if at.begun {
		lines = bytes.Replace(lines, []byte("- "), []byte("  "), 1)
	}
	return lines, err
}
