package capacity

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// Binding is one cause that keeps a pod off a number of nodes.
type Binding struct {
	// Kind is the kind of the cause, and What names it: the resource, the rules in words, or kube-scheduler's message.
	Kind string `json:"kind" jsonschema:"enum=cpu,enum=memory,enum=pods,enum=resource,enum=rule,enum=taint,enum=volume,enum=port,enum=node,enum=other"`
	What string `json:"what"`
	// Plugin rejected Nodes nodes with the message.
	Plugin  string `json:"plugin,omitempty"`
	Message string `json:"message"`
	Nodes   int    `json:"nodes"`
}

const insufficient = "Insufficient "

// bindings returns what keeps the pod off the nodes, by descending number of nodes. lost is the number of failed nodes: each has a taint
// because of the failure, unless its object is deleted.
func bindings(pending *placement.Pending, lost int) []Binding {
	if len(pending.Reasons) == 0 {
		return []Binding{{Kind: "other", What: pending.Why(), Message: pending.Why()}}
	}
	var all []Binding
	for _, reason := range pending.Reasons {
		b := Binding{Plugin: reason.Plugin, Message: reason.Message, Nodes: reason.Nodes}
		b.Kind, b.What = bindingKind(reason, pending.Pod)
		if b.Kind == "taint" && b.Nodes == lost {
			b.What = "the failure itself"
		}
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b Binding) int { return cmp.Compare(b.Nodes, a.Nodes) })
	return all
}

func bindingKind(reason placement.Reason, pod *v1.Pod) (kind, what string) {
	switch reason.Plugin {
	case "NodeResourcesFit":
		switch name, short := strings.CutPrefix(reason.Message, insufficient); {
		case short && (name == "cpu" || name == "memory"):
			return name, name
		case short:
			return "resource", name
		case strings.HasPrefix(reason.Message, "Too many pods"):
			return "pods", "the number of pods a node takes"
		}
	case "TaintToleration":
		return "taint", "a taint"
	case "NodeUnschedulable":
		return "node", "a cordon"
	case "NodeName":
		return "node", reason.Message
	case "NodePorts":
		return "port", "the host port"
	case "InterPodAffinity":
		if strings.Contains(reason.Message, "existing pods") {
			return "rule", "the required anti-affinity of pods that are there"
		}
		if strings.Contains(reason.Message, "anti-affinity") {
			return "rule", describeHardRules(pod, reason.Message, rule.AntiAffinity)
		}
		return "rule", describeHardRules(pod, reason.Message, rule.Affinity)
	case "PodTopologySpread":
		return "rule", describeHardRules(pod, reason.Message, rule.Spread)
	case "NodeAffinity":
		return "rule", describeHardRules(pod, reason.Message, rule.NodeAffinity, rule.NodeSelector)
	case "VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits":
		return "volume", reason.Message
	}
	return "other", reason.Message
}

// describeHardRules describes the pod's hard rules of these kinds, or returns the message if there are none.
func describeHardRules(pod *v1.Pod, message string, kinds ...rule.Kind) string {
	var words []string
	for _, r := range rule.List(&pod.Spec) {
		if r.Hard && slices.Contains(kinds, r.Kind) {
			words = append(words, r.String())
		}
	}
	if len(words) == 0 {
		return message
	}
	return strings.Join(words, " or ")
}
