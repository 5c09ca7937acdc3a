package loader

import (
	"fmt"
	"strings"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// noteIgnoredPodGroups notes the pod groups that have no effect: the API server drops their names from pods while the feature gate is off.
func noteIgnoredPodGroups(groups []string) []string {
	if len(groups) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The pods of PodGroup (%s) are placed one by one, since the feature gate GenericWorkload is off by default; "+
		"to place all or none, give --feature-gates GenericWorkload=true, or scheduler.featureGates in the scenario.", abbreviateNames(groups, maxNamed))}
}

// optionsWithPodGroups returns the options with the feature gate GenericWorkload, and true, if objects of a dump name pod groups: an API server
// keeps these names only if the gate is on. A gate that the scenario or a flag sets wins.
func (l *loader) optionsWithPodGroups() (Options, bool) {
	opts := l.opts
	if len(l.dumpPodGroups) == 0 || l.gateGiven {
		return opts, false
	}
	opts.dumpPodGroups = list.Distinct(l.dumpPodGroups)
	opts.FeatureGates = strings.TrimPrefix(opts.FeatureGates+","+string(features.GenericWorkload)+"=true", ",")
	return opts, true
}

// noteDumpPodGroups notes that a dump has pod groups, and the groups that it names but lacks.
func noteDumpPodGroups(s *scenario.Scenario, groups []string) []string {
	if len(groups) == 0 {
		return nil
	}
	notes := []string{fmt.Sprintf("The feature gate GenericWorkload is on, as in the cluster of the dump: its objects name PodGroup (%s), which an API server keeps "+
		"only under it. --feature-gates GenericWorkload=false places their pods one by one.", abbreviateNames(groups, maxNamed))}
	held := map[string]bool{}
	for _, obj := range s.Objects() {
		if _, is := obj.(*schedulingv1beta1.PodGroup); is {
			held[namespacedName(obj.GetNamespace(), obj.GetName())] = true
		}
	}
	if missing := list.Without(groups, func(group string) bool { return held[group] }); len(missing) > 0 {
		notes = append(notes, fmt.Sprintf("The dump lacks PodGroup (%s), for which pods without a node wait; dump podgroups.scheduling.k8s.io, too.", abbreviateNames(missing, maxNamed)))
	}
	return notes
}
