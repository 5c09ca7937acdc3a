package explain

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// A change is judged by the pods of each workload before and after it: whether it helps the pod, and what it costs.

// helpsPod returns the change as a fix if it helps the pod, alone or with the deletion of the pod.
func (p *pendingPod) helpsPod(ctx context.Context, c *candidate, steps []scenario.LoadedStep) (*Fix, error) {
	if fix := p.judge(c, p.describeChange(c), steps); fix != nil || c.edit == nil || p.deletionHelps {
		return fix, nil
	}
	return p.tryDeleted(ctx, c, steps)
}

// judge returns the change as a fix; nil if it does not help.
func (p *pendingPod) judge(c *candidate, says string, steps []scenario.LoadedStep) *Fix {
	state := p.course.State()
	after := state.PodsByWorkload()
	own, was := after[p.owner], p.crewsBefore[p.owner]
	left := replicasOf(state, p.owner)
	switch {
	case c.gone:
		if len(own.Waiting) > 0 || len(own.Placed) < min(len(was.Placed), left) {
			return nil
		}
	case !p.hasNodeIn(own), was.CountLost(p.owner, own) > max(0, len(was.Placed)-left):
		return nil
	}
	displaced := p.displaced(after)
	for owner := range displaced {
		if !c.evicts && !slices.Contains(c.deletes, owner) {
			return nil // the change only moves the problem
		}
	}
	last := p.course.Last()
	commands := action.Commands(stepsOf(steps))
	if c.byHand {
		commands = nil
	}
	return &Fix{
		Change: says, Price: slices.Concat(c.price, p.operatorPrice(c), p.evictionPrice(displaced), p.replacementPrice(c, own)), Commands: commands, Steps: encodeSteps(steps),
		Pending: len(last.Pending), OfWorkload: len(own.Waiting), Node: p.nodeAfter(state, own), Displaced: sumOf(displaced), DataLost: c.losesData,
	}
}

// displaced is how many pods of other workloads have no node any more, by workload.
func (w *stuckWorkload) displaced(after map[cluster.Ref]cluster.WorkloadPods) map[cluster.Ref]int {
	displaced := map[cluster.Ref]int{}
	for owner, before := range w.crewsBefore {
		if lost := before.CountLost(owner, after[owner]); lost > 0 && owner != w.owner {
			displaced[owner] = lost
		}
	}
	return displaced
}

func sumOf(displaced map[cluster.Ref]int) (sum int) {
	for _, n := range displaced {
		sum += n
	}
	return sum
}

// hasNodeIn reports whether the pod in question, or one in its place, has a node.
func (p *pendingPod) hasNodeIn(now cluster.WorkloadPods) bool {
	id, lasts := cluster.Identity(p.owner, p.pod)
	if now.Placed[id] != nil {
		return true
	}
	if lasts {
		return false
	}
	was := p.crewsBefore[p.owner]
	if now.Waiting[id] == nil { // the pod is replaced
		return len(now.Waiting) < len(was.Waiting) && (len(now.Waiting) == 0 || len(now.Placed) > len(was.Placed))
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
	return of != "" && same(now.Waiting) < same(was.Waiting) && same(now.Placed) > same(was.Placed)
}

// replicasOf returns the number of replicas that the workload asks for, and a number that no cluster reaches for a workload without
// replicas.
func replicasOf(state *cluster.State, owner cluster.Ref) int {
	if obj := state.Find(owner); obj != nil {
		if replicas, scales := cluster.Replicas(obj); scales {
			return int(replicas)
		}
	}
	return 1 << 30
}

// operatorPrice says that the change has to be made in the custom resource if an operator makes the workload.
func (w *stuckWorkload) operatorPrice(c *candidate) []string {
	if w.customResource == "" || c.edit == nil && c.strategy == nil && !c.gone {
		return nil
	}
	return []string{"its operator takes it back: change " + w.customResource}
}

// evictionPrice says which pods the workload's pods preempt, by workload.
func (w *stuckWorkload) evictionPrice(displaced map[cluster.Ref]int) []string {
	var owners []cluster.Ref
	pods := map[cluster.Ref]int{}
	for i := w.baseSteps; i < len(w.course.Steps); i++ {
		for _, preempted := range w.course.Steps[i].Preempted {
			owner := w.ownerOf(preempted.Victim)
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
	return list.Map(owners, func(owner cluster.Ref) string {
		says := words.Pick(min(pods[owner], 1), "evicts ", "deletes ") + owner.Qualified()
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

// replacementPrice says how many running pods of the workload the change replaces by others.
func (w *stuckWorkload) replacementPrice(c *candidate, now cluster.WorkloadPods) []string {
	if c.gone {
		return nil
	}
	run := map[types.UID]bool{}
	for _, pod := range now.Placed {
		run[pod.UID] = true
	}
	n := 0
	for _, pod := range w.crewsBefore[w.owner].Placed {
		if !run[pod.UID] && !cluster.IsTerminal(pod) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("replaces %s of %s that %s", words.Count(n, "pod"), w.owner.Qualified(), words.Pick(n, "runs", "run"))}
}

// nodeAfter returns the node of the pod, or of the pod in its place: if the pod was replaced, the pod at the same position among the
// workload's latest revision.
func (p *pendingPod) nodeAfter(state *cluster.State, now cluster.WorkloadPods) string {
	id, lasts := cluster.Identity(p.owner, p.pod)
	if pod := now.Placed[id]; pod != nil || lasts {
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
	latest := podsOfSameRevision(pods, pods[len(pods)-1])
	if p.revisionIndex < len(latest) {
		return latest[p.revisionIndex].Spec.NodeName
	}
	return ""
}

// podsOfSameRevision returns the pods that have the same controller as the pod: for a Deployment the pods of one ReplicaSet, otherwise all.
func podsOfSameRevision(pods []*v1.Pod, pod *v1.Pod) []*v1.Pod {
	controller := func(pod *v1.Pod) types.UID {
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
			return ref.UID
		}
		return pod.UID
	}
	return list.Where(pods, func(other *v1.Pod) bool { return controller(other) == controller(pod) })
}
