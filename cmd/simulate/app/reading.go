package app

import (
	"io/fs"
	"os"
	"path/filepath"
)

// reading is the machine's own file system, and shows how much of each file has been read.
type reading struct{ bar *progress }

func (r reading) Open(name string) (fs.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &readingFile{File: file, bar: r.bar, what: "reading " + filepath.Base(name), size: info.Size()}, nil
}

func (reading) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (reading) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (reading) Glob(pattern string) ([]string, error)      { return filepath.Glob(pattern) }

type readingFile struct {
	*os.File
	bar        *progress
	what       string
	done, size int64
}

func (f *readingFile) Read(data []byte) (int, error) {
	n, err := f.File.Read(data)
	f.done += int64(n)
	f.bar.update("MB", f.what, megabytes(f.done), megabytes(max(f.size, f.done)))
	return n, err
}

func megabytes(bytes int64) int { return int((bytes + 999_999) / 1_000_000) }
