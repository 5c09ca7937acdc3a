package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Lines finds the lines of a document's fields.
type Lines struct{ root yamlv3.Node }

// NewLines reads a YAML document; JSON is YAML, too. If the document does not parse, every place is on its first line.
func NewLines(data []byte) *Lines {
	var l Lines
	if yamlv3.Unmarshal(data, &l.root) != nil || len(l.root.Content) == 0 {
		return &Lines{}
	}
	return &l
}

// DocumentLines reads the documents of a text, except empty ones. The lines count from the beginning of the text.
func DocumentLines(data []byte) (all []*Lines) {
	decoder := yamlv3.NewDecoder(bytes.NewReader(data))
	for {
		var l Lines
		if decoder.Decode(&l.root) != nil || len(l.root.Content) == 0 {
			return all
		}
		if l.root.Content[0].Tag != "!!null" {
			all = append(all, &l)
		}
	}
}

// LineOf returns the line, from 1, of a field of the object, such as spec.limits.cpu, among the documents of the object's file. It is the line of
// the object if the file has no such document.
func (s Source) LineOf(documents []*Lines, field string) int {
	if at := max(s.Document, 1) - 1; at < len(documents) {
		return documents[at].LineOf(append(SplitPath(s.Path), SplitPath(field)...)...)
	}
	return max(1, s.Line)
}

// LineOf returns the line, from 1, of a place in the document. The path consists of names of fields and positions in lists. If the place does
// not exist, the line is that of the nearest place above it.
func (l *Lines) LineOf(path ...any) int {
	_, line := l.findNode(path)
	return line
}

// LinesBelow returns the lines of a place in the document and of everything inside it. The keys are the [LinePath] relative to the place.
func (l *Lines) LinesBelow(path ...any) map[string]int {
	lines := map[string]int{}
	var add func(node *yamlv3.Node, line int, path []any)
	add = func(node *yamlv3.Node, line int, path []any) {
		lines[LinePath(path...)] = line
		if node == nil {
			return
		}
		if node.Kind == yamlv3.AliasNode {
			node = node.Alias
		}
		for i, content := range node.Content {
			switch {
			case node.Kind == yamlv3.SequenceNode:
				add(content, content.Line, append(slices.Clip(path), i))
			case i%2 == 0:
				add(node.Content[i+1], content.Line, append(slices.Clip(path), content.Value))
			}
		}
	}
	node, line := l.findNode(path)
	add(node, line, nil)
	return lines
}

// LinePath returns the key of a path, which consists of names of fields and positions in lists.
func LinePath(path ...any) string { return fmt.Sprintf("%q", path) }

var pathStep = regexp.MustCompile(`\w+|\[[^\]]*\]`)

// SplitPath splits a path as errors show it, such as steps[0].expect, into names of fields and positions in lists.
func SplitPath(place string) (path []any) {
	for _, of := range pathStep.FindAllString(place, -1) {
		key := strings.Trim(of, "[]")
		if i, err := strconv.Atoi(key); err == nil && key != of {
			path = append(path, i)
		} else {
			path = append(path, key)
		}
	}
	return path
}

// findNode returns the node at a place and its line. The node is nil if the place does not exist.
func (l *Lines) findNode(path []any) (*yamlv3.Node, int) {
	if len(l.root.Content) == 0 {
		return nil, 1
	}
	node, line := l.root.Content[0], l.root.Content[0].Line
	for _, step := range path {
		if node.Kind == yamlv3.AliasNode {
			node = node.Alias
		}
		found := false
		switch step := step.(type) {
		case string:
			for i := 0; node.Kind == yamlv3.MappingNode && i+1 < len(node.Content); i += 2 {
				if node.Content[i].Value == step {
					line, node, found = node.Content[i].Line, node.Content[i+1], true
					break
				}
			}
		case int:
			if node.Kind == yamlv3.SequenceNode && step < len(node.Content) {
				node, found = node.Content[step], true
				line = node.Line
			}
		}
		if !found {
			return nil, line
		}
	}
	return node, line
}
