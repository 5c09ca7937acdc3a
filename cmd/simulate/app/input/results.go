package input

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// FindStep returns the step with the name, or the last step if the name is "".
func FindStep(cmd *cobra.Command, result *simulation.Result, name string) (*simulation.Step, error) {
	if name == "" {
		return result.Last(), nil
	}
	var names []string
	for i := range result.Steps {
		if result.Steps[i].Name == name {
			return &result.Steps[i], nil
		}
		names = append(names, result.Steps[i].Name)
	}
	return nil, exit.Usage(cmd, "--step: there is no step %q; %s", name, scenario.ListChoices(name, names))
}

// NamespacesIn returns the namespaces that have a pod after some step.
func NamespacesIn(result *simulation.Result) []string {
	found := map[string]bool{}
	for i := range result.Steps {
		for _, pod := range result.Steps[i].State.Pods {
			found[pod.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// MaxNames is the largest number of names that an error lists.
const MaxNames = 20

// CheckNodes returns an error if one of the nodes is not in the state.
func CheckNodes(cmd *cobra.Command, state *cluster.State, nodes []string) error {
	for _, name := range nodes {
		if state.Node(name) != nil {
			continue
		}
		var names []string
		for _, node := range state.Nodes[:min(MaxNames, len(state.Nodes))] {
			names = append(names, node.Name)
		}
		if len(state.Nodes) > MaxNames {
			names = append(names, "…")
		}
		return exit.Usage(cmd, "there is no node %q; %s", name, scenario.ListChoices(name, names))
	}
	return nil
}
