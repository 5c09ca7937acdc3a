package playground

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"testing/fstest"

	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/scenario/loader"
)

// Input is a scenario and the files that it names.
type Input struct {
	// Main is the path of the scenario's file.
	Main string `json:"main"`
	// Files are the texts of all files by their paths, which have slashes, and no dots but in names.
	Files map[string]string `json:"files"`
}

// files are the input's as a file system.
func (in Input) files() (fstest.MapFS, error) {
	if _, has := in.Files[in.Main]; !has {
		return nil, failed(KindInput, "the files do not hold main, %q", in.Main)
	}
	files := fstest.MapFS{}
	for _, name := range slices.Sorted(maps.Keys(in.Files)) {
		if path.Clean("/"+name) != "/"+name || name == "" {
			return nil, failed(KindInput, "%q is not a path within the scenario; use names and slashes", name)
		}
		files[name] = &fstest.MapFile{Data: []byte(in.Files[name]), Mode: 0o444}
	}
	return files, nil
}

// sum is the same for the same input.
func (in Input) sum() [sha256.Size]byte {
	data, _ := json.Marshal(in) // text, which always has JSON; keys are sorted
	return sha256.Sum256(data)
}

// read reads the scenario. Problems are what is wrong with it; then there is none.
func (e *Engine) read(in Input) (s *scenario.Scenario, problems []Problem, err error) {
	files, err := in.files()
	if err != nil {
		return nil, nil, err
	}
	opts := loader.Options{FS: files, MaxPods: e.Limits.Pods, Strict: e.Strict}
	opts.NoExtenders = true // a page's author is not to have this machine call others
	s, err = loader.LoadFS(files, in.Main, opts)
	if err != nil {
		return nil, problemsOf(err, in), nil
	}
	if limit, nodes := e.Limits.Nodes, len(s.Nodes()); limit > 0 && nodes > limit {
		return nil, nil, failed(KindLimit, "the scenario has %d nodes, and the page takes %d; use the command line", nodes, limit)
	}
	return s, nil, nil
}
