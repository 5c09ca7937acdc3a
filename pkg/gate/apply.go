package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

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
	j.RolledOut = rolledOut(before, after)
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
	return j.stateRollouts(ctx, result, before, after)
}

// rolledOut returns the names of the workloads whose pods a rollout replaces, since their templates differ: in a rule, an image, or only in an
// annotation with the checksum of a ConfigMap.
func rolledOut(before, after []cluster.Object) []string {
	var names []string
	for _, obj := range after {
		ref := cluster.RefTo(obj)
		old := cluster.Find(before, ref)
		if old == nil || !slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, ref.Kind) {
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
		j.state(nameObject(kind, name), true, "%s; delete it first, or give it another name", problem)
	}
}

// nameObject returns the name of an object in a headline: that of a workload without its kind, and of another one as service/web.
func nameObject(kind, name string) string {
	namespace, name, namespaced := strings.Cut(name, "/")
	if !namespaced {
		namespace, name = "", namespace
	}
	ref := cluster.Ref{Kind: kind, Namespace: namespace, Name: name}
	if isWorkload(kind) {
		return nameWorkload(ref.Workload())
	}
	return ref.Qualified()
}

// isWorkload reports whether objects of the kind make pods.
func isWorkload(kind string) bool {
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob", "Pod":
		return true
	}
	return false
}

// stateRollouts states the workloads of which more pods are Pending when the change has been brought into the running cluster than in a new
// cluster with the base or with the head alone. It fails the gate on those that are Pending for good, and warns of those that wait until somebody
// deletes what the change removes.
func (j *judge) stateRollouts(ctx context.Context, result *simulation.Result, before, after []cluster.Object) error {
	alone := countPending(j.head.Result, &j.head.Result.Steps[0])
	for of, n := range countPending(j.base.Result, &j.base.Result.Steps[0]) {
		alone[of] = max(alone[of], n)
	}
	last := &result.Steps[len(result.Steps)-1]
	final := countPending(result, last)
	for i := range result.Steps {
		step := &result.Steps[i]
		if step != last && step.Name != applyStep {
			continue
		}
		owner := step.State.Owners()
		for _, group := range list.GroupBy(pendingSince(result, step), func(p placement.Pending) cluster.Ref { return owner(p.Pod) }) {
			of := owner(group[0].Pod)
			if len(group) <= alone[of] || step != last && final[of] > 0 {
				continue
			}
			why, err := j.explainBriefly(ctx, step.State, &group[0])
			if err != nil {
				return err
			}
			all, _ := countPods(step.State, of)
			waiting := fmt.Sprintf("%d of %s Pending", len(group), words.Count(all, "pod"))
			if step != last {
				j.state(nameWorkload(of.Workload()), false, "%s until %s, which the change removes, is deleted", waiting, words.Few(removedWorkloads(before, after)))
				continue
			}
			j.state(nameWorkload(of.Workload()), j.failsOn(expect.FailOnPending), "%s, %s", cmp.Or(stuckRollout(step, of), waiting+" when the change is applied to what runs"), why)
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

// removedWorkloads returns the names of the objects that make pods and that only before has.
func removedWorkloads(before, after []cluster.Object) []string {
	var names []string
	for _, obj := range before {
		if ref := cluster.RefTo(obj); isWorkload(ref.Kind) && cluster.Find(after, ref) == nil {
			names = append(names, ref.Qualified())
		}
	}
	return names
}

// stateMaximum states the workloads whose HorizontalPodAutoscaler may now ask for more pods than the cluster has room for.
func (j *judge) stateMaximum(ctx context.Context) error {
	before := map[cluster.Ref]int32{}
	for _, hpa := range lastState(j.base.Result).HorizontalPodAutoscalers {
		before[cluster.RefTo(hpa)] = hpa.Spec.MaxReplicas
	}
	s := j.head.Result.Scenario
	steps := simulation.StepsOf(s)
	for _, hpa := range lastState(j.head.Result).HorizontalPodAutoscalers {
		most, was := hpa.Spec.MaxReplicas, before[cluster.RefTo(hpa)]
		of := cluster.ScaleTarget(hpa)
		if was == 0 || most <= was || lastState(j.head.Result).Find(of) == nil {
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
		last := &result.Steps[len(result.Steps)-1]
		owner := last.State.Owners()
		pending := list.Where(pendingSince(result, last), func(p placement.Pending) bool { return owner(p.Pod) == of })
		if len(pending) == 0 {
			continue
		}
		why, err := j.explainBriefly(ctx, last.State, &pending[0])
		if err != nil {
			return err
		}
		j.state(nameWorkload(of.Workload()), false, "at its autoscaler's maximum of %d, %d before, %s Pending, %s", most, was, words.Is(len(pending), "pod"), why)
	}
	return nil
}

func lastState(result *simulation.Result) *cluster.State {
	return result.Steps[len(result.Steps)-1].State
}

// explainBriefly returns in a few words why a pod of the state is Pending.
func (j *judge) explainBriefly(ctx context.Context, state *cluster.State, p *placement.Pending) (string, error) {
	causes, err := j.finder.ExplainPending(ctx, state, p)
	return cmp.Or(cause.Brief(causes), words.Shorten(p.Why(), 120)), err
}
