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
	"sync"

	"sigs.k8s.io/yaml"
)

// FS holds the folders of all scenarios.
//
//go:embed */*
var FS embed.FS

// Walkthrough is the path of the kind walkthrough's scenario file.
const Walkthrough = "kind-walkthrough/" + file

// Empty is the name of the smallest scenario, which somebody begins their own with.
const Empty = "empty"

// file is the scenario file of a folder, as for simulate test. That of a challenge has another name, since its expectations are not met
// before somebody has changed it. The solution is the same file with such a change.
const (
	file      = "scenario.yaml"
	challenge = "challenge.yaml"
	solution  = "solution.yaml"
)

// Example is a scenario of the project.
type Example struct {
	// Name is its folder: kind-walkthrough, or lessons/3-weights.
	Name string `json:"name"`
	// Title and Description are the scenario's own name and description.
	Title       string `json:"title"`
	Description string `json:"description"`
	// Lesson is true if it stands under lessons, with text for a class in every step.
	Lesson bool `json:"lesson"`
	// Challenge is true if its expectations are a goal, to be reached by changing it.
	Challenge bool `json:"challenge"`
	// Steps is the number of its steps.
	Steps int `json:"steps"`
	// Minutes is about how many minutes a lesson takes: a minute for 130 words, and one for each question. It is a multiple of 5.
	Minutes int `json:"minutes,omitempty"`
}

// File is the path of its scenario file in FS.
func (e *Example) File() string {
	if e.Challenge {
		return path.Join(e.Name, challenge)
	}
	return path.Join(e.Name, file)
}

// Solution is the path in FS of a challenge's scenario file in which the goal is reached.
func (e *Example) Solution() string { return path.Join(e.Name, solution) }

// All returns the lessons in their order, then the challenges, and then the other scenarios by name. It reads them once: a class opens the
// page in the same moment.
var All = sync.OnceValues(readAll)

func readAll() ([]Example, error) {
	var all []Example
	err := fs.WalkDir(FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != file && entry.Name() != challenge {
			return err
		}
		data, err := fs.ReadFile(FS, name)
		if err != nil {
			return err
		}
		var text texts
		if err := yaml.Unmarshal(data, &text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		folder := path.Dir(name)
		example := Example{Name: folder, Title: cmp.Or(text.Metadata.Name, path.Base(folder)), Description: text.Description,
			Lesson: strings.HasPrefix(folder, "lessons/"), Challenge: entry.Name() == challenge, Steps: len(text.Steps)}
		if example.Lesson {
			example.Minutes = text.minutes()
		}
		all = append(all, example)
		return nil
	})
	kind := func(e Example) int {
		switch {
		case e.Lesson:
			return 0
		case e.Challenge:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b Example) int { return cmp.Compare(kind(a), kind(b)) })
	return all, err
}

// texts are the parts of a scenario that are read by people.
type texts struct {
	Metadata    struct{ Name string }
	Description string
	Steps       []struct {
		Description string
		Questions   []struct{ Ask, Why string }
	}
}

// minutes returns the time that [Example] has.
func (t *texts) minutes() int {
	const perMinute, multiple = 130, 5
	words, questions := len(strings.Fields(t.Description)), 0
	for _, step := range t.Steps {
		words += len(strings.Fields(step.Description))
		questions += len(step.Questions)
		for _, q := range step.Questions {
			words += len(strings.Fields(q.Ask)) + len(strings.Fields(q.Why))
		}
	}
	return max(1, (words/perMinute+questions+multiple/2)/multiple) * multiple
}
