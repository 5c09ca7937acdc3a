package page

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	gojson "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// pack writes a model as JSON in which every repeated value is written once: pods that no step moves, nodes, topologies, decisions and
// messages. This keeps a page of 5,000 nodes and 20,000 pods at a few MB. The result is
//
//	{"shapes": [[key, …], …], "shared": [value, …], "root": value}
//
// in which a value is
//
//	a string, number, bool or null   itself
//	[n]                              the n-th of shared
//	[n, value, …]                    an object: its keys are the n-th of shapes
//	[-1, value, …]                   an array
//	[-2]                             an object without keys
//
// It contains none of <, >, &, U+2028 and U+2029, so that a script element can hold it; unpack in assets/data.js reads it.
func pack(w io.Writer, model any) error {
	from, to := io.Pipe()
	defer from.Close()
	go func() {
		out := bufio.NewWriterSize(to, 64<<10)
		err := gojson.MarshalWrite(out, model, jsonv1.DefaultOptionsV1()) // escapes those characters
		to.CloseWithError(errors.Join(err, out.Flush()))
	}()
	p := packer{w: w, decoder: json.NewDecoder(from), ids: map[string]int{}, shapeIDs: map[string]int{}}
	p.decoder.UseNumber()
	root, err := p.readValue()
	if err != nil {
		return err
	}
	p.ids, p.shapeIDs = nil, nil
	p.print("{\"shapes\":[\n" + strings.Join(p.shapes, ",\n") + "\n],\"shared\":[\n")
	p.writeShared(root)
	p.print("\n],\"root\":\n")
	p.writeValue(root)
	p.print("\n}")
	return p.err
}

// packer finds equal values: it gives each distinct value a number.
type packer struct {
	w        io.Writer
	err      error // the first error of w
	decoder  *json.Decoder
	values   []packedValue
	ids      map[string]int // the number of a value by its content
	shapes   []string
	shapeIDs map[string]int
	places   int // number of values in shared so far
}

// packedValue is a distinct value: its text or, for an array or an object, the beginning of it and the numbers of the values in it.
type packedValue struct {
	text     string
	within   []int
	compound bool
	// uses is the number of distinct values that contain it.
	uses int
	// place is the value's index in shared plus 1, or 0 if it is not in shared.
	place int
}

func (p *packer) readValue() (int, error) {
	token, err := p.decoder.Token()
	if err != nil {
		return 0, err
	}
	delimiter, compound := token.(json.Delim)
	if !compound {
		text, err := json.Marshal(token)
		return p.internValue(packedValue{text: string(text)}), err
	}
	var keys []string
	var within []int
	for p.decoder.More() {
		if delimiter == '{' {
			key, err := p.decoder.Token()
			if err != nil {
				return 0, err
			}
			text, err := json.Marshal(key)
			if err != nil {
				return 0, err
			}
			keys = append(keys, string(text))
		}
		value, err := p.readValue()
		if err != nil {
			return 0, err
		}
		within = append(within, value)
	}
	if _, err := p.decoder.Token(); err != nil {
		return 0, err
	}
	first := "-1"
	if delimiter == '{' {
		first = p.internShape(keys)
	}
	return p.internValue(packedValue{text: first, within: within, compound: true}), nil
}

func (p *packer) internShape(keys []string) string {
	if len(keys) == 0 {
		return "-2"
	}
	shape := "[" + strings.Join(keys, ",") + "]"
	id, known := p.shapeIDs[shape]
	if !known {
		id = len(p.shapes)
		p.shapeIDs[shape] = id
		p.shapes = append(p.shapes, shape)
	}
	return strconv.Itoa(id)
}

func (p *packer) internValue(value packedValue) int {
	content := value.text
	if value.compound {
		var b strings.Builder
		b.WriteString("[" + value.text)
		for _, id := range value.within {
			b.WriteString("," + strconv.Itoa(id))
		}
		content = b.String()
	}
	id, known := p.ids[content]
	if !known {
		id = len(p.values)
		p.ids[content] = id
		p.values = append(p.values, value)
		for _, within := range value.within { // a value inside a shared one is also written only once
			p.values[within].uses++
		}
	}
	return id
}

// writeShared writes the shared values: first those inside the value, then the value itself if it is shared.
func (p *packer) writeShared(id int) {
	value := &p.values[id]
	if value.place > 0 {
		return
	}
	for _, within := range value.within {
		p.writeShared(within)
	}
	if !value.isShared() {
		return
	}
	if p.places > 0 {
		p.print(",\n")
	}
	p.writeWhole(value)
	p.places++
	value.place = p.places
}

// isShared reports whether a reference takes the value's place. A reference is about as long as the shortest texts.
func (v *packedValue) isShared() bool {
	const shortest = 6
	return v.uses > 1 && (len(v.within) > 0 || len(v.text) > shortest) && (v.compound || v.text[0] == '"')
}

// writeValue writes the value, or a reference to it if it is shared.
func (p *packer) writeValue(id int) {
	if value := &p.values[id]; value.place > 0 {
		p.print("[" + strconv.Itoa(value.place-1) + "]")
	} else {
		p.writeWhole(value)
	}
}

func (p *packer) writeWhole(value *packedValue) {
	if !value.compound {
		p.print(value.text)
		return
	}
	p.print("[" + value.text)
	for _, id := range value.within {
		p.print(",")
		p.writeValue(id)
	}
	p.print("]")
}

func (p *packer) print(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}
