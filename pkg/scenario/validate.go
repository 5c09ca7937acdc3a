package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/federation"
)

// ValidateSteps finds what is wrong with the steps, failures and expectations whatever the objects are: actions that are none or two,
// numbers out of range, selectors that do not parse. A patch can be of a custom resource, which resources reports.
func ValidateSteps(p *Problems, s *Scenario, resources func(Target) bool) {
	validateFailures(p, &s.Failures)
	if s.Expect != nil {
		validateExpect(p, field.NewPath("expect"), s.Expect)
		if s.Expect.Drained != nil && !slices.ContainsFunc(s.Steps, func(step LoadedStep) bool { return step.Drain != nil }) {
			p.Add(field.NewPath("expect", "drained"), "no step drains a node; give a step a drain, or leave drained out")
		}
	}
	validateSteps(p, s, 0, resources)
}

// ValidateAsked finds what is wrong with the steps that ask, as ValidateSteps does. They have no files.
func ValidateAsked(p *Problems, s *Scenario) {
	first := len(s.Steps) - s.Asked
	for i := first; i < len(s.Steps); i++ {
		step, path := &s.Steps[i], s.StepPath(i)
		if step.Apply != nil {
			p.Add(path.Child("apply"), "is not for the steps of a variant; add the objects in a step of the scenario, or give the variant patches")
		}
		if step.Delete != nil && len(step.Delete.Files) > 0 {
			p.Add(path.Child("delete", "files"), "is not for the steps of a variant; give targets or pods")
		}
		if step.Join != nil {
			p.Add(path.Child("join"), "is not for the steps of a variant; let the cluster join in a step of the scenario")
		}
	}
	validateSteps(p, s, first, func(Target) bool { return false })
}

// validateSteps looks at the steps from one on; those before are right.
func validateSteps(p *Problems, s *Scenario, from int, resources func(Target) bool) {
	names := map[string]bool{}
	for i := range s.Steps {
		step, path := &s.Steps[i], s.StepPath(i)
		if i < from {
			names[step.Name] = true
			continue
		}
		switch {
		case strings.TrimSpace(step.Name) == "":
			p.Add(path.Child("name"), "is missing; the report shows a step by its name")
		case names[step.Name]:
			p.Add(path.Child("name"), "%q is already the name of another step; give every step its own name", step.Name)
		case step.Name == WorkloadsStep && s.Begins():
			p.Add(path.Child("name"), "%q is what the report calls the workloads before the first step; choose another name", step.Name)
		}
		names[step.Name] = true
		if actions := step.actions(); len(actions) > 1 {
			p.Add(path, "has %s, and a step takes one action; make each a step of its own", strings.Join(actions, " and "))
		} else if len(actions) == 0 && !step.Fresh && step.Expect == nil {
			p.Add(path, "does nothing and expects nothing; give one of %s, or expect", strings.Join(possible(s.Federated()), ", "))
		}
		validateActions(p, path, &step.Step, s.Federated(), resources)
		if step.Expect != nil {
			validateExpect(p, path.Child("expect"), step.Expect)
			if step.Expect.Drained != nil && step.Drain == nil {
				p.Add(path.Child("expect", "drained"), "the step drains no node; give drain, or leave drained out")
			}
		}
	}
}

func validateActions(p *Problems, path *field.Path, step *Step, federated bool, resources func(Target) bool) {
	if federated {
		validateFederated(p, path, step)
	} else {
		validateAlone(p, path, step)
	}
	if step.Patch != nil {
		ValidatePatch(p, path.Child("patch"), step.Patch, func(target Target) bool {
			kind, _, karmada := ParseKarmada(target.Target)
			return resources(target) || federated && karmada && kind == federation.KindCluster
		})
	}
	if step.Scale != nil {
		path := path.Child("scale")
		validateTarget(p, path, step.Scale.Target, Scalable...)
		validateNotNegative(p, path.Child("replicas"), int(step.Scale.Replicas))
	}
	if step.ScaleBy != nil {
		validateScaleBy(p, path.Child("scaleBy"), step.ScaleBy)
	}
	if step.Delete != nil {
		validateDelete(p, path.Child("delete"), step.Delete, func(target string) bool {
			_, _, karmada := ParseKarmada(target)
			return federated && (karmada || resources(Target{Target: target, Namespace: step.Delete.Namespace}))
		})
	}
	if step.Rollout != nil {
		path := path.Child("rollout")
		validateTarget(p, path, step.Rollout.Target, Rolled...)
		if step.Rollout.Restart == (len(step.Rollout.Images) > 0) {
			p.Add(path, "give either restart: true or images")
		}
	}
	if step.Trigger != nil {
		validateTarget(p, path.Child("trigger"), *step.Trigger, "CronJob")
	}
	if step.AddNodes != nil {
		validateAddNodes(p, path.Child("addNodes"), step.AddNodes)
	}
	if step.RemoveNodes != nil {
		validateRemoveNodes(p, path.Child("removeNodes"), step.RemoveNodes)
	}
	if step.ReplaceNodes != nil {
		validateReplaceNodes(p, path.Child("replaceNodes"), step.ReplaceNodes)
	}
	for _, action := range step.OnNodes() {
		validateNodes(p, path.Child(action.Name), *action.Nodes)
	}
	if step.Fail != nil {
		validateMode(p, path.Child("fail", "mode"), step.Fail.Mode)
	}
}

func validateMode(p *Problems, path *field.Path, mode string) {
	if !slices.Contains([]string{"", "unreachable", "out-of-service", "deleted"}, mode) {
		p.Add(path, "%q is not a failure mode; use unreachable, out-of-service or deleted", mode)
	}
}

func ValidatePatch(p *Problems, path *field.Path, patch *Patch, resources func(Target) bool) {
	if resources == nil || !resources(patch.Target) {
		validateTarget(p, path, patch.Target)
	} else if patch.Type == "strategic" {
		p.Add(path.Child("type"), "strategic is not for custom resources, which the API server patches by merge or json; give one of these")
	}
	if !slices.Contains([]string{"", "strategic", "merge", "json"}, patch.Type) {
		p.Add(path.Child("type"), "%q is not a patch type; use strategic, merge or json", patch.Type)
		return
	}
	if err := patch.Misshapen(); err != nil {
		p.Add(path.Child("patch"), "%s", err)
	}
}

// Misshapen says why the patch is not a list if the type is json, or not an object otherwise.
func (p *Patch) Misshapen() error {
	switch of := string(p.Patch.Raw); {
	case of == "":
		return errors.New("is missing; give the part of the object that changes")
	case p.Type == "json" && !strings.HasPrefix(of, "["):
		return errors.New("is not a list; a patch of type json is a list of operations such as {op: replace, path: /spec/replicas, value: 3}")
	case p.Type != "json" && !strings.HasPrefix(of, "{"):
		return errors.New("is not an object; give the part of the object that changes, or type: json for a list of operations")
	}
	return nil
}

func validateScaleBy(p *Problems, path *field.Path, action *ScaleBy) {
	if !(action.Factor > 0) || action.Factor > maxFactor {
		p.Add(path.Child("factor"), "%v is not above 0 and at most %d; give a factor such as 1.2 for 20 %% more", action.Factor, maxFactor)
	}
	for i, workload := range action.Workloads {
		validateWorkload(p, path.Child("workloads").Index(i), workload, Scalable...)
	}
}

func validateAddNodes(p *Problems, path *field.Path, action *AddNodes) {
	if action.Count < 0 || action.Count > maxAdded {
		p.Add(path.Child("count"), "%d is not from 0 to %d", action.Count, maxAdded)
	}
	if action.Like == "" {
		p.Add(path.Child("like"), "is missing; give the name of the node that the new ones are like")
	}
}

func validateRemoveNodes(p *Problems, path *field.Path, action *RemoveNodes) {
	if action.Count < 0 {
		p.Add(path.Child("count"), "%d is negative; give 1 or more", action.Count)
	} else if action.Count == 0 {
		validateNodes(p, path, action.Nodes)
	} else {
		validateSelector(p, path.Child("selector"), action.Selector)
	}
}

func validateReplaceNodes(p *Problems, path *field.Path, action *ReplaceNodes) {
	validateNodes(p, path, action.Nodes)
	if key, value, _ := strings.Cut(action.Label, "="); key == "" || value == "" {
		p.Add(path.Child("label"), "%q is not KEY=VALUE; give the label of the new nodes, such as node.kubernetes.io/instance-type=m5.4xlarge", action.Label)
	}
	if action.Count < 0 || action.Count > maxAdded {
		p.Add(path.Child("count"), "%d is not from 1 to %d", action.Count, maxAdded)
	}
	if (action.CPU == "") != (action.Memory == "") || action.CPU == "" && action.Pods != "" {
		p.Add(path, "cpu and memory go together, and pods with both; give cpu and memory, or neither for nodes like one that has the label")
	}
	_, invalid := action.Type().Size(path)
	for _, err := range invalid {
		p.AddAt(err)
	}
}

// validateDelete leaves out targets that are resources.
func validateDelete(p *Problems, path *field.Path, action *Delete, resource func(target string) bool) {
	if len(action.Files) == 0 && len(action.Targets) == 0 && action.Pods == nil {
		p.Add(path, "deletes nothing; give files, targets or pods")
	}
	for i, target := range action.Targets {
		if _, _, err := ParseTarget(target); err != nil && !resource(target) {
			p.Add(path.Child("targets").Index(i), "%s", err)
		}
	}
	if action.Pods != nil {
		validateSelector(p, path.Child("pods", "selector"), action.Pods.Selector)
		if action.Pods.Nodes != nil {
			validateNodes(p, path.Child("pods", "nodes"), *action.Pods.Nodes)
		}
	}
}

func validateNodes(p *Problems, path *field.Path, nodes Nodes) {
	if !nodes.Selects() {
		p.Add(path, "selects no node; give names, or a selector such as topology.kubernetes.io/zone=zone-1")
	}
	validateSelector(p, path.Child("selector"), nodes.Selector)
}

func validateSelector(p *Problems, path *field.Path, text string) {
	if _, err := ParseSelector(text); err != nil {
		p.Add(path, "%s", err)
	}
}

// ParseSelector parses labels as kubectl get -l takes them.
func ParseSelector(text string) (labels.Selector, error) {
	selector, err := labels.Parse(text)
	if err != nil {
		why := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "unable to parse requirement: "), "<nil>: Invalid value: ")
		why = strings.TrimPrefix(why, strconv.Quote(text)+": ")
		return nil, fmt.Errorf("%q is not a label selector: %s; give one such as app=web,tier!=cache", text, why)
	}
	return selector, nil
}

func validateNotNegative(p *Problems, path *field.Path, value int) {
	if value < 0 {
		p.Add(path, "%d is negative; give 0 or more", value)
	}
}

var allActions = []string{"apply", "patch", "scale", "scaleBy", "delete", "rollout", "trigger", "addNodes", "removeNodes", "replaceNodes", "cordon", "uncordon", "drain", "fail", "restore", "join"}

// alone are the actions that a federation does not take.
var alone = []string{"scaleBy", "trigger", "addNodes", "removeNodes", "replaceNodes", "drain"}

// maxFactor keeps products of replicas within an int32 that MaxPods can refuse.
const maxFactor = 1000

// maxAdded is how many nodes a step adds at most.
const maxAdded = 10000

// possible are the actions that a step can take, and fresh.
func possible(federated bool) []string {
	if federated {
		return slices.DeleteFunc(slices.Clone(allActions), func(action string) bool { return slices.Contains(alone, action) })
	}
	single := slices.DeleteFunc(slices.Clone(allActions), func(action string) bool { return action == "join" })
	return append(single, "or fresh: true")
}

// actions returns the names of the actions that the step gives.
func (s *Step) actions() []string {
	var names []string
	for i, given := range []bool{
		s.Apply != nil, s.Patch != nil, s.Scale != nil, s.ScaleBy != nil, s.Delete != nil, s.Rollout != nil, s.Trigger != nil,
		s.AddNodes != nil, s.RemoveNodes != nil, s.ReplaceNodes != nil,
		s.Cordon != nil, s.Uncordon != nil, s.Drain != nil, s.Fail != nil, s.Restore != nil, s.Join != nil,
	} {
		if given {
			names = append(names, allActions[i])
		}
	}
	return names
}

// NodeAction is an action on nodes, by its name in the file.
type NodeAction struct {
	Name  string
	Nodes *Nodes
}

// OnNodes returns the step's actions on nodes.
func (s *Step) OnNodes() []NodeAction {
	var actions []NodeAction
	if s.Cordon != nil {
		actions = append(actions, NodeAction{"cordon", &s.Cordon.Nodes})
	}
	if s.Uncordon != nil {
		actions = append(actions, NodeAction{"uncordon", &s.Uncordon.Nodes})
	}
	if s.Drain != nil {
		actions = append(actions, NodeAction{"drain", &s.Drain.Nodes})
	}
	if s.Fail != nil {
		actions = append(actions, NodeAction{"fail", &s.Fail.Nodes})
	}
	if s.Restore != nil {
		actions = append(actions, NodeAction{"restore", &s.Restore.Nodes})
	}
	return actions
}
