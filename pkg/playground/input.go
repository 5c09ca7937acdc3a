package playground

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"slices"
	"testing/fstest"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// Input is a scenario and the files that it names.
type Input struct {
	// Main is the path of the scenario's file.
	Main string `json:"main"`
	// Files has the texts of all files by their paths, which have slashes and no parts "." or "..".
	Files map[string]string `json:"files"`
	// Kept has the ids of further files, which the engine gave them, by their paths.
	Kept map[string]string `json:"kept,omitempty"`
}

// fileSystem returns the input's files as a file system.
func (in Input) fileSystem() (fstest.MapFS, error) {
	if _, has := in.Files[in.Main]; !has {
		return nil, newError(KindInput, "the files do not hold main, %q", in.Main)
	}
	files := fstest.MapFS{}
	for _, name := range slices.Sorted(maps.Keys(in.Files)) {
		if path.Clean("/"+name) != "/"+name || name == "" {
			return nil, newError(KindInput, "%q is not a path within the scenario; use names and slashes", name)
		}
		files[name] = &fstest.MapFile{Data: []byte(in.Files[name]), Mode: 0o444}
	}
	return files, nil
}

// hash returns a hash of the input.
func (in Input) hash() [sha256.Size]byte {
	data, _ := json.Marshal(in) // strings always have a JSON encoding; keys are sorted
	return sha256.Sum256(data)
}

// loadScenario reads the scenario. If the scenario is invalid, read returns its problems and no scenario.
func (e *Engine) loadScenario(ctx context.Context, in Input) (s *scenario.Scenario, problems []Problem, err error) {
	files, err := in.fileSystem()
	if err != nil {
		return nil, nil, err
	}
	if err := e.checkYAML(in); err != nil {
		return nil, nil, err
	}
	limits := scenario.Limits{Nodes: e.Limits.Nodes, Devices: e.Limits.Devices, Pods: e.Limits.Pods, Versions: e.Limits.Versions}
	opts := loader.Options{FS: files, Limits: limits, Strict: e.Strict}
	opts.NoExtenders = true // the author of a scenario must not make this machine call others
	opts.WithoutExtenders = "the playground asks nothing over the network"
	s, err = loader.LoadContext(ctx, files, in.Main, opts)
	limit := (*scenario.LimitError)(nil)
	switch {
	case errors.As(err, &limit):
		return nil, nil, newError(KindLimit, "the scenario has %d %s, and the page takes %d; use the command line", limit.Has, limit.What, limit.Most)
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil:
		return nil, problemsOf(err, in), nil
	}
	return s, nil, nil
}

// checkYAML returns an error if the input has more YAML than the limit. YAML is parsed many times slower than JSON.
func (e *Engine) checkYAML(in Input) error {
	if e.Limits.YAML == 0 {
		return nil
	}
	size := 0
	for file, text := range in.Files {
		if file == in.Main || !manifest.IsJSON([]byte(text)) {
			size += len(text)
		}
	}
	if size <= e.Limits.YAML {
		return nil
	}
	return newError(KindLimit, "the scenario and its files of YAML have %.1f MiB, and the page takes %d; give large files as JSON, or use the command line",
		float64(size)/(1<<20), e.Limits.YAML>>20)
}
