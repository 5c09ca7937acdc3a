package roll

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// Plan has the steps to do before the roll, in order. The answer's run did them.
type Plan struct {
	// Remove are the nodes whose kubelets do not answer: the pods on them stay Terminating, so that no drain of them ends.
	Remove []string `json:"remove,omitempty"`
	// Patches are the budgets to patch.
	Patches []BudgetPatch `json:"patches,omitempty"`

	steps []scenario.Step
}

// BudgetPatch is a change of a PodDisruptionBudget with which it allows evictions.
type BudgetPatch struct {
	// Budget has the healthy pods that the budget needs, and that there are, at the point where the roll would stop.
	Budget
	// Patch is a merge patch, and Command the kubectl command that applies it.
	Patch   json.RawMessage `json:"patch"`
	Command string          `json:"command"`

	step scenario.Step
}

// maxPlanRounds is the number of rolls that are tried, each with further patches: a budget that allows one eviction may need more after other pods
// are Pending.
const maxPlanRounds = 6

// RunPlanned finds the steps with which the drain of each node ends, does them first, and then rolls the pool. To find them, it rolls the
// pool with KeepGoing and patches the budgets that block drains, until none does or no patch helps. Each patch is one after which the
// budget allows an eviction.
func RunPlanned(ctx context.Context, w *world.Cluster, result *simulation.Result, opts Options) (*Answer, error) {
	plan := &Plan{}
	for _, node := range result.State().Nodes {
		if !cluster.KubeletResponds(node) {
			plan.Remove = append(plan.Remove, node.Name)
		}
	}
	if len(plan.Remove) > 0 {
		plan.steps = append(plan.steps, scenario.Step{Name: "first: remove nodes", RemoveNodes: &scenario.RemoveNodes{Nodes: scenario.Nodes{Names: plan.Remove}}})
	}
	looks := opts
	looks.KeepGoing = true
	for range maxPlanRounds {
		looks.First = plan.allSteps()
		answer, err := Run(ctx, w, result, looks)
		if err != nil {
			return nil, err
		}
		more, err := plan.addPatches(ctx, w, result, answer.Blocked)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	opts.First = plan.allSteps()
	answer, err := Run(ctx, w, result, opts)
	if err != nil {
		return nil, err
	}
	answer.Plan = plan
	return answer, nil
}

// allSteps returns the steps of the plan.
func (p *Plan) allSteps() []scenario.Step {
	all := slices.Clone(p.steps)
	for i := range p.Patches {
		all = append(all, p.Patches[i].step)
	}
	return all
}

// addPatches adds a patch for each budget that blocks a drain, or widens the patch that the budget has. It reports whether it added or widened
// any.
func (p *Plan) addPatches(ctx context.Context, w *world.Cluster, result *simulation.Result, blocked []Blocked) (bool, error) {
	worst := map[cluster.Ref]*policyv1.PodDisruptionBudget{}
	var order []cluster.Ref
	for i := range blocked {
		for _, pdb := range blocked[i].budgets {
			of := cluster.RefTo(pdb)
			if worst[of] == nil {
				order = append(order, of)
			}
			if worst[of] == nil || missingHealthy(pdb) > missingHealthy(worst[of]) {
				worst[of] = pdb
			}
		}
	}
	slices.SortFunc(order, cluster.Ref.Compare)
	more := false
	for _, of := range order {
		found, err := p.addFirstPatch(ctx, w, result, worst[of])
		if err != nil {
			return false, err
		}
		more = more || found
	}
	return more, nil
}

// missingHealthy returns the number of healthy pods that are missing for an eviction.
func missingHealthy(pdb *policyv1.PodDisruptionBudget) int32 {
	return pdb.Status.DesiredHealthy - pdb.Status.CurrentHealthy + 1
}

// addFirstPatch adds the first patch with which the budget allows evictions in a run. It tries in order: one pod may be missing; as many more pods
// may be missing as are missing where the roll stops; and, for a budget whose expected pods are unknown, one pod fewer than there are is
// enough.
func (p *Plan) addFirstPatch(ctx context.Context, w *world.Cluster, result *simulation.Result, pdb *policyv1.PodDisruptionBudget) (bool, error) {
	name := pdb.Namespace + "/" + pdb.Name
	at := slices.IndexFunc(p.Patches, func(b BudgetPatch) bool { return b.Name == name })
	lack, healthy := missingHealthy(pdb), pdb.Status.CurrentHealthy
	missing := func(n int32) string { return fmt.Sprintf(`{"spec":{"maxUnavailable":%d,"minAvailable":null}}`, n) }
	var tries []string
	if pdb.Spec.MaxUnavailable == nil || at < 0 {
		tries = append(tries, missing(1))
	}
	expected := max(pdb.Status.ExpectedPods-healthy+1, lack)
	if of := pdb.Spec.MaxUnavailable; of != nil && at >= 0 {
		expected = int32(of.IntValue()) + lack
	}
	if expected > 1 {
		tries = append(tries, missing(expected))
	}
	if healthy > 0 {
		tries = append(tries, fmt.Sprintf(`{"spec":{"maxUnavailable":null,"minAvailable":%d}}`, healthy-1))
	}
	course, err := simulation.Continue(w, result, simulation.Options{})
	if err != nil {
		return false, err
	}
	for _, step := range p.steps {
		if _, err := course.Do(ctx, step); err != nil {
			return false, err
		}
	}
	did := len(course.Did)
	for _, text := range tries {
		patch := scenario.Patch{Target: scenario.Target{Target: "poddisruptionbudget/" + pdb.Name, Namespace: pdb.Namespace}, Type: "merge", Patch: runtime.RawExtension{Raw: []byte(text)}}
		step := scenario.Step{Name: "first: patch " + name, Patch: &patch}
		if at >= 0 && string(p.Patches[at].Patch) == text {
			continue
		}
		done, err := course.Do(ctx, step)
		if err != nil {
			return false, err
		}
		now, is := done.State.Find(cluster.RefTo(pdb)).(*policyv1.PodDisruptionBudget)
		if is && now.Status.DisruptionsAllowed > 0 {
			found := BudgetPatch{Budget: Budget{name, int(pdb.Status.DesiredHealthy), int(healthy)}, Patch: json.RawMessage(text), step: step,
				Command: fmt.Sprintf("kubectl patch %s --type=merge -p '%s'", patch.Argument(), text)}
			if at >= 0 {
				found.Budget = p.Patches[at].Budget
				p.Patches[at] = found
			} else {
				p.Patches = append(p.Patches, found)
				slices.SortFunc(p.Patches, func(a, b BudgetPatch) int { return cmp.Compare(a.Name, b.Name) })
			}
			return true, nil
		}
		if err := course.Rewind(did); err != nil {
			return false, err
		}
	}
	return false, nil
}
