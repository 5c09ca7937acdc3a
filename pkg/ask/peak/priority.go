package peak

import (
	"context"
	"fmt"
	"slices"
	"strings"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// setPriority tries a priority above those of the workloads that grow, for workloads that do not grow and yet lose pods to them.
func (f *finder) setPriority(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	above := int32(0)
	for _, t := range f.targets {
		above = max(above, f.priority(&outcome{state: f.before.state}, f.crewOf(t.Ref)))
	}
	losing := list.Where(answer.Starved, func(s Starved) bool {
		spec, _ := cluster.PodSpec(f.before.state.Find(s.ref))
		return !s.Grows && s.Priority <= above && spec != nil && slices.Contains([]string{"Deployment", "StatefulSet"}, s.ref.Kind)
	})
	if len(f.targets) == 0 || len(losing) == 0 || len(losing) > maxPreferred || above >= maxUserPriority {
		return nil, nil
	}
	r := &Remedy{Kind: "priority"}
	var steps []scenario.LoadedStep
	class := f.classAbove(above)
	if class == "" {
		class = "survives-peak"
		steps = append(steps, scenario.LoadedStep{Step: scenario.Step{Name: "add priorityclass/" + class, Apply: &scenario.Source{}}, Objects: []cluster.Object{
			&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Value: above + 1}}})
		r.Commands = append(r.Commands, fmt.Sprintf("kubectl create priorityclass %s --value=%d", class, above+1))
	}
	for _, s := range losing {
		_, path := cluster.PodSpec(f.before.state.Find(s.ref))
		var value any = map[string]any{"priorityClassName": class, "priority": nil}
		for _, field := range slices.Backward(strings.Split(path, ".")) {
			value = map[string]any{field: value}
		}
		patch := toJSON(value.(map[string]any))
		target := scenario.Target{Target: s.ref.String(), Namespace: s.ref.Namespace}
		steps = append(steps, scenario.LoadedStep{Step: scenario.Step{Name: "patch " + target.Argument(), Patch: &scenario.Patch{Target: target, Type: "merge", Patch: runtime.RawExtension{Raw: patch}}}})
		r.Commands = append(r.Commands, fmt.Sprintf("kubectl patch %s --type=merge -p '%s'", target.Argument(), patch))
		r.Saves = append(r.Saves, s.WorkloadRef)
	}
	r.What = fmt.Sprintf("priority class %s for %s", class, words.Few(list.Map(losing, func(s Starved) string { return s.Qualified() })))
	return f.trySteps(ctx, r, answer, steps, domains)
}

// maxPreferred is the largest number of workloads that get a higher priority. A priority for most workloads prefers none.
const maxPreferred = 10

// maxUserPriority is the largest priority that a class of a user can have.
const maxUserPriority = int32(1_000_000_000)

// classAbove returns the name of the user's PriorityClass with the least priority above the given one; "" if there is none.
func (f *finder) classAbove(priority int32) string {
	var best *schedulingv1.PriorityClass
	for _, class := range f.before.state.PriorityClasses {
		if class.Value > priority && class.Value <= maxUserPriority && (best == nil || class.Value < best.Value) {
			best = class
		}
	}
	if best == nil {
		return ""
	}
	return best.Name
}

// keepSaved keeps in Saves the workloads that have a node for each pod, at the peak and after its worst loss. It reports whether there are any.
func (r *Remedy) keepSaved(top *outcome, worst *lost) bool {
	short := map[cluster.WorkloadRef]bool{}
	for owner := range top.shortages {
		short[owner.Workload()] = true
	}
	if worst != nil {
		for owner := range worst.shortages {
			short[owner.Workload()] = true
		}
	}
	r.Saves = list.Where(r.Saves, func(of cluster.WorkloadRef) bool { return !short[of] })
	return len(r.Saves) > 0
}
