package scenarios_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/scenarios"
)

func all(t *testing.T) []scenarios.Example {
	t.Helper()
	all, err := scenarios.All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every scenario file on disk is embedded, with all that it names, and none is listed twice.
func TestAllAreEmbedded(t *testing.T) {
	onDisk := map[string]bool{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == loader.FileName {
			onDisk[name] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	embedded := map[string]bool{}
	for _, example := range all(t) {
		if embedded[example.File()] {
			t.Errorf("%s is listed twice", example.Name)
		}
		embedded[example.File()] = true
		if _, err := loader.LoadFS(scenarios.FS, example.File(), loader.Options{}); err != nil {
			t.Errorf("%s: %v", example.Name, err)
		}
	}
	if diff := cmp.Diff(onDisk, embedded); diff != "" {
		t.Errorf("(-on disk +embedded):\n%s", diff)
	}
}

func TestLessonsComeFirstAndInOrder(t *testing.T) {
	first := true
	var lessons, others []string
	for _, example := range all(t) {
		first = first && example.Lesson
		if example.Lesson != first {
			t.Errorf("the lesson %s stands among other scenarios", example.Name)
		}
		if example.Title == "" || example.Description == "" {
			t.Errorf("%s has no title or no description", example.Name)
		}
		if example.Lesson {
			lessons = append(lessons, example.Name)
		} else {
			others = append(others, example.Name)
		}
	}
	for i, name := range lessons {
		if prefix := fmt.Sprintf("lessons/%d-", i+1); !strings.HasPrefix(name, prefix) {
			t.Errorf("lesson %d is %s; its name should begin with %s", i+1, name, prefix)
		}
	}
	if len(lessons) == 0 || len(others) == 0 || !slices.IsSorted(others) {
		t.Errorf("lessons %q, others %q", lessons, others)
	}
}

// A lesson is one file with a text in every step, and what the text says is so.
func TestLessons(t *testing.T) {
	for _, lesson := range all(t) {
		if !lesson.Lesson {
			continue
		}
		t.Run(path.Base(lesson.Name), func(t *testing.T) {
			if files, err := fs.ReadDir(scenarios.FS, lesson.Name); err != nil || len(files) != 1 {
				t.Errorf("the folder has %d files, not the scenario alone: %v", len(files), err)
			}
			file, manifest := read(t, lesson.File())
			result, report := simulate(t, lesson.File(), sched.Ties{Seed: 1})
			if n := len(file.Steps); n < 3 || n > 8 {
				t.Errorf("it has %d steps, not 3 to 8", n)
			}
			if len(report.Steps) != len(file.Steps) {
				t.Fatalf("%d steps are reported, of %d", len(report.Steps), len(file.Steps))
			}
			for _, problem := range unclear(file.Description) {
				t.Errorf("its description %s", problem)
			}
			for i, step := range file.Steps {
				shown := &report.Steps[i]
				if len(shown.Expectations) == 0 {
					t.Errorf("step %s expects nothing", step.Name)
				}
				for _, e := range shown.Expectations {
					if !e.Met {
						t.Errorf("step %s: want %s, got %s", step.Name, e.Want, e.Got)
					}
				}
				if state := result.Steps[i].State; len(state.Nodes) > 9 || len(state.Pods) > 12 {
					t.Errorf("step %s has %d nodes and %d pods, which is too much to look at", step.Name, len(state.Nodes), len(state.Pods))
				}
				if !strings.Contains(step.Description, "\n\n**Predict:** ") || !strings.Contains(step.Description, "\n\n**Why:** ") {
					t.Errorf("step %s does not say what to predict, and then why it comes so", step.Name)
				}
				for n := range step.Questions {
					right, err := expect.Answers(context.Background(), &step.Questions[n], result.Scenario, &result.Steps[i])
					if err != nil || len(right) == 0 {
						t.Errorf("step %s: no answer to %q is right: %v", step.Name, step.Questions[n].Ask, err)
					}
				}
				if len(step.Questions) == 0 {
					t.Errorf("step %s asks nothing", step.Name)
				}
				for _, problem := range unclear(step.Description) {
					t.Errorf("the description of step %s %s", step.Name, problem)
				}
				said := manifest + answer(t, shown)
				for _, quote := range code.FindAllStringSubmatch(step.Description, -1) {
					if words := strings.Join(strings.Fields(quote[1]), " "); !strings.Contains(said, words) {
						t.Errorf("step %s: %q is neither in the scenario nor in its answer", step.Name, words)
					}
				}
			}
		})
	}
}

// No expectation of a lesson rests on chance: they are met whichever of equal nodes wins.
func TestLessonsDoNotRestOnChance(t *testing.T) {
	for _, lesson := range all(t) {
		for seed := uint64(1); lesson.Lesson && seed <= 20; seed++ {
			_, report := simulate(t, lesson.File(), sched.Ties{Random: true, Seed: seed})
			if !report.Met() {
				t.Errorf("%s: an expectation is not met with random ties and seed %d", lesson.Name, seed)
			}
		}
	}
}

// code is a quotation from the scenario or from its answer.
var code = regexp.MustCompile("`([^`]+)`")

// unclear finds what a page would show wrong: of Markdown, lessons use bold text, code and lists.
func unclear(description string) []string {
	if description == "" {
		return []string{"is empty"}
	}
	var problems []string
	for paragraph := range strings.SplitSeq(description, "\n\n") {
		for _, mark := range []string{"`", "**"} {
			if strings.Count(paragraph, mark)%2 > 0 {
				problems = append(problems, fmt.Sprintf("opens a %s that it does not close: %q", mark, paragraph))
			}
		}
		for line := range strings.Lines(paragraph) {
			if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ">") || strings.HasPrefix(line, "|") || strings.Contains(line, "](") {
				problems = append(problems, fmt.Sprintf("has more than bold text, code and lists: %q", line))
			}
		}
	}
	return problems
}

// read returns a scenario file, and its text without the descriptions, with one space for any other.
func read(t *testing.T, name string) (*scenario.File, string) {
	t.Helper()
	data, err := fs.ReadFile(scenarios.FS, name)
	if err != nil {
		t.Fatal(err)
	}
	file, bare := &scenario.File{}, map[string]any{}
	if err := yaml.UnmarshalStrict(data, file); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &bare); err != nil {
		t.Fatal(err)
	}
	for _, step := range bare["steps"].([]any) {
		delete(step.(map[string]any), "description")
	}
	delete(bare, "description")
	if data, err = yaml.Marshal(bare); err != nil {
		t.Fatal(err)
	}
	return file, strings.Join(strings.Fields(string(data)), " ")
}

func simulate(t *testing.T, name string, ties sched.Ties) (*simulation.Result, *run.Report) {
	t.Helper()
	s, err := loader.LoadFS(scenarios.FS, name, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Ties = ties
	result, err := simulation.Run(context.Background(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	judged, err := expect.Judge(context.Background(), result, nil)
	if err != nil {
		t.Fatal(err)
	}
	return result, run.New(result, judged, "test")
}

// answer is what the report says of a step, without what was expected.
func answer(t *testing.T, step *run.Step) string {
	t.Helper()
	shown := *step
	shown.Expectations = nil
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(shown); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The first lesson has the steps of the kind walkthrough, under a shorter name, and the same placements.
func TestFirstLessonIsTheWalkthrough(t *testing.T) {
	want, err := expect.ReadGolden("kind-walkthrough/placements.golden.yaml")
	if err != nil || want == nil {
		t.Fatal(err)
	}
	for i := range want.Steps {
		want.Steps[i].Workloads = map[string]map[string]int{"deployment/web": want.Steps[i].Workloads["deployment/lorem-ipsum-deployment"]}
	}
	result, _ := simulate(t, "lessons/1-walkthrough/scenario.yaml", sched.Ties{Seed: 1})
	if diff := cmp.Diff(want, expect.NewGolden(result)); diff != "" {
		t.Errorf("(-walkthrough +lesson):\n%s", diff)
	}
}
