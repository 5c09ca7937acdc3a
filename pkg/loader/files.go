package loader

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
)

// Files returns the files from which a scenario, its variants and the points of its sweep are read: each once, sorted by name. A relative
// name in the scenario gives paths relative to the folder of its file; an absolute name gives absolute paths. Files of the options are left
// out. The error lists files that no longer exist. The file system is the one that the scenario was loaded from; nil is the machine's own.
func Files(fsys fs.FS, s *scenario.Scenario) ([]string, error) {
	dir := filepath.Dir(s.File)
	files := []string{filepath.Base(s.File)}
	for _, name := range s.Named {
		read, err := manifest.ListFiles(fsys, resolveFrom(dir, name))
		if err != nil {
			return nil, err
		}
		if !filepath.IsAbs(name) {
			for i := range read {
				if read[i], err = filepath.Rel(dir, read[i]); err != nil {
					return nil, err
				}
			}
		}
		files = append(files, read...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// Classify reports whether a path is a scenario, or manifests: objects of Kubernetes or of something else, or a snapshot of
// kube-scheduler-simulator. Both are false if this cannot be decided, such as for a file that does not exist, or for a pipe, which can be
// read only once.
func Classify(fsys fs.FS, path string) (aScenario, manifests bool) {
	info, err := os.Stat(path)
	switch {
	case path == manifest.Stdin:
		return false, true
	case err != nil:
		return false, false
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(path, FileName)); !os.IsNotExist(err) {
			return true, false
		}
		_, err := manifest.ListFiles(nil, path)
		return false, err == nil
	case !info.Mode().IsRegular():
		return false, false
	}
	if manifest.IsArchive(path) {
		return false, true
	}
	apiVersion, kind := manifest.ListHead(fsys, path)
	if apiVersion == "" {
		data, err := manifest.ReadFile(fsys, nil, path)
		if err != nil {
			return false, false
		}
		if apiVersion, kind = manifest.Head(data); apiVersion == "" && kind == "" && manifest.IsSnapshot(data) {
			return false, true
		}
	}
	ours := strings.HasPrefix(apiVersion, "faultline/")
	return kind == scenario.Kind, apiVersion != "" && kind != "" && kind != scenario.Kind && !ours
}
