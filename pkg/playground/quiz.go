package playground

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// QuizRequest asks for the questions about every step, with their answers.
type QuizRequest struct {
	Input Input `json:"input"`
}

// QuizResponse has the questions of each step, in the order of the steps.
type QuizResponse struct {
	Problems []Problem  `json:"problems,omitempty"`
	Steps    []QuizStep `json:"steps,omitempty"`
}

// QuizStep has the questions about a step.
type QuizStep struct {
	// Step is the step's name.
	Step      string     `json:"step"`
	Questions []Question `json:"questions,omitempty"`
}

// Question is a question about a step, with its answers.
type Question struct {
	Ask string `json:"ask"`
	// Kind is number, nodes, holds, message or notOn.
	Kind string `json:"kind" jsonschema:"enum=number,enum=nodes,enum=holds,enum=message,enum=notOn"`
	// Fields are the messages or reasons to choose from, or the domains that have a number each. A question without fields asks for one number.
	Fields []string `json:"fields,omitempty"`
	// Answers has the right answers of the run: numbers in the order of the fields, names of nodes, yes or no, a reason, or a message, which is
	// empty if no pod is Pending.
	Answers [][]string `json:"answers"`
	// Equal has answers that are also right: chance decides among nodes of equal score, and another run has these answers.
	Equal [][]string `json:"equal,omitempty"`
	// Hint says where to look for the answer, by what decided in the step.
	Hint string `json:"hint"`
	// Said is the answer of the run as a sentence. Why begins with this sentence, and then explains the answer if the scenario does. Both
	// have code in backquotes, and Why has text in bold.
	Said string `json:"said"`
	Why  string `json:"why"`
}

// A step runs with maxSeeds seeds, unless the cluster is too large for a class to survey.
const (
	maxSeeds     = 24
	maxQuizPods  = 200
	maxQuizNodes = 64
)

func (e *Engine) quiz(ctx context.Context, request QuizRequest) (*QuizResponse, error) {
	last, problems, err := e.runInput(ctx, request.Input)
	if err != nil || problems != nil {
		return &QuizResponse{Problems: problems}, err
	}
	result, opts := last.result, recordReasons(last.scenario)
	if opts.Record != nil {
		if result, err = simulation.Run(ctx, last.scenario, opts); err != nil {
			return nil, err
		}
	}
	w, err := simulation.NewWorld(last.scenario)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	response := &QuizResponse{}
	for i, spec := range simulation.StepsOf(last.scenario)[:len(result.Steps)] {
		step := &result.Steps[i]
		of := QuizStep{Step: step.Name}
		asked := questionsOf(spec.Questions, step)
		for _, q := range asked {
			of.Questions = append(of.Questions, Question{Ask: q.Ask, Kind: questionKind(&q), Fields: expect.Fields(&q, step), Hint: hintOf(&q, step)})
		}
		if err := of.addAnswers(ctx, asked, last.scenario, step); err != nil {
			return nil, err
		}
		one, single := w.(*world.Cluster)
		if single && len(asked) > 0 && len(step.State.Nodes) <= maxQuizNodes && len(step.State.Pods) <= maxQuizPods {
			if err := of.addEqualAnswers(ctx, asked, one, result, i, opts); err != nil {
				return nil, err
			}
		}
		for j := range of.Questions {
			of.Questions[j].addWhy(&asked[j])
			of.Questions[j].shuffleChoices(step.Name)
		}
		of.Questions = slices.DeleteFunc(of.Questions, func(q Question) bool { return len(q.Answers) == 0 }) // somebody changed the scenario
		response.Steps = append(response.Steps, of)
	}
	return response, nil
}

// recordReasons returns options that record the cycles of the steps which a question for a reason is about; no Record if there is none.
func recordReasons(s *scenario.Scenario) (opts simulation.Options) {
	nodes := map[string][]string{} // by step
	for _, step := range simulation.StepsOf(s) {
		for _, q := range step.Questions {
			if q.NotOn != nil {
				nodes[step.Name] = append(nodes[step.Name], q.NotOn.Node)
			}
		}
	}
	if len(nodes) > 0 {
		opts.Record = func(step string, _ cluster.Ref, _ *v1.Pod) *placement.Depth {
			if nodes[step] == nil {
				return nil
			}
			return &placement.Depth{Nodes: 1, Named: nodes[step]}
		}
	}
	return opts
}

// addWhy adds the answer of the run in words, and why it is so.
func (q *Question) addWhy(asked *scenario.Question) {
	if len(q.Answers) == 0 {
		return
	}
	q.Said = expect.AnswerInWords(asked, q.Fields, q.Answers)
	if len(q.Equal) > 0 {
		q.Said += ", by chance among equal nodes"
	}
	q.Said += "."
	q.Why = strings.TrimSpace(q.Said + " " + strings.TrimSpace(asked.Why))
}

// shuffleChoices puts the messages or reasons to choose from in an order that says nothing, and is the same in each run.
func (q *Question) shuffleChoices(step string) {
	if q.Kind != "message" && q.Kind != "notOn" {
		return
	}
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s\n%s", step, q.Ask)
	q.Fields = slices.Sorted(slices.Values(q.Fields))
	random := rand.New(rand.NewPCG(hash.Sum64(), 0))
	random.Shuffle(len(q.Fields), func(i, j int) { q.Fields[i], q.Fields[j] = q.Fields[j], q.Fields[i] })
}

// addEqualAnswers adds the answers of runs in which chance decides otherwise among equal nodes, from the state before the step.
func (s *QuizStep) addEqualAnswers(ctx context.Context, asked []scenario.Question, w *world.Cluster, result *simulation.Result, at int, opts simulation.Options) error {
	before := *result
	before.Steps = result.Steps[:at]
	for seed := range uint64(maxSeeds) {
		random := rand.New(rand.NewPCG(seed, 1))
		w.Choose = func(_ *cluster.State, tie *sched.Tie) (int, error) { return random.IntN(len(tie.Nodes)), nil }
		other, err := simulation.Next(ctx, w, &before, opts)
		if err != nil {
			return err
		}
		if err := s.addAnswers(ctx, asked, other.Scenario, &other.Steps[at]); err != nil {
			return err
		}
	}
	return nil
}

// addAnswers adds the answers after the step: to Answers if there are none yet, and otherwise to Equal.
func (s *QuizStep) addAnswers(ctx context.Context, asked []scenario.Question, of *scenario.Scenario, step *simulation.Step) error {
	for i := range asked {
		found := &s.Questions[i]
		right, err := expect.Answers(ctx, &asked[i], of, step)
		if err != nil {
			return err
		}
		if found.Answers == nil {
			found.Answers = right
			continue
		}
		for _, answer := range right {
			same := func(known []string) bool { return slices.Equal(known, answer) }
			if !slices.ContainsFunc(found.Answers, same) && !slices.ContainsFunc(found.Equal, same) {
				found.Equal = append(found.Equal, answer)
			}
		}
	}
	return nil
}

// questionsOf returns the questions of a step. A step without questions gets the questions that every step can answer.
func questionsOf(own []scenario.Question, step *simulation.Step) []scenario.Question {
	if len(own) > 0 || len(step.State.Pods) == 0 {
		return own
	}
	questions := []scenario.Question{{Ask: "How many pods are Pending?", Number: &scenario.CountedPods{Pending: true}}}
	if len(step.Placed) > 0 && len(step.State.Nodes) <= maxQuizNodes {
		questions = append(questions, scenario.Question{Ask: "Which nodes get a new pod?", Nodes: &scenario.PlacedPods{New: true}})
	}
	return questions
}

func questionKind(q *scenario.Question) string {
	switch {
	case q.Number != nil:
		return "number"
	case q.Nodes != nil:
		return "nodes"
	case q.Holds != nil:
		return "holds"
	case q.NotOn != nil:
		return "notOn"
	}
	return "message"
}
