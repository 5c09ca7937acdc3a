package variant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/world"
)

// NodeMaker makes the nodes for a cluster of another size.
type NodeMaker struct {
	// state has the existing nodes, and what kubelets and drivers publish about them.
	state  *cluster.State
	byName map[string]*v1.Node
}

// NewNodeMaker returns a maker of nodes like those of the scenario's cluster.
func NewNodeMaker(s *scenario.Scenario) *NodeMaker {
	var all []cluster.Object
	for _, obj := range s.Objects() {
		switch obj.(type) {
		case *v1.Node, *storagev1.CSINode, *resourcev1.ResourceSlice:
			all = append(all, obj)
		}
	}
	state := (&cluster.State{}).With(all...)
	return &NodeMaker{state, state.NodesByName()}
}

// Make returns as many nodes as of asks for: first existing ones, then new ones, with what kubelets and drivers publish about the new ones.
// With two nodes to copy and a count of 5, these are the two existing nodes, then copies of the first, the second and the first.
func (n *NodeMaker) Make(of scenario.NodesLike) []cluster.Object {
	var all []cluster.Object
	for i := range of.Count {
		like := n.byName[of.Like[i%len(of.Like)]]
		if i < len(of.Like) && of.Type == nil {
			all = append(all, like)
			continue
		}
		made := like.DeepCopy()
		if of.Type != nil {
			resizeNode(made, of.Type)
		}
		all = append(all, world.NewNodeObjects(n.state, like, made, newNodeName(&of, i))...)
	}
	return all
}

// newNodeName returns the name of the i-th node.
func newNodeName(of *scenario.NodesLike, i int) string {
	name := strings.ReplaceAll(cmp.Or(of.Name, of.Like[0]), " ", "-")
	return strings.ToLower(strings.Trim(fmt.Sprintf("%s-new-%d", name, i+1), "-"))
}

// resizeNode turns the node into one of the type.
func resizeNode(node *v1.Node, t *topology.NodeType) {
	metav1.SetMetaDataLabel(&node.ObjectMeta, v1.LabelInstanceTypeStable, t.Name)
	if _, labelled := node.Labels[v1.LabelInstanceType]; labelled {
		node.Labels[v1.LabelInstanceType] = t.Name
	}
	size, _ := t.Size(nil) // variants with an invalid type are rejected before
	topology.Resize(node, size)
}

// UnbindAllPods returns the scenario without nodes and with all pods unbound, to be placed again; it unbinds the pods of steps, too, since a dump
// can be a step. It removes pods that follow nodes (DaemonSets, static pods), and pods of another scheduler, since nothing here could place
// them. It returns how many pods had a node, and how many pods belong to other schedulers.
func UnbindAllPods(s *scenario.Scenario) (next *scenario.Scenario, unbound, foreign int) {
	rest := func(objects []cluster.Object) (rest []cluster.Object) {
		for _, obj := range objects {
			switch o := obj.(type) {
			case *v1.Node:
				continue
			case *resourcev1.ResourceClaim:
				unallocated := *o
				unallocated.Status, unallocated.Finalizers = resourcev1.ResourceClaimStatus{}, nil
				obj = &unallocated
			case *v1.Pod:
				if cluster.IsTerminal(o) || FollowsNodes(o) {
					continue
				}
				if cluster.FromDump(o) && !slices.Contains(s.Config.SchedulerNames(), o.Spec.SchedulerName) {
					foreign++
					continue
				}
				if o.Spec.NodeName != "" {
					unbound++
					pod := *o
					pod.Spec.NodeName, pod.Status = "", v1.PodStatus{Phase: v1.PodPending, QOSClass: o.Status.QOSClass}
					obj = &pod
				}
			}
			rest = append(rest, obj)
		}
		return rest
	}
	afresh := *s
	afresh.Cluster, afresh.Workloads, afresh.Steps = rest(s.Cluster), rest(s.Workloads), slices.Clone(s.Steps)
	for i := range afresh.Steps {
		if afresh.Steps[i].Apply != nil {
			afresh.Steps[i].Objects = rest(afresh.Steps[i].Objects)
		}
	}
	return &afresh, unbound, foreign
}

// FollowsNodes reports whether the pod comes and goes with its node, as a pod of a DaemonSet and a static pod do.
func FollowsNodes(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.Kind == "DaemonSet" || ref.Kind == "Node" })
}

// replaceNodes gives the scenario other nodes, on which every pod is placed anew. Variants with the same nodes share the result.
func (m *Maker) replaceNodes(p *scenario.Problems, varied *scenario.LoadedVariant, nodes []scenario.NodesLike) {
	s := varied.Scenario
	if s.Federated() {
		p.Add(field.NewPath("nodes"), "are for a single cluster; leave them out")
		return
	}
	before := p.Len()
	made := NewNodeMaker(s)
	names := list.Map(made.state.Nodes, func(n *v1.Node) string { return n.Name })
	for i := range nodes {
		for j, name := range nodes[i].Like {
			if made.byName[name] == nil {
				p.Add(field.NewPath("nodes").Index(i).Child("like").Index(j), "the cluster has no node %q; %s", name, scenario.ListChoices(name, names))
			}
		}
	}
	if p.Len() > before {
		return
	}
	for _, known := range m.sizedScenarios {
		if slices.Equal(known.clusterBefore, s.Cluster) && equality.Semantic.DeepEqual(known.nodes, nodes) {
			s.Cluster, s.Workloads, s.Steps = known.result.Cluster, known.result.Workloads, known.result.Steps
			return
		}
	}
	to, _, _ := UnbindAllPods(s)
	var all []cluster.Object
	for i := range nodes {
		all = append(all, made.Make(nodes[i])...)
	}
	to.Cluster = slices.Concat(all, to.Cluster)
	m.sizedScenarios = append(m.sizedScenarios, sizedScenario{s.Cluster, nodes, to})
	*s = *to
}

// sizedScenario is a scenario before and after it got other nodes.
type sizedScenario struct {
	clusterBefore []cluster.Object
	nodes         []scenario.NodesLike
	result        *scenario.Scenario
}
