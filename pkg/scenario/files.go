package scenario

import (
	"path/filepath"
	"slices"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// File returns the path of the scenario's file, as it was opened. One that no file has returns the name that stands for it.
func (s *Scenario) File() string { return s.loader.file }

// Files returns all files that the scenario, its variants and the points of its sweep are read from, each once, in the order of their
// names: those that they name by a path relative to the folder of the scenario's file as paths relative to that folder, and those that
// they name by an absolute path as absolute paths. What the options name is not among them. The error tells what is no longer there.
func (s *Scenario) Files() ([]string, error) {
	l := &s.loader
	files := []string{filepath.Base(l.file)}
	for _, name := range sortedKeys(l.named) {
		read, err := manifest.Files(l.fsys, l.resolve(name))
		if err != nil {
			return nil, err
		}
		if !filepath.IsAbs(name) {
			for i := range read {
				if read[i], err = filepath.Rel(l.dir, read[i]); err != nil {
					return nil, err
				}
			}
		}
		files = append(files, read...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}
