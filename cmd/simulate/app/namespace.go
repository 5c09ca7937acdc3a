package app

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// namespace is that of what a command line names without one, and of what a report lists. Without it, it is any, and all.
type namespace struct {
	name string
	all  bool // are listed nevertheless
}

// register adds -n, and -A for a command that lists.
func (n *namespace) register(cmd *cobra.Command, lists bool) {
	usage := "the `NAMESPACE` of what is named without one"
	if lists {
		usage += ", and of what is listed (default all)"
		cmd.Flags().BoolVarP(&n.all, "all-namespaces", "A", false, "list all namespaces, also with -n")
	}
	cmd.Flags().StringVarP(&n.name, "namespace", "n", "", usage)
}

// listed is the namespace of which a report shows what there is; "" is all.
func (n *namespace) listed() string {
	if n.all {
		return ""
	}
	return n.name
}

// of gives the workloads that are named kind/name their namespace. Those named namespace/kind/name have one.
func (n *namespace) of(workloads ...string) []string {
	if n.name == "" {
		return workloads
	}
	named := slices.Clone(workloads)
	for i, workload := range workloads {
		if name, _, _ := strings.Cut(workload, "="); strings.Count(name, "/") == 1 { // a patch follows the sign
			named[i] = n.name + "/" + workload
		}
	}
	return named
}

// check rejects a namespace that is none of those with pods, or workloads.
func (n *namespace) check(cmd *cobra.Command, what string, known []string) error {
	if n.name == "" || slices.Contains(known, n.name) {
		return nil
	}
	return exit.Usage(cmd, "-n: no %s is in namespace %q; %s", what, n.name, scenario.Choices(n.name, known))
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
