package page

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// pack writes a model as JSON in which whatever occurs more than once stands once: pods that no step moves, nodes, topologies,
// decisions and messages. A page of 5,000 nodes and 20,000 pods so stays a few MB. The outcome is
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
// It holds none of <, >, &, U+2028 and U+2029, so that it can stand in a script element; unpack in assets/data.js reads it.
func pack(model any) ([]byte, error) {
	data, err := json.Marshal(model) // escapes those characters
	if err != nil {
		return nil, err
	}
	p := packer{decoder: json.NewDecoder(bytes.NewReader(data)), ids: map[string]int{}, shapeIDs: map[string]int{}}
	p.decoder.UseNumber()
	root, err := p.read()
	if err != nil {
		return nil, err
	}
	written := p.write(root)
	var out bytes.Buffer
	out.WriteString("{\"shapes\":[\n" + strings.Join(p.shapes, ",\n") + "\n],\"shared\":[\n")
	out.WriteString(strings.Join(p.shared, ",\n") + "\n],\"root\":\n" + written + "\n}")
	return out.Bytes(), nil
}

// packer finds equal values: every value that differs from all others has a number.
type packer struct {
	decoder  *json.Decoder
	values   []packed
	ids      map[string]int // by content
	shapes   []string
	shapeIDs map[string]int
	shared   []string
}

// packed is a value: text, or what begins an array or object and the numbers of the values in it.
type packed struct {
	text     string
	within   []int
	compound bool
	// uses is the number of different values that it stands in.
	uses int
	// place is 1 more than the value's index in shared, or 0 while it is not there.
	place int
}

func (p *packer) read() (int, error) {
	token, err := p.decoder.Token()
	if err != nil {
		return 0, err
	}
	delimiter, compound := token.(json.Delim)
	if !compound {
		text, err := json.Marshal(token)
		return p.number(packed{text: string(text)}), err
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
		value, err := p.read()
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
		first = p.shape(keys)
	}
	return p.number(packed{text: first, within: within, compound: true}), nil
}

func (p *packer) shape(keys []string) string {
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

func (p *packer) number(value packed) int {
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
		for _, within := range value.within { // what stands in a value that is shared is written once, too
			p.values[within].uses++
		}
	}
	return id
}

// write returns the value, or the place where it stands once.
func (p *packer) write(id int) string {
	value := &p.values[id]
	const shortest = 6 // a reference is about as long
	if value.uses <= 1 || len(value.within) == 0 && len(value.text) <= shortest || !value.compound && value.text[0] != '"' {
		return p.whole(value)
	}
	if value.place == 0 {
		whole := p.whole(value)
		p.shared = append(p.shared, whole)
		value.place = len(p.shared)
	}
	return "[" + strconv.Itoa(value.place-1) + "]"
}

func (p *packer) whole(value *packed) string {
	if !value.compound {
		return value.text
	}
	var b strings.Builder
	b.WriteString("[" + value.text)
	for _, id := range value.within {
		b.WriteString("," + p.write(id))
	}
	b.WriteString("]")
	return b.String()
}
