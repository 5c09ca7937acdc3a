package doc

import (
	"fmt"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// CauseLines returns lines that say why the scheduler refuses a pod, with the values of both sides: "NodeResourcesFit refuses 3 nodes: asks 3
// cpu; …".
func CauseLines(causes []cause.Cause) []string {
	return list.Map(causes, func(c cause.Cause) string {
		switch {
		case c.Denial != nil: // its sentence names the plugin
			return c.Sentence
		case c.Nodes == 0:
			return fmt.Sprintf("%s: %s", c.Plugin, c.Sentence)
		case c.Behind:
			return fmt.Sprintf("%s would refuse %s even with room: %s", c.Plugin, words.Count(c.Nodes, "node"), c.Sentence)
		}
		return fmt.Sprintf("%s refuses %s: %s", c.Plugin, words.Count(c.Nodes, "node"), c.Sentence)
	})
}
