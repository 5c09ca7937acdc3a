package scenarios_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/playground"
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
		if err == nil && (entry.Name() == loader.FileName || entry.Name() == "challenge.yaml") {
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
	var lessons, challenges, others []string
	for _, example := range all(t) {
		first = first && example.Lesson
		if example.Lesson != first {
			t.Errorf("the lesson %s stands among other scenarios", example.Name)
		}
		if example.Title == "" || example.Description == "" {
			t.Errorf("%s has no title or no description", example.Name)
		}
		switch {
		case example.Lesson:
			lessons = append(lessons, example.Name)
		case example.Challenge && len(others) == 0:
			challenges = append(challenges, example.Name)
		default:
			others = append(others, example.Name)
		}
	}
	for i, name := range lessons {
		if prefix := fmt.Sprintf("lessons/%d-", i+1); !strings.HasPrefix(name, prefix) {
			t.Errorf("lesson %d is %s; its name should begin with %s", i+1, name, prefix)
		}
	}
	if len(lessons) == 0 || len(challenges) != 3 || len(others) == 0 || !slices.IsSorted(others) {
		t.Errorf("lessons %q, challenges %q, others %q", lessons, challenges, others)
	}
}

// The goal of a challenge is not reached as it comes, and is in its solution, which expects the same.
func TestChallenges(t *testing.T) {
	for _, example := range all(t) {
		if !example.Challenge {
			continue
		}
		given, solved := readText(t, example.File()), readText(t, example.Solution())
		reached := map[string]bool{given: false, solved: true}
		if example.Name == "challenges/3-end-the-rollout" { // a rollout also ends without a hard rule, or with one node more
			for from, to := range map[string]string{
				"topologyKey: kubernetes.io/hostname\n          containers": "topologyKey: pod.example.com/none\n          containers",
				"name: worker, count: 1":                                    "name: worker, count: 2", "maxSurge: 1, maxUnavailable: 0": "maxSurge: 1, maxUnavailable: 3",
			} {
				if strings.Count(given, from) != 1 {
					t.Errorf("%s has no %q", example.Name, from)
				}
				reached[strings.Replace(given, from, to, 1)] = strings.Contains(to, "maxUnavailable")
			}
		}
		for text, want := range reached {
			_, report := simulateIn(t, fstest.MapFS{"challenge.yaml": {Data: []byte(text)}}, "challenge.yaml", sched.Ties{Seed: 1})
			if report.Met() != want {
				t.Errorf("%s: the goal is reached: %t, want %t", example.Name, !want, want)
			}
		}
		goal, _ := read(t, example.File())
		same, _ := read(t, example.Solution())
		for i, step := range goal.Steps {
			if diff := cmp.Diff(step.Expect, same.Steps[i].Expect); diff != "" {
				t.Errorf("%s: the goal of step %s (-challenge +solution):\n%s", example.Name, step.Name, diff)
			}
		}
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
				for n := range step.Questions {
					for _, problem := range unclear(step.Questions[n].Why) {
						t.Errorf("step %s: the reason of %q %s", step.Name, step.Questions[n].Ask, problem)
					}
				}
				if len(step.Questions) == 0 {
					t.Errorf("step %s asks nothing", step.Name)
				}
				for _, problem := range unclear(step.Description) {
					t.Errorf("the description of step %s %s", step.Name, problem)
				}
				said := manifest + answer(t, shown)
				texts := []string{step.Description}
				for _, q := range step.Questions {
					texts = append(texts, q.Why)
				}
				for _, text := range texts {
					for _, problem := range unfounded(text, said) {
						t.Errorf("step %s: %s", step.Name, problem)
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

// Every question of a lesson has its own reason, which begins with the answer of the run. No other text of the lesson answers anything: a
// yes or a no without its question would contradict another one, or the run.
func TestReasonsAnswerTheirQuestions(t *testing.T) {
	questions, counts := 0, 0
	for _, lesson := range all(t) {
		if !lesson.Lesson {
			continue
		}
		file, _ := read(t, lesson.File())
		data, err := fs.ReadFile(scenarios.FS, lesson.File())
		if err != nil {
			t.Fatal(err)
		}
		request, err := json.Marshal(playground.QuizRequest{Input: playground.Input{Main: "scenario.yaml", Files: map[string]string{"scenario.yaml": string(data)}}})
		if err != nil {
			t.Fatal(err)
		}
		var quiz playground.QuizResponse
		if err := json.Unmarshal(playground.New("test").Answer(t.Context(), "quiz", request), &quiz); err != nil {
			t.Fatal(err)
		}
		if len(quiz.Steps) != len(file.Steps) {
			t.Fatalf("%s: %d steps have questions, of %d: %v", lesson.Name, len(quiz.Steps), len(file.Steps), quiz.Problems)
		}
		for i, step := range file.Steps {
			where := lesson.Name + ", step " + step.Name
			if answer := bareAnswer.FindString(step.Description); answer != "" {
				t.Errorf("%s: the description has the answer %q", where, answer)
			}
			if len(quiz.Steps[i].Questions) != len(step.Questions) {
				t.Errorf("%s: %d of %d questions have a right answer", where, len(quiz.Steps[i].Questions), len(step.Questions))
				continue
			}
			for n, q := range quiz.Steps[i].Questions {
				questions++
				if q.Kind == "number" {
					counts++
				}
				rest, begins := strings.CutPrefix(q.Why, openingOf(q)+". ")
				if !begins || rest == "" {
					t.Errorf("%s: the answer to %q is %q, and the reason is %q", where, q.Ask, openingOf(q), q.Why)
				}
				if answer := bareAnswer.FindString(rest); answer != "" {
					t.Errorf("%s: the reason of %q has one more answer, %q: %q", where, q.Ask, answer, q.Why)
				}
				if choices := step.Questions[n].Message; len(q.Answers) > 1 && choices != nil {
					t.Errorf("%s: several messages are right for %q: %q", where, q.Ask, q.Answers)
				}
			}
		}
	}
	if 2*counts >= questions { // who counts pods need not know why they are there
		t.Errorf("%d of %d questions ask for a number", counts, questions)
	}
}

// Each language of the page has every text of the lessons and challenges. The key of a text is its English, so a text that changes is
// translated anew.
func TestLessonsInOtherLanguages(t *testing.T) {
	texts := map[string]bool{}
	add := func(text string) {
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			texts[text] = true
		}
	}
	for _, example := range all(t) {
		if !example.Lesson && !example.Challenge && example.Name != "own-lesson" {
			continue
		}
		file, _ := read(t, example.File())
		add(file.Metadata.Name)
		for _, paragraph := range paragraphs.Split(file.Description, -1) {
			add(paragraph)
		}
		for _, step := range file.Steps {
			for _, paragraph := range paragraphs.Split(step.Description, -1) {
				add(paragraph)
			}
			for _, q := range step.Questions {
				add(q.Ask)
				add(q.Why)
			}
		}
	}
	files, err := filepath.Glob("../pkg/web/languages/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("languages: %q, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var language struct{ Lessons map[string]string }
		if err := json.Unmarshal(data, &language); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for text := range language.Lessons {
			got[text] = true
		}
		if diff := cmp.Diff(texts, got); diff != "" {
			t.Errorf("%s (-lessons +translated):\n%s", file, diff)
		}
		for text, translated := range language.Lessons {
			for _, problem := range unclear(translated) {
				t.Errorf("%s: the translation of %q %s", file, text, problem)
			}
		}
	}
}

// paragraphs is what stands between two texts that are translated each by itself: an empty line, or the mark of an item.
var paragraphs = regexp.MustCompile(`\n\s*\n|(?:^|\n)\s*(?:[-*]|\d+[.)])\s+`)

// bareAnswer is an answer without a question: a sentence that is a yes, a no or a number, or begins with one.
var bareAnswer = regexp.MustCompile(`(?i)(?:^|[.:?] +|\n *)(?:yes|no|none|nobody|nowhere|it does|it is|they do|two|three|four|five|six|[0-9]+)[.,;:](?: |\n|$)`)

// openingOf returns how the reason of a question must begin, by the answer of the run.
func openingOf(q playground.Question) string {
	opening := q.Answers[0][0:]
	text := strings.Join(opening, ", ")
	switch q.Kind {
	case "number":
		switch {
		case len(q.Fields) > 0:
			pairs := make([]string, len(q.Fields))
			for i := range pairs {
				pairs[i] = q.Fields[i] + " " + opening[i]
			}
			text = strings.Join(pairs, ", ")
		case text == "0":
			text = "None"
		case text == "1":
			text = "1 pod"
		default:
			text += " pods"
		}
	case "nodes":
		if text == "" {
			text = "No node"
		} else if i := strings.LastIndex(text, ", "); i >= 0 {
			text = text[:i] + " and " + text[i+2:]
		}
	case "holds":
		text = map[string]string{"yes": "Yes", "no": "No"}[text]
	case "message":
		text = "`" + text + "`"
	case "notOn":
		if first, by := strings.CutPrefix(text, "it has fewer points by "); by {
			for i, answer := range q.Answers[1:] {
				first += map[bool]string{true: " and ", false: ", "}[i == len(q.Answers)-2] + strings.TrimPrefix(answer[0], "it has fewer points by ")
			}
			text = "It has fewer points by " + first
		} else {
			text = "`" + text + "`"
		}
	}
	if len(q.Equal) > 0 {
		text += ", by chance among equal nodes"
	}
	return text
}

// code is a quotation from the scenario or from its answer.
var code = regexp.MustCompile("`([^`]+)`")

var (
	arithmetic = regexp.MustCompile(`((?:\d+ [-+*] )+\d+) = (-?\d+)`)
	number     = regexp.MustCompile(`[0-9]+`)
)

// unfounded finds quotations and numbers that are neither in the scenario nor in its answer, and sums that are wrong.
func unfounded(text, said string) []string {
	var problems []string
	text = strings.Join(strings.Fields(text), " ")
	for _, quote := range code.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(said, quote[1]) {
			problems = append(problems, fmt.Sprintf("%q is neither in the scenario nor in its answer", quote[1]))
		}
	}
	text = code.ReplaceAllString(text, "")
	for _, sum := range arithmetic.FindAllStringSubmatch(text, -1) {
		if got := strconv.Itoa(evaluate(sum[1])); got != sum[2] {
			problems = append(problems, fmt.Sprintf("%s is %s, not %s", sum[1], got, sum[2]))
		}
	}
	known := map[string]bool{}
	for _, n := range number.FindAllString(said, -1) {
		known[n] = true
	}
	for _, n := range number.FindAllString(arithmetic.ReplaceAllString(text, ""), -1) {
		if !known[n] {
			problems = append(problems, fmt.Sprintf("%s is neither in the scenario nor in its answer: %q", n, text))
		}
	}
	return problems
}

// evaluate computes a sum of products, such as 100 - 2 * 50.
func evaluate(sum string) int {
	total, product, sign := 0, 1, 1
	for _, token := range strings.Fields(sum + " +") {
		switch token {
		case "*":
		case "+", "-":
			total += sign * product
			product, sign = 1, map[string]int{"+": 1, "-": -1}[token]
		default:
			n, _ := strconv.Atoi(token) // the pattern has figures only
			product *= n
		}
	}
	return total
}

func TestUnfounded(t *testing.T) {
	got := unfounded("It has 7 points, as 3 - 2 * 2 = 1, and 10 - 2 * 3 = 4 of `web` and `db`.", `{"points":7,"name":"web"}`)
	want := []string{`"db" is neither in the scenario nor in its answer`, "3 - 2 * 2 is -1, not 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

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

func readText(t *testing.T, name string) string {
	t.Helper()
	data, err := fs.ReadFile(scenarios.FS, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func simulate(t *testing.T, name string, ties sched.Ties) (*simulation.Result, *run.Report) {
	t.Helper()
	return simulateIn(t, scenarios.FS, name, ties)
}

func simulateIn(t *testing.T, files fs.FS, name string, ties sched.Ties) (*simulation.Result, *run.Report) {
	t.Helper()
	s, err := loader.LoadFS(files, name, loader.Options{})
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
