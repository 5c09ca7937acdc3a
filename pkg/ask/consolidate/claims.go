package consolidate

import (
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Claims are what the answer says of the nodes that go: one after the other every drain ends, and no pod is Pending after any step that was
// not before the first. That the others cannot go is no claim.
func (a *Answer) Claims() []claim.Claim {
	if len(a.Removed) == 0 {
		return nil
	}
	var names []string
	for _, r := range a.Removed {
		names = append(names, r.Node)
	}
	c := claim.Claim{Says: fmt.Sprintf("%s can go, with no pod newly Pending", words.Few(names)), Steps: []scenario.Step{claim.Before()}}
	for _, step := range a.Steps {
		step.Expect = &scenario.Expect{NewlyPending: claim.SinceBefore(nil)}
		if step.Drain != nil {
			step.Expect.Drained = ptr.To(true)
		}
		if step.RemoveNodes != nil {
			step.Expect.NodesGone = step.RemoveNodes.Names
		}
		c.Steps = append(c.Steps, step)
	}
	return []claim.Claim{c}
}
