package playground

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// Problem is something wrong with a scenario or with a file that it names.
type Problem struct {
	// File is the file's path, and Line the line in it, from 1; 0 where none is known.
	File string `json:"file"`
	Line int    `json:"line"`
	// Message says what is wrong in a line, after the place in the file.
	Message string `json:"message"`
}

// problemsOf are the problems that loading the input found, an error's line each.
func problemsOf(err error, in Input) (problems []Problem) {
	for line := range strings.Lines(err.Error()) {
		problems = append(problems, problemOf(strings.TrimSpace(line), in))
	}
	return problems
}

func problemOf(text string, in Input) Problem {
	p := Problem{File: in.Main, Message: text}
	for file := range in.Files {
		if rest, found := strings.CutPrefix(text, file+": "); found && (p.Message == text || len(file) > len(p.File)) {
			p.File, p.Message = file, rest
		}
	}
	p.Line = lineOf(p.Message, in.Files[p.File])
	return p
}

var (
	atLine     = regexp.MustCompile(`^line (\d+): `)
	inDocument = regexp.MustCompile(`^document (\d+): `)
	ofObject   = regexp.MustCompile(`^[A-Z]\w* \S+: `)
	unknown    = regexp.MustCompile(`^unknown field "([^"]+)"`)
	place      = regexp.MustCompile(`^[a-z]\w*(?:\.\w+|\[[^\]]*\])*`)
)

// lineOf is the line that a problem's message speaks of: it begins with a line, or with a document, an object and a place in it, which may
// follow each other.
func lineOf(message, text string) int {
	if at := atLine.FindStringSubmatch(message); at != nil {
		line, _ := strconv.Atoi(at[1])
		return line
	}
	document := 1
	if at := inDocument.FindStringSubmatch(message); at != nil {
		document, _ = strconv.Atoi(at[1])
		message = message[len(at[0]):]
	}
	var path []any
	for message != "" {
		if object := ofObject.FindString(message); object != "" {
			message = message[len(object):]
			continue
		}
		found, rest := place.FindString(message), ""
		if of := unknown.FindStringSubmatch(message); of != nil {
			found = of[1]
		} else if found == "" || !strings.HasPrefix(message[len(found):], ": ") {
			break
		} else {
			rest = message[len(found)+2:]
		}
		path, message = slices.Concat(path, manifest.PathOf(found)), rest
	}
	return manifest.NewDocumentLines([]byte(text), document).Of(path...)
}
