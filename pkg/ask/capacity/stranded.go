package capacity

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/variant"
)

// The reasons why no workload can use the free part of a resource of a node. The first that applies counts.
const (
	TakesNoPods    = "takesNoPods"
	BehindTaints   = "behindTaints"
	NotSelected    = "notSelected"
	NoPodsLeft     = "podsPerNode"
	WithoutMemory  = "withoutMemory"
	WithoutCPU     = "withoutCPU"
	WithoutAnother = "withoutAnother"
	TooLittle      = "tooLittle"
)

// Stranded is free capacity that no workload of the cluster can use: no further pod of any workload fits on the node, by its resources,
// taints and labels alone. It does not count what rules between pods, or volumes, refuse.
type Stranded struct {
	// Workloads is the number of workloads that could use free capacity: all with a running or Pending pod, without DaemonSets and static
	// pods.
	Workloads int `json:"workloads"`
	// All sums up all nodes, and Groups the nodes of each group.
	All    Idle   `json:"all"`
	Groups []Idle `json:"groups"`
}

// Idle is the free capacity of nodes.
type Idle struct {
	// Group is the name of the node group; missing for all nodes.
	Group string `json:"group,omitempty"`
	Nodes int    `json:"nodes"`
	// Members are the nodes.
	Members []*v1.Node `json:"-"`
	// UsableBy is the number of workloads with a further pod that fits on one of the nodes.
	UsableBy int   `json:"usableBy"`
	CPU      Spare `json:"cpu"`
	Memory   Spare `json:"memory"`
}

// Spare is the free part of a resource: of CPU in cores, of memory in bytes.
type Spare struct {
	Allocatable float64 `json:"allocatable"`
	// DaemonSets is the sum of what the pods of DaemonSets request on the nodes.
	DaemonSets float64 `json:"daemonSets"`
	// Free is what no pod requests, summed over the nodes, of which none counts as negative. Stranded is the part of Free that no workload
	// can use.
	Free     float64 `json:"free"`
	Stranded float64 `json:"stranded"`
	// Reasons are the parts of Stranded, the largest first.
	Reasons []StrandedBy `json:"reasons,omitempty"`
}

// StrandedBy is the part of a stranded resource with one reason.
type StrandedBy struct {
	// Why is the first reason that applies to the node. takesNoPods: it is cordoned or does not answer. behindTaints: no workload tolerates
	// its taints. notSelected: the workloads that do select other nodes. podsPerNode: it has no place for one more pod. withoutMemory,
	// withoutCPU, withoutAnother: this resource is free, but memory, CPU or a third resource is short. tooLittle: too little of this
	// resource itself is free.
	Why    string  `json:"why" jsonschema:"enum=takesNoPods,enum=behindTaints,enum=notSelected,enum=podsPerNode,enum=withoutMemory,enum=withoutCPU,enum=withoutAnother,enum=tooLittle"`
	Amount float64 `json:"amount"`
}

// FindStranded finds the free capacity that no workload can use, in all and for each group of nodes. levels are further label keys that say
// where a node is.
func FindStranded(state *cluster.State, levels []string) (*Stranded, error) {
	groups, err := GroupsOf(state.Nodes, state.Pods, state.ResourceSlices, levels)
	if err != nil {
		return nil, err
	}
	f := &strandedFinder{owner: state.Owners(), pods: list.GroupBy(state.Pods, func(pod *v1.Pod) string { return pod.Spec.NodeName })}
	f.spare, _ = freeResources(state)
	seen := map[cluster.Ref]bool{}
	for _, pod := range state.Pods {
		owner := f.owner(pod)
		if cluster.IsActive(pod) && !variant.FollowsNodes(pod) && owner.Kind != "DaemonSet" && !seen[owner] {
			seen[owner] = true
			f.workloads = append(f.workloads, furtherPod{pod, amounts{}})
			f.workloads[len(f.workloads)-1].asks.addQuantities(requests(pod), 1)
		}
	}
	s := &Stranded{Workloads: len(f.workloads), All: f.sumIdle("", state.Nodes)}
	for i := range groups {
		var nodes []*v1.Node
		for _, zone := range groups[i].Zones {
			nodes = append(nodes, zone.Nodes...)
		}
		s.Groups = append(s.Groups, f.sumIdle(groups[i].Name, nodes))
	}
	return s, nil
}

// furtherPod is one more pod of a workload, as a copy of a pod that it has, and what that pod requests.
type furtherPod struct {
	pod  *v1.Pod
	asks amounts
}

type strandedFinder struct {
	owner     func(*v1.Pod) cluster.Ref
	pods      [][]*v1.Pod // by node
	spare     map[string]amounts
	workloads []furtherPod
}

// sumIdle sums up the free capacity of the nodes.
func (f *strandedFinder) sumIdle(group string, nodes []*v1.Node) Idle {
	idle := Idle{Group: group, Nodes: len(nodes), Members: nodes}
	idle.UsableBy = len(list.Where(f.workloads, func(d furtherPod) bool {
		return slices.ContainsFunc(nodes, func(node *v1.Node) bool { return f.takesPod(d, node) })
	}))
	names := list.KeySet(nodes, func(node *v1.Node) string { return node.Name })
	daemons := amounts{}
	for _, pods := range f.pods {
		if !names[pods[0].Spec.NodeName] {
			continue
		}
		for _, pod := range pods {
			if !cluster.IsTerminal(pod) && f.owner(pod).Kind == "DaemonSet" {
				daemons.addQuantities(requests(pod), 1)
			}
		}
	}
	for _, of := range []struct {
		name  v1.ResourceName
		spare *Spare
	}{{v1.ResourceCPU, &idle.CPU}, {v1.ResourceMemory, &idle.Memory}} {
		var total, free, stranded int64
		by := map[string]int64{}
		for _, node := range nodes {
			all := amounts{}
			all.addQuantities(node.Status.Allocatable, 1)
			has := max(0, f.spare[node.Name][of.name])
			total, free = total+all[of.name], free+has
			if why := f.explainUnusable(node, of.name); has > 0 && why != "" {
				stranded += has
				by[why] += has
			}
		}
		*of.spare = Spare{Allocatable: inUnits(of.name, total), DaemonSets: inUnits(of.name, daemons[of.name]), Free: inUnits(of.name, free), Stranded: inUnits(of.name, stranded)}
		for why, amount := range by {
			of.spare.Reasons = append(of.spare.Reasons, StrandedBy{why, inUnits(of.name, amount)})
		}
		slices.SortFunc(of.spare.Reasons, func(a, b StrandedBy) int {
			return cmp.Or(cmp.Compare(b.Amount, a.Amount), cmp.Compare(a.Why, b.Why))
		})
	}
	return idle
}

// takesPod reports whether the node takes the pod, by its resources, taints and labels alone.
func (f *strandedFinder) takesPod(d furtherPod, node *v1.Node) bool {
	return cluster.KubeletResponds(node) && !node.Spec.Unschedulable && !cluster.Repels(node, d.pod) && cluster.Attracts(node, d.pod) && len(f.shortResources(d, node)) == 0
}

// shortResources returns the resources of which the node has less free than the pod requests.
func (f *strandedFinder) shortResources(d furtherPod, node *v1.Node) (all []v1.ResourceName) {
	for resource, asked := range d.asks {
		if asked > 0 && asked > f.spare[node.Name][resource] {
			all = append(all, resource)
		}
	}
	return all
}

// explainUnusable says why no workload can use the free part of the resource on the node; "" if some pod fits there.
func (f *strandedFinder) explainUnusable(node *v1.Node, name v1.ResourceName) string {
	if !cluster.KubeletResponds(node) || node.Spec.Unschedulable {
		return TakesNoPods
	}
	tolerate := list.Where(f.workloads, func(d furtherPod) bool { return !cluster.Repels(node, d.pod) })
	if len(tolerate) == 0 {
		return BehindTaints
	}
	able := list.Where(tolerate, func(d furtherPod) bool { return cluster.Attracts(node, d.pod) })
	if len(able) == 0 {
		return NotSelected
	}
	other, without := v1.ResourceMemory, WithoutMemory
	if name == v1.ResourceMemory {
		other, without = v1.ResourceCPU, WithoutCPU
	}
	why := TooLittle
	for _, d := range able {
		switch short := f.shortResources(d, node); {
		case len(short) == 0:
			return ""
		case f.spare[node.Name][v1.ResourcePods] < 1:
			return NoPodsLeft
		case slices.Contains(short, name):
		case slices.Equal(short, []v1.ResourceName{other}):
			why = without
		case why == TooLittle:
			why = WithoutAnother
		}
	}
	return why
}
