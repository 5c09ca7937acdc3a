package manifest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/list"
)

// An archive may have maxEntries files, maxArchive bytes after decompression, and maxFolders folders inside each other.
const (
	maxEntries = 100_000
	maxArchive = 8 << 30
	maxFolders = 50
)

// tarHeader is the number of bytes of a header in a tar archive.
const tarHeader = 512

// endOfTar is the number of zero bytes at the end of a tar archive. A shorter end means that the archive was cut off. gzip finds this by
// itself.
const endOfTar = 1024

// trailingZeros is a reader that counts the zero bytes at the end of the text so far.
type trailingZeros struct {
	in    io.Reader
	zeros int
}

// Read reads from the archive.
func (e *trailingZeros) Read(p []byte) (int, error) {
	n, err := e.in.Read(p)
	rest := len(bytes.TrimRight(p[:n], "\x00"))
	if rest > 0 {
		e.zeros = 0
	}
	e.zeros += n - rest
	return n, err
}

// isTar reports whether a file with this beginning is a tar archive, in any of the formats in use.
func isTar(beginning []byte) bool {
	return len(beginning) == tarHeader && string(beginning[257:262]) == "ustar"
}

// IsArchive reports whether a file is a tar archive, with or without gzip compression.
func IsArchive(file string) bool {
	in, _, err := fileTree{}.openText(nil, file)
	if err != nil {
		return false
	}
	defer in.Close()
	return in.archive
}

// entry is the decoded content of a file in an archive.
type entry struct {
	name string
	decoded
	archive bool // is a tar archive itself, which is not read
}

// unreadEntry is a file of an archive that is not read.
func unreadEntry(name string, why Skipped) entry {
	return entry{name: name, decoded: decoded{file: why.File, unread: &why}, archive: isTarName(name)}
}

// decodeArchive decodes those files of a tar archive that [Read] would read from a folder, sorted by name. It follows no links. It also returns the
// names of the archives in it, which it does not read.
func (c *collection) decodeArchive(file string, in *fileReader) (documents int, inner []string) {
	text := &trailingZeros{in: &limitedReader{in: in, left: maxArchive}}
	entries, err := c.decodeEntries(file, tar.NewReader(text))
	if c.ended() {
		return 0, nil
	}
	if err == nil && in.sized && text.zeros < endOfTar {
		err = unreadArchive(file, io.ErrUnexpectedEOF)
	}
	if err != nil {
		c.errs = append(c.errs, err)
	}
	entries = withoutTemplates(entries)
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	for _, e := range entries {
		documents += c.addFile(e.decoded, true)
		if e.archive {
			inner = append(inner, e.name)
		}
	}
	return documents, inner
}

// withoutTemplates returns the entries without the templates of Helm charts, as for a folder.
func withoutTemplates(entries []entry) []entry {
	names := list.KeySet(entries, func(e entry) string { return e.name })
	return list.Without(entries, func(e entry) bool {
		chart, _, found := strings.Cut("/"+e.name, "/"+templatesFolder+"/")
		return found && names[strings.TrimPrefix(chart+"/"+chartFile, "/")]
	})
}

// decodeEntries decodes the files of the archive, in their order there. The error is about the archive as a whole.
func (c *collection) decodeEntries(file string, archive *tar.Reader) (entries []entry, err error) {
	source := Source{File: file}
	for n := 1; ; n++ {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return entries, nil
		case err != nil:
			return entries, unreadArchive(file, err)
		case n > maxEntries:
			return entries, source.errorf("more than %d files in an archive; unpack it, and give the folders with objects", maxEntries)
		case c.ended():
			return nil, nil
		}
		name := path.Clean(header.Name)
		label := file + "/" + name
		switch {
		case path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../"):
			return entries, source.errorf("%q is a file outside of the archive; pack it anew, with paths below one folder", header.Name)
		case strings.Count(name, "/") > maxFolders:
			return entries, source.errorf("more than %d folders inside each other; unpack the archive, and give the folders with objects", maxFolders)
		case isHidden(name):
		case isPacked(name):
			entries = append(entries, unreadEntry(name, leftPacked(label)))
		case !hasReadableExtension(name):
			if header.Typeflag == tar.TypeReg && beginsLikeObject(archive) {
				entries = append(entries, unreadEntry(name, misnamed(label)))
			}
		case header.Typeflag == tar.TypeSymlink || header.Typeflag == tar.TypeLink:
			entries = append(entries, unreadEntry(name, Skipped{File: label, Problem: Source{File: label}.errorf("is a link, which is not followed").Error()}))
		case header.Typeflag == tar.TypeReg:
			read, err := c.decodeEntry(name, label, archive)
			if err != nil {
				return entries, unreadArchive(file, err)
			}
			entries = append(entries, read)
		}
	}
}

// decodeEntry decodes the present file of an archive, which can be read only once. The error is about the archive as a whole.
func (c *collection) decodeEntry(name, label string, archive io.Reader) (entry, error) {
	whole := &fileReader{in: archive} // keeps the first error of the archive
	in, err := openReader(io.NopCloser(whole))
	switch {
	case err != nil:
		return entry{name: name, decoded: decoded{file: label, errs: []error{readError(label, err)}}}, whole.err
	case in.archive:
		read := unreadEntry(name, leftPacked(label))
		read.archive = true
		return read, nil
	}
	return entry{name: name, decoded: c.decodeText(label, in)}, whole.err
}

func unreadArchive(file string, err error) error {
	if errors.Is(err, errTooLarge) {
		return Source{File: file}.errorf("more than %d GiB in an archive; unpack it, and give the folders with objects", maxArchive>>30)
	}
	return Source{File: file}.errorf("is a tar archive, and damaged: %v; write or copy it anew", err)
}

// isHidden reports whether a file, or a folder above it, has a name that begins with a dot.
func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}
