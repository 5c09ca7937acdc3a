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

// knownNamespace rejects a namespace that is none of those with pods, or workloads.
func knownNamespace(cmd *cobra.Command, what, namespace string, known []string) error {
	if namespace == "" || slices.Contains(known, namespace) {
		return nil
	}
	return usage(cmd, "-n: no %s is in namespace %q; %s", what, namespace, scenario.Choices(namespace, known))
}

// namespacesIn are the namespaces in which there is a pod after some step.
func namespacesIn(result *simulation.Result) []string {
	found := map[string]bool{}
	for i := range result.Steps {
		for _, pod := range result.Steps[i].State.Pods {
			found[pod.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
