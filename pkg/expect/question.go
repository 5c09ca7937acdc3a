package expect

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// Fields returns the fields of a question's answer: the messages or reasons to choose from, or the domains after the step, which have a
// number each; nil for another question. A question for a reason needs the cycles of the step's pods.
func Fields(q *scenario.Question, step *simulation.Step) []string {
	switch {
	case len(q.Message) > 0:
		return q.Message
	case q.NotOn != nil:
		return reasonChoices(q.NotOn, step)
	case q.Number == nil || q.Number.TopologyKey == "":
		return nil
	}
	return list.Map(podsByDomain(step.State, q.Number.TopologyKey, q.Number.Selector), func(domain domainPods) string { return domain.name })
}

// Answers returns every right answer to a question after the step: the numbers in the order of the fields; the sorted names of nodes; yes
// or no; a message, which is "" if no pod is Pending; or a reason. Only questions for a message or a reason can have several answers, or none.
func Answers(ctx context.Context, q *scenario.Question, s *scenario.Scenario, step *simulation.Step) ([][]string, error) {
	switch {
	case q.Number != nil:
		return [][]string{numberAnswers(q.Number, step)}, nil
	case q.Nodes != nil:
		return [][]string{nodeAnswers(q.Nodes, step)}, nil
	case q.Holds != nil:
		var judged []Judged
		j := &stepJudge{Expect: q.Holds, judged: &judged}
		j.judgeStep(step)
		j.judgePods(step, func(string) *cluster.State { return step.State })
		if err := j.judgeFailures(ctx, &stepFailures{scenario: s, step: step, analyses: map[failureSet]*failureAnalysis{}}); err != nil {
			return nil, err
		}
		if q.Holds.Findings != nil {
			j.appendJudged(judgeFindings(*q.Holds.Findings, newFacts(step)))
		}
		if len(Unmet(judged)) > 0 {
			return [][]string{{"no"}}, nil
		}
		return [][]string{{"yes"}}, nil
	case q.NotOn != nil:
		return reasonAnswers(q.NotOn, step), nil
	}
	pending := matchingPending(step.Pending, q.Selector)
	if len(pending) == 0 {
		return [][]string{{""}}, nil
	}
	right := [][]string{}
	for _, text := range q.Message {
		if slices.ContainsFunc(pending, func(p placement.Pending) bool {
			return strings.Contains(p.Why(), text) || strings.Contains(p.Message, text)
		}) {
			right = append(right, []string{text})
		}
	}
	return right, nil
}

// AnswerInWords returns the answers as the beginning of a sentence or two that explain them, without its full stop. Of a question for a
// message, only the first counts.
func AnswerInWords(q *scenario.Question, fields []string, answers [][]string) string {
	answer := answers[0]
	switch {
	case q.Number != nil && len(fields) > 0:
		counts := make([]string, len(fields))
		for i, field := range fields {
			counts[i] = field + " " + answer[i]
		}
		return strings.Join(counts, ", ")
	case q.Number != nil && answer[0] == "0":
		return "None"
	case q.Number != nil && answer[0] == "1":
		return "1 pod"
	case q.Number != nil:
		return answer[0] + " pods"
	case q.Nodes != nil && len(answer) == 0:
		return "No node"
	case q.Nodes != nil:
		return words.And(answer)
	case q.Holds != nil:
		return words.UpperFirst(answer[0])
	case q.NotOn != nil:
		return reasonInWords(answers)
	case answer[0] == "":
		return "Nothing, since no pod is Pending"
	}
	return "`" + answer[0] + "`"
}

func numberAnswers(of *scenario.CountedPods, step *simulation.Step) []string {
	switch {
	case of.Pending:
		return []string{strconv.Itoa(len(matchingPending(step.Pending, of.Selector)))}
	case of.TopologyKey == "":
		return []string{strconv.Itoa(len(runningPods(step.State, of.Selector)))}
	}
	return list.Map(podsByDomain(step.State, of.TopologyKey, of.Selector), func(domain domainPods) string { return strconv.Itoa(len(domain.pods)) })
}

func nodeAnswers(of *scenario.PlacedPods, step *simulation.Step) []string {
	placed := map[string]bool{}
	for _, p := range step.Placed {
		placed[cluster.Qualify(p.Pod.Namespace, p.Pod.Name)] = true
	}
	names := []string{}
	for _, pod := range runningPods(step.State, of.Selector) {
		if !of.New || placed[cluster.Qualify(pod.Namespace, pod.Name)] {
			names = append(names, pod.Spec.NodeName)
		}
	}
	slices.SortFunc(names, strings.Compare)
	return slices.Compact(names)
}
