package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/words"
)

// MutationNotes returns sentences about what new pods of the state's workloads get beyond their templates: the same as the running pods of
// the workload, or the same as all other pods of the namespace if the workload has no running pods. In a federation the sentences about a
// member begin with the member's name.
func MutationNotes(s *cluster.State) []string {
	notes := mutationNotes(s)
	if s.Federation != nil {
		for _, member := range s.Federation.Members {
			for _, note := range mutationNotes(member.State) {
				notes = append(notes, "Cluster "+member.Name+": "+note)
			}
		}
	}
	return notes
}

func mutationNotes(s *cluster.State) []string {
	if s.Mutations == nil {
		return nil
	}
	observed, inherited := workloadsByChange{}, workloadsByChange{}
	for _, of := range slices.SortedFunc(maps.Keys(s.Mutations.Workloads), cluster.Ref.Compare) {
		observed.appendWorkload(of, s.Mutations.Workloads[of])
	}
	for _, obj := range s.Objects() {
		of := cluster.RefTo(obj)
		_, has := s.Mutations.Workloads[of]
		if spec, _ := cluster.PodSpec(obj); spec == nil || has || metav1.GetControllerOfNoCopy(obj) != nil || cluster.FromDump(obj) && of.Kind == "Pod" {
			continue
		}
		inherited.appendWorkload(of, s.Mutations.Namespaces[of.Namespace])
	}
	var notes []string
	if len(observed) > 0 {
		notes = append(notes, "Like the running pods, and unlike their templates, new "+observed.describe()+". --as-template leaves this out.")
	}
	if len(inherited) > 0 {
		notes = append(notes, "Like all other pods of the namespace, "+inherited.describe()+". --as-template leaves this out.")
	}
	return notes
}

// workloadsByChange maps the description of a change to the workloads whose pods get it.
type workloadsByChange map[string][]cluster.Ref

func (g workloadsByChange) appendWorkload(of cluster.Ref, m *cluster.Mutation) {
	for _, what := range describeMutation(m) {
		g[what] = append(g[what], of)
	}
}

// describe returns a sentence that begins with the changes of most workloads: "pods of 31 workloads get a container proxy of 100m cpu; pods of
// deployment/web get tolerations".
func (g workloadsByChange) describe() string {
	all := slices.SortedFunc(maps.Keys(g), func(a, b string) int { return cmp.Or(cmp.Compare(len(g[b]), len(g[a])), cmp.Compare(a, b)) })
	var parts []string
	for i, what := range all {
		if i == maxMutations {
			parts = append(parts, words.Count(len(all)-i, "more change"))
			break
		}
		of := g[what][0].Qualified()
		if n := len(g[what]); n > 1 {
			of = words.Count(n, "workload")
		}
		parts = append(parts, fmt.Sprintf("pods of %s get %s", of, what))
	}
	return strings.Join(parts, "; ")
}

// maxMutations is how many changes a note names.
const maxMutations = 5

// describeMutation returns descriptions of what the change adds and replaces.
func describeMutation(m *cluster.Mutation) []string {
	if m == nil {
		return nil
	}
	var all []string
	for _, added := range m.Containers {
		all = append(all, "a container "+added.Name+formatRequests(added.Resources.Requests))
	}
	for _, added := range slices.Concat(m.FirstInitContainers, m.LastInitContainers) {
		all = append(all, "an init container "+added.Name+formatRequests(added.Resources.Requests))
	}
	for what, is := range map[string]bool{
		"other requests": len(m.Resources) > 0 || m.PodResources != nil, "tolerations": len(m.Tolerations) > 0, "a node selector": len(m.NodeSelector) > 0,
		"an affinity": m.Affinity != nil, "spread constraints": len(m.TopologySpreadConstraints) > 0, "device claims": len(m.ResourceClaims) > 0,
		"the priority class " + m.PriorityClassName: m.PriorityClassName != "", "the scheduler " + m.SchedulerName: m.SchedulerName != "",
		"the runtime class " + m.RuntimeClassName: m.RuntimeClassName != "",
	} {
		if is {
			all = append(all, what)
		}
	}
	return all
}

// formatRequests returns the requests of a container as the end of a phrase: " of 100m cpu and 128Mi memory".
func formatRequests(requests v1.ResourceList) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		quantity := requests[name]
		all = append(all, quantity.String()+" "+string(name))
	}
	if len(all) == 0 {
		return " without requests"
	}
	return " of " + words.And(all)
}
