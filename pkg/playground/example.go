package playground

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/scenario/loader"
	"github.com/faultline/faultline/scenarios"
)

// walkthrough is the example that an engine starts with.
const walkthrough = "kind-walkthrough"

func example(name string) (Input, error) {
	all, err := scenarios.All()
	if err != nil {
		return Input{}, err
	}
	i := slices.IndexFunc(all, func(of scenarios.Example) bool { return of.Name == name })
	if i < 0 {
		return Input{}, failed(KindInput, "there is no example %q", name)
	}
	return Read(scenarios.FS, all[i].File())
}

// Read returns a scenario's file and the files that it names, by paths from the folder that holds them all. The file system is nil for the
// machine's own. The error lists what is wrong with the scenario.
func Read(fsys fs.FS, file string) (Input, error) {
	load := func() (*scenario.Scenario, error) { return loader.Load(file, loader.Options{}) }
	if fsys != nil {
		load = func() (*scenario.Scenario, error) { return loader.LoadFS(fsys, file, loader.Options{FS: fsys}) }
	}
	s, err := load()
	if err != nil {
		return Input{}, err
	}
	named, err := loader.Files(fsys, s)
	if err != nil {
		return Input{}, err
	}
	dir := filepath.Dir(s.File)
	if fsys == nil {
		if dir, err = filepath.Abs(dir); err != nil {
			return Input{}, err
		}
	}
	root := dir
	for _, name := range named {
		if filepath.IsAbs(name) {
			return Input{}, fmt.Errorf("%s: names %s by an absolute path, which has no place on the page; name it by a path relative to the scenario", s.File, name)
		}
		for !within(root, filepath.Join(dir, name)) {
			root = filepath.Dir(root)
		}
	}
	place := func(file string) string {
		rest, _ := filepath.Rel(root, file) // below it
		return filepath.ToSlash(rest)
	}
	in := Input{Main: place(filepath.Join(dir, filepath.Base(s.File))), Files: map[string]string{}}
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

// within reports whether the file is below the folder.
func within(folder, file string) bool {
	rest, err := filepath.Rel(folder, file)
	return err == nil && filepath.IsLocal(rest)
}
