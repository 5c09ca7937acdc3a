package lint

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// podGroupIncomplete finds pods that wait forever for a pod group: the group does not exist, or it wants more pods than name it. Pods name a
// group of another scheduler by a label or an annotation; such a group may exist without being in the input.
func podGroupIncomplete(_ *inspection, s *subject) []Finding {
	found, minimum := Finding{Field: s.labelsField()}, "spec.minMember"
	name := cluster.AskedPodGroup(s.pod)
	group := findPodGroup(s, name)
	if group == nil {
		found.Field, minimum = s.field("schedulingGroup.podGroupName"), "spec.schedulingPolicy.gang.minCount"
		name = cluster.PodGroupOf(s.pod)
		group = findPodGroup(s, name)
	}
	if name == "" {
		return nil
	}
	if group == nil {
		found.Message = fmt.Sprintf("there is no PodGroup %s in namespace %s: the pods wait for it and are never placed", name, s.owner.Namespace)
		found.Fix = "add the PodGroup"
		others := list.Where(s.step.State.PodGroups, func(g *schedulingv1beta1.PodGroup) bool { return g.Namespace == s.owner.Namespace })
		if len(others) > 0 {
			found.Fix += ", or name " + words.Or(list.Map(others, func(g *schedulingv1beta1.PodGroup) string { return g.Name }))
		}
		return []Finding{found}
	}
	members := list.Count(s.step.State.Pods, func(pod *v1.Pod) bool {
		return pod.Namespace == s.owner.Namespace && (cluster.PodGroupOf(pod) == name || cluster.AskedPodGroup(pod) == name) && !cluster.IsTerminal(pod)
	})
	gang := group.Spec.SchedulingPolicy.Gang
	if gang == nil || members >= int(gang.MinCount) {
		return nil
	}
	found.Message = fmt.Sprintf("PodGroup %s waits for %s at once, and %s it: none is ever placed", name, words.Count(int(gang.MinCount), "pod"), phraseName(members))
	found.Fix = fmt.Sprintf("run at least %d pods of the group, or lower its %s to %d", gang.MinCount, minimum, max(members, 1))
	if set, is := s.object.(*appsv1.StatefulSet); is && set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement && s.replicas >= int(gang.MinCount) {
		found.Fix = "set spec.podManagementPolicy: Parallel, so that no pod waits for the one before it"
	}
	return []Finding{found}
}

func findPodGroup(s *subject, name string) *schedulingv1beta1.PodGroup {
	for _, group := range s.step.State.PodGroups {
		if group.Namespace == s.owner.Namespace && group.Name == name {
			return group
		}
	}
	return nil
}

// phraseName returns "1 pod names" or "2 pods name".
func phraseName(pods int) string {
	return words.Count(pods, "pod") + words.Pick(pods, " names", " name")
}
