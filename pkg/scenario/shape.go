package scenario

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkShape finds what is wrong with the steps whatever the objects are: actions that are none or two, numbers out of range,
// selectors that do not parse.
func (l *loader) checkShape(s *Scenario) {
	l.shapeOfFailures(&s.Failures)
	if s.Expect != nil {
		l.shapeOfExpect(field.NewPath("expect"), s.Expect)
	}
	names := map[string]bool{}
	for i := range s.Steps {
		step, path := &s.Steps[i], l.stepPath(i)
		switch {
		case strings.TrimSpace(step.Name) == "":
			l.problem(path.Child("name"), "is missing; the report shows a step by its name")
		case names[step.Name]:
			l.problem(path.Child("name"), "%q is the name of an earlier step, too; give every step a name of its own", step.Name)
		case step.Name == WorkloadsStep && len(s.Workloads) > 0:
			l.problem(path.Child("name"), "%q is what the report calls the workloads before the first step; choose another name", step.Name)
		}
		names[step.Name] = true
		if actions := step.actions(); len(actions) > 1 {
			l.problem(path, "%s are given, and a step has one action; make a step of each", strings.Join(actions, " and "))
		} else if len(actions) == 0 && !step.Fresh {
			l.problem(path, "has no action; give one of %s, or fresh: true", strings.Join(allActions, ", "))
		}
		l.shapeOfActions(path, &step.Step)
		if step.Expect != nil {
			l.shapeOfExpect(path.Child("expect"), step.Expect)
		}
	}
}

// stepPath is where a step stands; a command line has one step, which stands nowhere.
func (l *loader) stepPath(i int) *field.Path {
	if l.commandLine {
		return nil
	}
	return field.NewPath("steps").Index(i)
}

func (l *loader) shapeOfActions(path *field.Path, step *Step) {
	if step.Patch != nil {
		l.shapeOfPatch(path.Child("patch"), step.Patch)
	}
	if step.Scale != nil {
		path := path.Child("scale")
		l.shapeOfTarget(path, step.Scale.Target, "Deployment", "ReplicaSet", "StatefulSet")
		l.atLeast0(path.Child("replicas"), int(step.Scale.Replicas))
	}
	if step.Delete != nil {
		l.shapeOfDelete(path.Child("delete"), step.Delete)
	}
	if step.Rollout != nil {
		path := path.Child("rollout")
		l.shapeOfTarget(path, step.Rollout.Target, Rolled...)
		if step.Rollout.Restart == (len(step.Rollout.Images) > 0) {
			l.problem(path, "give either restart: true or images")
		}
	}
	if step.Trigger != nil {
		l.shapeOfTarget(path.Child("trigger"), *step.Trigger, "CronJob")
	}
	for _, action := range step.onNodes() {
		l.shapeOfNodes(path.Child(action.name), *action.nodes)
	}
	if step.Fail != nil {
		l.shapeOfMode(path.Child("fail", "mode"), step.Fail.Mode)
	}
}

func (l *loader) shapeOfMode(path *field.Path, mode string) {
	if !slices.Contains([]string{"", "unreachable", "out-of-service", "deleted"}, mode) {
		l.problem(path, "%q is none of unreachable, out-of-service, deleted", mode)
	}
}

func (l *loader) shapeOfPatch(path *field.Path, patch *Patch) {
	if custom := l.given != nil && l.given.holds(patch.Target); !custom {
		l.shapeOfTarget(path, patch.Target)
	} else if patch.Type == "strategic" {
		l.problem(path.Child("type"), "strategic is not for custom resources, which the API server patches by merge or json; give one of these")
	}
	if !slices.Contains([]string{"", "strategic", "merge", "json"}, patch.Type) {
		l.problem(path.Child("type"), "%q is none of strategic, merge, json", patch.Type)
		return
	}
	switch {
	case len(patch.Patch.Raw) == 0:
		l.problem(path.Child("patch"), "is missing; give the part of the object that changes")
	case patch.ofItsType():
	case patch.Type == "json":
		l.problem(path.Child("patch"), "is no list; a patch of type json is a list of operations such as {op: replace, path: /spec/replicas, value: 3}")
	default:
		l.problem(path.Child("patch"), "is no object; give the part of the object that changes, or type: json for a list of operations")
	}
}

// ofItsType tells whether the patch is a list if the type is json, and an object otherwise.
func (p *Patch) ofItsType() bool {
	opening := "{"
	if p.Type == "json" {
		opening = "["
	}
	return strings.HasPrefix(string(p.Patch.Raw), opening)
}

func (l *loader) shapeOfTarget(path *field.Path, target Target, kinds ...string) {
	kind, _, err := ParseTarget(target.Target)
	switch {
	case target.Target == "":
		l.problem(path.Child("target"), "is missing; give kind/name, for example deployment/web")
	case err != nil:
		l.problem(path.Child("target"), "%s", err)
	case len(kinds) > 0 && !slices.Contains(kinds, kind):
		l.problem(path.Child("target"), "%q is a %s, which is none of %s", target.Target, kind, strings.Join(kinds, ", "))
	}
}

func (l *loader) shapeOfDelete(path *field.Path, action *Delete) {
	if len(action.Files) == 0 && len(action.Targets) == 0 && action.Pods == nil {
		l.problem(path, "has nothing to delete; give files, targets or pods")
	}
	for i, target := range action.Targets {
		if _, _, err := ParseTarget(target); err != nil {
			l.problem(path.Child("targets").Index(i), "%s", err)
		}
	}
	if action.Pods != nil {
		l.shapeOfSelector(path.Child("pods", "selector"), action.Pods.Selector)
		if action.Pods.Nodes != nil {
			l.shapeOfNodes(path.Child("pods", "nodes"), *action.Pods.Nodes)
		}
	}
}

func (l *loader) shapeOfNodes(path *field.Path, nodes Nodes) {
	if len(nodes.Names) == 0 && nodes.Selector == "" {
		l.problem(path, "selects no node; give names, or a selector such as topology.kubernetes.io/zone=zone-1")
	}
	l.shapeOfSelector(path.Child("selector"), nodes.Selector)
}

func (l *loader) shapeOfSelector(path *field.Path, text string) {
	if _, err := labels.Parse(text); err != nil {
		l.problem(path, "%q is no label selector: %s; give for example app=web,tier!=cache", text, err)
	}
}

func (l *loader) atLeast0(path *field.Path, value int) {
	if value < 0 {
		l.problem(path, "%d is negative; give 0 or more", value)
	}
}

var allActions = []string{"apply", "patch", "scale", "delete", "rollout", "trigger", "cordon", "uncordon", "drain", "fail", "restore"}

// actions returns the names of the actions that the step gives.
func (s *Step) actions() []string {
	var names []string
	for i, given := range []bool{
		s.Apply != nil, s.Patch != nil, s.Scale != nil, s.Delete != nil, s.Rollout != nil, s.Trigger != nil,
		s.Cordon != nil, s.Uncordon != nil, s.Drain != nil, s.Fail != nil, s.Restore != nil,
	} {
		if given {
			names = append(names, allActions[i])
		}
	}
	return names
}

type nodeAction struct {
	name  string
	nodes *Nodes
}

// onNodes returns the step's actions on nodes.
func (s *Step) onNodes() []nodeAction {
	var actions []nodeAction
	if s.Cordon != nil {
		actions = append(actions, nodeAction{"cordon", &s.Cordon.Nodes})
	}
	if s.Uncordon != nil {
		actions = append(actions, nodeAction{"uncordon", &s.Uncordon.Nodes})
	}
	if s.Drain != nil {
		actions = append(actions, nodeAction{"drain", &s.Drain.Nodes})
	}
	if s.Fail != nil {
		actions = append(actions, nodeAction{"fail", &s.Fail.Nodes})
	}
	if s.Restore != nil {
		actions = append(actions, nodeAction{"restore", &s.Restore.Nodes})
	}
	return actions
}
