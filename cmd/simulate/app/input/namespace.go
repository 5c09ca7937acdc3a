package input

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// Namespace is the namespace of objects that are named without one, and of the objects that a report lists. Without a name it is any
// namespace.
type Namespace struct {
	Name string
	All  bool // list all namespaces, though Name is set
}

// Register adds -n, and also -A if the command lists objects.
func (n *Namespace) Register(cmd *cobra.Command, lists bool) {
	usage := "the `NAMESPACE` of what is named without one"
	if lists {
		usage += ", and of what is listed (default all)"
		cmd.Flags().BoolVarP(&n.All, "all-namespaces", "A", false, "list all namespaces, also with -n")
	}
	withoutField(cmd, func() { cmd.Flags().StringVarP(&n.Name, "namespace", "n", "", usage) })
}

// Listed returns the namespace that a report lists, or "" for all.
func (n *Namespace) Listed() string {
	if n.All {
		return ""
	}
	return n.Name
}

// Qualify adds the namespace to workloads that are given as kind/name. Those given as namespace/kind/name keep theirs.
func (n *Namespace) Qualify(workloads ...string) []string {
	if n.Name == "" {
		return workloads
	}
	named := slices.Clone(workloads)
	for i, workload := range workloads {
		if name, _, _ := strings.Cut(workload, "="); strings.Count(name, "/") == 1 { // in --patch, the patch follows "="
			named[i] = n.Name + "/" + workload
		}
	}
	return named
}

// Check rejects a namespace that is not among the known ones, which have a pod or a workload, as what says.
func (n *Namespace) Check(cmd *cobra.Command, what string, known []string) error {
	if n.Name == "" || slices.Contains(known, n.Name) {
		return nil
	}
	return exit.Usage(cmd, "-n: no %s is in namespace %q; %s", what, n.Name, scenario.ListChoices(n.Name, known))
}

// ParseTarget parses an object that is given as kind/name, in the namespace of -n, or as namespace/kind/name.
func (n *Namespace) ParseTarget(cmd *cobra.Command, target string) (cluster.Ref, error) {
	if kind, name, err := scenario.ParseTarget(target); err == nil {
		return cluster.Ref{Kind: kind, Namespace: n.Name, Name: name}, nil
	}
	ref, err := scenario.ParseWorkload(target)
	ref.Namespace = cmp.Or(ref.Namespace, n.Name)
	if err == nil && n.Name != "" && n.Name != ref.Namespace {
		err = fmt.Errorf("%s is not in the namespace %s that -n gives; leave one out", target, n.Name)
	}
	return ref, exit.UsageProblems(cmd, err)
}
