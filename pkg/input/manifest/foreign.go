package manifest

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Skipped is a file of a folder or an archive that holds no Kubernetes object. For example, a support bundle has a list of permissions
// beside the objects. It may also be packed, so that nobody has looked into it, or have a name that is not read.
type Skipped struct {
	File string
	// Problem is the error that the file would be if somebody named it.
	Problem string
	// Packed means that nobody has looked into the file, because it is an archive, or compressed.
	Packed bool
	// Render is the command that renders the folder of the file, a kustomization.yaml or a Chart.yaml; "" for any other file.
	Render string
	// Misnamed means that the file begins like an object, but its name has another extension than those that are read.
	Misnamed bool
}

// objectFields matches a field that every object has. It also works on text that cannot be parsed.
var objectFields = regexp.MustCompile(`(?m)\b(apiVersion|kind|metadata)["']?\s*:`)

// decoded is the content of a file, before a collection takes it.
type decoded struct {
	file      string
	documents int
	outcomes  []outcome
	pages     []page // the Lists themselves
	errs      []error
	// foreign means that the file cannot be parsed, and has no field that every Kubernetes object has.
	foreign bool
	// unread says why nobody has read the file, a member of an archive; nil if the file was read.
	unread *Skipped
}

// isForeign reports whether the file holds nothing that can be a Kubernetes object.
func (d *decoded) isForeign() bool {
	if len(d.errs) > 0 {
		return d.foreign
	}
	return d.unread != nil || len(d.outcomes) > 0 && !slices.ContainsFunc(d.outcomes, func(o outcome) bool { return !o.foreign })
}

// IsForeign reports whether the content of a file cannot be a Kubernetes object. [Read] skips such a file of a folder.
func IsForeign(file string, data []byte) bool {
	text, err := plainText(data)
	if err != nil {
		return false
	}
	read := newCollection(context.Background(), nil).decodeWhole(file, text)
	return read.isForeign()
}

// asSkipped returns the file as [Skipped], with its first problem.
func (d *decoded) asSkipped() Skipped {
	if d.unread != nil {
		return *d.unread
	}
	errs := d.errs
	for _, o := range d.outcomes {
		errs = append(errs, o.errs...)
	}
	return Skipped{File: d.file, Problem: errs[0].Error(), Render: renderFile(d.file)}
}

// noObjects returns the error for a path that holds no object, although it may in what is packed there.
func (c *collection) noObjects(path string) error {
	i := slices.IndexFunc(c.set.Skipped, func(s Skipped) bool { return (s.Packed || s.Misnamed) && strings.HasPrefix(s.File, path) })
	render := slices.IndexFunc(c.set.Skipped, func(s Skipped) bool { return s.Render != "" && strings.HasPrefix(s.File, path) })
	switch {
	case i < 0 && render >= 0:
		return Source{File: path}.errorf("no Kubernetes object in it that is rendered; render it first: %s | simulate run -f -", c.set.Skipped[render].Render)
	case i < 0:
		return noObjects(path)
	case c.set.Skipped[i].Misnamed:
		return Source{File: path}.errorf("no Kubernetes object in it, but %s, whose name does not end in .yaml, .yml or .json; rename it, or name it by itself", c.set.Skipped[i].File)
	}
	return Source{File: path}.errorf("no Kubernetes object in it, but %s, which is packed; unpack it, or name it by itself", c.set.Skipped[i].File)
}

// objectStart matches the beginning of a file that holds an object, as JSON or as YAML after comments.
var objectStart = regexp.MustCompile(`\A(?:\x{FEFF})?\s*(?:(?:#|---)[^\n]*\n\s*)*(?:(?:apiVersion|kind)[ \t]*:|\{(?s:.*?)"apiVersion"\s*:)`)

// maxStart is how many bytes of a file are compared with [objectStart].
const maxStart = 4096

// beginsLikeObject reports whether the text begins like a Kubernetes object. It reads at most maxStart bytes. A text that cannot be read
// does not.
func beginsLikeObject(text io.Reader) bool {
	start := make([]byte, maxStart)
	n, err := io.ReadFull(text, start)
	return (err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && objectStart.Match(start[:n])
}

// misnamed returns the file of a folder or an archive that begins like an object, but is not read because of its name.
func misnamed(file string) Skipped {
	problem := Source{File: file}.errorf("begins like a Kubernetes object, but its name does not end in .yaml, .yml or .json, so it is not read; rename it, or name it by itself")
	return Skipped{File: file, Misnamed: true, Problem: problem.Error()}
}

// isComponentStatus reports whether the item can only be a ComponentStatus, in which clients leave out apiVersion and kind: its conditions are beside
// its metadata. It has no UID.
func (it item) isComponentStatus() bool {
	fields, err := decodeFields(it.json)
	return err == nil && len(fields) == 2 && fields["metadata"] != nil && fields["conditions"] != nil
}

// isNameless reports whether the item has no name. An object whose kind somebody forgot has a name; an item without a name and a kind is no
// Kubernetes object.
func (it item) isNameless() bool {
	h := it.header
	return h.Metadata.Name == "" && h.Metadata.GenerateName == ""
}
