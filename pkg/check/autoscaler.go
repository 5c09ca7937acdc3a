package check

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/scenario"
)

// checkAutoscaler reports node groups whose nodes are unknown, and nodes that are in several groups.
func (w *walker) checkAutoscaler(a *scenario.Autoscaler) {
	nodes := w.scenario.Nodes()
	var names []string
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	in := map[string]string{}
	for i := range a.NodeGroups {
		group, path := &a.NodeGroups[i], field.NewPath("autoscaler", "nodeGroups").Index(i)
		if group.Template != "" && !slices.Contains(names, group.Template) {
			w.Add(path.Child("template"), "there is no node %q; %s", group.Template, scenario.ListChoices(group.Template, names))
		}
		if key, _, written := strings.Cut(group.From, "="); written && group.Template == "" && !slices.ContainsFunc(nodes, group.Has) {
			w.Add(path.Child("from"), "%s; or give template, the name of a node that new ones are like", scenario.LabelHint(key, "node", scenario.NodeLabels(nodes)))
		}
		if at := slices.IndexFunc(nodes, func(node *v1.Node) bool { return group.Has(node) && in[node.Name] != "" }); at >= 0 {
			w.Add(path.Child("from"), "node %s is in the group %s, too; give each group nodes of its own", nodes[at].Name, in[nodes[at].Name])
		}
		for _, node := range nodes {
			if group.Has(node) {
				in[node.Name] = group.Name
			}
		}
	}
}
