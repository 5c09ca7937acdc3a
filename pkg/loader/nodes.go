package loader

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// Nodes describes the nodes that the loader makes up for objects without nodes.
type Nodes struct {
	// Spec describes the nodes, as synthetic does in a scenario.
	Spec topology.Spec
	// KindName, if set, makes them the workers of the kind cluster of this name, and adds its control plane.
	KindName string
	// Flags are the flags that ask for the nodes. Without flags the nodes are assumed, and Assumed is the note about them.
	Flags   []string
	Assumed string
}

// makeNodes adds made-up nodes to a scenario whose objects have none. If no flag asks for nodes, it assumes them only if no cluster is
// given, no node was set aside, and no pod has a node: made-up nodes cannot stand in for the nodes of a dump. The exception is a lone pod
// of a cluster, as kubectl get pod -o yaml prints it: the scheduler places it again, on the made-up nodes.
func (l *loader) makeNodes(s *scenario.Scenario, clusterGiven bool) {
	nodes, given := l.opts.Nodes, s.Nodes()
	if nodes == nil {
		return
	}
	asked, lone := len(nodes.Flags) > 0, findLonePod(s.Objects())
	bound := func(obj cluster.Object) bool {
		pod, is := obj.(*v1.Pod)
		return is && pod.Spec.NodeName != ""
	}
	switch {
	case asked && len(given) > 0:
		l.problems.Add(nil, "%s: the input has nodes of its own, %s; leave out these nodes, or %s", strings.Join(nodes.Flags, ", "),
			words.Few(namesOf(given)), words.And(nodes.Flags))
		return
	case !asked && (len(given) > 0 || clusterGiven || slices.ContainsFunc(l.flaws, isNodeSetAside) || lone == nil && slices.ContainsFunc(s.Objects(), bound)):
		return
	}
	made, err := nodes.build()
	if err != nil {
		l.problems.AddLines(nil, err)
	}
	s.MadeUp = true
	for _, node := range made {
		s.Cluster = append(s.Cluster, node)
	}
	if !asked {
		l.notes = append(l.notes, nodes.Assumed)
	}
	if nodes.KindName != "" {
		l.addKindClass(s)
	} else {
		l.addAssumedClasses(s, true)
	}
	if lone != nil {
		l.unplacePod(s, lone)
	}
	l.noteMissingResources(s, made)
}

func (n *Nodes) build() ([]*v1.Node, error) {
	nodes, err := topology.Build(n.Spec)
	if err != nil || n.KindName == "" {
		return nodes, err
	}
	return topology.AsKind(n.KindName, nodes)
}

func namesOf(nodes []*v1.Node) []string {
	return list.Map(nodes, func(node *v1.Node) string { return node.Name })
}

// nodeGroups adds the node groups that the labels of nodes name to the autoscaler, with a note that lists them.
func (l *loader) nodeGroups(s *scenario.Scenario) {
	if s.Autoscaler == nil || l.incomplete || s.Federated() {
		return
	}
	grouped, note, err := s.Autoscaler.WithLabelGroups(s.Nodes(), s.Pods())
	if err != nil {
		l.problems.AddLines(field.NewPath("autoscaler"), err)
		return
	}
	if s.Autoscaler = grouped; note != "" {
		s.Notes = append(slices.Clip(s.Notes), note)
	}
}
