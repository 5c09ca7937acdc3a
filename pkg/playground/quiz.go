package playground

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
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
	// Kind is number, nodes, holds or message.
	Kind string `json:"kind" jsonschema:"enum=number,enum=nodes,enum=holds,enum=message"`
	// Fields are the messages to choose from, or the domains that have a number each. A question without fields asks for one number.
	Fields []string `json:"fields,omitempty"`
	// Answers has the right answers of the run: numbers in the order of the fields, names of nodes, yes or no, or a message, which is empty if
	// no pod is Pending.
	Answers [][]string `json:"answers"`
	// Equal has answers that are also right: chance decides among nodes of equal score, and another run has these answers.
	Equal [][]string `json:"equal,omitempty"`
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
	w, err := simulation.NewWorld(last.scenario)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	response := &QuizResponse{}
	for i, spec := range simulation.StepsOf(last.scenario)[:len(last.result.Steps)] {
		step := &last.result.Steps[i]
		of := QuizStep{Step: step.Name}
		asked := questionsOf(spec.Questions, step)
		for _, q := range asked {
			of.Questions = append(of.Questions, Question{Ask: q.Ask, Kind: questionKind(&q), Fields: expect.Fields(&q, step)})
		}
		if err := of.addAnswers(ctx, asked, last.scenario, step); err != nil {
			return nil, err
		}
		one, single := w.(*world.Cluster)
		if single && len(asked) > 0 && len(step.State.Nodes) <= maxQuizNodes && len(step.State.Pods) <= maxQuizPods {
			if err := of.addEqualAnswers(ctx, asked, one, last.result, i); err != nil {
				return nil, err
			}
		}
		response.Steps = append(response.Steps, of)
	}
	return response, nil
}

// addEqualAnswers adds the answers of runs in which chance decides otherwise among equal nodes, from the state before the step.
func (s *QuizStep) addEqualAnswers(ctx context.Context, asked []scenario.Question, w *world.Cluster, result *simulation.Result, at int) error {
	before := *result
	before.Steps = result.Steps[:at]
	for seed := range uint64(maxSeeds) {
		random := rand.New(rand.NewPCG(seed, 1))
		w.Choose = func(_ *cluster.State, tie *sched.Tie) (int, error) { return random.IntN(len(tie.Nodes)), nil }
		other, err := simulation.Next(ctx, w, &before)
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
	}
	return "message"
}
