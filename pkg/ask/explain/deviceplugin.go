package explain

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// startPlugin returns the changes that let the device plugin of a resource tolerate the taints that keep it off nodes, each with the amounts that one of these
// nodes then reports. The plugin itself is not simulated.
func (p *pendingPod) startPlugin(name v1.ResourceName, reports []candidate) []candidate {
	plugin := cause.FindDevicePlugin(p.step.State, name)
	if plugin == nil {
		return nil
	}
	changed := plugin.DaemonSet.DeepCopy()
	for _, taint := range plugin.Taints {
		changed.Spec.Template.Spec.Tolerations = append(changed.Spec.Template.Spec.Tolerations, v1.Toleration{Key: taint.Key, Operator: v1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect})
	}
	patch, err := patchBetween(plugin.DaemonSet, changed)
	if err != nil || patch == nil {
		return nil
	}
	var all []candidate
	for _, report := range reports {
		all = append(all, candidate{
			change: fmt.Sprintf("tolerate %s in %s, which then reports %s", plugin.TaintsText(), cluster.RefTo(plugin.DaemonSet).Qualified(), name),
			price:  []string{"if its nodes have the devices"}, byHand: true, steps: slices.Concat([]scenario.Step{{Patch: patch}}, report.steps),
		})
	}
	return all
}

// likelyHosts returns the nodes that seem to have devices of an extended resource: a label, a taint or the name has the vendor or the resource in it, as
// nvidia.com/gpu.present has. It returns all nodes if none seems to.
func likelyHosts(nodes []*v1.Node, name v1.ResourceName) []*v1.Node {
	domain, device, _ := strings.Cut(string(name), "/")
	vendor, _, _ := strings.Cut(domain, ".")
	likely := list.Where(nodes, func(node *v1.Node) bool {
		texts := []string{node.Name}
		for key, value := range node.Labels {
			texts = append(texts, key, value)
		}
		for _, taint := range node.Spec.Taints {
			texts = append(texts, taint.Key, taint.Value)
		}
		return slices.ContainsFunc(texts, func(text string) bool {
			return strings.Contains(text, vendor) || device != "" && strings.Contains(text, device)
		})
	})
	if len(likely) == 0 {
		return nodes
	}
	return likely
}
