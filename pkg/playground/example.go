package playground

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/scenarios"
)

// readExamples has the examples that were read, by file: a class opens the same one in the same moment.
var readExamples sync.Map

// loadExample returns the example of that name, or the solution of the challenge of that name.
func loadExample(name string, solved bool) (Input, error) {
	all, err := scenarios.All()
	if err != nil {
		return Input{}, err
	}
	i := slices.IndexFunc(all, func(of scenarios.Example) bool { return of.Name == name })
	if i < 0 {
		return Input{}, newError(KindInput, "there is no example %q", name)
	}
	file := all[i].File()
	if solved {
		if !all[i].Challenge {
			return Input{}, newError(KindInput, "%s is no challenge, so that it has no solution", name)
		}
		file = all[i].Solution()
	}
	if read, known := readExamples.Load(file); known {
		return read.(Input), nil
	}
	read, err := builtinInput(file)
	if err == nil {
		readExamples.Store(file, read)
	}
	return read, err
}

// builtinInput returns a built-in scenario: its file, and all files that strings in it name. The loader would find the files exactly, but it
// sets the feature gates of the process, and another scenario may be running.
func builtinInput(file string) (Input, error) {
	data, err := scenarios.FS.ReadFile(file)
	if err != nil {
		return Input{}, err
	}
	var value any
	if err := yaml.Unmarshal(data, &value); err != nil {
		return Input{}, err
	}
	dir := path.Dir(file)
	named := []string{path.Base(file)}
	var collect func(value any)
	collect = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for _, inner := range v {
				collect(inner)
			}
		case []any:
			for _, inner := range v {
				collect(inner)
			}
		case string:
			found, err := manifest.ListFiles(scenarios.FS, path.Join(dir, v))
			if v == "" || err != nil { // the string is not the name of a file
				return
			}
			for _, name := range found {
				rest, _ := filepath.Rel(dir, name) // the file is below the folder
				named = append(named, rest)
			}
		}
	}
	collect(value)
	return gatherFiles(scenarios.FS, dir, path.Base(file), named)
}

// Read returns a scenario file of this machine and the files that it names, with paths relative to their common folder. The error lists all
// problems of the scenario.
func Read(file string) (Input, error) {
	s, err := loader.Load(file, loader.Options{})
	if err != nil {
		return Input{}, err
	}
	named, err := loader.Files(nil, s)
	if err != nil {
		return Input{}, err
	}
	for _, name := range named {
		if filepath.IsAbs(name) {
			return Input{}, fmt.Errorf("%s: names %s by an absolute path, which has no place on the page; name it by a path relative to the scenario", s.File, name)
		}
	}
	dir, err := filepath.Abs(filepath.Dir(s.File))
	if err != nil {
		return Input{}, err
	}
	return gatherFiles(nil, dir, filepath.Base(s.File), named)
}

// gatherFiles reads files by their paths relative to a folder.
func gatherFiles(fsys fs.FS, dir, main string, named []string) (Input, error) {
	root := dir
	for _, name := range named {
		for !isBelow(root, filepath.Join(dir, name)) {
			root = filepath.Dir(root)
		}
	}
	place := func(file string) string {
		rest, _ := filepath.Rel(root, file) // the file is below the root
		return filepath.ToSlash(rest)
	}
	in := Input{Main: place(filepath.Join(dir, main)), Files: map[string]string{}}
	for _, name := range named {
		file := filepath.Join(dir, name)
		data, err := manifest.ReadFile(fsys, nil, file)
		if err != nil {
			return Input{}, err
		}
		in.Files[place(file)] = string(data)
	}
	return in, nil
}

// isBelow reports whether the file is below the folder.
func isBelow(folder, file string) bool {
	rest, err := filepath.Rel(folder, file)
	return err == nil && filepath.IsLocal(rest)
}
