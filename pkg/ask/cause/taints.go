package cause

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Taint is a taint that the pod does not tolerate, and the nodes that have it.
type Taint struct {
	// Taint is the taint as kubectl writes it: key=value:effect.
	Taint string   `json:"taint"`
	Nodes []string `json:"nodes"`
	// Tolerated are the pod's tolerations of the taint's key, which are of another value or effect.
	Tolerated []string `json:"tolerated,omitempty"`
	// Message is what the kubelet of the first node says, if the taint means that it is not ready.
	Message string `json:"message,omitempty"`
}

// taints returns one cause with the taints for which TaintToleration refuses the nodes.
func taints(v *view, r refused) []Cause {
	c := Cause{Plugin: "TaintToleration"}
	var states []string // by taint
	for _, node := range r.nodes {
		taint := cluster.Untolerated(node, v.pod)
		if taint == nil {
			continue
		}
		text := taint.ToString()
		at := slices.IndexFunc(c.Taints, func(t Taint) bool { return t.Taint == text })
		if at < 0 {
			at = len(c.Taints)
			c.Taints, states = append(c.Taints, Taint{Taint: text, Tolerated: tolerated(v.pod, taint), Message: whyNotReady(node, taint)}), append(states, taintState(taint))
		}
		c.Nodes++
		c.Taints[at].Nodes = append(c.Taints[at].Nodes, node.Name)
	}
	if c.Nodes == 0 {
		return nil
	}
	parts := make([]string, len(c.Taints))
	for i, taint := range c.Taints {
		parts[i] = fmt.Sprintf("%s on %s", states[i], someNodes(taint.Nodes))
		if len(taint.Tolerated) > 0 {
			parts[i] += ", and it tolerates only " + words.And(taint.Tolerated)
		}
		if taint.Message != "" {
			parts[i] += fmt.Sprintf(" (%s)", taint.Message)
		}
	}
	c.Sentence = strings.Join(parts, "; ")
	return []Cause{c}
}

// whyNotReady returns what the kubelet of a node with the taint of a node that is not ready says of it.
func whyNotReady(node *v1.Node, taint *v1.Taint) string {
	if _, ready := nodeutil.GetNodeCondition(&node.Status, v1.NodeReady); taint.Key == v1.TaintNodeNotReady && ready != nil && ready.Status != v1.ConditionTrue {
		return ready.Message
	}
	return ""
}

// tolerated are the pod's tolerations of the taint's key as kubectl writes taints.
func tolerated(pod *v1.Pod, taint *v1.Taint) []string {
	var all []string
	for _, t := range pod.Spec.Tolerations {
		if t.Key == taint.Key && t.TolerationSeconds == nil {
			all = append(all, (&v1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}).ToString())
		}
	}
	return all
}

// someNodes returns, for example, "n-1, n-2 and n-3", or "n-1, n-2 and 7 more nodes".
func someNodes(names []string) string {
	const most = 3
	if len(names) <= most {
		return words.And(names)
	}
	return fmt.Sprintf("%s and %d more nodes", strings.Join(names[:most-1], ", "), len(names)-most+1)
}

// taintState says what the taint means for its nodes: "untolerated taint dedicated=db:NoSchedule", or the meaning of a taint of the node
// controller.
func taintState(taint *v1.Taint) string {
	meaning := map[string]string{
		v1.TaintNodeUnreachable: "no answer from the kubelet", v1.TaintNodeNotReady: "not ready", v1.TaintNodeUnschedulable: "cordoned",
		v1.TaintNodeOutOfService: "out of service", v1.TaintNodeMemoryPressure: "memory pressure", v1.TaintNodeDiskPressure: "disk pressure",
		v1.TaintNodePIDPressure: "PID pressure", v1.TaintNodeNetworkUnavailable: "network unavailable",
		cloudproviderapi.TaintExternalCloudProvider: "not initialised by the cloud controller", cloudproviderapi.TaintNodeShutdown: "shut down",
	}[taint.Key]
	if meaning == "" {
		return "untolerated taint " + taint.ToString()
	}
	return fmt.Sprintf("%s (taint %s)", meaning, taint.ToString())
}

// cordons returns the nodes that NodeUnschedulable refuses.
func cordons(_ *view, r refused) []Cause {
	nodes := list.Map(r.nodes, func(node *v1.Node) string { return node.Name })
	return []Cause{{Plugin: "NodeUnschedulable", Nodes: len(nodes), Sentence: "cordoned: " + someNodes(nodes), Cordoned: nodes}}
}
