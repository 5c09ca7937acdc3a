package app

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// inNamespace gives the workloads that are named kind/name their namespace. Those named namespace/kind/name have one.
func inNamespace(namespace string, workloads []string) []string {
	if namespace == "" {
		return workloads
	}
	named := slices.Clone(workloads)
	for i, workload := range workloads {
		if name, _, _ := strings.Cut(workload, "="); strings.Count(name, "/") == 1 { // a patch follows the sign
			named[i] = namespace + "/" + workload
		}
	}
	return named
}

// knownNamespace rejects a namespace in which there is no pod after any step.
func knownNamespace(cmd *cobra.Command, result *simulation.Result, namespace string) error {
	found := map[string]bool{}
	for i := range result.Steps {
		for _, pod := range result.Steps[i].State.Pods {
			found[pod.Namespace] = true
		}
	}
	if namespace == "" || found[namespace] {
		return nil
	}
	return usage(cmd, "-n: no pod is in namespace %q; %s", namespace, scenario.Choices(namespace, slices.Sorted(maps.Keys(found))))
}
