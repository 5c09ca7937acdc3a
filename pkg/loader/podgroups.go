package loader

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// joinAskedPodGroups puts the pods that ask another scheduler for a pod group, by a label or an annotation, into the group of that name, if the
// feature gate for groups is on and their scheduler is simulated. If the gate is off, it notes the groups, so that a dump is read again with it.
func (l *loader) joinAskedPodGroups(s *scenario.Scenario) (notes []string) {
	if s.Config == nil {
		return nil
	}
	held, simulated := heldPodGroups(s), list.KeySet(s.Config.SchedulerNames(), func(name string) string { return name })
	_, known := utilfeature.DefaultMutableFeatureGate.GetAll()[features.GenericWorkload]
	on := known && utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload)
	var joined, missing []string
	for _, obj := range s.Objects() {
		name := cluster.AskedPodGroup(obj)
		pod, isPod := obj.(*v1.Pod)
		if name == "" || cluster.PodGroupOf(obj) != "" || isPod && cluster.IsTerminal(pod) || !simulated[schedulerNameOf(obj)] {
			continue
		}
		group := namespacedName(obj.GetNamespace(), name)
		switch {
		case !held[group]:
			missing = append(missing, group)
		case !on:
			l.ignoredPodGroups = append(l.ignoredPodGroups, group)
			if known && cluster.FromDump(obj) {
				l.dumpPodGroups = append(l.dumpPodGroups, group)
			}
		default:
			joined = append(joined, group)
			if isPod {
				pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
			}
		}
	}
	l.askedPodGroups = list.Distinct(joined)
	if len(joined) > 0 {
		notes = append(notes, fmt.Sprintf("assumed: the scheduler of the pods that ask for PodGroup (%s) by a label places all or none, as kube-scheduler's own gangs do, which stand for that here; "+
			"--feature-gates GenericWorkload=false places the pods one by one.", abbreviateNames(l.askedPodGroups, maxNamed)))
	}
	if len(missing) > 0 {
		notes = append(notes, fmt.Sprintf("Pods ask by a label for PodGroup (%s), which the input lacks, and are placed one by one; dump the PodGroups of their scheduler, too.", abbreviateNames(list.Distinct(missing), maxNamed)))
	}
	return notes
}

// heldPodGroups returns the names of the pod groups among the objects.
func heldPodGroups(s *scenario.Scenario) map[string]bool {
	held := map[string]bool{}
	for _, obj := range s.Objects() {
		if _, is := obj.(*schedulingv1beta1.PodGroup); is {
			held[namespacedName(obj.GetNamespace(), obj.GetName())] = true
		}
	}
	return held
}

// noteIgnoredPodGroups notes the pod groups that have no effect while the feature gate is off: the API server drops their names from pods.
func noteIgnoredPodGroups(groups []string) []string {
	if len(groups) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The pods of PodGroup (%s) are placed one by one, since the feature gate GenericWorkload is off by default; "+
		"to place all or none, give --feature-gates GenericWorkload=true, or scheduler.featureGates in the scenario.", abbreviateNames(groups, maxNamed))}
}

// optionsWithPodGroups returns the options with the feature gate GenericWorkload, and true, if objects of a dump name pod groups: an API server
// keeps these names only if the gate is on, and groups of another scheduler need it here. A gate that the scenario or a flag sets wins.
func (l *loader) optionsWithPodGroups() (Options, bool) {
	opts := l.opts
	if len(l.dumpPodGroups) == 0 || l.gateGiven {
		return opts, false
	}
	opts.dumpPodGroups = list.Distinct(l.dumpPodGroups)
	opts.FeatureGates = strings.TrimPrefix(opts.FeatureGates+","+string(features.GenericWorkload)+"=true", ",")
	return opts, true
}

// noteDumpPodGroups notes that objects of a dump name pod groups, and the groups that the dump lacks. asked are the groups of another scheduler.
func noteDumpPodGroups(s *scenario.Scenario, groups, asked []string) []string {
	ofOthers := list.KeySet(asked, func(group string) string { return group })
	groups = list.Without(groups, func(group string) bool { return ofOthers[group] })
	if len(groups) == 0 {
		return nil
	}
	notes := []string{fmt.Sprintf("The feature gate GenericWorkload is on, as in the cluster of the dump: its objects name PodGroup (%s), which an API server keeps "+
		"only under it. --feature-gates GenericWorkload=false places their pods one by one.", abbreviateNames(groups, maxNamed))}
	held := heldPodGroups(s)
	if missing := list.Without(groups, func(group string) bool { return held[group] }); len(missing) > 0 {
		notes = append(notes, fmt.Sprintf("The dump lacks PodGroup (%s), for which pods without a node wait; dump podgroups.scheduling.k8s.io, too.", abbreviateNames(missing, maxNamed)))
	}
	return notes
}
