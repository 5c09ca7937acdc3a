package lint

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// podGroupIncomplete finds pods that wait forever for a pod group: the group does not exist, or it wants more pods than name it.
func podGroupIncomplete(_ *inspection, s *subject) []Finding {
	name := cluster.PodGroupOf(s.pod)
	if name == "" {
		return nil
	}
	found := Finding{Field: s.field("schedulingGroup.podGroupName")}
	group := findPodGroup(s, name)
	if group == nil {
		found.Message = fmt.Sprintf("there is no PodGroup %s in namespace %s: the pods wait for it and are never placed", name, s.owner.Namespace)
		found.Fix = "add the PodGroup"
		others := list.Where(s.step.State.PodGroups, func(g *schedulingv1beta1.PodGroup) bool { return g.Namespace == s.owner.Namespace })
		if len(others) > 0 {
			found.Fix += ", or name " + words.Or(list.Map(others, func(g *schedulingv1beta1.PodGroup) string { return g.Name }))
		}
		return []Finding{found}
	}
	members := 0
	for _, pod := range s.step.State.Pods {
		if pod.Namespace == s.owner.Namespace && cluster.PodGroupOf(pod) == name && !cluster.IsTerminal(pod) {
			members++
		}
	}
	gang := group.Spec.SchedulingPolicy.Gang
	if gang == nil || members >= int(gang.MinCount) {
		return nil
	}
	found.Message = fmt.Sprintf("PodGroup %s waits for %s at once, and %s it: none is ever placed", name, words.Count(int(gang.MinCount), "pod"), phraseName(members))
	found.Fix = fmt.Sprintf("run at least %d pods of the group, or lower its spec.schedulingPolicy.gang.minCount to %d", gang.MinCount, max(members, 1))
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
