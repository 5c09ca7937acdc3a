package lint

import (
	"fmt"

	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report/format/findings"
)

// Found returns the findings for the page of a change, without known and ignored ones.
func (r *Report) Found() findings.Findings {
	all := findings.Findings{Version: r.Version}
	for _, c := range r.Checks {
		all.Rules = append(all.Rules, findings.Rule{ID: c.ID, Level: string(c.Severity), Short: c.Title, Page: c.Page})
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		result := findings.Result{
			Rule: f.Check, Level: string(f.Severity), Message: fmt.Sprintf("%s: %s. Fix: %s.", objectName(f), f.Message, f.Fix),
			Place: f.Step + "/" + f.Namespace + "/" + objectName(f) + "/" + f.Field,
		}
		if f.Source != nil {
			result.Source = &manifest.Place{File: f.Source.File, Line: f.Source.Line}
			if line := r.lines[fieldOf(f)]; line > 0 {
				result.Source.Line = line
			}
		}
		all.Results = append(all.Results, result)
	}
	return all
}

// maxLocatedBytes is the largest file, in bytes, in which lines are searched. Nobody reviews the lines of a dump.
const maxLocatedBytes = 4 << 20

// field is a field of an object in a file.
type field struct {
	manifest.Source
	path string
}

func fieldOf(f *lint.Finding) field { return field{*f.Source, f.Field} }

// Locate finds the lines of the rules in the files. A rule whose line is not found gets the line of its object.
func (r *Report) Locate(read func(file string) ([]byte, error)) {
	r.lines = map[field]int{}
	files := map[string][]*manifest.Lines{}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Source == nil || f.Source.File == manifest.Stdin {
			continue
		}
		documents, known := files[f.Source.File]
		if !known {
			if data, err := read(f.Source.File); err == nil && len(data) <= maxLocatedBytes {
				documents = manifest.DocumentLines(data)
			}
			files[f.Source.File] = documents
		}
		if at := max(f.Source.Document, 1) - 1; at < len(documents) {
			r.lines[fieldOf(f)] = f.Source.LineOf(documents, f.Field)
		}
	}
}
