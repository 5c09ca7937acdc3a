package run

import (
	"fmt"

	"github.com/faultline/faultline/pkg/report"
)

// Decode reads a report back from its JSON or YAML.
func Decode(file string, data []byte) (*Report, error) {
	r, err := report.Decode[Report](file, data, Kind)
	if err != nil {
		return nil, err
	}
	problems := report.Problems{File: file}
	report.CheckSteps(&problems, r.Steps, func(step *Step) string { return step.Name })
	r.check(&problems)
	return r, problems.Err()
}

// check finds statements about a cluster that cannot be true: an object without a name, a pod on a node that the cluster never had, and a
// sum that differs from its parts.
func (r *Report) check(p *report.Problems) {
	nodes := map[string]bool{}
	take := func(path string, all []report.Node) {
		for i, node := range all {
			if nodes[node.Name] = true; node.Name == "" {
				p.Add(fmt.Sprintf("%s[%d].name", path, i), "is missing")
			}
			if node.CPU < 0 || node.Memory < 0 || node.Pods < 0 {
				p.Add(fmt.Sprintf("%s[%d]", path, i), "cpu, memory and pods must not be negative")
			}
		}
	}
	take("nodes", r.Nodes)
	for i := range r.Steps {
		step, path := &r.Steps[i], fmt.Sprintf("steps[%d]", i)
		take(path+".nodes", step.Nodes)
		if s := step.Summary; s.Pods != s.Running+s.Pending+s.NotReady {
			p.Add(path+".summary.pods", "Invalid value: %d: must be the sum of running, pending and notReady, which is %d", s.Pods, s.Running+s.Pending+s.NotReady)
		}
		for j := range step.Workloads {
			if step.Workloads[j].Name == "" {
				p.Add(fmt.Sprintf("%s.workloads[%d].name", path, j), "is missing")
			}
		}
		for j := range step.Pods {
			switch pod := &step.Pods[j]; {
			case pod.Name == "":
				p.Add(fmt.Sprintf("%s.pods[%d].name", path, j), "is missing")
			case pod.Node != "" && len(nodes) > 0 && !nodes[pod.Node]:
				p.Add(fmt.Sprintf("%s.pods[%d].node", path, j), "Invalid value: %q: no such node is among nodes", pod.Node)
			}
		}
	}
}
