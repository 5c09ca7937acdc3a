package scenario

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
)

// check finds what is wrong with the scenario as a whole: actions that are none or two, and names that nothing bears.
func (l *loader) check(s *Scenario) {
	known := newNames(s)
	if len(known.nodes) == 0 {
		l.problem(nil, "there are no nodes, so nothing could be placed; give some with cluster (--cluster), as Node objects, a kind configuration, or synthetic")
	}
	if !known.pods {
		l.problem(nil, "there is no workload, so there is nothing to place; give a Pod, a Deployment, or another controller of pods")
	}
	for _, obj := range s.objects() {
		l.checkPods(obj, known, s)
	}
	names := map[string]bool{}
	for i := range s.Steps {
		path := field.NewPath("steps").Index(i)
		step := &s.Steps[i]
		switch {
		case step.Name == "":
			l.problem(path.Child("name"), "is missing; a step is known by its name on the report")
		case names[step.Name]:
			l.problem(path.Child("name"), "%q is the name of an earlier step too; names differ", step.Name)
		}
		names[step.Name] = true
		l.checkAction(path, step, known)
		if step.Expect != nil {
			l.checkExpect(path.Child("expect"), step.Expect, known)
		}
	}
}

func (l *loader) checkAction(path *field.Path, step *LoadedStep, known *names) {
	actions := step.actions()
	if len(actions) != 1 {
		given := "none is given"
		if len(actions) > 0 {
			given = strings.Join(actions, " and ") + " are given"
		}
		if !(len(actions) == 0 && step.Fresh) {
			l.problem(path, "a step has exactly one action, and %s; the actions are %s", given, strings.Join(allActions(), ", "))
		}
		return
	}
	path = path.Child(actions[0])
	switch {
	case step.Patch != nil:
		l.checkTarget(path, step.Patch.Target, known)
		if !slices.Contains([]string{"", "strategic", "merge", "json"}, step.Patch.Type) {
			l.problem(path.Child("type"), "%q is none of strategic, merge, json", step.Patch.Type)
		}
		if len(step.Patch.Patch.Raw) == 0 {
			l.problem(path.Child("patch"), "is missing")
		}
	case step.Scale != nil:
		l.checkTarget(path, step.Scale.Target, known, "Deployment", "ReplicaSet", "StatefulSet")
		if step.Scale.Replicas < 0 {
			l.problem(path.Child("replicas"), "%d is negative; give 0 or more", step.Scale.Replicas)
		}
	case step.Delete != nil:
		l.checkDelete(path, step.Delete, known)
	case step.Rollout != nil:
		l.checkTarget(path, step.Rollout.Target, known, "Deployment", "StatefulSet", "DaemonSet")
		if step.Rollout.Restart == (len(step.Rollout.Images) > 0) {
			l.problem(path, "give restart: true or images, and not both")
		}
	case step.Trigger != nil:
		l.checkTarget(path, *step.Trigger, known, "CronJob")
	case step.Cordon != nil:
		l.checkNodes(path, *step.Cordon, known)
	case step.Uncordon != nil:
		l.checkNodes(path, *step.Uncordon, known)
	case step.Drain != nil:
		l.checkNodes(path, step.Drain.Nodes, known)
	case step.Fail != nil:
		l.checkNodes(path, step.Fail.Nodes, known)
		if !slices.Contains([]string{"", "unreachable", "out-of-service", "deleted"}, step.Fail.Mode) {
			l.problem(path.Child("mode"), "%q is none of unreachable, out-of-service, deleted", step.Fail.Mode)
		}
	case step.Restore != nil:
		l.checkNodes(path, *step.Restore, known)
	}
}

func (l *loader) checkTarget(path *field.Path, target Target, known *names, kinds ...string) {
	kind, name, err := ParseTarget(target.Target)
	switch {
	case err != nil:
		l.problem(path.Child("target"), "%s", err)
	case len(kinds) > 0 && !slices.Contains(kinds, kind):
		l.problem(path.Child("target"), "%q is a %s, and this takes a %s", target.Target, kind, strings.Join(kinds, " or "))
	case !known.objects[objectName{kind, namespaceOr(target.Namespace, kind), name}]:
		l.problem(path.Child("target"), "there is no %s %q in namespace %q anywhere in the scenario; there are %s",
			kind, name, namespaceOr(target.Namespace, kind), known.of(kind))
	}
}

func (l *loader) checkDelete(path *field.Path, action *Delete, known *names) {
	if len(action.Files) == 0 && len(action.Targets) == 0 && action.Pods == nil {
		l.problem(path, "says nothing to delete; give files, targets or pods")
	}
	for i, target := range action.Targets {
		kind, name, err := ParseTarget(target)
		// A pod that a controller makes has its name only once it is made.
		if err == nil && kind != "Pod" && !known.objects[objectName{kind, namespaceOr(action.Namespace, kind), name}] {
			err = fmt.Errorf("there is no %s %q in namespace %q anywhere in the scenario; there are %s", kind, name, namespaceOr(action.Namespace, kind), known.of(kind))
		}
		if err != nil {
			l.problem(path.Child("targets").Index(i), "%s", err)
		}
	}
	if action.Pods != nil {
		l.checkSelector(path.Child("pods", "selector"), action.Pods.Selector)
		if action.Pods.On != nil {
			l.checkNodes(path.Child("pods", "on"), *action.Pods.On, known)
		}
	}
}

func (l *loader) checkNodes(path *field.Path, nodes Nodes, known *names) {
	if len(nodes.Names) == 0 && nodes.Selector == "" {
		l.problem(path, "selects no node; give names, or a selector such as topology.kubernetes.io/zone=zone-a")
	}
	for i, name := range nodes.Names {
		if !known.nodes[name] {
			l.problem(path.Child("names").Index(i), "there is no node %q; there are %s", name, known.of("Node"))
		}
	}
	if selector := l.checkSelector(path.Child("selector"), nodes.Selector); nodes.Selector != "" && selector != nil {
		if !slices.ContainsFunc(known.labels, func(set labels.Set) bool { return selector.Matches(set) }) {
			l.problem(path.Child("selector"), "%q matches no node", nodes.Selector)
		}
	}
}

func (l *loader) checkSelector(path *field.Path, text string) labels.Selector {
	selector, err := labels.Parse(text)
	if err != nil {
		l.problem(path, "%q is no label selector: %s", text, err)
	}
	return selector
}

func (l *loader) checkExpect(path *field.Path, expect *Expect, known *names) {
	if expect.Pending != nil && *expect.Pending < 0 {
		l.problem(path.Child("pending"), "%d is negative; give 0 or more", *expect.Pending)
	}
	for i, domains := range expect.Domains {
		path := path.Child("domains").Index(i)
		l.checkSelector(path.Child("selector"), domains.Selector)
		if !slices.ContainsFunc(known.labels, func(set labels.Set) bool { return set.Has(domains.TopologyKey) }) {
			l.problem(path.Child("topologyKey"), "no node has a label %q; there are %s", domains.TopologyKey, known.keys())
		}
		if domains.Min == nil && domains.Max == nil && domains.Skew == nil && len(domains.Exactly) == 0 {
			l.problem(path, "expects nothing; give min, max, skew or exactly")
		}
		for _, bound := range []struct {
			name  string
			value *int
		}{{"min", domains.Min}, {"max", domains.Max}, {"skew", domains.Skew}} {
			if bound.value != nil && *bound.value < 0 {
				l.problem(path.Child(bound.name), "%d is negative; give 0 or more", *bound.value)
			}
		}
	}
}

// checkPods finds pods, or templates of pods, that could never be made or never be scheduled by this scheduler.
func (l *loader) checkPods(obj cluster.Object, known *names, s *Scenario) {
	spec, path := podSpec(obj)
	if spec == nil {
		return
	}
	what := describe(obj)
	if class := spec.PriorityClassName; class != "" && !known.objects[objectName{"PriorityClass", "", class}] && !strings.HasPrefix(class, "system-") {
		l.problem(nil, "%s: %s.priorityClassName: no PriorityClass with name %s was found; add it to the input", what, path, class)
	}
	if node := spec.NodeName; node != "" && !known.nodes[node] {
		l.problem(nil, "%s: %s.nodeName: there is no node %q; add it to the cluster (kubectl get nodes)", what, path, node)
	}
	if s.Config != nil && spec.NodeName == "" && !slices.Contains(s.Config.SchedulerNames(), spec.SchedulerName) {
		l.problem(nil, "%s: %s.schedulerName: no profile is called %q; the scheduler's profiles are %s", what, path, spec.SchedulerName, strings.Join(s.Config.SchedulerNames(), ", "))
	}
	for _, volume := range spec.Volumes {
		claim := volume.PersistentVolumeClaim
		if claim != nil && !known.claims(claim.ClaimName, obj) {
			l.problem(nil, "%s: %s.volumes: there is no PersistentVolumeClaim %q in namespace %q; add it to the input (kubectl get pvc)", what, path, claim.ClaimName, obj.GetNamespace())
		}
	}
}

// actions returns the names of the actions that the step gives.
func (s *Step) actions() []string {
	var names []string
	for i, given := range []bool{
		s.Apply != nil, s.Patch != nil, s.Scale != nil, s.Delete != nil, s.Rollout != nil, s.Trigger != nil,
		s.Cordon != nil, s.Uncordon != nil, s.Drain != nil, s.Fail != nil, s.Restore != nil,
	} {
		if given {
			names = append(names, allActions()[i])
		}
	}
	return names
}

func allActions() []string {
	return []string{"apply", "patch", "scale", "delete", "rollout", "trigger", "cordon", "uncordon", "drain", "fail", "restore"}
}

func namespaceOr(namespace, kind string) string {
	switch {
	case clusterScoped[kind]:
		return ""
	case namespace == "":
		return v1.NamespaceDefault
	}
	return namespace
}
