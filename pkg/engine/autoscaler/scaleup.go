package autoscaler

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Option is a way to help pods: a number of new nodes for one group.
type Option struct {
	Group string
	Nodes int
	Pods  []*v1.Pod
	// Held are pods that fit onto no further node of the group until the option's nodes exist.
	Held []HeldPods
	// Similar are the groups that can take some of the nodes.
	Similar []string
}

// podGroup has pods that the autoscaler considers equal: what holds for the first pod holds for all.
type podGroup struct {
	pods     []*v1.Pod
	fits     bool                // whether the pods fit onto a new node of some group
	rejected map[string][]string // by group, why they do not
}

// groupPods puts equal pods into groups. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/core/scaleup/equivalence/groups.go.
func (l *loop) groupPods(pods []*v1.Pod) []*podGroup {
	var all []*podGroup
	known, group := podKinds{}, map[*v1.Pod]*podGroup{}
	for _, pod := range pods {
		alone := metav1.GetControllerOfNoCopy(pod) == nil || isDaemonSetPod(pod)
		if one := known.representative(pod); one != nil && !alone {
			group[one].pods = append(group[one].pods, pod)
			continue
		}
		made := &podGroup{pods: []*v1.Pod{pod}, rejected: map[string][]string{}}
		all, group[pod] = append(all, made), made
		if !alone {
			known.addRepresentative(pod)
		}
	}
	if l.random != nil {
		l.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all
}

// expansion is a scale-up in progress.
type expansion struct {
	*loop
	all     []*podGroup
	nodes   []*v1.Node // with upcoming nodes
	quota   *quota
	skipped map[string][]string
	fitting map[string][]*podGroup // by group
}

// scaleUp adds nodes to the group that the expanders choose, and to similar groups. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/core/scaleup/orchestrator/orchestrator.go.
func (l *loop) scaleUp(help []*v1.Pod) {
	x := &expansion{loop: l, all: l.groupPods(help), nodes: l.snapshot.Nodes(), skipped: map[string][]string{}, fitting: map[string][]*podGroup{}}
	x.quota = l.newQuota(x.nodes, false)
	for _, group := range x.all {
		l.decision.Alike = append(l.decision.Alike, group.pods)
	}
	var valid []*Group
	for _, group := range l.groups {
		if why := x.skipReasons(group); why != nil {
			x.skipped[group.Name] = why
			continue
		}
		valid = append(valid, group)
	}
	for _, group := range valid {
		x.fitting[group.Name] = x.fittingPods(group, x.all)
	}
	for _, group := range valid {
		if option := x.estimateOption(group); option.Nodes > 0 && len(option.Pods) > 0 {
			l.decision.Options = append(l.decision.Options, option)
		}
	}
	if len(l.decision.Options) == 0 {
		l.decision.ScaleUp = ScaleUpNoOptions
		x.recordRefused()
		return
	}
	x.applyOption(x.chooseOption(l.decision.Options))
}

// skipReasons returns why the group cannot get nodes; nil if it can.
func (x *expansion) skipReasons(group *Group) []string {
	switch made := x.groupTemplates[group.Name]; {
	case !x.healthy(group):
		return []string{"not ready for scale-up"}
	case group.Target >= group.Max:
		return []string{"max node group size reached"}
	case made == nil:
		return []string{"not ready for scale-up"}
	default:
		_, why := x.quota.countAllowed(group.Name, made.node, 1)
		return why
	}
}

// fittingPods returns the groups of pods whose first pod fits onto a new node of the group.
func (x *expansion) fittingPods(group *Group, all []*podGroup) []*podGroup {
	x.snapshot.Fork()
	defer x.snapshot.Revert()
	made := x.groupTemplates[group.Name]
	x.snapshot.AddNode(made.node, made.pods...)
	var fitting []*podGroup
	for _, pods := range all {
		if reasons, fits := x.snapshot.Check(pods.pods[0], made.node.Name); fits {
			pods.fits = true
			fitting = append(fitting, pods)
		} else {
			pods.rejected[group.Name] = reasons
		}
	}
	return fitting
}

// estimateOption estimates how many new nodes of the group would help, and which pods they would help.
func (x *expansion) estimateOption(group *Group) Option {
	option := Option{Group: group.Name}
	if len(x.fitting[group.Name]) == 0 {
		return option
	}
	room := group.Max - group.Target
	for _, similar := range x.similarGroups(group) {
		option.Similar = append(option.Similar, similar.Name)
		room += max(similar.Max-similar.Target, 0)
	}
	limit := room
	if x.options.MaxNodesPerScaleUp > 0 {
		limit = min(limit, x.options.MaxNodesPerScaleUp)
	}
	if x.options.MaxNodesTotal > 0 {
		limit = min(limit, x.options.MaxNodesTotal-len(x.nodes))
	}
	option.Nodes, option.Pods, option.Held = x.estimateNodes(x.fitting[group.Name], x.groupTemplates[group.Name], limit)
	return option
}

// applyOption carries out the option, as far as limits allow.
func (x *expansion) applyOption(option Option) {
	d := x.decision
	d.Picked = option.Group
	group := x.findGroup(option.Group)
	nodes := option.Nodes
	if most := x.options.MaxNodesTotal; most > 0 && nodes+len(x.nodes) > most {
		x.addMaxNodesEvent()
		if nodes = most - len(x.nodes); nodes < 1 {
			d.ScaleUp = ScaleUpError
			return
		}
	}
	nodes, _ = x.quota.countAllowed(group.Name, x.groupTemplates[group.Name].node, nodes)
	targets := []*Group{group}
	for _, similar := range x.similarGroups(group) {
		if _, exceeded := x.quota.countAllowed(similar.Name, x.groupTemplates[similar.Name].node, 1); exceeded == nil {
			targets = append(targets, similar)
		}
	}
	for _, share := range balanceNodes(targets, nodes) {
		allowed := x.quota.take(share.Group, x.groupTemplates[share.Group].node, share.To-share.From)
		if share.To = share.From + allowed; allowed > 0 {
			d.Plan = append(d.Plan, share)
			x.findGroup(share.Group).Target = share.To
			asked := x.memory.requests[share.Group]
			x.memory.requests[share.Group] = scaleUpRequest{asked.increase + allowed, x.now.Add(x.options.MaxNodeProvisionTime)}
		}
	}
	d.ScaleUp, d.Helped = ScaleUpSuccessful, option.Pods
	x.memory.lastScaleUp = x.now
	for _, pods := range x.all {
		if _, later := pods.rejected[option.Group]; later && pods.fits {
			d.Await = append(d.Await, pods.pods...)
		}
	}
	x.recordRefused()
}

func (l *loop) findGroup(name string) *Group {
	return l.groups[slices.IndexFunc(l.groups, func(group *Group) bool { return group.Name == name })]
}

// recordRefused notes the pods that no group helps, and why.
func (x *expansion) recordRefused() {
	var without []*podGroup
	for _, pods := range x.all {
		if !pods.fits {
			without = append(without, pods)
		}
	}
	if x.options.SimulateSkippedGroups {
		for _, group := range x.groups {
			if _, skipped := x.skipped[group.Name]; skipped && x.groupTemplates[group.Name] != nil {
				x.fittingPods(group, without)
			}
		}
	}
	for _, pods := range without {
		skipped := x.skipped
		if x.options.SimulateSkippedGroups {
			skipped = maps.Clone(skipped)
			for group := range pods.rejected {
				delete(skipped, group)
			}
		}
		for _, pod := range pods.pods {
			x.decision.Refused = append(x.decision.Refused, RefusedPod{pod, pods.rejected, skipped})
		}
	}
}
