package expect

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Fields returns the fields of a question's answer: the messages to choose from, or the domains after the step, which have a number each;
// nil for another question.
func Fields(q *scenario.Question, step *simulation.Step) []string {
	switch {
	case len(q.Message) > 0:
		return q.Message
	case q.Number == nil || q.Number.TopologyKey == "":
		return nil
	}
	return list.Each(occupy(step.State, q.Number.TopologyKey, q.Number.Selector), func(domain occupied) string { return domain.name })
}

// Answers returns every right answer to a question after the step: the numbers in the order of the fields; the sorted names of nodes; yes
// or no; or a message, which is "" if no pod is Pending. Only a question for a message can have several answers, or none.
func Answers(ctx context.Context, q *scenario.Question, s *scenario.Scenario, step *simulation.Step) ([][]string, error) {
	switch {
	case q.Number != nil:
		return [][]string{numbers(q.Number, step)}, nil
	case q.Nodes != nil:
		return [][]string{nodes(q.Nodes, step)}, nil
	case q.Holds != nil:
		var judged []Judged
		j := &judge{Expect: q.Holds, judged: &judged}
		j.judgeStep(step)
		j.judgePods(step, func(string) *cluster.State { return step.State })
		if err := j.judgeFailures(ctx, &failures{scenario: s, step: step, known: map[failureSet]*analyzed{}}); err != nil {
			return nil, err
		}
		if q.Holds.Findings != nil {
			j.add(judgeFindings(*q.Holds.Findings, factsOf(step)))
		}
		if len(Unmet(judged)) > 0 {
			return [][]string{{"no"}}, nil
		}
		return [][]string{{"yes"}}, nil
	}
	if len(step.Pending) == 0 {
		return [][]string{{""}}, nil
	}
	right := [][]string{}
	for _, text := range q.Message {
		if judgeMessage(text, step).Met {
			right = append(right, []string{text})
		}
	}
	return right, nil
}

func numbers(of *scenario.CountedPods, step *simulation.Step) []string {
	switch {
	case of.Pending:
		return []string{strconv.Itoa(len(matching(step.Pending, of.Selector)))}
	case of.TopologyKey == "":
		return []string{strconv.Itoa(len(running(step.State, of.Selector)))}
	}
	return list.Each(occupy(step.State, of.TopologyKey, of.Selector), func(domain occupied) string { return strconv.Itoa(len(domain.pods)) })
}

func nodes(of *scenario.PlacedPods, step *simulation.Step) []string {
	placed := map[string]bool{}
	for _, p := range step.Placed {
		placed[cluster.Qualify(p.Pod.Namespace, p.Pod.Name)] = true
	}
	names := []string{}
	for _, pod := range running(step.State, of.Selector) {
		if !of.New || placed[cluster.Qualify(pod.Namespace, pod.Name)] {
			names = append(names, pod.Spec.NodeName)
		}
	}
	slices.SortFunc(names, strings.Compare)
	return slices.Compact(names)
}
