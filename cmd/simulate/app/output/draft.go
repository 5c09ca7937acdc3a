package output

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// draft is the new content of a file. [draft.replaceFile] replaces the old file as a whole, so that nobody sees half of it, not even after a crash. If the
// file is not a regular one, or its folder takes no new files, the draft is in memory and the file is written in place.
type draft struct {
	io.Writer
	file string
	mode os.FileMode
	next *os.File // a temporary file beside the file; nil if the draft is in memory
	held bytes.Buffer
}

func newDraft(file string) *draft {
	d := &draft{file: file, mode: 0o644}
	d.Writer = &d.held
	switch info, err := os.Lstat(file); {
	case err == nil && !info.Mode().IsRegular():
		return d
	case err == nil:
		d.mode = info.Mode().Perm()
	}
	if next, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*"); err == nil {
		d.next, d.Writer = next, next
	}
	return d
}

// WriteFile writes a file. It replaces an old file as a whole once everything is written.
func WriteFile(file string, write func(io.Writer) error) error {
	d := newDraft(file)
	defer d.discard()
	if err := write(d); err != nil {
		return err
	}
	return d.replaceFile()
}

func (d *draft) replaceFile() error {
	if d.next == nil {
		return os.WriteFile(d.file, d.held.Bytes(), d.mode)
	}
	if err := errors.Join(d.next.Chmod(d.mode), d.next.Sync(), d.next.Close()); err != nil {
		return err
	}
	return os.Rename(d.next.Name(), d.file)
}

// discard removes the temporary file of a draft that was not kept.
func (d *draft) discard() {
	if d.next != nil {
		_ = d.next.Close()
		_ = os.Remove(d.next.Name())
	}
}
