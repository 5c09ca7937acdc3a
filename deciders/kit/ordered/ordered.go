// Package ordered writes a copy of a module that decides the same for the same input: where the module takes the order of a Go map, which is
// drawn anew at each run, the copy takes an order that a seed gives, and what the module does at once in several goroutines, the copy does one
// after the other. A build takes the copy by
//
//	go run ./ordered && go build -tags ordered -modfile .ordered/go.mod .
package ordered

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is where the copy is written, beside the go.mod that a build with it has.
const Folder = ".ordered"

// Edit replaces a text, which the file has so many times.
type Edit struct {
	File     string
	Times    int
	Old, New string
}

// Copy says which module is copied, and how the copy differs.
type Copy struct {
	// Module is the path of the module, such as sigs.k8s.io/karpenter.
	Module string
	// Keep are the folders at the top of the module that the copy has, and Extensions the endings of the files that it has of them.
	Keep, Extensions []string
	Edits            []Edit
	// Add are files that the copy has more, by their paths.
	Add map[string][]byte
	// Also are files of the module that the copy has a second time: from where, to where.
	Also map[string]string
}

// Write writes the copy into [Folder] of the working directory, whose module requires the module.
func (c Copy) Write() error {
	if said, err := exec.Command("go", "mod", "download", c.Module).CombinedOutput(); err != nil { // go list gives no folder of a module that is not there yet
		return fmt.Errorf("go mod download %s: %w: %s", c.Module, err, said)
	}
	listed, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", c.Module).Output()
	if err != nil {
		return fmt.Errorf("where is %s: %w; run it in the folder of the decider", c.Module, err)
	}
	module := strings.TrimSpace(string(listed))
	contents, err := c.edited(module)
	if err != nil {
		return err
	}
	to := filepath.Join(Folder, path.Base(c.Module))
	err = filepath.WalkDir(module, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, err := filepath.Rel(module, name)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if top, _, _ := strings.Cut(file, "/"); top != "." && !slices.Contains(c.Keep, top) {
				return filepath.SkipDir
			}
			return nil
		}
		content, ok := contents[filepath.ToSlash(file)]
		if !ok {
			if strings.HasSuffix(file, "_test.go") || !slices.Contains(c.Extensions, filepath.Ext(file)) {
				return nil
			}
			read, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			content = string(read)
		}
		return writeFile(filepath.Join(to, file), []byte(content))
	})
	if err != nil {
		return err
	}
	for from, file := range c.Also {
		content, err := os.ReadFile(filepath.Join(module, from))
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(to, file), content); err != nil {
			return err
		}
	}
	for file, content := range c.Add {
		if err := writeFile(filepath.Join(to, file), content); err != nil {
			return err
		}
	}
	return c.writeModule(to)
}

// writeModule writes the go.mod and go.sum that a build with the copy has.
func (c Copy) writeModule(to string) error {
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if name == "go.mod" {
			content = fmt.Appendf(content, "\nreplace %s => ./%s\n", c.Module, to)
		}
		if err := writeFile(filepath.Join(Folder, name), content); err != nil {
			return err
		}
	}
	return nil
}

// edited returns the files that the edits change.
func (c Copy) edited(module string) (map[string]string, error) {
	contents := map[string]string{}
	for _, e := range c.Edits {
		content, ok := contents[e.File]
		if !ok {
			read, err := os.ReadFile(filepath.Join(module, e.File))
			if err != nil {
				return nil, err
			}
			content = string(read)
		}
		if found := strings.Count(content, e.Old); found != e.Times {
			return nil, fmt.Errorf("%s has %d times, not %d times: %q; look at what this version of %s does there", e.File, found, e.Times, e.Old, c.Module)
		}
		contents[e.File] = strings.ReplaceAll(content, e.Old, e.New)
	}
	return contents, nil
}

// writeFile leaves alone a file that is as it should be.
func writeFile(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
