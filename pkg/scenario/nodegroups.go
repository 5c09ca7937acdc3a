package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/words"
)

// groupLabels are the labels by which clouds and installers name the group of a node. If a node has several, the first of this list counts.
var groupLabels = []string{
	"eks.amazonaws.com/nodegroup", "cloud.google.com/gke-nodepool", "kubernetes.azure.com/agentpool", "agentpool", "kops.k8s.io/instancegroup",
	"karpenter.sh/nodepool", "alpha.eksctl.io/nodegroup-name",
}

// AssumedMaxNodes is the assumed maximum of a group whose maximum is not known: the number of nodes that AKS and GKE allow in a node pool.
const AssumedMaxNodes = 1000

// groupsByLabel reports whether labels of the nodes name the groups.
func (a *Autoscaler) groupsByLabel() bool {
	return a.GroupsBy != "" || !slices.ContainsFunc(a.NodeGroups, func(g AutoscaledGroup) bool { return g.From+g.Template != "" })
}

// WithLabelGroups returns the autoscaler with the groups that labels of the nodes name, and a note that lists them. Groups that are written out
// stay. It skips control plane nodes, which it recognizes by nodes and pods, since no autoscaler changes their number.
func (a *Autoscaler) WithLabelGroups(nodes []*v1.Node, pods []*v1.Pod) (*Autoscaler, string, error) {
	if !a.groupsByLabel() {
		return a, "", nil
	}
	labels := groupLabels
	if a.GroupsBy != "" {
		labels = []string{a.GroupsBy}
	}
	found := *a
	found.NodeGroups = nil
	var names, used []string
	members, without := map[string]int{}, 0
	controlPlanes := cluster.ControlPlanes(nodes, pods)
	for _, node := range nodes {
		key := firstLabelOf(node, labels)
		if key == "" || controlPlanes[node.Name] {
			without++
			continue
		}
		from := key + "=" + node.Labels[key]
		if members[from]++; members[from] > 1 {
			continue
		}
		group := AutoscaledGroup{Name: node.Labels[key]}
		if slices.Contains(names, group.Name) {
			group.Name = from // another label has the same value
		}
		for _, given := range a.NodeGroups {
			if given.Name == group.Name {
				group = given
			}
		}
		group.From = from
		names, found.NodeGroups = append(names, group.Name), append(found.NodeGroups, group)
		if !slices.Contains(used, key) {
			used = append(used, key)
		}
	}
	if len(names) == 0 {
		return nil, "", noGroupsError(a, nodes)
	}
	var problems []error
	for _, given := range a.NodeGroups {
		if !slices.Contains(names, given.Name) {
			problems = append(problems, fmt.Errorf("no node has the value %q of %s; %s", given.Name, words.Or(used), ListChoices(given.Name, names)))
		}
	}
	var groups, unbounded []string
	for i := range found.NodeGroups {
		group := &found.NodeGroups[i]
		groups = append(groups, fmt.Sprintf("%s (%s)", group.Name, words.Count(members[group.From], "node")))
		if group.Max == 0 {
			group.Max = max(AssumedMaxNodes, members[group.From])
			unbounded = append(unbounded, group.Name)
		}
	}
	note := fmt.Sprintf("The node groups are those that %s %s: %s", words.And(used), words.Pick(len(used), "names", "name"), words.Few(groups))
	if without > 0 {
		note += fmt.Sprintf("; %s in none", words.Is(without, "node"))
	}
	if len(unbounded) > 0 {
		note += fmt.Sprintf(". No maximum of %s is known, so %d nodes are assumed; --node-group NAME=MIN:MAX gives one", words.Few(unbounded), AssumedMaxNodes)
	}
	return &found, note + ".", errors.Join(problems...)
}

// firstLabelOf returns the first of the labels that the node has, or "".
func firstLabelOf(node *v1.Node, labels []string) string {
	for _, key := range labels {
		if node.Labels[key] != "" {
			return key
		}
	}
	return ""
}

// noGroupsError returns the error that no node has a label that names its group.
func noGroupsError(a *Autoscaler, nodes []*v1.Node) error {
	if a.GroupsBy != "" {
		return errors.New(LabelHint(a.GroupsBy, "node", NodeLabels(nodes)))
	}
	keys := map[string]bool{}
	for _, node := range nodes {
		for key := range node.Labels {
			keys[key] = true
		}
	}
	return fmt.Errorf("no node has a label that names its node group (%s); name the one that does, with --groups-by or as autoscaler.groupsBy: %s",
		strings.Join(groupLabels, ", "), ListChoices("pool", slices.Sorted(maps.Keys(keys))))
}

// FindGroup returns a selector, as KEY=VALUE, of the nodes of the group with that name. The key is a label that names groups, or else the
// one label of nodes with that value.
func FindGroup(nodes []*v1.Node, name string) (string, error) {
	values, keys := map[string]bool{}, map[string]bool{}
	for _, node := range nodes {
		if key := firstLabelOf(node, groupLabels); key != "" {
			if values[node.Labels[key]] = true; node.Labels[key] == name {
				return key + "=" + name, nil
			}
		}
		for key, value := range node.Labels {
			if value == name && !strings.HasPrefix(key, "beta.kubernetes.io/") {
				keys[key] = true
			}
		}
	}
	selectors := slices.Sorted(maps.Keys(keys))
	for i := range selectors {
		selectors[i] += "=" + name
	}
	switch known := slices.Sorted(maps.Keys(values)); {
	case len(selectors) == 1:
		return selectors[0], nil
	case len(selectors) > 1:
		return "", fmt.Errorf("%q is a value of several labels; give one of %s", name, words.Or(selectors))
	case len(known) > 0:
		return "", fmt.Errorf("no node group is called %q; %s", name, ListChoices(name, known))
	}
	return "", fmt.Errorf("no node has a label with the value %q; give a label of the nodes as KEY=VALUE, such as pool=general", name)
}
