package manifest

import (
	"context"
	"regexp"
	"slices"
)

// Skipped is a file of a folder or an archive that holds no object of Kubernetes, such as a list of permissions that a support bundle has
// beside the objects.
type Skipped struct {
	File string
	// Problem is the error that the file would be if it was given by itself.
	Problem string
}

// objectFields matches what each object in a text has, also in one that cannot be parsed.
var objectFields = regexp.MustCompile(`(?m)\b(apiVersion|kind|metadata)["']?\s*:`)

// decoded is what a file holds, until a collection takes it.
type decoded struct {
	file      string
	documents int
	outcomes  []outcome
	errs      []error
	// foreign means that nothing in the file can be an object of Kubernetes, although it cannot be parsed.
	foreign bool
}

// isForeign reports whether nothing in the file can be an object of Kubernetes.
func (d *decoded) isForeign() bool {
	if len(d.errs) > 0 {
		return d.foreign
	}
	return len(d.outcomes) > 0 && !slices.ContainsFunc(d.outcomes, func(o outcome) bool { return !o.foreign })
}

// IsForeign reports whether the content of a file can be no object of Kubernetes, so that of a folder the file is skipped.
func IsForeign(file string, data []byte) bool {
	text, err := plain(data)
	if err != nil {
		return false
	}
	read := newCollection(context.Background(), nil).decodeWhole(file, text)
	return read.isForeign()
}

// skipped returns the file, with its first problem.
func (d *decoded) skipped() Skipped {
	errs := d.errs
	for _, o := range d.outcomes {
		errs = append(errs, o.errs...)
	}
	return Skipped{File: d.file, Problem: errs[0].Error()}
}

// nameless reports whether the item has neither all that says what an object is, nor a name. An object of which somebody forgot the kind has
// a name.
func (it item) nameless() bool {
	h := it.header
	return h.Metadata.Name == "" && h.Metadata.GenerateName == ""
}
