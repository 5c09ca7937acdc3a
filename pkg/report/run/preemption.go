package run

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// NewPreemption converts a preemption into the model.
func NewPreemption(p placement.Preemption) Preemption {
	return Preemption{Victim: p.Victim.Namespace + "/" + p.Victim.Name, For: p.For.Namespace + "/" + p.For.Name, Node: p.Node, Choice: newChoice(p.Choice)}
}

func newChoice(c *placement.Choice) *Choice {
	if c == nil {
		return nil
	}
	choice := &Choice{Nodes: c.Nodes, Rule: c.Rule}
	for _, candidate := range c.Candidates {
		choice.Candidates = append(choice.Candidates, PreemptionCandidate{
			Node: candidate.Node, HighestPriority: corev1.PodPriority(candidate.Victims[0]), Violations: candidate.Violations,
			Victims: list.Map(candidate.Victims, func(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }),
		})
	}
	return choice
}

func (t *writer) preempted(s *stepText) {
	if len(s.Preempted) > 0 {
		t.Linef(doc.Yellow, "Preempted %d:", len(s.Preempted))
	}
	t.UpTo(len(s.Preempted), "pod", "pods", func(i int) {
		p := s.Preempted[i]
		t.Linef(doc.Plain, "  %s made room on %s for %s%s", s.withoutDefaultNamespace(p.Victim), p.Node, s.withoutDefaultNamespace(p.For), p.Choice.Text())
	})
}

// Text says why the node was chosen: `, chosen among 2 nodes by the rule "fewest victims": 1, and 2 on w-3`.
func (c *Choice) Text() string {
	switch {
	case c == nil:
		return ""
	case c.Rule == "":
		return ", the only node on which preemption helps"
	}
	return fmt.Sprintf(", chosen among %s by the rule %q%s", words.Count(c.Nodes, "node"), c.Rule, c.ruleValues())
}

// ruleValues returns the values by which the rule chose, of the chosen node and of the next one.
func (c *Choice) ruleValues() string {
	if len(c.Candidates) < 2 {
		return ""
	}
	value := func(of PreemptionCandidate) int {
		switch c.Rule {
		case placement.FewestViolations:
			return of.Violations
		case placement.LowestHighest:
			return int(of.HighestPriority)
		default:
			return len(of.Victims)
		}
	}
	chosen, next := c.Candidates[0], c.Candidates[1]
	switch c.Rule {
	case placement.FewestViolations, placement.LowestHighest, placement.FewestVictims:
		return fmt.Sprintf(": %d, and %d on %s", value(chosen), value(next), next.Node)
	}
	return ""
}
