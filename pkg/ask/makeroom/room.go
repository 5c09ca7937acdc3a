package makeroom

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	corev1 "k8s.io/component-helpers/scheduling/corev1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/alike"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/world"
)

// amounts are whole numbers of resources: thousandths of a CPU, and units of anything else.
type amounts map[v1.ResourceName]int64

func newAmounts(given v1.ResourceList) amounts {
	a := amounts{}
	for name, quantity := range given {
		if a[name] = quantity.Value(); name == v1.ResourceCPU {
			a[name] = quantity.MilliValue()
		}
	}
	return a
}

// requestsOf returns what the pod takes of a node, also one of the pods that the node may have.
func requestsOf(pod *v1.Pod) amounts {
	a := newAmounts(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}))
	a[v1.ResourcePods] = 1
	return a
}

// quantity returns the amount as Kubernetes writes it.
func quantity(name v1.ResourceName, amount int64) string {
	if name == v1.ResourceCPU {
		return resource.NewMilliQuantity(amount, resource.DecimalSI).String()
	}
	if name == v1.ResourceMemory || name == v1.ResourceEphemeralStorage {
		return resource.NewQuantity(amount, resource.BinarySI).String()
	}
	return resource.NewQuantity(amount, resource.DecimalSI).String()
}

// candidate is a pod that may move.
type candidate struct {
	*v1.Pod
	owner    cluster.Ref
	class    string
	requests amounts
	priority int32
	age      time.Duration
	replicas int
}

func (c *candidate) key() string { return c.Namespace + "/" + c.Name }

// compareCost compares what it costs to move the pods of two sets of the same size: their priorities, the highest first, then the time for
// which they have been there, then how few replicas their workloads have.
func compareCost(a, b []*candidate) int {
	priorities := func(set []*candidate) []int32 {
		var all []int32
		for _, c := range set {
			all = append(all, -c.priority)
		}
		slices.Sort(all)
		return all
	}
	age, replicas, name := func(set []*candidate) (sum time.Duration) {
		for _, c := range set {
			sum += c.age
		}
		return sum
	}, func(set []*candidate) (sum int) {
		for _, c := range set {
			sum += c.replicas
		}
		return sum
	}, func(set []*candidate) []string {
		var all []string
		for _, c := range set {
			all = append(all, c.Spec.NodeName+" "+c.key())
		}
		return all
	}
	return cmp.Or(-slices.Compare(priorities(a), priorities(b)), cmp.Compare(age(a), age(b)), cmp.Compare(replicas(b), replicas(a)), slices.Compare(name(a), name(b)))
}

// nodeRoom is a node with what is free there, and the pods that may leave it.
type nodeRoom struct {
	*v1.Node
	free    amounts
	movable []*candidate
	stays   []world.BlockedPod
}

// freeWithout returns what is free of the resource when the pods have left.
func (n *nodeRoom) freeWithout(name v1.ResourceName, left []*candidate) int64 {
	free := n.free[name]
	for _, c := range left {
		free += c.requests[name]
	}
	return free
}

// slots returns how many pods with these requests the node has resources for when the pods in left have left.
func (n *nodeRoom) slots(need amounts, left []*candidate) int {
	least := int64(math.MaxInt32)
	for name, asked := range need {
		if asked > 0 {
			least = min(least, max(0, n.freeWithout(name, left))/asked)
		}
	}
	return int(least)
}

// room is what the nodes have for pods that ask, and who may move.
type room struct {
	*finder
	state *cluster.State
	nodes []*nodeRoom
	// byNode are the nodes by name.
	byNode map[string]*nodeRoom
	// waiting are the pods without a node, and need what each asks for at least.
	waiting []*v1.Pod
	need    amounts
	// deviceResources are resources that devices provide in place of nodes; only the scheduler knows where they are.
	deviceResources map[v1.ResourceName]bool
}

// newRoom looks at the state.
func (f *finder) newRoom(state *cluster.State) *room {
	r := &room{finder: f, state: state, byNode: map[string]*nodeRoom{}, deviceResources: map[v1.ResourceName]bool{}}
	for _, class := range state.DeviceClasses {
		if name := class.Spec.ExtendedResourceName; name != nil {
			r.deviceResources[v1.ResourceName(*name)] = true
		}
	}
	for _, n := range state.Nodes {
		free := newAmounts(n.Status.Allocatable)
		r.nodes = append(r.nodes, &nodeRoom{Node: n, free: free})
		r.byNode[n.Name] = r.nodes[len(r.nodes)-1]
	}
	owners, losesWork, counts := state.Owners(), state.LosesWork(), state.PodCounts()
	classes := alike.PodClasses{}
	options := node.DrainOptions{IgnoreDaemonSets: true, DeleteEmptyDirData: f.DeleteEmptyDirData}
	evictable := map[*v1.Pod]bool{}
	blocked := map[*v1.Pod]string{}
	for _, n := range state.Nodes {
		evict, stay, err := node.PodsToEvict(state, n.Name, options)
		if err != nil {
			continue // the node is in the state
		}
		for _, pod := range evict {
			evictable[pod] = true
		}
		for _, b := range stay {
			blocked[b.Pod] = b.Reason
		}
	}
	guards := state.Budgets()
	for _, pod := range state.Pods {
		owner := owners(pod)
		asks := f.asksFor(owner, pod)
		if cluster.IsUnscheduled(pod) && asks {
			r.waiting = append(r.waiting, pod)
			r.lowerNeed(requestsOf(pod))
		}
		n := r.byNode[pod.Spec.NodeName]
		if n == nil || cluster.IsTerminal(pod) {
			continue
		}
		requests := requestsOf(pod)
		for name, amount := range requests {
			n.free[name] -= amount
		}
		why := blocked[pod]
		if why == "" && (asks || !evictable[pod] || pod.DeletionTimestamp != nil || !cluster.KubeletResponds(n.Node)) {
			continue // it is known why, or no eviction would end
		}
		if why == "" && losesWork(pod) {
			why = "nothing replaces it, and its work is lost"
		}
		if why == "" && !f.ignoreBudgets && len(guards(pod)) > 0 {
			if _, err := node.Evict(state, pod); err != nil {
				why = strings.TrimPrefix(err.Error(), "Pod "+pod.Namespace+"/"+pod.Name+": ")
			}
		}
		if why != "" {
			n.stays = append(n.stays, world.BlockedPod{PodRef: cluster.NewPodRef(pod, owner), Reason: why})
			continue
		}
		started := pod.CreationTimestamp.Time
		if pod.Status.StartTime != nil {
			started = pod.Status.StartTime.Time
		}
		n.movable = append(n.movable, &candidate{Pod: pod, owner: owner, class: classes.Class(pod), requests: requests, priority: corev1.PodPriority(pod),
			age: max(0, state.Now.Sub(started)), replicas: counts[owner].Running})
	}
	for _, n := range r.nodes {
		slices.SortFunc(n.movable, func(a, b *candidate) int { return compareCost([]*candidate{a}, []*candidate{b}) })
	}
	return r
}

// lowerNeed lowers what each pod asks for at least to these requests.
func (r *room) lowerNeed(requests amounts) {
	if r.need == nil {
		r.need = requests
		for name := range r.deviceResources {
			delete(r.need, name)
		}
		return
	}
	for name, amount := range r.need {
		if r.need[name] = min(amount, requests[name]); r.need[name] == 0 {
			delete(r.need, name)
		}
	}
}

// fixedPlugins are filters whose refusal no move changes.
var fixedPlugins = []string{"PreFilter", "NodeUnschedulable", "NodeName", "NodeAffinity", "TaintToleration", "VolumeZone", "VolumeBinding"}

// distantPlugins are filters that look at pods on other nodes.
var distantPlugins = []string{"PodTopologySpread", "InterPodAffinity", "VolumeRestrictions"}

// isOpen reports whether the node may take the pod, however empty it is.
func isOpen(n *nodeRoom, pod *v1.Pod) bool {
	return !n.Spec.Unschedulable && cluster.KubeletResponds(n.Node) && cluster.Attracts(n.Node, pod) && !cluster.Repels(n.Node, pod)
}

// opens reports whether the node may take a pod that waits.
func (r *room) opens(n *nodeRoom) bool {
	if slices.Contains(fixedPlugins, r.refusals[n.Name]) {
		return false
	}
	return slices.ContainsFunc(r.waiting, func(pod *v1.Pod) bool { return isOpen(n, pod) })
}

// slotsFor returns for how many of the pods that wait the node may have room when the pods in left have left. If a filter other than the one for
// resources refuses the node because of its own pods, one of them has to leave.
func (r *room) slotsFor(n *nodeRoom, left []*candidate) int {
	if plugin := r.refusals[n.Name]; len(left) == 0 && plugin != "" && !slices.Contains(distantPlugins, plugin) {
		return 0
	}
	return min(n.slots(r.need, left), len(r.waiting))
}

// bestSlots returns an upper bound for slotsFor with any moved pods of that number: each resource may choose the pods for itself.
func (r *room) bestSlots(n *nodeRoom, moved int) int {
	if moved == 0 {
		return r.slotsFor(n, nil)
	}
	least := int64(len(r.waiting))
	for name, asked := range r.need {
		if asked == 0 {
			continue
		}
		held := make([]int64, len(n.movable))
		for i, c := range n.movable {
			held[i] = c.requests[name]
		}
		slices.SortFunc(held, func(a, b int64) int { return cmp.Compare(b, a) })
		free := n.free[name]
		for _, amount := range held[:min(moved, len(held))] {
			free += amount
		}
		least = min(least, max(0, free)/asked)
	}
	return int(least)
}

// leastMoves returns a number of moves below which the pods that wait do not all find room, and whether they may find room at all.
func (r *room) leastMoves() (int, bool) {
	const never = math.MaxInt32
	// fewest[s] is the least number of moves for s slots on the nodes so far.
	fewest := slices.Repeat([]int{never}, len(r.waiting)+1)
	fewest[0] = 0
	for _, n := range r.nodes {
		if !r.opens(n) {
			continue
		}
		next := slices.Clone(fewest)
		for moved, known := 0, 0; moved <= len(n.movable) && known < len(r.waiting); moved++ {
			slots := r.bestSlots(n, moved)
			if slots <= known {
				continue
			}
			known = slots
			for have, moves := range fewest {
				if to := min(have+slots, len(r.waiting)); moves < never {
					next[to] = min(next[to], moves+moved)
				}
			}
		}
		fewest = next
	}
	return fewest[len(r.waiting)], fewest[len(r.waiting)] < never
}

// fitsElsewhere reports whether some node that is not among the given ones has resources for the pod, as far as it may go there.
func (r *room) fitsElsewhere(c *candidate, cordoned []string) bool {
	if r.result.Scenario.Autoscaler != nil || r.result.Scenario.Deciders != nil {
		return true // which may add a node
	}
	need := c.requests
	for name := range r.deviceResources {
		if need[name] > 0 {
			return true
		}
	}
	return slices.ContainsFunc(r.nodes, func(n *nodeRoom) bool {
		return !slices.Contains(cordoned, n.Name) && n.slots(need, nil) > 0 && isOpen(n, c.Pod)
	})
}
