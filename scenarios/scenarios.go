// Package scenarios holds the scenarios that are part of the program.
package scenarios

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// FS holds the folders of all scenarios.
//
//go:embed */*
var FS embed.FS

// Walkthrough is the path of the kind walkthrough's scenario file.
const Walkthrough = "kind-walkthrough/" + file

// file is the scenario file of a folder, as for simulate test.
const file = "scenario.yaml"

// Example is a scenario of the project.
type Example struct {
	// Name is its folder: kind-walkthrough, or lessons/3-weights.
	Name string `json:"name"`
	// Title and Description are the scenario's own name and description.
	Title       string `json:"title"`
	Description string `json:"description"`
	// Lesson is true if it stands under lessons, with text for a class in every step.
	Lesson bool `json:"lesson"`
}

// File is the path of its scenario file in FS.
func (e *Example) File() string { return path.Join(e.Name, file) }

// All returns the lessons in their order, and then the other scenarios by name.
func All() ([]Example, error) {
	var all []Example
	err := fs.WalkDir(FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != file {
			return err
		}
		data, err := fs.ReadFile(FS, name)
		if err != nil {
			return err
		}
		var head struct {
			Metadata    struct{ Name string }
			Description string
		}
		if err := yaml.Unmarshal(data, &head); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		folder := path.Dir(name)
		all = append(all, Example{Name: folder, Title: cmp.Or(head.Metadata.Name, path.Base(folder)), Description: head.Description,
			Lesson: strings.HasPrefix(folder, "lessons/")})
		return nil
	})
	slices.SortStableFunc(all, func(a, b Example) int {
		switch {
		case a.Lesson == b.Lesson:
			return 0
		case a.Lesson:
			return -1
		}
		return 1
	})
	return all, err
}
