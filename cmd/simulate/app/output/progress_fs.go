package output

import (
	"io/fs"
	"os"
	"path/filepath"
)

// ProgressFS is the machine's file system. It shows how much of each file has been read.
type ProgressFS struct{ Bar *Progress }

// Open implements fs.FS.
func (r ProgressFS) Open(name string) (fs.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &progressFile{File: file, bar: r.Bar, what: "reading " + filepath.Base(name), size: info.Size()}, nil
}

// Stat implements fs.StatFS.
func (ProgressFS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// ReadDir implements fs.ReadDirFS.
func (ProgressFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Glob implements fs.GlobFS.
func (ProgressFS) Glob(pattern string) ([]string, error) { return filepath.Glob(pattern) }

type progressFile struct {
	*os.File
	bar        *Progress
	what       string
	done, size int64
}

func (f *progressFile) Read(data []byte) (int, error) {
	n, err := f.File.Read(data)
	f.done += int64(n)
	f.bar.update("MB", f.what, megabytes(f.done), megabytes(max(f.size, f.done)))
	return n, err
}

func megabytes(bytes int64) int { return int((bytes + 999_999) / 1_000_000) }
