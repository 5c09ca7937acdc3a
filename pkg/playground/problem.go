package playground

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
)

// Problem is something wrong with a scenario or with a file that it names.
type Problem struct {
	// File is the file's path, and Line the line in it, from 1; 0 if the line is not known.
	File string `json:"file"`
	Line int    `json:"line"`
	// Message says in one line what is wrong, without the place in the file.
	Message string `json:"message"`
}

// maxProblems is the maximum number of problems in a response.
const maxProblems = 100

// problemsOf returns the problems that loading the input found, one for each line of the error.
func problemsOf(err error, in Input) (problems []Problem) {
	finder := finder{in: in, documents: map[string][]*manifest.Lines{}}
	for line := range strings.Lines(err.Error()) {
		if len(problems) == maxProblems {
			problems[maxProblems-1] = Problem{File: in.Main, Message: fmt.Sprintf("there are more problems; only the first %d are listed", maxProblems-1)}
			break
		}
		problems = append(problems, finder.newProblem(strings.TrimSpace(line)))
	}
	return problems
}

// lineOfStep returns the line at which a step of the scenario begins; 0 if it is not known.
func lineOfStep(in Input, s *scenario.Scenario, name string) int {
	i := slices.IndexFunc(s.Steps, func(step scenario.LoadedStep) bool { return step.Name == name })
	finder := finder{in: in, documents: map[string][]*manifest.Lines{}}
	if lines := finder.documentLines(in.Main, 1); lines != nil && i >= 0 {
		return lines.LineOf("steps", i)
	}
	return 0
}

// finder finds the places of problems. It reads each file once.
type finder struct {
	in        Input
	documents map[string][]*manifest.Lines // by file
}

func (f *finder) newProblem(text string) Problem {
	p := Problem{File: f.in.Main, Message: text}
	for file := range f.in.Files {
		if rest, found := strings.CutPrefix(text, manifest.Clean(file)+": "); found && (p.Message == text || len(file) > len(p.File)) {
			p.File, p.Message = file, rest
		}
	}
	p.Line = f.lineOf(p.File, p.Message)
	return p
}

// maxEdited is the maximum size of a file that the page shows in its editor. The lines of larger files are not needed.
const maxEdited = 1_000_000

// documentLines returns the lines of document n of a file, counted from 1. They are nil if the file is too large, and empty if it has no such
// document.
func (f *finder) documentLines(file string, n int) *manifest.Lines {
	if len(f.in.Files[file]) > maxEdited {
		return nil
	}
	if _, read := f.documents[file]; !read {
		f.documents[file] = manifest.DocumentLines([]byte(f.in.Files[file]))
	}
	if n < 1 || n > len(f.documents[file]) {
		return &manifest.Lines{}
	}
	return f.documents[file][n-1]
}

var (
	linePattern         = regexp.MustCompile(`^line (\d+): `)
	documentPattern     = regexp.MustCompile(`^document (\d+): `)
	objectPattern       = regexp.MustCompile(`^[A-Z]\w* \S+: `)
	unknownFieldPattern = regexp.MustCompile(`^unknown field "([^"]+)"`)
	placePattern        = regexp.MustCompile(`^[a-z]\w*(?:\.\w+|\[[^\]]*\])*`)
)

// lineOf returns the line that a problem's message is about. The message begins with a line, or with any of: a document, an object, and a
// place in the object.
func (f *finder) lineOf(file, message string) int {
	if at := linePattern.FindStringSubmatch(message); at != nil {
		line, _ := strconv.Atoi(at[1])
		return line
	}
	document := 1
	if at := documentPattern.FindStringSubmatch(message); at != nil {
		document, _ = strconv.Atoi(at[1])
		message = message[len(at[0]):]
	}
	var path []any
	for message != "" {
		if object := objectPattern.FindString(message); object != "" {
			message = message[len(object):]
			continue
		}
		found, rest := placePattern.FindString(message), ""
		if of := unknownFieldPattern.FindStringSubmatch(message); of != nil {
			found = of[1]
		} else if found == "" || !strings.HasPrefix(message[len(found):], ": ") {
			break
		} else {
			rest = message[len(found)+2:]
		}
		path, message = slices.Concat(path, manifest.SplitPath(found)), rest
	}
	if lines := f.documentLines(file, document); lines != nil {
		return lines.LineOf(path...)
	}
	return 0
}
