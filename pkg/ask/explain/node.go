package explain

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// Changes to the nodes: cordoned ones can be uncordoned, and one can be added.

const (
	maxEach = 12 // taints, and domains
	maxLike = 3  // nodes per domain
)

func (p *pendingPod) uncordon() []attempt {
	cordoned := list.Where(p.nodes, func(node *v1.Node) bool { return node.Spec.Unschedulable })
	var attempts []attempt
	for _, d := range p.domains(cordoned) {
		var nodes []attempt
		for _, node := range d.nodes[:min(len(d.nodes), maxLike)] {
			name := p.shown(node.Name)
			change := "uncordon " + name
			nodes = append(nodes, p.once(change, p.scenario.Then(scenario.Step{Name: change, Uncordon: &scenario.NodesInTurn{Nodes: scenario.Nodes{Names: []string{name}}}})))
		}
		attempts = append(attempts, first(nodes))
	}
	return attempts
}

func (p *pendingPod) moreNodes() []attempt {
	open := list.Without(p.nodes, func(node *v1.Node) bool { return cluster.Repels(node, p.pod) })
	if len(open) == 0 {
		return nil
	}
	var attempts []attempt
	for _, d := range p.domains(open) {
		var nodes []attempt
		for _, node := range different(d.nodes) {
			nodes = append(nodes, p.once("one more node like "+p.shown(node.Name)+d.words(), p.with(p.like(node))))
		}
		attempts = append(attempts, first(nodes))
	}
	for _, key := range p.hardKeys() {
		var nodes []attempt
		for _, node := range different(list.Without(open, func(node *v1.Node) bool { return node.Labels[key] == "" })) {
			apart := p.like(node)
			apart.Labels[key] = apart.Name
			if _, zoned := apart.Labels[v1.LabelTopologyZone]; zoned && key == v1.LabelTopologyRegion {
				apart.Labels[v1.LabelTopologyZone] = apart.Name // a zone is in one region
			}
			nodes = append(nodes, p.once("one more node like "+p.shown(node.Name)+" in a "+key+" of its own", p.with(apart)))
		}
		if len(nodes) > 0 {
			attempts = append(attempts, first(nodes))
		}
	}
	return attempts
}

// hardKeys returns the keys of the pod's hard rules, without the hostname: every new node has its own hostname.
func (p *pendingPod) hardKeys() []string {
	var keys []string
	for _, r := range rule.Of(p.spec) {
		if r.Hard && r.TopologyKey != "" && r.TopologyKey != v1.LabelHostname && !slices.Contains(keys, r.TopologyKey) {
			keys = append(keys, r.TopologyKey)
		}
	}
	return keys
}

// domain is the nodes with equal values of some keys.
type domain struct {
	keys, values []string
	nodes        []*v1.Node
}

// words describes where the domain is.
func (d *domain) words() string {
	var parts []string
	for i, key := range d.keys {
		if d.values[i] != "" {
			parts = append(parts, key+" "+d.values[i])
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " in " + strings.Join(parts, " and ")
}

// domains groups the nodes by zone and by the keys of the hard rules, in order of the nodes, up to the number that is tried.
func (p *pendingPod) domains(nodes []*v1.Node) []domain {
	keys := p.hardKeys()
	if zone := topology.ZoneKey(nodes); !slices.Contains(keys, zone) {
		keys = append(keys, zone)
	}
	var all []domain
	for _, node := range nodes {
		values := list.Each(keys, func(key string) string { return node.Labels[key] })
		i := slices.IndexFunc(all, func(d domain) bool { return slices.Equal(d.values, values) })
		if i < 0 {
			i = len(all)
			all = append(all, domain{keys: keys, values: values})
		}
		all[i].nodes = append(all[i].nodes, node)
	}
	return all[:min(len(all), maxEach)]
}

// different returns a few of the nodes that differ in more than their names.
func different(nodes []*v1.Node) []*v1.Node {
	var all []*v1.Node
	seen := map[string]bool{}
	for _, node := range nodes {
		labels := maps.Clone(node.Labels)
		maps.DeleteFunc(labels, func(_, value string) bool { return value == node.Name })
		look, err := json.Marshal([]any{labels, node.Spec.Taints, node.Status.Allocatable})
		if err == nil && !seen[string(look)] && len(all) < maxLike {
			seen[string(look)] = true
			all = append(all, node)
		}
	}
	return all
}

// like returns a new node that equals the other in everything but its identity.
func (p *pendingPod) like(node *v1.Node) *v1.Node {
	name := node.Name + "-more"
	for p.step.State.Node(p.shown(name)) != nil {
		name += "-more"
	}
	more := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(node.Labels), Annotations: node.Annotations},
		Spec:       v1.NodeSpec{Taints: node.Spec.Taints},
		Status:     v1.NodeStatus{Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable, Conditions: node.Status.Conditions},
	}
	if more.Labels == nil {
		more.Labels = map[string]string{}
	}
	more.Labels[v1.LabelHostname] = name
	return more
}
