// Package claim is what an answer says in a form that a run can check: steps after the input as it is, and what must be so after them.
//
//	answer.Claims() ─▶ []Claim ─ expect.Prove ─▶ which hold        (--prove)
//	                           ─ Variant ──────▶ a scenario file   (--proof)
package claim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Claim is one thing that an answer says.
type Claim struct {
	// Says is the claim as a sentence without its full stop.
	Says string
	// Nodes are the nodes of the cluster in place of its own, on which every pod is placed anew. Default: its own.
	Nodes []scenario.NodesLike
	// Patches change the input before its first step, as those of a variant do. Default: none.
	Patches []scenario.Patch
	// Steps are done after the last step of the input. What they expect is the claim.
	Steps []scenario.Step
}

// Variant is the claim as a variant of the input.
func (c *Claim) Variant() scenario.Variant {
	return scenario.Variant{Name: c.Says, Nodes: c.Nodes, Patches: c.Patches, Steps: c.Steps}
}

// Unique numbers the sentences that several claims have, since variants have names of their own.
func Unique(claims []Claim) []Claim {
	claims = slices.Clone(claims)
	seen := map[string]int{}
	for i := range claims {
		if seen[claims[i].Says]++; seen[claims[i].Says] > 1 {
			claims[i].Says = fmt.Sprintf("%s (%d)", claims[i].Says, seen[claims[i].Says])
		}
	}
	return claims
}

// before is the step of a claim after which the cluster is as the input leaves it.
const before = "before"

// Before is the first step of a claim of which several steps are compared with the cluster as the input leaves it: it does nothing.
func Before() scenario.Step {
	return scenario.Step{Name: before, Expect: &scenario.Expect{NewlyPending: &scenario.NewlyPending{}}}
}

// Name is a workload as an expectation names it, with its namespace.
func Name(of cluster.Ref) string {
	if of.Namespace == "" {
		return of.String()
	}
	return of.Namespace + "/" + of.String()
}

// SinceBefore expects that these pods are newly Pending, by workload, and no others, compared with the step Before of the claim.
func SinceBefore(pods map[cluster.Ref]int) *scenario.NewlyPending {
	expect := NewlyPending(pods)
	expect.Since = before
	return expect
}

// NewlyPending expects that these pods are newly Pending, by workload, and no others, compared with the step before.
func NewlyPending(pods map[cluster.Ref]int) *scenario.NewlyPending {
	expect := &scenario.NewlyPending{}
	for owner, n := range pods {
		if n > 0 {
			if expect.Pods == nil {
				expect.Pods = map[string]int{}
			}
			expect.Pods[Name(owner)] = n
		}
	}
	return expect
}

// Words says which pods are newly Pending: "no pod newly Pending" or "newly Pending 1 of shop/deployment/web".
func Words(newly *scenario.NewlyPending) string {
	if len(newly.Pods) == 0 {
		return "no pod newly Pending"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(newly.Pods)) {
		all = append(all, fmt.Sprintf("%d of %s", newly.Pods[name], strings.TrimPrefix(name, "default/")))
	}
	return "newly Pending " + words.Few(all)
}

// WorkloadPods expects of each of the workloads as many pods that run, and as many that are Pending, as the state has, in order of their names.
func WorkloadPods(state *cluster.State, workloads map[cluster.Ref]bool) []scenario.WorkloadPods {
	counts := state.PodCounts()
	var all []scenario.WorkloadPods
	for _, of := range slices.SortedFunc(maps.Keys(workloads), cluster.Ref.Compare) {
		all = append(all, scenario.WorkloadPods{Workload: Name(of), Running: ptr.To(counts[of].Running), Pending: ptr.To(counts[of].Pending)})
	}
	return all
}
