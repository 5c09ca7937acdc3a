package input

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/faultline/faultline/pkg/input/live"
	"github.com/faultline/faultline/pkg/scenario"
)

// Given is input that a program gives to a command, in place of a connection and of files.
type Given struct {
	// Dump is the live cluster that the flags of the connection name. Nil if they name none.
	Dump *live.Dump
	// Files has the texts of files that are in memory alone, by the names that arguments and flags give.
	Files map[string]string
}

// Give lets the command read what is given.
func (i *Flags) Give(given *Given) { i.given, i.Connection.dump = given, given.Dump }

// withGiven returns a file system that also has the files that are given.
func (i *Flags) withGiven(fsys fs.FS) fs.FS {
	if i.given == nil {
		return fsys
	}
	for name, text := range i.given.Files {
		fsys = memoryFS{fsys, name, func() io.Reader { return strings.NewReader(text) }}
	}
	return fsys
}

// source returns the files as a scenario for the path names them. Those that are in memory alone are written out.
func (i *Flags) source(files []string, at string) (*scenario.Source, error) {
	source := &scenario.Source{}
	for _, file := range files {
		if i.given == nil || i.given.Files[file] == "" {
			source.Files = append(source.Files, RelativeTo(at, []string{file})...)
			continue
		}
		objects, err := SplitObjects(i.given.Files[file])
		if err != nil {
			return nil, err
		}
		source.Objects = append(source.Objects, objects...)
	}
	return source, nil
}

// SplitObjects returns the objects of a text, as a scenario has them.
func SplitObjects(text string) (objects []runtime.RawExtension, err error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var object runtime.RawExtension
		switch err := decoder.Decode(&object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(object.Raw) > 0 && string(object.Raw) != "null":
			objects = append(objects, object)
		}
	}
}

// SnapshotFile returns the name of a file for the snapshot of a cluster.
func SnapshotFile(cluster string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:@ `, r) {
			return '-'
		}
		return r
	}, cluster) + ".json.gz"
}

// memoryFS is a file system that also has a file in memory.
type memoryFS struct {
	fs.FS
	name string
	open func() io.Reader
}

// newDumpFS returns a file system that also has the dump, as a compressed file.
func newDumpFS(fsys fs.FS, dump *live.Dump) fs.FS {
	return memoryFS{fsys, dump.Name, dump.OpenCompressed}
}

func (m memoryFS) Open(name string) (fs.File, error) {
	if name != filepath.Clean(m.name) {
		return m.FS.Open(name)
	}
	return &memoryFile{name: name, Reader: m.open()}, nil
}

func (m memoryFS) Stat(name string) (fs.FileInfo, error) {
	if name != filepath.Clean(m.name) {
		return fs.Stat(m.FS, name)
	}
	return &memoryFile{name: name}, nil
}

func (m memoryFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(m.FS, name) }
func (m memoryFS) Glob(pattern string) ([]string, error)      { return fs.Glob(m.FS, pattern) }

type memoryFile struct {
	io.Reader
	name string
}

func (f *memoryFile) Close() error               { return nil }
func (f *memoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *memoryFile) Name() string               { return path.Base(f.name) }
func (f *memoryFile) Size() int64                { return 1 } // a small number: the size is unknown, or small
func (f *memoryFile) Mode() fs.FileMode          { return 0o444 }
func (f *memoryFile) ModTime() time.Time         { return time.Time{} }
func (f *memoryFile) IsDir() bool                { return false }
func (f *memoryFile) Sys() any                   { return nil }
