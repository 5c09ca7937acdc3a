// Package claim has what an answer says in a form that a run can check: steps after the input as it is, and expectations that must hold
// after them.
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

// Claim is one statement of an answer.
type Claim struct {
	// Says is the claim as a sentence without its full stop.
	Says string
	// Nodes replace the nodes of the cluster, and every pod is placed again on them. Default: the cluster's own nodes.
	Nodes []scenario.NodesLike
	// Patches change the input before its first step, as the patches of a variant do. Default: none.
	Patches []scenario.Patch
	// Autoscaler is another Cluster Autoscaler from the start. Default: the scenario's.
	Autoscaler *scenario.Autoscaler
	// Steps are done after the last step of the input. Their expectations are the claim.
	Steps []scenario.Step
}

// Last returns the last step. It panics if the claim has none.
func (c *Claim) Last() *scenario.Step { return &c.Steps[len(c.Steps)-1] }

// Variant returns the claim as a variant of the input.
func (c *Claim) Variant() scenario.Variant {
	return scenario.Variant{Name: c.Says, Nodes: c.Nodes, Patches: c.Patches, Autoscaler: c.Autoscaler, Steps: c.Steps}
}

// MakeUnique returns the claims with unique sentences, which variants need as names: it adds (2), (3) and so on to repeated sentences.
func MakeUnique(claims []Claim) []Claim {
	claims = slices.Clone(claims)
	seen := map[string]int{}
	for i := range claims {
		if seen[claims[i].Says]++; seen[claims[i].Says] > 1 {
			claims[i].Says = fmt.Sprintf("%s (%d)", claims[i].Says, seen[claims[i].Says])
		}
	}
	return claims
}

// beforeStepName is the name of the step of a claim after which the cluster is as the input leaves it.
const beforeStepName = "before"

// BeforeStep returns a step that does nothing. It is the first step of a claim that compares later steps with the cluster as the input leaves
// it; see [NewlyPendingSinceBefore].
func BeforeStep() scenario.Step {
	return scenario.Step{Name: beforeStepName, Expect: &scenario.Expect{NewlyPending: &scenario.NewlyPending{}}}
}

// WorkloadName returns the workload as an expectation names it: namespace/kind/name.
func WorkloadName(of cluster.Ref) string {
	if of.Namespace == "" {
		return of.String()
	}
	return of.Namespace + "/" + of.String()
}

// NewlyPendingSinceBefore returns the expectation that exactly these pods, by workload, are newly Pending since the step [BeforeStep] of the claim.
func NewlyPendingSinceBefore(pods map[cluster.Ref]int) *scenario.NewlyPending {
	expect := NewlyPending(pods)
	expect.Since = beforeStepName
	return expect
}

// NewlyPending returns the expectation that exactly these pods, by workload, are newly Pending since the previous step.
func NewlyPending(pods map[cluster.Ref]int) *scenario.NewlyPending {
	expect := &scenario.NewlyPending{}
	for owner, n := range pods {
		if n > 0 {
			if expect.Pods == nil {
				expect.Pods = map[string]int{}
			}
			expect.Pods[WorkloadName(owner)] = n
		}
	}
	return expect
}

// DescribeNewlyPending describes which pods are newly Pending: "no pod newly Pending" or "newly Pending 1 of shop/deployment/web".
func DescribeNewlyPending(newly *scenario.NewlyPending) string {
	if len(newly.Pods) == 0 {
		return "no pod newly Pending"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(newly.Pods)) {
		all = append(all, fmt.Sprintf("%d of %s", newly.Pods[name], strings.TrimPrefix(name, "default/")))
	}
	return "newly Pending " + words.Few(all)
}

// WorkloadPods returns, for each of the workloads, the expectation that as many of its pods run, and as many are Pending, as in the state.
// They are sorted by the workloads' names.
func WorkloadPods(state *cluster.State, workloads map[cluster.Ref]bool) []scenario.WorkloadPods {
	counts := state.PodCounts()
	var all []scenario.WorkloadPods
	for _, of := range slices.SortedFunc(maps.Keys(workloads), cluster.Ref.Compare) {
		all = append(all, scenario.WorkloadPods{Workload: WorkloadName(of), Running: ptr.To(counts[of].Running), Pending: ptr.To(counts[of].Pending)})
	}
	return all
}
