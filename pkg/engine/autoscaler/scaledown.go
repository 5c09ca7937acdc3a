package autoscaler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Unremovable is why a node stays for now.
type Unremovable struct {
	Reason string
	// Pod is the pod that keeps the node, and PodReason is why, if Reason is BlockedByPod.
	Pod       *v1.Pod
	PodReason string
}

// Removal is a node that can be removed, with the pods that must move. It is risky if a budget does not allow all of them to move at once.
type Removal struct {
	Node  string
	Pods  []*v1.Pod
	Risky bool
	waits bool // until a pod runs to its end
}

// Utilization is the share of a node's CPU and memory that its pods request.
type Utilization struct{ CPU, Memory float64 }

// largerShare returns the larger share, and its resource.
func (u Utilization) largerShare() (float64, v1.ResourceName) {
	if u.CPU > u.Memory {
		return u.CPU, v1.ResourceCPU
	}
	return u.Memory, v1.ResourceMemory
}

// String returns the autoscaler's text. GPUs and devices, which are 0 in it, are not supported here.
func (u Utilization) String() string {
	share, of := u.largerShare()
	return fmt.Sprintf("{%v %v 0 0 %s %v}", u.CPU, u.Memory, of, share)
}

// scaleDown finds the nodes that are not needed, and removes those that have not been needed for long enough. See scaleDown in
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/core/static_autoscaler.go, and
// pkg/core/scaledown there.
func (l *loop) scaleDown() {
	d := l.decision
	d.Unremovable, d.Utilization = map[string]Unremovable{}, map[string]Utilization{}
	candidates := l.findCandidates()
	unneeded := l.findUnneeded(candidates)
	after := func(t time.Time, delay time.Duration) bool { return !t.IsZero() && t.Add(delay).After(l.now) }
	switch {
	case l.paused || after(l.memory.lastScaleUp, l.options.DelayAfterAdd) || after(l.memory.lastDelete, l.options.DelayAfterDelete):
		d.ScaleDown = ScaleDownInCooldown
	case len(candidates) == 0:
		d.ScaleDown = ScaleDownNoCandidates
	default:
		d.Removable = l.findRemovable(unneeded)
		d.Deleted = l.limitDeletions(d.Removable)
		d.ScaleDown = ScaleDownNoNodeDeleted
		if len(d.Deleted) > 0 {
			d.ScaleDown = ScaleDownNodeDeleteStarted
			l.memory.lastDelete = l.now
			l.addNodeEvents()
		}
	}
}

// findCandidates returns the nodes of groups that are above their minimum. Empty nodes come first; among equals, nodes that were not needed in
// the last loop do.
func (l *loop) findCandidates() []string {
	var names []string
	rank := map[string]int{}
	for _, node := range l.nodes {
		group := l.groupOf[node.Name]
		if group == nil || group.Target <= group.Min {
			continue
		}
		names = append(names, node.Name)
		move, wait, block := (&drain{options: &l.options, now: l.now}).splitPods(l.snapshot.Pods(node.Name))
		empty := block == nil && len(move) == 0
		_, before := l.memory.unneeded[node.Name]
		for i, late := range []bool{!before, empty && len(wait) > 0, !empty} {
			if late {
				rank[node.Name] += 1 << i
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank[a], rank[b]) })
	l.decision.Candidates = names
	return names
}

// findUnneeded returns the candidates whose pods fit elsewhere. For each candidate, the unneeded ones before it are already gone.
func (l *loop) findUnneeded(candidates []string) []Removal {
	l.updateInterval()
	l.snapshot.Fork()
	defer l.snapshot.Revert()
	maps.DeleteFunc(l.memory.unremovable, func(name string, until time.Time) bool { return l.snapshot.Node(name) == nil || !until.After(l.now) })
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(name string) bool {
		reason := l.ineligibleReason(name)
		if reason != "" {
			l.decision.Unremovable[name] = Unremovable{Reason: reason}
		}
		return reason != ""
	})
	destinations := map[string]bool{}
	for _, node := range l.nodes {
		destinations[node.Name] = true
	}
	drain, limit := l.newDrain(), l.unneededLimit()
	var unneeded []Removal
	since := map[string]time.Time{}
	for _, name := range candidates {
		if len(unneeded) >= limit {
			break
		}
		move, wait, block := drain.splitPods(l.snapshot.Pods(name))
		switch {
		case block != nil:
			l.markUnremovable(name, Unremovable{"BlockedByPod", block.pod, block.why})
			continue
		case !l.fitElsewhere(name, move, destinations):
			l.markUnremovable(name, Unremovable{Reason: "NoPlaceToMovePods"})
			continue
		}
		delete(destinations, name)
		unneeded = append(unneeded, Removal{Node: name, Pods: move, Risky: drain.takeDisruptions(move), waits: len(wait) > 0})
		since[name] = l.now
		if before, was := l.memory.unneeded[name]; was {
			since[name] = before
		}
	}
	l.memory.unneeded = since
	l.memory.moveHints.age()
	l.decision.Unneeded = slices.Sorted(maps.Keys(since))
	return unneeded
}

// markUnremovable notes why a node stays, and that the autoscaler does not look at it again for a while.
func (l *loop) markUnremovable(name string, why Unremovable) {
	l.decision.Unremovable[name] = why
	l.memory.unremovable[name] = l.now.Add(l.options.RecheckTimeout)
}

// updateInterval updates the shortest time between two searches for unneeded nodes.
func (l *loop) updateInterval() {
	if !l.memory.lastLook.IsZero() {
		l.memory.shortestInterval = min(l.memory.shortestInterval, l.now.Sub(l.memory.lastLook))
	}
	l.memory.lastLook = l.now
}

// unneededLimit returns how many unneeded nodes are enough: the autoscaler could not remove more before its next search. See the planner's
// unneededNodesLimit.
func (l *loop) unneededLimit() int {
	n := l.options.MaxScaleDownParallelism
	interval := max(l.memory.shortestInterval, 1)
	return min(len(l.memory.unneeded)+2*n, n*int(max(l.options.UnneededTime, interval)/interval)+n)
}

// ineligibleReason returns why a node stays, whatever its pods are; "" if its pods decide.
func (l *loop) ineligibleReason(name string) string {
	if _, recent := l.memory.unremovable[name]; recent {
		return "RecentlyUnremovable"
	}
	node := l.snapshot.Node(name)
	if node == nil {
		return "UnexpectedError"
	}
	if node.Annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] == "true" {
		return "ScaleDownDisabledAnnotation"
	}
	used, known := l.utilization(node)
	if !known {
		return "UnexpectedError"
	}
	if ready, _ := readiness(node); !ready && !l.options.ScaleDownUnready {
		return "ScaleDownUnreadyDisabled"
	}
	l.decision.Utilization[name] = used
	if share, _ := used.largerShare(); share > l.options.UtilizationThreshold {
		return "NotUnderutilized"
	}
	return ""
}

// utilization returns the shares of the node that its pods request, and whether the node has both CPU and memory.
func (l *loop) utilization(node *v1.Node) (used Utilization, known bool) {
	for resource, to := range map[v1.ResourceName]*float64{v1.ResourceCPU: &used.CPU, v1.ResourceMemory: &used.Memory} {
		allocatable := node.Status.Allocatable[resource]
		if allocatable.MilliValue() == 0 {
			return used, false
		}
		var asked, aside int64
		for _, pod := range l.snapshot.Pods(node.Name) {
			list := podRequests(pod)
			amount := list[resource]
			switch {
			case l.options.IgnoreDaemonSetsUtilization && isDaemonSetPod(pod), l.options.IgnoreMirrorPodsUtilization && isMirror(pod):
				aside += amount.MilliValue()
			case !isLongTerminating(pod, l.now):
				asked += amount.MilliValue()
			}
		}
		*to = float64(asked) / float64(allocatable.MilliValue()-aside)
	}
	return used, true
}

// fitElsewhere reports whether the pods of a node fit onto the destinations. If they do, the snapshot loses the node, and has the pods at
// their new places. While fitElsewhere places the pods, the node is still in the snapshot, empty and tainted as during a drain: topology
// spread counts it.
func (l *loop) fitElsewhere(name string, pods []*v1.Pod, destinations map[string]bool) bool {
	l.snapshot.Fork()
	ghost := *l.snapshot.Node(name)
	ghost.Spec.Taints = append(slices.Clip(ghost.Spec.Taints), v1.Taint{Key: toBeDeleted, Value: fmt.Sprint(l.now.Unix()), Effect: v1.TaintEffectNoSchedule})
	l.snapshot.ReplaceNode(&ghost)
	unbound := make([]*v1.Pod, len(pods))
	for i, pod := range pods {
		copied := *pod
		copied.Spec.NodeName = ""
		unbound[i] = &copied
	}
	acceptable := func(node string) bool { return node != name && destinations[node] }
	if stay := l.placePods(unbound, &l.memory.moveHints, acceptable, true, func(*v1.Pod, string) {}); len(stay) > 0 {
		l.snapshot.Revert()
		return false
	}
	l.snapshot.RemoveNode(name)
	l.snapshot.Commit()
	return true
}

// findRemovable returns the nodes that have not been needed for long enough, as far as minima allow: empty nodes first, risky ones last.
func (l *loop) findRemovable(unneeded []Removal) []Removal {
	if l.random != nil {
		l.random.Shuffle(len(unneeded), func(i, j int) { unneeded[i], unneeded[j] = unneeded[j], unneeded[i] })
	}
	rank := func(r Removal) int {
		switch {
		case len(r.Pods) == 0:
			return 0
		case !r.Risky:
			return 1
		}
		return 2
	}
	quota := l.newQuota(l.snapshot.Nodes(), true)
	size := map[string]int{}
	for _, group := range l.groups {
		size[group.Name] = group.Target
	}
	ordered := slices.Clone(unneeded)
	slices.SortStableFunc(ordered, func(a, b Removal) int { return cmp.Compare(min(rank(a), 1), min(rank(b), 1)) })
	var removable []Removal
	for _, removal := range ordered {
		node, group := l.snapshot.Node(removal.Node), l.groupOf[removal.Node]
		threshold, early := l.options.UnneededTime, "NotUnneededLongEnough"
		if ready, _ := readiness(node); !ready {
			threshold, early = l.options.UnreadyTime, "NotUnreadyLongEnough"
		}
		why := ""
		switch {
		case threshold > 0 && !l.memory.unneeded[removal.Node].Add(threshold).Before(l.now):
			why = early
		case size[group.Name] <= group.Min:
			why = "NodeGroupMinSizeReached"
		case quota.take(group.Name, node, 1) == 0:
			why = "MinimalResourceLimitExceeded"
		default:
			size[group.Name]--
			if removal.waits {
				why = "BlockedByOnCompletionPod"
			}
		}
		if why != "" {
			l.decision.Unremovable[removal.Node] = Unremovable{Reason: why}
			continue
		}
		removable = append(removable, removal)
	}
	slices.SortStableFunc(removable, func(a, b Removal) int { return cmp.Compare(rank(a), rank(b)) })
	return removable
}

// limitDeletions returns the nodes that may be deleted at once: empty nodes first, up to --max-scale-down-parallelism, then others, up to
// --max-drain-parallelism of them; each group by group. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/core/scaledown/budgets/budgets.go.
func (l *loop) limitDeletions(removable []Removal) []Removal {
	first := map[string]int{}
	for i, removal := range removable {
		key := fmt.Sprint(len(removal.Pods) > 0, l.groupOf[removal.Node].Name)
		if _, seen := first[key]; !seen {
			first[key] = i
		}
	}
	place := func(r Removal) int { return first[fmt.Sprint(len(r.Pods) > 0, l.groupOf[r.Node].Name)] }
	ordered := slices.Clone(removable)
	slices.SortStableFunc(ordered, func(a, b Removal) int { return cmp.Compare(place(a), place(b)) })
	left, drains := l.options.MaxScaleDownParallelism, l.options.MaxDrainParallelism
	var chosen []Removal
	for _, removal := range ordered {
		if left < 1 || len(removal.Pods) > 0 && drains < 1 {
			break
		}
		if left--; len(removal.Pods) > 0 {
			drains--
		}
		chosen = append(chosen, removal)
	}
	return chosen
}

// addNodeEvents reports the nodes that are removed.
func (l *loop) addNodeEvents() {
	for _, removal := range l.decision.Deleted {
		l.decision.Events = append(l.decision.Events, Event{Reason: "ScaleDown", Message: "marked the node as toBeDeleted/unschedulable", Node: removal.Node})
		if len(removal.Pods) == 0 {
			l.addEvent("ScaleDownEmpty", "Scale-down: removing empty node %q", removal.Node)
			continue
		}
		var evicted []string
		for _, pod := range l.snapshot.Pods(removal.Node) {
			if !isMirror(pod) && !isDaemonSetPod(pod) {
				evicted = append(evicted, pod.Name)
			}
		}
		used, _ := l.utilization(l.snapshot.Node(removal.Node))
		l.addEvent("ScaleDown", "Scale-down: removing node %s, utilization: %v, pods to reschedule: %s", removal.Node, used, strings.Join(evicted, ","))
	}
}
