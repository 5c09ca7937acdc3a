package scenario

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
)

// Problems are what is wrong with a scenario: all of it is found before any of it is reported.
type Problems struct {
	// File stands before each problem. It is the scenario's file, or says where else a change comes from.
	File string
	// Flags are the names of the flags that give fields in place of the file, by the fields' paths. A problem of such a field is the flag's.
	Flags map[string]string
	all   []error
	// unread are the fields that could not be read. That such a field is empty is no further problem.
	unread map[string]bool
	// reported are the places at which problems were added.
	reported map[string]bool
}

// Add reports a problem at a place; nil is the file as a whole.
func (p *Problems) Add(path *field.Path, format string, args ...any) {
	if path != nil {
		if p.reported == nil {
			p.reported = map[string]bool{}
		}
		p.reported[path.String()] = true
	}
	if path != nil && p.unread[path.String()] {
		return
	}
	where := p.File
	if path != nil {
		if flag, given := p.Flags[path.String()]; given {
			where = CommandLine + ": --" + flag
		} else {
			where += ": " + path.String()
		}
	}
	p.AddErrors(errors.New(manifest.Problem(where + ": " + fmt.Sprintf(format, args...))))
}

// AddAt reports a problem that names its place itself.
func (p *Problems) AddAt(err *field.Error) { p.Add(field.NewPath(err.Field), "%s", err.ErrorBody()) }

// Reported says whether anything was wrong at exactly this place.
func (p *Problems) Reported(path *field.Path) bool { return p.reported[path.String()] }

// AddLines reports each line of an error as a problem at a place.
func (p *Problems) AddLines(path *field.Path, err error) {
	for line := range strings.Lines(err.Error()) {
		p.Add(path, "%s", strings.TrimSpace(line))
	}
}

// AddUnread reports the problems of fields that could not be read. The error has a line for each, which begins with the field's place. If the
// field is unknown, the object that has it counts as unread.
func (p *Problems) AddUnread(err error) {
	p.unread = map[string]bool{}
	for line := range strings.Lines(err.Error()) {
		place, _, _ := strings.Cut(strings.TrimPrefix(line, p.File+": "), ": ")
		if _, unknown, is := strings.Cut(place, `unknown field "`); is {
			unknown, _, _ = strings.Cut(unknown, `"`)
			place = unknown[:max(strings.LastIndex(unknown, "."), 0)]
		}
		p.unread[place] = true
	}
	p.AddErrors(err)
}

// AddErrors reports problems that name their file themselves.
func (p *Problems) AddErrors(errs ...error) { p.all = append(p.all, errs...) }

// AddAll also reports the problems of a scenario that was derived from this file, unless the file itself has them.
func (p *Problems) AddAll(derived *Problems) {
	own := list.Set(p.all, func(err error) string { return strings.TrimPrefix(err.Error(), p.File) })
	for _, err := range derived.all {
		if !own[strings.TrimPrefix(err.Error(), derived.File)] {
			p.AddErrors(err)
		}
	}
}

// Len is the number of problems so far.
func (p *Problems) Len() int { return len(p.all) }

// maxProblems is how many problems of a file are listed.
const maxProblems = 100

// Err joins the problems, each once: an object that several steps apply is wrong in each of them. Without any it is nil. Of many only the
// first are listed.
func (p *Problems) Err() error {
	seen := map[string]bool{}
	var errs []error
	for _, err := range p.all {
		if !seen[err.Error()] {
			seen[err.Error()] = true
			errs = append(errs, err)
		}
	}
	if more := len(errs) - maxProblems; more > 0 {
		errs = append(errs[:maxProblems:maxProblems], fmt.Errorf("%s: %d more problems; only the first %d are listed", manifest.Clean(p.File), more, maxProblems))
	}
	return errors.Join(errs...)
}
