package plan

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	quota "k8s.io/apiserver/pkg/quota/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// minNewNodes returns a lower bound on the number of new nodes, by arithmetic alone. A new node serves every loss except the loss of its own
// domain. So if the D losses of a level need n1, …, nD nodes, they need at least (n1 + … + nD) / (D−1) together: if each of three losses
// needs 4, that is 6.
func (p *planner) minNewNodes(losses []loss) int {
	least := 0
	for _, level := range p.opts.Survive {
		sum, domains := 0, 0
		for i := range losses {
			if losses[i].level != level {
				continue
			}
			n := p.minNodesForLoss(&losses[i])
			least, sum, domains = max(least, n), sum+n, domains+1
		}
		if domains > 1 && levelKey(level) != v1.LabelHostname {
			least = max(least, ceil(float64(sum)/float64(domains-1)))
		}
	}
	return least
}

// minNodesForLoss returns a lower bound on the new nodes that one loss needs, wherever its pods go. It is the sum of what the replaced pods request,
// less the room on the remaining nodes that one of these pods could use, divided by the size of the largest new node. Room is rounded down
// to multiples of the greatest common divisor of the requests: a node with 800m free has no room for pods of 1 CPU. Pods that no node helps
// are left out.
func (p *planner) minNodesForLoss(l *loss) int {
	replaced := p.replacedPods(l)
	if l.open || len(l.stranded) == len(l.blocked) || len(replaced) == 0 {
		return 0
	}
	usable := p.usableRoom(replaced, l)
	most := 1
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods} {
		asked, unit := int64(0), int64(0)
		for _, pod := range replaced {
			n := resourceAmount(podRequests(pod), name)
			asked, unit = asked+n, greatestCommonDivisor(unit, n)
		}
		if unit == 0 {
			continue
		}
		for _, free := range usable {
			asked -= max(0, resourceAmount(free, name)) / unit * unit
		}
		largest := int64(0)
		for g := range p.groups {
			largest = max(largest, resourceAmount(p.emptyNodeResources(g, p.state), name)/unit*unit)
		}
		if asked > 0 && largest > 0 {
			most = max(most, int((asked+largest-1)/largest))
		}
	}
	return most
}

// replacedPods returns the pods that controllers create after the loss, without pods of DaemonSets and pods that no node helps.
func (p *planner) replacedPods(l *loss) []*v1.Pod {
	today := map[types.UID]bool{}
	for _, pod := range p.state.Pods {
		today[pod.UID] = true
	}
	for _, pod := range l.blocked {
		today[pod.UID] = true
	}
	owner := l.state.Owners()
	var all []*v1.Pod
	for _, pod := range l.state.Pods {
		if !today[pod.UID] && !cluster.IsTerminal(pod) && owner(pod).Kind != "DaemonSet" {
			all = append(all, pod)
		}
	}
	return all
}

// usableRoom returns the free resources of each node that the loss leaves and that one of the pods could use. The present pods that stay, and
// are not preempted, take their part.
func (p *planner) usableRoom(pods []*v1.Pod, l *loss) []v1.ResourceList {
	free := map[string]v1.ResourceList{}
	for _, node := range p.state.Nodes {
		usable := !l.nodes[node.Name] && cluster.KubeletResponds(node) && !node.Spec.Unschedulable && slices.ContainsFunc(pods, func(pod *v1.Pod) bool {
			return !cluster.Repels(node, pod) && cluster.Attracts(node, pod)
		})
		if usable {
			free[node.Name] = node.Status.Allocatable
		}
	}
	stays := map[types.UID]bool{}
	for _, pod := range l.state.Pods {
		stays[pod.UID] = pod.DeletionTimestamp == nil
	}
	for _, pod := range p.state.Pods {
		if has, known := free[pod.Spec.NodeName]; known && stays[pod.UID] && !cluster.IsTerminal(pod) {
			free[pod.Spec.NodeName] = quota.Subtract(has, podRequests(pod))
		}
	}
	var all []v1.ResourceList
	for _, has := range free {
		all = append(all, has)
	}
	return all
}

// emptyNodeResources returns what a new node of the group has left for pods, once the DaemonSets' pods run there: as many as run on a node like it
// in the state.
func (p *planner) emptyNodeResources(g int, state *cluster.State) v1.ResourceList {
	like := p.groups[g].Zones[0].Nodes[0]
	free := like.Status.Allocatable
	owner := state.Owners()
	for _, pod := range state.Pods {
		if pod.Spec.NodeName == like.Name && owner(pod).Kind == "DaemonSet" && !cluster.IsTerminal(pod) {
			free = quota.Subtract(free, podRequests(pod))
		}
	}
	return free
}

// resourceAmount returns the amount of the resource: of CPU in thousandths, of others in whole units.
func resourceAmount(list v1.ResourceList, name v1.ResourceName) int64 {
	amount := list[name]
	if name == v1.ResourceCPU {
		return amount.MilliValue()
	}
	return amount.Value()
}

// greatestCommonDivisor returns the greatest common divisor; of 0 and n it is n.
func greatestCommonDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
