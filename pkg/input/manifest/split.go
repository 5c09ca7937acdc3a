package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	yamlv2 "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/input/recording"
)

// maxYAML is the maximum number of bytes of a YAML file, and of a document after its aliases are expanded. JSON is parsed many times
// faster, and the dump of a large cluster has some hundred megabytes of it.
const (
	maxYAML = 64 << 20
	maxJSON = 1 << 30
)

// document is one document of a file.
type document struct {
	text   []byte // as written
	json   []byte // the document as JSON
	source Source
}

// splitDocuments returns the documents of a file that are not empty, each as JSON.
func splitDocuments(file string, data []byte) ([]document, []error) {
	if err := checkBytes(file, data); err != nil {
		return nil, []error{err}
	}
	text := blankWarnings(dropByteOrderMarks(data))
	if problem := findMisprint(text); problem != "" {
		return nil, []error{Source{File: file}.errorf("%s", problem)}
	}
	var documents []document
	var errs []error
	for _, c := range splitChunks(text) {
		found, problems := c.documents()
		for _, d := range found {
			d.source.File = file
			d.source.Document = len(documents) + 1
			documents = append(documents, d)
		}
		for _, problem := range problems {
			errs = append(errs, Source{File: file}.errorf("%s", problem))
		}
	}
	if len(documents) == 1 {
		documents[0].source.Document = 0
	}
	return documents, errs
}

// readDocuments returns the documents of a file. For a recording, they are the objects at its end.
func readDocuments(file string, data []byte) ([]document, []error) {
	if !isRecording(data) {
		documents, errs := splitDocuments(file, data)
		return endOfWatch(documents), errs
	}
	events, err := recording.Read(Source{File: file}.String(), bytes.NewReader(data))
	if err != nil {
		return nil, []error{err}
	}
	var documents []document
	for _, e := range recording.LastEvents(events) {
		documents = append(documents, document{e.Resource, e.Resource, Source{File: file, Line: e.Line}})
	}
	return documents, nil
}

// isRecording reports whether a file is a recording of what happened in a cluster.
func isRecording(data []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	return len(line) <= recording.MaxLine && recording.IsLine(line)
}

// Head returns the apiVersion and the kind of the first document, or "" if the document does not parse. It returns those of a List for a
// recording, for an array or a tree of objects, and for objects of a dump without a kind, since all of these are read as a List is.
func Head(data []byte) (apiVersion, kind string) {
	if isRecording(data) {
		return "v1", "List"
	}
	for _, c := range splitChunks(blankWarnings(dropByteOrderMarks(data))) {
		documents, problems := c.documents()
		if len(problems) > 0 {
			return "", ""
		}
		if len(documents) > 0 {
			var head struct {
				APIVersion string `json:"apiVersion"`
				Kind       string `json:"kind"`
			}
			if _, watched := parseWatchEvent(documents[0].json); watched || documents[0].json[0] == '[' {
				return "v1", "List"
			}
			if json.Unmarshal(documents[0].json, &head) != nil {
				return "", ""
			}
			if it := (item{json: documents[0].json}); head.APIVersion == "" && head.Kind == "" && it.readHeader() && (it.dumped() || it.kindlessItems() != nil || isTree(it.json, 0)) {
				return "v1", "List" // of objects whose fields show their kinds, or of a tree
			}
			return head.APIVersion, head.Kind
		}
	}
	return "", ""
}

func checkBytes(file string, data []byte) error {
	source := Source{File: file}
	if len(data) > maxSize(data) {
		return tooLargeError(file)
	}
	if err := checkPacked(data); err != nil {
		return source.errorf("%v", err)
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return source.errorf("%v", notTextError{i + 1})
	}
	if !utf8.Valid(data) {
		return source.errorf("not valid UTF-8; save the file as UTF-8")
	}
	return nil
}

// byteOrderMark is an optional mark at the beginning of a UTF-8 file.
const byteOrderMark = "\ufeff"

// dropByteOrderMarks removes the byte order mark at the beginning of the file. It also removes the marks at the beginning of later lines, which a
// file has that was concatenated from several files.
func dropByteOrderMarks(data []byte) []byte {
	mark := []byte(byteOrderMark)
	data = bytes.TrimPrefix(data, mark)
	if !bytes.Contains(data, mark) {
		return data
	}
	return bytes.ReplaceAll(data, append([]byte("\n"), mark...), []byte("\n"))
}

// maxSize returns the maximum size of a file with this beginning.
func maxSize(beginning []byte) int {
	if beginsAsJSON(bytes.TrimPrefix(beginning, []byte(byteOrderMark))) {
		return maxJSON
	}
	return maxYAML
}

// mayBeginJSON reports whether the text can be the beginning of JSON.
func mayBeginJSON(beginning []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(beginning, []byte(byteOrderMark))))
	for {
		if _, err := decoder.Token(); err != nil {
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

// beginsAsJSON reports whether the text begins as a JSON object or array does. A YAML document may begin with a bracket, too.
func beginsAsJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// IsJSON reports whether the whole text is JSON: objects or arrays, one after the other.
func IsJSON(text []byte) bool {
	if !beginsAsJSON(text) {
		return false
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

func tooLargeError(file string) error {
	return Source{File: file}.errorf("too large; of one file at most 64 MiB of YAML or 1 GiB of JSON are read, so split it into several")
}

// chunk is the text between two document markers.
type chunk struct {
	text []byte
	line int // the first line of the chunk, from 1
}

// splitChunks splits the text at the lines that begin with the markers "---" and "...". YAML allows neither at the beginning of a line inside a
// document. The rest of a line after "---" belongs to the next document.
func splitChunks(data []byte) []chunk {
	var list []chunk
	begin, beginLine, line := 0, 1, 1
	for at := 0; at < len(data); line++ {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if isMarker(data[at:end]) {
			list = append(list, chunk{data[begin:at], beginLine})
			begin, beginLine = at+3, line
		}
		at = end
	}
	return append(list, chunk{data[begin:], beginLine})
}

func isMarker(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	return len(line) == 3 || strings.IndexByte(" \t\r\n", line[3]) >= 0
}

// documents returns the documents in the chunk: none, one YAML document, or JSON values one after the other. Problems have their line if it
// is known.
func (c chunk) documents() (documents []document, problems []string) {
	text := c.text
	if isBlank(text) {
		return nil, nil
	}
	var jsonProblem string
	if begin := c.skipBlankLines(); beginsAsJSON(begin.text) {
		if documents, jsonProblem = begin.jsonValues(); jsonProblem == "" {
			return documents, nil
		}
		if len(documents) > 0 { // a YAML parser would ignore what follows the first one
			return nil, []string{jsonProblem}
		}
	}
	if len(text) > maxYAML {
		return nil, []string{cmp.Or(jsonProblem, fmt.Sprintf("line %d: the YAML from here on is too large; at most 64 MiB are read, so split it", c.line))}
	}
	converted, problems := yamlToJSON(text, c.line)
	if len(problems) == 0 {
		problems = c.checkRemainder()
		if len(problems) > 0 {
			return nil, problems
		}
	}
	switch {
	case len(problems) == 0 && string(converted) == "null":
		return nil, nil
	case len(problems) == 0:
		return []document{{text, converted, Source{Line: c.line + leadingLines(text)}}}, nil
	case strings.Contains(problems[0], "invalid map key"):
		// Double braces are a mapping with a mapping as its key, which YAML allows and JSON does not.
		return nil, []string{fmt.Sprintf("line %d: not valid YAML, but perhaps a template; render it first, as helm template does", c.line+leadingLines(text))}
	case jsonProblem != "":
		return nil, []string{jsonProblem}
	case bytes.Contains(text, []byte("{{")):
		problems[0] += "; if this is a template, render it first, as helm template does"
	}
	return nil, problems
}

// skipBlankLines returns the chunk from the first line with content.
func (c chunk) skipBlankLines() chunk {
	begin := chunk{c.text, c.line}
	for range leadingLines(c.text) {
		end := bytes.IndexByte(begin.text, '\n') + 1
		begin = chunk{begin.text[end:], begin.line + 1}
	}
	return begin
}

// checkRemainder returns a problem if the document ends before the chunk does. The parser that converts YAML ignores text after the document.
// There can be such text only if the document does not begin as a block at the left margin.
func (c chunk) checkRemainder() []string {
	begin := c.skipBlankLines()
	if first := begin.text[0]; !bytes.ContainsRune([]byte("{[\"'|>&!* \t"), rune(first)) {
		return nil
	}
	decoder := yamlv3.NewDecoder(bytes.NewReader(begin.text))
	var document yamlv3.Node
	if decoder.Decode(&document) != nil {
		return nil // the document uses a feature that only the other parser has
	}
	err := decoder.Decode(&document)
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	// Here the parser counts lines from 0.
	return []string{yamlProblems(err, begin.line+1)[0] + "; begin each document with ---"}
}

// isBlank reports whether the text has nothing but white space, comments and YAML directives.
func isBlank(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// leadingLines counts the lines before the first one with content.
func leadingLines(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		if !isBlank(line) {
			break
		}
		n++
	}
	return n
}

// jsonValues returns the JSON values at the beginning of the chunk, and the problem of the text after them, unless that is only comments.
// The values are slices of the chunk, since a dump can have a gigabyte.
func (c chunk) jsonValues() (documents []document, problem string) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(c.text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	line, counted := c.line, 0
	for {
		if end := int(decoder.InputOffset()); onlyComments(c.text[end:]) {
			return documents, ""
		}
		value, err := decoder.ReadValue()
		if err != nil {
			return documents, c.jsonProblem(int(decoder.InputOffset()), err)
		}
		begin := int(decoder.InputOffset()) - len(value)
		line += bytes.Count(c.text[counted:begin], []byte("\n"))
		counted = begin
		documents = append(documents, document{value, value, Source{Line: line}})
	}
}

// jsonProblem returns the problem of the JSON value that begins at an offset, in the words of Go's JSON parser.
func (c chunk) jsonProblem(at int, err error) string {
	rest, offset := c.text[at:], len(c.text)-at
	var syntax *json.SyntaxError
	switch found := json.Unmarshal(rest, &struct{}{}); {
	case errors.As(found, &syntax) && int(syntax.Offset) >= len(rest) && strings.HasPrefix(syntax.Error(), "unexpected end"):
		err = io.ErrUnexpectedEOF
	case errors.As(found, &syntax):
		err, offset = syntax, min(offset, int(syntax.Offset))
	}
	return fmt.Sprintf("line %d: not valid JSON: %v", c.line+bytes.Count(c.text[:at+offset], []byte("\n")), err)
}

// onlyComments reports whether the text has nothing but white space and comments.
func onlyComments(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// yamlToJSON converts one YAML document that begins on the given line of its file.
func yamlToJSON(text []byte, line int) (converted []byte, problems []string) {
	if err := checkAliases(text); err != nil {
		return nil, yamlProblems(err, line)
	}
	converted, err := yaml.YAMLToJSONStrict(text)
	if err != nil && bytes.Contains(text, []byte("<<")) {
		// The strict parser also reports a key that overrides one from a merge ("<<") as set twice.
		if err = checkDuplicateKeys(text); err == nil {
			converted, err = yaml.YAMLToJSON(text)
		}
	}
	if err != nil {
		return nil, yamlProblems(cmp.Or(checkJSONValues(text), err), line)
	}
	return converted, nil
}

// checkDuplicateKeys returns an error for keys that a mapping has more than once, without counting merged keys. The next version of the parser
// ignores merged keys, too, but takes quadratic time.
func checkDuplicateKeys(text []byte) error {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(text, &document); err != nil {
		return err
	}
	const told = -1
	var problems []string
	var find func(node *yamlv3.Node)
	find = func(node *yamlv3.Node) {
		first := map[string]int{}
		for i, child := range node.Content {
			if node.Kind == yamlv3.MappingNode && i%2 == 0 && child.Kind == yamlv3.ScalarNode {
				switch line := first[child.Value]; line {
				case 0:
					first[child.Value] = child.Line
				case told:
				default:
					problems = append(problems, fmt.Sprintf("line %d: mapping key %q already defined at line %d", child.Line, child.Value, line))
					first[child.Value] = told
				}
			}
			find(child)
		}
	}
	if find(&document); len(problems) > 0 {
		return &yamlv3.TypeError{Errors: problems}
	}
	return nil
}

// checkJSONValues returns an error, with its line, for a value that YAML allows and JSON does not, such as NaN; nil if there is none. The
// conversion's own error has no line.
func checkJSONValues(text []byte) error {
	var document yamlv3.Node
	if yamlv3.Unmarshal(text, &document) != nil {
		return nil
	}
	var find func(node *yamlv3.Node) error
	find = func(node *yamlv3.Node) error {
		for i, child := range node.Content {
			if key := node.Kind == yamlv3.MappingNode && i%2 == 0; key && child.ShortTag() == "!!null" {
				return fmt.Errorf("line %d: %s is the key of a field, which has to be a string; put it in quotes", child.Line, cmp.Or(child.Value, "nothing"))
			}
			if number := strings.ToLower(strings.TrimLeft(child.Value, "+-.")); child.ShortTag() == "!!float" && (number == "nan" || number == "inf") {
				return fmt.Errorf("line %d: %s is no number that JSON has; give another, or put it in quotes", child.Line, child.Value)
			}
			if err := find(child); err != nil {
				return err
			}
		}
		return nil
	}
	return find(&document)
}

// checkAliases returns an error for a document that would become too large when its aliases are expanded. The parser that expands them
// bounds the number of values from aliases but not their length: a thousand aliases of a one-megabyte string pass.
func checkAliases(text []byte) error {
	if !bytes.ContainsRune(text, '&') || !bytes.ContainsRune(text, '*') {
		return nil
	}
	var document yamlv3.Node // here an alias is a pointer
	if err := yamlv3.Unmarshal(text, &document); err != nil {
		return err
	}
	if expandedSize(&document, map[*yamlv3.Node]int{}) > maxYAML {
		return errors.New("YAML aliases make this document larger than 64 MiB; write out what is needed")
	}
	return nil
}

// expandedSize estimates the size of a document as JSON, and stops when it exceeds the maximum. It caches the sizes of nodes with an
// anchor. An anchor inside itself, which the parser refuses, counts as 0.
func expandedSize(node *yamlv3.Node, known map[*yamlv3.Node]int) int {
	if node.Kind == yamlv3.AliasNode {
		return expandedSize(node.Alias, known)
	}
	if size, found := known[node]; found {
		return size
	}
	if node.Anchor != "" {
		known[node] = 0
	}
	size := 1 + len(node.Value)
	for _, child := range node.Content {
		size = min(size+expandedSize(child, known), maxYAML+1)
	}
	if node.Anchor != "" {
		known[node] = size
	}
	return size
}

var yamlLine = regexp.MustCompile(`^\s*(?:yaml: )?(?:line (\d+): )?`)

// yamlProblems splits the parser's message into one line for each problem, with the line in the file rather than in the document.
func yamlProblems(err error, line int) []string {
	messages := []string{err.Error()}
	var several2 *yamlv2.TypeError
	var several3 *yamlv3.TypeError
	switch {
	case errors.As(err, &several2):
		messages = several2.Errors
	case errors.As(err, &several3):
		messages = several3.Errors
	}
	problems := make([]string, 0, len(messages))
	for _, message := range messages {
		match := yamlLine.FindStringSubmatch(message)
		at := line // a problem without a line concerns the whole document, or its first line
		if n, err := strconv.Atoi(match[1]); err == nil {
			at += n - 1
		}
		problems = append(problems, fmt.Sprintf("line %d: not valid YAML: %s", at, oneLine(message[len(match[0]):])))
	}
	return problems
}
