package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// changeFor returns the patch for a workload whose pods no number of nodes helps after a loss; nil if none is known. A hard spread constraint
// counts the failed zone as an empty one, unless nodeTaintsPolicy is Honor: then every other zone may have maxSkew pods, and no more.
func (p *planner) changeFor(blocked strandedPod) *Change {
	obj := cluster.Find(p.state.Objects(), blocked.owner)
	if obj == nil {
		return nil
	}
	spec, path := cluster.PodSpec(obj)
	if spec == nil || blocked.owner.Kind == "Job" || blocked.owner.Kind == "Pod" {
		return nil
	}
	constraints := list.Each(spec.TopologySpreadConstraints, func(c v1.TopologySpreadConstraint) v1.TopologySpreadConstraint { return *c.DeepCopy() })
	var keys []string
	for i := range constraints {
		c := &constraints[i]
		if c.WhenUnsatisfiable == v1.DoNotSchedule && ptr.Deref(c.NodeTaintsPolicy, v1.NodeInclusionPolicyIgnore) == v1.NodeInclusionPolicyIgnore {
			c.NodeTaintsPolicy = ptr.To(v1.NodeInclusionPolicyHonor)
			keys = append(keys, c.TopologyKey)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	data := nested(path, map[string]any{"topologySpreadConstraints": constraints})
	target := scenario.Target{Target: blocked.owner.String(), Namespace: blocked.owner.Namespace}
	patch := &scenario.Patch{Target: target, Type: "merge", Patch: runtime.RawExtension{Raw: data}}
	return &Change{
		WorkloadRef: blocked.owner.Workload(),
		Change:      "nodeTaintsPolicy: Honor in the spread over " + strings.Join(keys, " and "),
		Price:       []string{"its pods are replaced, and spread no longer over nodes whose taints they do not tolerate"},
		Commands:    []string{fmt.Sprintf("kubectl patch %s --type=merge -p '%s'", target.Argument(), strings.ReplaceAll(string(data), "'", `'\''`))},
		step:        scenario.Step{Name: "patch " + target.Argument(), Patch: patch},
	}
}

// nested returns the JSON of the value at the path, such as spec.template.spec.
func nested(path string, value any) []byte {
	fields := strings.Split(path, ".")
	for i := len(fields) - 1; i >= 0; i-- {
		value = map[string]any{fields[i]: value}
	}
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // constraints of an object that was read from JSON
	}
	return data
}

// change adds the patches for workloads whose pods no node helps, each once, and reports whether there are any.
func (p *planner) change(losses []loss) bool {
	added := false
	for i := range losses {
		for _, pod := range losses[i].blocked {
			if p.changed[pod.owner] {
				continue
			}
			p.changed[pod.owner] = true
			if c := p.changeFor(pod); c != nil {
				p.changes = append(p.changes, *c)
				added = true
			}
		}
	}
	return added
}

// giveUp takes the changes away whose rollouts do not end in the state, and reports whether there are any.
func (p *planner) giveUp(state *cluster.State) bool {
	before := len(p.changes)
	for _, r := range controller.Rollouts(state) {
		if !r.Stuck() {
			continue
		}
		ref := r.Ref.Workload()
		if i := slices.IndexFunc(p.changes, func(c Change) bool { return c.WorkloadRef == ref }); i >= 0 {
			p.givenUp[ref] = fmt.Sprintf("%s would free it, and does not roll out: %s", p.changes[i].Change, r.Waiting)
			p.changes = slices.Delete(p.changes, i, i+1)
		}
	}
	return len(p.changes) < before
}
