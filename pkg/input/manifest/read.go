package manifest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/input/recording"
)

// Stdin is the path that stands for the standard input.
const Stdin = "-"

// extensions lists the extensions of the files that are read from a folder.
var extensions = []string{".yaml", ".yml", ".json"}

// hasReadableExtension reports whether a file with this name is read from a folder or an archive. The name may end in .gz.
func hasReadableExtension(name string) bool {
	return slices.Contains(extensions, filepath.Ext(strings.TrimSuffix(strings.ToLower(name), ".gz")))
}

// packed lists the extensions of archives and of compressed files that are not unpacked where they lie in a folder or an archive.
var packed = []string{".tar", ".tar.gz", ".tgz", ".zip", ".7z", ".rar", ".bz2", ".xz", ".zst"}

// isPacked reports whether a file of this name may hold objects, but is not read from a folder or an archive.
func isPacked(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc(packed, func(extension string) bool { return strings.HasSuffix(lower, extension) })
}

// leftPacked returns the file of a folder or an archive, which is not read because it is packed.
func leftPacked(file string) Skipped {
	return Skipped{File: file, Packed: true, Problem: Source{File: file}.errorf("is packed inside of a folder or an archive, which is not read; unpack it, or name it by itself").Error()}
}

// Read reads files, folders, tar archives, patterns and the standard input ("-") in the given order. It reads a file that occurs twice only
// once, and unpacks gzip compression.
//
// In a folder, Read descends into subfolders, sorted by name. It reads only *.yaml, *.yml and *.json there, also with .gz, and skips names
// that begin with a dot, and files without any Kubernetes object.
//
// A named file must hold an object. Files of a folder or a pattern may be empty, but not all of them. The error has one line for each
// problem.
func Read(stdin io.Reader, paths ...string) (*Set, error) {
	return ReadFS(nil, stdin, paths...)
}

// ReadFS is [Read] on another file system than the machine's; nil is the machine's.
func ReadFS(fsys fs.FS, stdin io.Reader, paths ...string) (*Set, error) {
	return ReadLimited(context.Background(), nil, fsys, stdin, paths...)
}

// TooManyError is the error for more objects of a kind than a limit allows.
type TooManyError struct {
	Kind string
	Most int
}

// Error names the kind and its maximum.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("more than %d objects of kind %s", e.Most, e.Kind)
}

// ReadLimited is [ReadFS] with limits. If the context ends, the error is the context's cause. If there are more objects of a kind than its
// entry in most, the error is a [TooManyError].
func ReadLimited(ctx context.Context, most map[string]int, fsys fs.FS, stdin io.Reader, paths ...string) (*Set, error) {
	tree := fileTree{fsys}
	c := newCollection(ctx, most)
	defer c.stop(nil)
	seen := map[string]bool{}
	read := func(file string, inFolder bool) (documents int) {
		if seen[filepath.Clean(file)] {
			return 1
		}
		seen[filepath.Clean(file)] = true
		problems := len(c.errs)
		return c.decodeFile(tree, stdin, file, inFolder) + len(c.errs) - problems
	}
	for _, path := range paths {
		found, err := tree.listFiles(path)
		if err != nil {
			c.errs = append(c.errs, err)
			continue
		}
		c.set.Skipped = slices.Concat(c.set.Skipped, found.skipped, tree.listMisnamed(found.others))
		documents, inFolder := 0, tree.isFolder(path)
		for _, file := range found.files {
			if c.ended() {
				return c.result()
			}
			documents += read(file, inFolder)
		}
		if inner := onlyArchive(found.skipped); documents == 0 && inFolder && inner != "" {
			c.dropSkipped(inner)
			documents += read(inner, true)
		}
		if documents == 0 {
			c.errs = append(c.errs, c.noObjects(path))
		}
	}
	if len(paths) == 0 {
		c.errs = append(c.errs, errors.New("no file is given; name files, folders, patterns, or - for the standard input"))
	}
	return c.result()
}

// decodeFile adds the content of one file and returns the number of its documents.
func (c *collection) decodeFile(t fileTree, stdin io.Reader, file string, inFolder bool) int {
	in, size, err := t.openText(stdin, file)
	if err != nil {
		c.errs = append(c.errs, readError(file, err))
		return 0
	}
	defer in.Close()
	switch {
	case in.archive:
		documents, inner := c.decodeArchive(file, in)
		if documents == 0 && in.reopenable {
			documents = c.decodeWrapped(t, file, inner)
		}
		return documents
	case size > maxJSON:
		return c.addFile(decoded{file: file, errs: []error{tooLargeError(file)}}, inFolder)
	case !in.reopenable:
		return c.addFile(c.decodeText(file, in), inFolder)
	}
	read, ok := c.decodeList(file, in)
	switch {
	case !ok && in.err != nil:
		read = decoded{file: file, errs: []error{readError(file, in.err)}}
	case !ok && !c.ended():
		again, _, err := t.openText(stdin, file)
		if err != nil {
			c.errs = append(c.errs, readError(file, err))
			return 0
		}
		defer again.Close()
		read = c.decodeRest(file, again, size)
	}
	return c.addFile(read, inFolder)
}

// maxInMemory is the size of a text that is kept as it is. An archive can have 100,000 of them, and to compress each takes longer than to decode it.
const maxInMemory = 1 << 20

// decodeText decodes a text that can be read only once.
func (c *collection) decodeText(file string, in *fileReader) decoded {
	var start bytes.Buffer
	_, err := io.CopyN(&start, in, maxInMemory)
	switch {
	case in.err != nil:
		return decoded{file: file, errs: []error{readError(file, in.err)}}
	case err != nil: // the text has ended
		if read, ok := c.decodeList(file, bytes.NewReader(start.Bytes())); ok {
			return read
		}
		return c.decodeRest(file, &start, start.Len())
	}
	kept := newRereadablePipe(io.MultiReader(&start, in))
	read, ok := c.decodeList(file, kept)
	switch {
	case ok:
		return read
	case in.err != nil:
		return decoded{file: file, errs: []error{readError(file, in.err)}}
	}
	return c.decodeRest(file, kept.rewind(), 0)
}

// decodeRest decodes a text that is not a List, of about this size; 0 is unknown.
func (c *collection) decodeRest(file string, text io.Reader, size int) decoded {
	data, err := readLimitedText(text, size)
	if err != nil {
		return decoded{file: file, errs: []error{readError(file, err)}}
	}
	return c.decodeWhole(file, data)
}

// IsRecording reports whether a file is a recording of what happened in a cluster. It reads only the first line.
func IsRecording(fsys fs.FS, file string) bool {
	f := fileTree{fsys}.reopenText(file)
	if f == nil {
		return false
	}
	defer f.Close()
	for text := bufio.NewReader(io.LimitReader(f, recording.MaxLine)); ; {
		line, err := text.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 || err != nil {
			return isRecording(line)
		}
	}
}

// ListFiles returns the files that [Read] would read for a file, a folder or a pattern, in order, regardless of their content.
func ListFiles(fsys fs.FS, path string) ([]string, error) {
	found, err := fileTree{fsys}.listFiles(path)
	return found.files, err
}

// listing is what a path names.
type listing struct {
	files []string // those that are read
	// skipped are files of a folder that may have objects and cannot be read; others are regular files with a name that is not read.
	skipped []Skipped
	others  []string
}

// listFiles returns the files of a path, and those of a folder that may have objects and cannot be read.
func (t fileTree) listFiles(path string) (listing, error) {
	if path == Stdin {
		return listing{files: []string{path}}, nil
	}
	source := Source{File: path}
	info, err := t.stat(path)
	switch {
	case err == nil && info.IsDir():
		return t.listFolder(path)
	case err == nil:
		return listing{files: []string{path}}, nil
	case !strings.ContainsAny(path, "*?["):
		return listing{}, source.errorf("%v; give a file, a folder, a pattern, or - for the standard input", trimPathError(err))
	}
	matches, err := t.glob(path)
	if err != nil {
		return listing{}, source.errorf("not a valid pattern: %v", err)
	}
	var files []string
	for _, match := range matches {
		info, err := t.stat(match)
		if err != nil || info.IsDir() {
			continue
		}
		if err := CheckRegular(match, info); err != nil {
			return listing{}, err
		}
		files = append(files, match)
	}
	if len(files) == 0 {
		return listing{}, source.errorf("no file matches this pattern")
	}
	return listing{files: files}, nil
}

func (t fileTree) listFolder(folder string) (listing, error) {
	var found listing
	err := t.walk(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return Source{File: path}.errorf("%v", trimPathError(err))
		case path == folder:
		case strings.HasPrefix(entry.Name(), ".") && entry.IsDir():
			return fs.SkipDir
		case entry.IsDir() && t.isTemplates(path):
			return fs.SkipDir
		case !entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && hasReadableExtension(path):
			info, err := t.stat(path) // which follows a link
			if errors.Is(err, fs.ErrNotExist) && entry.Type()&fs.ModeSymlink != 0 {
				problem := Source{File: path}.errorf("is a link to a file that is not there; copy the file, or remove the link")
				found.skipped = append(found.skipped, Skipped{File: path, Problem: problem.Error()})
				return nil
			}
			if err == nil && !info.IsDir() {
				if err := CheckRegular(path, info); err != nil {
					return err
				}
			}
			found.files = append(found.files, path)
		case !entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && isPacked(path):
			found.skipped = append(found.skipped, leftPacked(path))
		case entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), "."):
			found.others = append(found.others, path)
		}
		return nil
	})
	switch {
	case err != nil:
		return listing{}, err
	case len(found.files) > 0:
		return found, nil
	}
	if inner := onlyArchive(found.skipped); inner != "" {
		return listing{files: []string{inner}}, nil
	}
	if skipped := append(found.skipped, t.listMisnamed(found.others)...); len(skipped) > 0 {
		return listing{}, fmt.Errorf("%s: no %s file in this folder that can be read; %s", folder, strings.Join(extensions, ", "), skipped[0].Problem)
	}
	return listing{}, Source{File: folder}.errorf("no %s file in this folder", strings.Join(extensions, ", "))
}

// isTemplates reports whether the folder has the templates of a Helm chart, from which helm renders objects. A note names the chart.
func (t fileTree) isTemplates(folder string) bool {
	_, err := t.stat(filepath.Join(filepath.Dir(folder), chartFile))
	return err == nil && filepath.Base(folder) == templatesFolder
}

// CheckRegular returns an error for a file of a folder or a pattern that is not a regular file: reading a pipe without a writer would block, and
// a device need not end.
func CheckRegular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return Source{File: path}.errorf("is a pipe or a device; name it by itself if it is to be read, or move it out of the folder")
}

// listMisnamed returns the files that begin like a Kubernetes object. It leaves out a file that cannot be opened.
func (t fileTree) listMisnamed(files []string) (all []Skipped) {
	for _, file := range files {
		f, err := t.open(file)
		if err != nil {
			continue
		}
		if beginsLikeObject(f) {
			all = append(all, misnamed(file))
		}
		f.Close()
	}
	return all
}

// readFile returns the content of a file.
func (t fileTree) readFile(stdin io.Reader, file string) ([]byte, error) {
	in, size, err := t.openText(stdin, file)
	if err != nil {
		return nil, readError(file, err)
	}
	defer in.Close()
	if in.archive {
		return nil, Source{File: file}.errorf("is a tar archive, and one file is wanted; unpack it, and name the file")
	}
	data, err := readLimitedText(in, size)
	if err != nil {
		return nil, readError(file, err)
	}
	return data, nil
}

// openText opens a file, and returns the size of its text, which is 0 if the size is unknown.
func (t fileTree) openText(stdin io.Reader, file string) (in *fileReader, size int, err error) {
	if file == Stdin {
		in, err := openReader(io.NopCloser(stdin))
		return in, 0, err
	}
	f, err := t.open(file)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil {
		in, err = openReader(f)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	if in.reopenable = info.Mode().IsRegular(); in.reopenable && in.sized {
		size = int(min(info.Size(), maxJSON+1))
	}
	return in, size, nil
}

// reopenText opens the text of a file that can be opened a second time, and is not too large. Otherwise it returns nil.
func (t fileTree) reopenText(file string) *fileReader {
	if file == Stdin {
		return nil
	}
	if info, err := t.stat(file); err != nil || !info.Mode().IsRegular() {
		return nil // opening a pipe would wait for its writer
	}
	in, size, err := t.openText(nil, file)
	if err != nil {
		return nil
	}
	if in.archive || size > maxJSON {
		in.Close()
		return nil
	}
	return in
}

// readError returns the error for a file that could not be read.
func readError(file string, err error) error {
	var cut *cutLogsError
	switch {
	case errors.Is(err, errTooLarge):
		return tooLargeError(file)
	case errors.As(err, new(notTextError)), errors.As(err, new(packedError)), errors.As(err, &cut), errors.Is(err, errObjectTooLarge):
		return Source{File: file}.errorf("%v", err)
	case isDamaged(err):
		return Source{File: file}.errorf("is compressed by gzip, and damaged: %v; write or copy it anew", err)
	}
	return Source{File: file}.errorf("%v", trimPathError(err))
}

var errTooLarge = errors.New("too large")

// readLimitedText reads the whole input; size is its approximate size, or 0. The beginning of the input decides the maximum size. A larger input is
// an error, before more than the maximum is read.
func readLimitedText(in io.Reader, size int) ([]byte, error) {
	beginning := bufio.NewReader(in)
	first, err := beginning.Peek(beginning.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	limit := maxSize(first)
	if size > limit {
		return nil, errTooLarge
	}
	if size == 0 && !mayBeginJSON(first) { // a pipe or a device may never end
		limit = min(limit, maxYAML)
	}
	var data bytes.Buffer
	data.Grow(size + bytes.MinRead) // with spare room, so that the buffer does not grow at the end
	if _, err := data.ReadFrom(io.LimitReader(beginning, int64(limit)+1)); err != nil {
		return nil, err
	}
	if data.Len() > limit {
		return nil, errTooLarge
	}
	return data.Bytes(), nil
}

// trimPathError returns the operating system's error without the path, since the caller's error begins with the path.
func trimPathError(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// ReadFile returns the content of one file of a file system, if the file is not too large; nil is the machine's file system. If stdin is
// not nil, "-" is a file, too.
func ReadFile(fsys fs.FS, stdin io.Reader, file string) ([]byte, error) {
	if stdin == nil && file == Stdin {
		return nil, errors.New("- is the standard input, which is not read here; name a file")
	}
	return fileTree{fsys}.readFile(stdin, file)
}

// fileTree is a file system. If fsys is nil, it is the machine's, where paths may be absolute or contain "..".
type fileTree struct{ fsys fs.FS }

func (t fileTree) stat(path string) (fs.FileInfo, error) {
	if t.fsys == nil {
		return os.Stat(path)
	}
	return fs.Stat(t.fsys, path)
}

func (t fileTree) isFolder(path string) bool {
	info, err := t.stat(path)
	return err == nil && info.IsDir()
}

func (t fileTree) open(path string) (fs.File, error) {
	if t.fsys == nil {
		return os.Open(path)
	}
	return t.fsys.Open(path)
}

func (t fileTree) glob(pattern string) ([]string, error) {
	if t.fsys == nil {
		return filepath.Glob(pattern)
	}
	return fs.Glob(t.fsys, pattern)
}

func (t fileTree) walk(root string, f fs.WalkDirFunc) error {
	if t.fsys == nil {
		return filepath.WalkDir(root, f)
	}
	return fs.WalkDir(t.fsys, root, f)
}
