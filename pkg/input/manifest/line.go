package manifest

import yamlv3 "go.yaml.in/yaml/v3"

// Lines knows on which line of a document its fields stand.
type Lines struct{ root yamlv3.Node }

// NewLines reads a document of YAML, or of JSON, which is YAML. Of one that cannot be read every place is the first line.
func NewLines(data []byte) *Lines {
	var l Lines
	if yamlv3.Unmarshal(data, &l.root) != nil || len(l.root.Content) == 0 {
		return &Lines{}
	}
	return &l
}

// Of returns the line, from 1, of a place in the document, given by names of fields and positions in lists. Of a place that is not
// there it is the line of what is nearest above.
func (l *Lines) Of(path ...any) int {
	if len(l.root.Content) == 0 {
		return 1
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
			return line
		}
	}
	return line
}
