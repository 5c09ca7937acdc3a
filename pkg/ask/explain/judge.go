package explain

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Whether a change helps the pod, and what it costs: the pods of each workload before and after.

// crew is the pods of a workload by identity: those with a node, which run or have completed, and those without.
type crew struct {
	placed, waiting map[string]*v1.Pod
}

// crews returns the pods of each workload.
func crews(state *cluster.State) map[cluster.Ref]crew {
	all := map[cluster.Ref]crew{}
	ownerOf := state.Owners()
	for _, pod := range state.Pods {
		owner := ownerOf(pod)
		of, known := all[owner]
		if !known {
			of = crew{map[string]*v1.Pod{}, map[string]*v1.Pod{}}
			all[owner] = of
		}
		switch id, _ := identity(owner, pod); {
		case pod.Spec.NodeName != "" && (cluster.Active(pod) || pod.Status.Phase == v1.PodSucceeded):
			of.placed[id] = pod
		case cluster.Waits(pod):
			of.waiting[id] = pod
		}
	}
	return all
}

// identity is what lasts of a pod when it is replaced: the name of a StatefulSet's pod or of one without a controller, the node of a
// DaemonSet's, the index of an Indexed Job's. Nothing lasts of any other pod, whose identity is its UID.
func identity(owner cluster.Ref, pod *v1.Pod) (id string, lasts bool) {
	switch {
	case owner.Kind == "DaemonSet":
		if node, err := daemonutil.GetTargetNodeName(pod); err == nil {
			return node, true
		}
	case owner.Kind == "StatefulSet" || owner.Kind == "Pod":
		return pod.Name, true
	case pod.Annotations[batchv1.JobCompletionIndexAnnotation] != "":
		return pod.Annotations[batchv1.JobCompletionIndexAnnotation], true
	}
	return string(pod.UID), false
}

// lost is the number of pods with a node that have none afterwards, nor does a pod in their place.
func (before crew) lost(owner cluster.Ref, after crew) int {
	gone, come := 0, 0
	lasting := false
	for id, pod := range before.placed {
		if _, lasts := identity(owner, pod); lasts {
			lasting = true
		}
		if after.placed[id] == nil {
			gone++
		}
	}
	if lasting {
		return gone
	}
	for id := range after.placed {
		if before.placed[id] == nil {
			come++
		}
	}
	return max(0, gone-come)
}

// judge returns the change as a fix, nil if it is none.
func (p *pendingPod) judge(c *candidate, says string, steps []scenario.LoadedStep) *Fix {
	state := p.course.State()
	after := crews(state)
	own, was := after[p.owner], p.before[p.owner]
	left := replicasOf(state, p.owner)
	switch {
	case c.gone:
		if len(own.waiting) > 0 || len(own.placed) < min(len(was.placed), left) {
			return nil
		}
	case !p.placedIn(own), was.lost(p.owner, own) > max(0, len(was.placed)-left):
		return nil
	}
	displaced := map[cluster.Ref]int{}
	for owner, before := range p.before {
		if lost := before.lost(owner, after[owner]); lost > 0 && owner != p.owner {
			displaced[owner] = lost
		}
	}
	if len(displaced) > 0 && !c.evicts {
		return nil // it only moves the problem
	}
	last := p.course.Steps[len(p.course.Steps)-1]
	return &Fix{
		Change: says, Price: slices.Concat(c.price, p.elsewhere(c), p.evicted(displaced), p.replaced(c, own)), Commands: commandsOf(steps), Steps: encoded(steps),
		Pending: len(last.Pending), OfWorkload: len(own.waiting), Node: p.nodeAmong(state, own),
	}
}

// placedIn reports whether the pod that was asked about, or one in its place, has a node.
func (p *pendingPod) placedIn(now crew) bool {
	id, lasts := identity(p.owner, p.pod)
	if now.placed[id] != nil {
		return true
	}
	if lasts {
		return false
	}
	was := p.before[p.owner]
	if now.waiting[id] == nil { // it is replaced
		return len(now.waiting) < len(was.waiting) && (len(now.waiting) == 0 || len(now.placed) > len(was.placed))
	}
	of := controllerOf(p.pod) // the pods of a ReplicaSet or a Job are alike
	same := func(pods map[string]*v1.Pod) (n int) {
		for _, pod := range pods {
			if controllerOf(pod) == of {
				n++
			}
		}
		return n
	}
	return of != "" && same(now.waiting) < same(was.waiting) && same(now.placed) > same(was.placed)
}

// replicasOf is how many pods the workload is to have, and no limit for those that do not say.
func replicasOf(state *cluster.State, owner cluster.Ref) int {
	if obj := state.Find(owner); obj != nil {
		if replicas, scales := cluster.Replicas(obj); scales {
			return int(replicas)
		}
	}
	return 1 << 30
}

// elsewhere says that the change of a workload is one of the custom resource of which an operator makes the workload.
func (p *pendingPod) elsewhere(c *candidate) []string {
	if p.maker == "" || c.edit == nil && c.strategy == nil && !c.gone {
		return nil
	}
	return []string{"its operator takes it back: change " + p.maker}
}

// evicted says whom the workload's pods preempt, by workload.
func (p *pendingPod) evicted(displaced map[cluster.Ref]int) []string {
	var owners []cluster.Ref
	pods := map[cluster.Ref]int{}
	for i := p.steps; i < len(p.course.Steps); i++ {
		for _, preempted := range p.course.Steps[i].Preempted {
			owner := p.ownerOf(preempted.Victim)
			if pods[owner]++; pods[owner] == 1 {
				owners = append(owners, owner)
			}
		}
	}
	for owner := range displaced {
		if pods[owner] == 0 {
			owners = append(owners, owner)
		}
	}
	slices.SortFunc(owners, cluster.Ref.Compare)
	return list.Each(owners, func(owner cluster.Ref) string {
		says := "evicts " + owner.Qualified()
		if owner.Kind != "Pod" {
			says = fmt.Sprintf("evicts %s of %s", words.Count(max(pods[owner], displaced[owner]), "pod"), owner.Qualified())
		}
		switch lost := displaced[owner]; {
		case lost == 0:
			return says + ", which finds another node"
		case owner.Kind == "Pod":
			return says + ", which nobody creates again"
		case lost < pods[owner]:
			return fmt.Sprintf("%s, of which %d then have no node", says, lost)
		}
		return says + words.Pick(displaced[owner], ", which then has no node", ", which then have no node")
	})
}

// replaced says how many pods of the workload that ran are replaced by others.
func (p *pendingPod) replaced(c *candidate, now crew) []string {
	if c.gone {
		return nil
	}
	run := map[types.UID]bool{}
	for _, pod := range now.placed {
		run[pod.UID] = true
	}
	n := 0
	for _, pod := range p.before[p.owner].placed {
		if !run[pod.UID] && !cluster.Terminal(pod) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("replaces %s of %s that %s", words.Count(n, "pod"), p.owner.Qualified(), words.Pick(n, "runs", "run"))}
}

// nodeAmong is the node of the pod or of the one in its place: of a replaced pod, the pod of the workload's latest revision with its number.
func (p *pendingPod) nodeAmong(state *cluster.State, now crew) string {
	id, lasts := identity(p.owner, p.pod)
	if pod := now.placed[id]; pod != nil || lasts {
		if pod == nil {
			return ""
		}
		return pod.Spec.NodeName
	}
	pods := podsOf(state)[p.owner]
	if p.member != nil {
		pods = slices.DeleteFunc(pods, func(pod *v1.Pod) bool { return pod.Labels[cluster.MemberLabel] != p.member.Name })
	}
	if len(pods) == 0 {
		return ""
	}
	latest := revision(pods, pods[len(pods)-1])
	if p.place < len(latest) {
		return latest[p.place].Spec.NodeName
	}
	return ""
}

// revision returns the pods with the pod's controller: of a Deployment those of one ReplicaSet, otherwise all.
func revision(pods []*v1.Pod, pod *v1.Pod) []*v1.Pod {
	controller := func(pod *v1.Pod) types.UID {
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
			return ref.UID
		}
		return pod.UID
	}
	return list.Where(pods, func(other *v1.Pod) bool { return controller(other) == controller(pod) })
}
