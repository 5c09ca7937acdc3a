package autoscaler

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Group is a group of equal nodes whose size the autoscaler may change.
type Group struct {
	Name     string
	Min, Max int
	// Target is the number of nodes that the group should have. Some of them may not exist yet.
	Target int
	// Nodes are the names of the group's nodes.
	Nodes []string
	// Template is what a new node looks like; nil if unknown. It counts only if the group has had no ready node.
	Template *v1.Node
}

// nodeCounts counts the nodes of a group or of the cluster by state.
type nodeCounts struct {
	registered, ready, unready, suspended int
	starting                              []string // not ready yet
}

// scaleUpRequest is a scale-up whose nodes have not all come yet.
type scaleUpRequest struct {
	increase int
	until    time.Time // when the scale-up counts as failed
}

// drift is a difference between a group's target and its number of nodes.
type drift struct {
	nodes, target int
	since         time.Time
}

// readiness reports whether the node is ready, and when that last changed. A node without a Ready condition is ready, such as one written
// by hand. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/utils/kubernetes/ready.go.
func readiness(node *v1.Node) (ready bool, since time.Time) {
	ready = true
	for _, condition := range node.Status.Conditions {
		switch condition.Type {
		case v1.NodeReady:
			ready = ready && condition.Status == v1.ConditionTrue
		case v1.NodeDiskPressure, v1.NodeNetworkUnavailable:
			ready = ready && condition.Status != v1.ConditionTrue
		default:
			continue
		}
		if since.Before(condition.LastTransitionTime.Time) {
			since = condition.LastTransitionTime.Time
		}
	}
	for _, taint := range node.Spec.Taints {
		switch taint.Key {
		case v1.TaintNodeNotReady, v1.TaintNodeDiskPressure, v1.TaintNodeNetworkUnavailable:
			ready = false
			if taint.TimeAdded != nil && since.Before(taint.TimeAdded.Time) {
				since = taint.TimeAdded.Time
			}
		}
		ready = ready && !isStartupTaint(taint.Key)
	}
	return ready, since
}

// countNodes counts the nodes of each group and of the cluster. See updateReadinessStats in
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/clusterstate/clusterstate.go;
// the following functions are from that file, too.
func (l *loop) countNodes() {
	l.counts = map[string]*nodeCounts{}
	for _, node := range l.nodes {
		in := []*nodeCounts{&l.total}
		if group := l.groupOf[node.Name]; group != nil {
			if l.counts[group.Name] == nil {
				l.counts[group.Name] = &nodeCounts{}
			}
			in = append(in, l.counts[group.Name])
		}
		ready, _ := readiness(node)
		suspended := slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
			return c.Type == "Suspended" && c.Status == v1.ConditionTrue
		})
		for _, c := range in {
			c.registered++
			switch {
			case suspended:
				c.suspended++
			case ready:
				c.ready++
			case node.CreationTimestamp.Add(l.options.MaxNodeStartupTime).After(l.now):
				c.starting = append(c.starting, node.Name)
			default:
				c.unready++
			}
		}
	}
}

// settleRequests forgets scale-ups whose nodes have come or whose time is over, and notes groups that differ from their targets. If a group
// has had too few nodes for --max-node-provision-time, it lowers the group's target, and reports that the loop must end.
func (l *loop) settleRequests() (ends bool) {
	for _, group := range l.groups {
		if asked, found := l.memory.requests[group.Name]; found && (l.missingNodes(group) <= 0 || asked.until.Before(l.now)) {
			delete(l.memory.requests, group.Name)
		}
	}
	before := l.memory.drifts
	l.memory.drifts = map[string]drift{}
	for _, group := range l.groups {
		c := l.counts[group.Name]
		if c == nil || c.registered == group.Target {
			continue
		}
		now := drift{c.registered, group.Target, l.now}
		if was := before[group.Name]; was.nodes == now.nodes && was.target == now.target {
			now.since = was.since
		}
		l.memory.drifts[group.Name] = now
		if now.nodes < now.target && now.since.Add(l.options.MaxNodeProvisionTime).Before(l.now) {
			group.Target, ends = now.nodes, true
		}
	}
	return ends
}

// missingNodes returns how many nodes the group lacks.
func (l *loop) missingNodes(group *Group) int {
	c := l.countsOfGroup(group)
	return group.Target - c.ready - c.unready - c.suspended
}

func (l *loop) countsOfGroup(group *Group) nodeCounts {
	if c := l.counts[group.Name]; c != nil {
		return *c
	}
	return nodeCounts{}
}

// upcomingNodes returns how many of the nodes that the autoscaler asked for the group still lacks.
func (l *loop) upcomingNodes(group *Group) int {
	if _, asked := l.memory.requests[group.Name]; !asked {
		return 0
	}
	return max(l.missingNodes(group), 0)
}

// tooManyUnready reports whether more of the nodes are unready than the autoscaler accepts.
func (l *loop) tooManyUnready(unready, of int) bool {
	return unready > l.options.OkTotalUnreadyCount && float64(unready) > l.options.MaxTotalUnreadyPercentage/100*float64(of)
}

// healthy reports whether the group has most of the nodes that it should have by now.
func (l *loop) healthy(group *Group) bool {
	least := group.Target - l.memory.requests[group.Name].increase
	c := l.counts[group.Name]
	if c == nil {
		return group.Target == 0 || least == 0
	}
	return !l.tooManyUnready(least-c.ready-c.suspended, c.ready+c.unready+len(c.starting)+c.suspended)
}
