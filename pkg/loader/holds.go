package loader

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
)

// Holds reports whether a path is that of a scenario, or of manifests: objects of Kubernetes or of something else. It is neither where that
// cannot be said, such as for a file that is not there, or a pipe, which can be read only once.
func Holds(fsys fs.FS, path string) (aScenario, manifests bool) {
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
		_, err := manifest.Files(nil, path)
		return false, err == nil
	case !info.Mode().IsRegular():
		return false, false
	}
	apiVersion, kind := manifest.ListHead(fsys, path)
	if apiVersion == "" {
		data, err := manifest.ReadFile(fsys, nil, path)
		if err != nil {
			return false, false
		}
		apiVersion, kind = manifest.Head(data)
	}
	ours := strings.HasPrefix(apiVersion, "faultline/")
	return kind == scenario.Kind, apiVersion != "" && kind != "" && kind != scenario.Kind && !ours
}
