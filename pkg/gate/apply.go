package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/check"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/variant"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Names of the steps that bring a change into the cluster of the base.
const applyStep, deleteStep = "apply the change", "delete what it removes"

// stateApply brings the objects of the head into the cluster that runs the base: it applies them, as kubectl apply does, then deletes those
// that the change removes, as helm and Argo CD do. It states what the API server refuses to change, and the rollouts that never end although all
// pods have room in an empty cluster.
func (j *judge) stateApply(ctx context.Context) error {
	base, head := j.base.Result.Scenario, j.head.Result.Scenario
	before, after := firstObjects(base), firstObjects(head)
	if base.Federated() || head.Federated() || reflect.DeepEqual(before, after) {
		return nil
	}
	s := *head
	s.Workloads, s.Expect, s.Variants = before, nil, nil
	s.Steps = []scenario.LoadedStep{{Step: scenario.Step{Name: applyStep, Apply: &scenario.Source{}}, Objects: after}}
	kept := map[cluster.Ref]bool{}
	for _, obj := range after {
		kept[cluster.RefTo(obj)] = true
	}
	if removed := list.Without(before, func(obj cluster.Object) bool { return kept[cluster.RefTo(obj)] }); len(removed) > 0 {
		s.Steps = append(s.Steps, scenario.LoadedStep{Step: scenario.Step{Name: deleteStep, Delete: &scenario.Delete{Files: []string{"the base"}}}, Objects: removed})
	}
	problems := &scenario.Problems{}
	if check.Check(ctx, problems, &s); problems.Err() != nil {
		j.stateRefused(problems.Err())
		return nil
	}
	result, err := simulation.Run(ctx, &s, simulation.Options{})
	if step := (*simulation.StepError)(nil); errors.As(err, &step) {
		j.stateRefused(step.Err)
		return nil
	}
	if err != nil {
		return err
	}
	j.RolledOut = rolledOut(result, before, after)
	return j.stateRollouts(ctx, result, before, after)
}

// rolledOut returns the names of the workloads whose pods a rollout replaces, since their templates differ: in a rule, an image, or only in an
// annotation with the checksum of a ConfigMap. It leaves out workloads that get no other pods, such as a StatefulSet with the strategy OnDelete.
func rolledOut(result *simulation.Result, before, after []cluster.Object) []string {
	last := result.State()
	known := list.KeySet(result.Steps[0].State.Pods, func(pod *v1.Pod) types.UID { return pod.UID })
	replaced, owner := map[cluster.Ref]bool{}, last.Owners()
	for _, pod := range last.Pods {
		if !known[pod.UID] {
			replaced[owner(pod)] = true
		}
	}
	var names []string
	for _, obj := range after {
		ref := cluster.RefTo(obj)
		old := cluster.Find(before, ref)
		if old == nil || !replaced[ref] {
			continue
		}
		was, _ := cluster.Template(old)
		is, _ := cluster.Template(obj)
		if !reflect.DeepEqual(was, is) {
			names = append(names, nameWorkload(ref.Workload()))
		}
	}
	return names
}

// firstObjects returns the objects that the first step of a run applies.
func firstObjects(s *scenario.Scenario) []cluster.Object {
	return simulation.StepsOf(s)[0].Objects
}

// stateRefused states each object that the API server refuses to change. The lines of the error name them: "Deployment shop/web: spec.selector: field
// is immutable".
func (j *judge) stateRefused(err error) {
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		if _, after, found := strings.Cut(line, "apply: "); found {
			line = after
		}
		object, problem, found := strings.Cut(line, ": ")
		kind, name, named := strings.Cut(object, " ")
		if !found || !named {
			j.state("apply", true, "%s", line)
			continue
		}
		j.state(nameObject(kind, name), true, "%s; delete it first, or give it another name", shortenRefusal(problem))
	}
}

// exceptions matches the list of the fields that may change, in the API server's refusal to change others: "spec is immutable after creation except
// resources.requests for bound claims: - "storage": "5Gi" + "storage": "1Gi"".
var exceptions = regexp.MustCompile(` (?:except|other than) .*?(: - |$)`)

// shortenRefusal returns the refusal of a change without the list of what may change.
func shortenRefusal(problem string) string {
	return strings.TrimRight(exceptions.ReplaceAllString(problem, "$1"), ".,")
}

// nameObject returns the name of an object in a headline: that of a workload without its kind, and of another one as service/web.
func nameObject(kind, name string) string {
	namespace, name, namespaced := strings.Cut(name, "/")
	if !namespaced {
		namespace, name = "", namespace
	}
	ref := cluster.Ref{Kind: kind, Namespace: namespace, Name: name}
	if slices.Contains(cluster.WorkloadKinds, kind) {
		return nameWorkload(ref.Workload())
	}
	return ref.Qualified()
}

// stateRollouts states the workloads of which more pods do not run when the change has been brought into the running cluster than in a new
// cluster with the base or with the head alone. It fails the gate on those that do not run for good, and warns of those that wait until somebody
// deletes what the change removes.
func (j *judge) stateRollouts(ctx context.Context, result *simulation.Result, before, after []cluster.Object) error {
	alone := countShort(j.head.Result, &j.head.Result.Steps[0])
	for of, n := range countShort(j.base.Result, &j.base.Result.Steps[0]) {
		alone[of] = max(alone[of], n)
	}
	last := result.Last()
	final := countShort(result, last)
	for i := range result.Steps {
		step := &result.Steps[i]
		if step != last && step.Name != applyStep {
			continue
		}
		for _, short := range shortages(result, step) {
			if short.pods <= alone[short.of] || step != last && final[short.of] > 0 {
				continue
			}
			all, absent := countPods(step.State, short.of)
			if !short.isPending() {
				all = max(all, absent+short.pods)
			}
			waiting := fmt.Sprintf("%d of %s %s", short.pods, words.Count(all, "pod"), short.what())
			if step != last {
				j.state(nameWorkload(short.of.Workload()), false, "%s until %s, which the change removes, is deleted", waiting, words.Few(list.Map(onlyWorkloads(before, after), cluster.Ref.Qualified)))
				continue
			}
			why, err := j.explainShortage(ctx, step.State, &short)
			if err != nil {
				return err
			}
			j.state(nameWorkload(short.of.Workload()), j.failsOn(expect.FailOnPending), "%s, %s", cmp.Or(stuckRollout(step, short.of), waiting+" when the change is applied to what runs"), why)
		}
	}
	return nil
}

// stuckRollout says how far the workload's rollout has come, or "" if it does not stand still.
func stuckRollout(step *simulation.Step, of cluster.Ref) string {
	for i := range step.Rollouts {
		if r := &step.Rollouts[i]; r.Ref == of && r.Stuck() {
			return fmt.Sprintf("its rollout never ends, %d of %s updated", r.Updated, words.Count(r.Desired, "pod"))
		}
	}
	return ""
}

// onlyWorkloads returns the objects that are pods or make pods and that are not among the others.
func onlyWorkloads(objects, others []cluster.Object) []cluster.Ref {
	return list.Where(list.Map(objects, cluster.RefTo), func(ref cluster.Ref) bool {
		return slices.Contains(cluster.WorkloadKinds, ref.Kind) && cluster.Find(others, ref) == nil
	})
}

// stateMaximum states the workloads whose HorizontalPodAutoscaler may now ask for more pods than the cluster has room for.
func (j *judge) stateMaximum(ctx context.Context) error {
	before := map[cluster.Ref]int32{}
	for _, hpa := range j.base.Result.State().HorizontalPodAutoscalers {
		before[cluster.RefTo(hpa)] = hpa.Spec.MaxReplicas
	}
	s := j.head.Result.Scenario
	steps := simulation.StepsOf(s)
	for _, hpa := range j.head.Result.State().HorizontalPodAutoscalers {
		most, was := hpa.Spec.MaxReplicas, before[cluster.RefTo(hpa)]
		of := cluster.ScaleTarget(hpa)
		if was == 0 || most <= was || j.head.Result.State().Find(of) == nil {
			continue
		}
		grown := variant.Scale(s, of, steps[len(steps)-1].Name, most)
		result, err := simulation.Run(ctx, grown, simulation.Options{})
		if errors.As(err, new(*world.InputError)) || errors.As(err, new(*simulation.StepError)) {
			j.state(nameWorkload(of.Workload()), false, "its autoscaler's maximum is %d, %d before, too many to run: %v", most, was, err)
			continue
		}
		if err != nil {
			return err
		}
		last := result.Last()
		for _, short := range shortages(result, last) {
			if short.of != of {
				continue
			}
			why, err := j.explainShortage(ctx, last.State, &short)
			if err != nil {
				return err
			}
			j.state(nameWorkload(of.Workload()), false, "at its autoscaler's maximum of %d, %d before, %s %s, %s", most, was, words.Is(short.pods, "pod"), short.what(), why)
		}
	}
	return nil
}

// explainBriefly returns in a few words why a pod of the state is Pending.
func (j *judge) explainBriefly(ctx context.Context, state *cluster.State, p *placement.Pending) (string, error) {
	causes, err := j.finder.ExplainPending(ctx, state, p)
	return cmp.Or(cause.Brief(causes), words.Shorten(p.Why(), 120)), err
}
