package doc

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/words"
)

// CauseLines returns lines that say why the scheduler refuses a pod, with the values of both sides: "NodeResourcesFit refuses 3 nodes: asks 3
// cpu; …". A plugin that would say the same of further nodes if they had room has one line for both.
func CauseLines(causes []cause.Cause) []string {
	var lines []string
	for i, c := range causes {
		further := func(other cause.Cause) bool {
			return other.Behind && !c.Behind && other.Plugin == c.Plugin && other.Sentence == c.Sentence
		}
		said := func(other cause.Cause) bool {
			return c.Behind && !other.Behind && other.Plugin == c.Plugin && other.Sentence == c.Sentence
		}
		if slices.ContainsFunc(causes[:i], said) {
			continue
		}
		line := causeLine(c)
		if at := slices.IndexFunc(causes[i:], further); at >= 0 {
			line = fmt.Sprintf("%s refuses %s, and would refuse %d more even with room: %s", c.Plugin, words.Count(c.Nodes, "node"), causes[i+at].Nodes, c.Sentence)
		}
		lines = append(lines, line)
	}
	return lines
}

func causeLine(c cause.Cause) string {
	switch {
	case c.Denial != nil: // its sentence names the plugin
		return c.Sentence
	case c.Nodes == 0:
		return fmt.Sprintf("%s: %s", c.Plugin, c.Sentence)
	case c.Behind && c.NodeAffinity != nil:
		return fmt.Sprintf("%s would refuse %s even without taints: %s", c.Plugin, words.Count(c.Nodes, "node"), c.Sentence)
	case c.Behind:
		return fmt.Sprintf("%s would refuse %s even with room: %s", c.Plugin, words.Count(c.Nodes, "node"), c.Sentence)
	}
	return fmt.Sprintf("%s refuses %s: %s", c.Plugin, words.Count(c.Nodes, "node"), c.Sentence)
}
