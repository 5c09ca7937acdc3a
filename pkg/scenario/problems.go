package scenario

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
)

// Problems collects the problems of a scenario, so that all of them are reported at once.
type Problems struct {
	// File is the prefix of each problem: the scenario's file, or where else a change comes from.
	File string
	// Flags maps paths of fields to the flags that set them in place of the file. A problem of such a field is reported as the flag's.
	Flags map[string]string
	errs  []error
	// unread has the fields that could not be read. Add ignores problems of these, which may only say that the field is empty.
	unread map[string]bool
	// reported has the places at which problems were added.
	reported map[string]bool
}

// Add reports a problem at a place; nil means the file as a whole.
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
	p.AddErrors(errors.New(manifest.RewordProblem(where + ": " + fmt.Sprintf(format, args...))))
}

// addAt reports a problem with its own place.
func (p *Problems) addAt(err *field.Error) { p.Add(field.NewPath(err.Field), "%s", err.ErrorBody()) }

// Reported reports whether a problem was added at exactly this place.
func (p *Problems) Reported(path *field.Path) bool { return p.reported[path.String()] }

// AddLines reports each line of an error as a problem at a place.
func (p *Problems) AddLines(path *field.Path, err error) {
	for line := range strings.Lines(err.Error()) {
		p.Add(path, "%s", strings.TrimSpace(line))
	}
}

// AddUnread reports the problems of fields that could not be read. The error has one line for each, which begins with the field's place. If
// a field is unknown, the object that has it counts as unread.
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
func (p *Problems) AddErrors(errs ...error) { p.errs = append(p.errs, errs...) }

// AddDerived adds the problems of a scenario that is derived from this file, without the problems that the file itself has.
func (p *Problems) AddDerived(derived *Problems) {
	own := list.KeySet(p.errs, func(err error) string { return strings.TrimPrefix(err.Error(), p.File) })
	for _, err := range derived.errs {
		if !own[strings.TrimPrefix(err.Error(), derived.File)] {
			p.AddErrors(err)
		}
	}
}

// Len returns the number of problems so far.
func (p *Problems) Len() int { return len(p.errs) }

// maxProblems is the largest number of problems that Err lists.
const maxProblems = 100

// Err joins the problems, each once: an object that several steps apply is wrong in each of them. It lists the first 100. It returns nil if
// there are none.
func (p *Problems) Err() error {
	seen := map[string]bool{}
	var errs []error
	for _, err := range p.errs {
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
