package explain

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// Claims returns what the fixes of a Pending pod say, in a form that a run can check: how many pods are Pending after the change, and how
// many of these belong to the pod's workload. A change that creates objects makes no claim, since a variant cannot do that.
func (p *Pod) Claims() []claim.Claim {
	var claims []claim.Claim
	pod := p.pod()
	for i := range p.Fixes {
		fix := &p.Fixes[i]
		data, err := json.Marshal(fix.Steps)
		if err != nil {
			continue
		}
		var steps []scenario.Step
		if json.Unmarshal(data, &steps) != nil || len(steps) == 0 || slices.ContainsFunc(steps, func(s scenario.Step) bool { return s.Apply != nil }) {
			continue
		}
		expect := &scenario.Expect{Pending: ptr.To(fix.Pending)}
		of := scenario.WorkloadPods{Workload: claim.WorkloadName(p.Owner), Pending: ptr.To(fix.OfWorkload)}
		if p.Owner.Kind == "Pod" {
			of.Running = ptr.To(1)
		}
		expect.Workloads = []scenario.WorkloadPods{of}
		steps[len(steps)-1].Expect = expect
		claims = append(claims, claim.Claim{Says: fmt.Sprintf("%s: %s", cluster.Qualify(pod.Namespace, pod.Name), fix.Change), Steps: steps})
	}
	return claims
}
