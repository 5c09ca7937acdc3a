package manifest

import (
	"archive/tar"
	"cmp"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
)

// Somebody who sends a dump often packs it once more, with a letter beside it. If an archive or a folder has no object, and exactly one archive, that
// archive is read in its place. An archive beside objects is not read: a must-gather has an older one of Insights with other states of the same
// objects.

// maxWrappers is how many archives may be inside each other around the one that is read.
const maxWrappers = 3

// tarNames lists the extensions of tar archives.
var tarNames = []string{".tar", ".tar.gz", ".tgz"}

func isTarName(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc(tarNames, func(extension string) bool { return strings.HasSuffix(lower, extension) })
}

// onlyArchive returns the only archive among the skipped files, or "".
func onlyArchive(skipped []Skipped) (file string) {
	for _, s := range skipped {
		switch {
		case !s.Packed || !isTarName(s.File):
		case file != "":
			return ""
		default:
			file = s.File
		}
	}
	return file
}

// decodeWrapped decodes the only archive inside of an archive that has no object. Each archive is read from the beginning of the file, since an archive
// can be read only once.
func (c *collection) decodeWrapped(t fileTree, file string, inner []string) (documents int) {
	for names := []string(nil); documents == 0 && len(inner) == 1 && len(names) < maxWrappers && !c.ended(); {
		names = append(names, inner[0])
		label := file + "/" + path.Join(names...)
		in, err := t.openInner(file, names)
		if err != nil {
			c.errs = append(c.errs, readError(label, err))
			return 0
		}
		c.dropSkipped(label)
		documents, inner = c.decodeArchive(label, in)
		in.Close()
	}
	return documents
}

// dropSkipped forgets that a file was skipped, since it is read now.
func (c *collection) dropSkipped(file string) {
	c.set.Skipped = slices.DeleteFunc(c.set.Skipped, func(s Skipped) bool { return s.File == file })
}

// openInner opens an archive inside of archives inside of a file.
func (t fileTree) openInner(file string, names []string) (*fileReader, error) {
	in, _, err := t.openText(nil, file)
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		var found io.Reader
		if found, err = findInner(in, name); err == nil {
			closer := in.Closer
			if in, err = openReader(io.NopCloser(found)); err == nil && in.archive {
				in.Closer = closer // of the file
				continue
			}
			closer.Close()
			return nil, cmp.Or(err, errNoArchive)
		}
		in.Close()
	}
	return in, err
}

var errNoArchive = errors.New("is no archive, although its name says so; leave it out, or write it anew")

// findInner returns the text of a file in an archive.
func findInner(in io.Reader, name string) (io.Reader, error) {
	archive := tar.NewReader(&limitedReader{in: in, left: maxArchive})
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeReg && path.Clean(header.Name) == name {
			return archive, nil
		}
	}
}
