package peak

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// Replacement is a number of nodes of a group that the next larger shape replaces: twice the CPU and the memory, for twice the price, as the
// types of a family of a cloud are sized and priced.
type Replacement struct {
	Group string `json:"group"`
	Zone  string `json:"zone,omitempty"`
	// Nodes are the names of the nodes that go.
	Nodes []string `json:"nodes"`
	// CPU, Memory and Pods are the size of each new node: what it has, and the number of pods that it takes.
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
	Pods   string `json:"pods"`
}

// largerLabel is the label of the larger nodes, and largerType its value.
const (
	largerType  = "twice-the-size"
	largerLabel = v1.LabelInstanceTypeStable + "=" + largerType
)

// enlargeNodes finds nodes to replace by larger ones: as many as more nodes would be, in the same groups and zones or, if more nodes do not help,
// one in each zone of each group that the pods without a node may use; and then twice as many, until every pod has a node. A node with a pod that
// nothing replaces stays.
func (f *finder) enlargeNodes(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	if f.base.Scenario.Autoscaler != nil {
		return f.enlargeGroups(ctx, answer, domains)
	}
	groups, err := f.growingGroups()
	if err != nil {
		return nil, err
	}
	groups = f.withoutBarePods(groups)
	counts := f.countLarger(answer, groups)
	var best *Remedy
	before := len(answer.claims)
	for tries := range answer.limitTries(largerTries) {
		r := &Remedy{Kind: "larger"}
		steps, all := r.replaceNodes(groups, counts, 1<<tries)
		if len(steps) == 0 {
			return nil, nil
		}
		claims := len(answer.claims)
		found, err := f.trySteps(ctx, r, answer, steps, domains)
		if err != nil {
			return nil, err
		}
		if best = answer.keepBetter(best, found, before, claims); best != nil && best.Most() == 0 || all {
			break
		}
	}
	return best, nil
}

// largerTries is the largest number of tries with larger nodes, if few pods have no node.
const largerTries = 3

// countLarger returns how many nodes of each group to replace first.
func (f *finder) countLarger(answer *Answer, groups []growingGroup) []int {
	counts := make([]int, len(groups))
	if at := slices.IndexFunc(answer.Remedies, func(r Remedy) bool { return r.Kind == "nodes" }); at >= 0 {
		for _, add := range answer.Remedies[at].Add {
			if g := slices.IndexFunc(groups, func(g growingGroup) bool { return g.group == add.Group && g.zone == add.Zone }); g >= 0 {
				counts[g] = add.Nodes
			}
		}
		return counts
	}
	waiting := f.firstWaiting(answer)
	for i := range groups {
		node := groups[i].nodes[0]
		if slices.ContainsFunc(waiting, func(pod *v1.Pod) bool { return cluster.Attracts(node, pod) && !cluster.Repels(node, pod) }) {
			counts[i] = 1
		}
	}
	return counts
}

// withoutBarePods returns the groups without nodes that have a pod without a controller, and without groups that have no other nodes.
func (f *finder) withoutBarePods(groups []growingGroup) []growingGroup {
	bare := f.nodesOfBarePods()
	for i := range groups {
		groups[i].nodes = list.Without(groups[i].nodes, func(n *v1.Node) bool { return bare[n.Name] })
	}
	return list.Where(groups, func(g growingGroup) bool { return len(g.nodes) > 0 })
}

// nodesOfBarePods returns the names of the nodes that have a pod without a controller.
func (f *finder) nodesOfBarePods() map[string]bool {
	bare := map[string]bool{}
	for _, pod := range f.before.state.Pods {
		if metav1.GetControllerOfNoCopy(pod) == nil && !cluster.IsTerminal(pod) {
			bare[pod.Spec.NodeName] = true
		}
	}
	return bare
}

// firstWaiting returns a pod of each workload without a node for some of its pods.
func (f *finder) firstWaiting(answer *Answer) []*v1.Pod {
	var all []*v1.Pod
	for _, s := range answer.Starved {
		if spec, _ := cluster.PodSpec(f.before.state.Find(s.ref)); spec != nil {
			all = append(all, &v1.Pod{Spec: *spec})
		}
	}
	return all
}

// replaceNodes sets the nodes that larger ones replace, the count of each group so many times, with what that costs. It returns the steps, and
// whether no node of these groups is left.
func (r *Remedy) replaceNodes(groups []growingGroup, counts []int, times int) (steps []scenario.LoadedStep, all bool) {
	all = true
	price := newSum()
	var parts []string
	for i, g := range groups {
		if counts[i] == 0 {
			continue
		}
		nodes := g.nodes[max(0, len(g.nodes)-counts[i]*times):]
		all = all && len(nodes) == len(g.nodes)
		larger := newReplacement(g.group, g.zone, nodes)
		r.Replace, steps = append(r.Replace, larger), append(steps, larger.step(g.Name, len(nodes)))
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s %s", len(nodes), g.group, g.zone)))
		price.add(g.Price, len(nodes), nodes[0])
	}
	r.Price, r.cores = price.prices, price.cores
	r.What = "nodes of twice the size in place of " + words.Few(parts)
	return steps, all
}

// newReplacement returns the replacement of the nodes, which have one size.
func newReplacement(group, zone string, nodes []*v1.Node) Replacement {
	has := nodes[0].Status.Capacity
	if has == nil {
		has = nodes[0].Status.Allocatable
	}
	larger := Replacement{Group: group, Zone: zone, Nodes: list.Map(nodes, func(n *v1.Node) string { return n.Name }),
		CPU: twice(has[v1.ResourceCPU]), Memory: twice(has[v1.ResourceMemory]), Pods: twice(has[v1.ResourcePods])}
	if pods := has.Pods().Value(); 2*pods > usualPods {
		larger.Pods = fmt.Sprint(max(pods, usualPods))
	}
	return larger
}

// step returns the step that replaces the nodes by count larger ones, or by half as many if count is 0.
func (r *Replacement) step(of string, count int) scenario.LoadedStep {
	return scenario.LoadedStep{Step: scenario.Step{Name: "larger nodes of " + of, ReplaceNodes: &scenario.ReplaceNodes{
		Nodes: scenario.Nodes{Names: r.Nodes}, Label: largerLabel, Count: count, CPU: topology.Quantity(r.CPU), Memory: topology.Quantity(r.Memory), Pods: topology.Quantity(r.Pods)}}}
}

// usualPods is the number of pods that a kubelet takes unless somebody says otherwise; clouds that allow fewer on small nodes allow more on larger
// ones.
const usualPods = 110

// twice returns the quantity two times.
func twice(of resource.Quantity) string {
	of.Add(of.DeepCopy())
	return of.String()
}
