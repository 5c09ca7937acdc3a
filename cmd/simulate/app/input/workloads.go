package input

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// QualifyWorkloads returns the workloads that a flag names, with their namespace if one is given.
func (n *Namespace) QualifyWorkloads(cmd *cobra.Command, flag string, s *scenario.Scenario, words []string) ([]string, error) {
	named, err := n.ParseWorkloads(cmd, flag, s, words)
	return n.Qualify(named...), err
}

// ParseWorkloads returns the workloads that a flag names, as kind/name or namespace/kind/name. TYPE NAME becomes TYPE/NAME. A NAME alone is the one
// workload that has it, in the namespace of -n if it is given. The text from "=" on stays.
func (n *Namespace) ParseWorkloads(cmd *cobra.Command, flag string, s *scenario.Scenario, words []string) ([]string, error) {
	var named []string
	var problems []error
	for _, word := range words {
		name, rest := word, ""
		if at := strings.Index(word, "="); at >= 0 {
			name, rest = word[:at], word[at:]
		}
		fields := strings.Fields(name)
		if len(fields) == 2 && !strings.Contains(name, "/") {
			name = fields[0] + "/" + fields[1]
		}
		if len(fields) == 1 && !strings.Contains(name, "/") {
			ref, err := n.FindWorkload(s, fields[0])
			if err != nil {
				problems = append(problems, fmt.Errorf("%s %s: %w", flag, fields[0], err))
				continue
			}
			name = ref.Namespace + "/" + ref.String()
		}
		named = append(named, name+rest)
	}
	return named, exit.UsageProblems(cmd, problems...)
}

// FindWorkload returns the only workload that has this name, in all namespaces without -n.
func (n *Namespace) FindWorkload(s *scenario.Scenario, name string) (cluster.Ref, error) {
	var found []cluster.Ref
	var names []string
	for _, obj := range s.Objects() {
		ref := cluster.RefTo(obj)
		if !slices.Contains(scenario.ReplicatedKinds, ref.Kind) || metav1.GetControllerOfNoCopy(obj) != nil || n.Name != "" && ref.Namespace != n.Name {
			continue
		}
		names = append(names, ref.Qualified())
		if ref.Name == name && !slices.Contains(found, ref) {
			found = append(found, ref)
		}
	}
	switch len(found) {
	case 0:
		slices.Sort(names)
		return cluster.Ref{}, fmt.Errorf("no workload has this name; %s", scenario.ListChoices(name, slices.Compact(names)))
	case 1:
		return found[0], nil
	}
	names = nil
	for _, ref := range found {
		names = append(names, ref.Namespace+"/"+ref.String())
	}
	return cluster.Ref{}, fmt.Errorf("%d workloads have this name; give one of %s", len(found), strings.Join(names, ", "))
}
