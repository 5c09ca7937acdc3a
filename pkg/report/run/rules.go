package run

import (
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
)

// podSpecs returns the pod specs in the templates of the workloads, by workload, and the specs of pods whose owner is not in the state.
func podSpecs(state *cluster.State) map[cluster.Ref]*v1.PodSpec {
	specs, owner := map[cluster.Ref]*v1.PodSpec{}, state.Owners()
	for _, obj := range state.Objects() { // pods come before workloads
		if pod, is := obj.(*v1.Pod); is {
			specs[owner(pod)] = &pod.Spec
		} else if template, _ := cluster.Template(obj); template != nil {
			specs[cluster.RefTo(obj)] = &template.Spec
		}
	}
	return specs
}

// newRules writes the rules of a spec as YAML, and finds the lines of each rule. It returns nil if there are none.
func newRules(spec *v1.PodSpec) *Rules {
	terms := rule.List(spec)
	if len(terms) == 0 {
		return nil
	}
	data, err := yaml.Marshal(struct {
		Affinity     *v1.Affinity                  `json:"affinity,omitempty"`
		NodeSelector map[string]string             `json:"nodeSelector,omitempty"`
		Spread       []v1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	}{spec.Affinity, spec.NodeSelector, spec.TopologySpreadConstraints})
	if err != nil {
		return nil // these types always marshal
	}
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(data, &document); err != nil {
		return nil // as above
	}
	rules := &Rules{YAML: string(data)}
	for _, term := range terms {
		from, node := findRuleNode(document.Content[0], term.Path)
		rules.Terms = append(rules.Terms, Term{Path: term.Path, From: from, To: lastLine(node)})
	}
	return rules
}

// findRuleNode returns the YAML node at a path such as affinity.nodeAffinity.preferred[0], and its first line.
func findRuleNode(node *yamlv3.Node, path string) (int, *yamlv3.Node) {
	line := node.Line
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if i, err := strconv.Atoi(step); err == nil {
			node = node.Content[i]
			line = node.Line
			continue
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key := node.Content[i]; key.Value == step {
				line, node = key.Line, node.Content[i+1]
				break
			}
		}
	}
	return line, node
}

// lastLine returns the last line of a YAML node. The generated YAML has no text of several lines.
func lastLine(node *yamlv3.Node) int {
	if len(node.Content) == 0 {
		return node.Line
	}
	return lastLine(node.Content[len(node.Content)-1])
}
