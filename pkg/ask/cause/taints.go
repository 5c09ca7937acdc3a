package cause

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Taint is a taint that the pod does not tolerate.
type Taint struct {
	// Taint is kubectl's key=value:effect.
	Taint string   `json:"taint"`
	Nodes []string `json:"nodes"`
}

// taints returns one cause for each taint for which TaintToleration refuses a node.
func taints(v *view, r refused) []Cause {
	var causes []Cause
	for _, node := range r.nodes {
		taint := untolerated(node, v.pod)
		if taint == nil {
			continue
		}
		text := taint.ToString()
		at := slices.IndexFunc(causes, func(c Cause) bool { return c.Taint.Taint == text })
		if at < 0 {
			at = len(causes)
			causes = append(causes, Cause{Plugin: "TaintToleration", Taint: &Taint{Taint: text}, Sentence: taintState(taint)})
		}
		causes[at].Nodes++
		causes[at].Taint.Nodes = append(causes[at].Taint.Nodes, node.Name)
	}
	for i := range causes {
		causes[i].Sentence += ": " + words.Few(causes[i].Taint.Nodes)
	}
	slices.SortStableFunc(causes, func(a, b Cause) int { return b.Nodes - a.Nodes })
	return causes
}

// untolerated returns the first taint of the node that keeps the pod off it, as TaintToleration finds it; nil if there is none.
func untolerated(node *v1.Node, pod *v1.Pod) *v1.Taint {
	taint, repels := corev1.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, pod.Spec.Tolerations, func(taint *v1.Taint) bool {
		return taint.Effect != v1.TaintEffectPreferNoSchedule
	}, false)
	if !repels {
		return nil
	}
	return &taint
}

// taintState says what the taint says of its nodes: "untolerated taint dedicated=db:NoSchedule", or what a taint of the node controller means.
func taintState(taint *v1.Taint) string {
	meaning := map[string]string{
		v1.TaintNodeUnreachable: "no answer from the kubelet", v1.TaintNodeNotReady: "not ready", v1.TaintNodeUnschedulable: "cordoned",
		v1.TaintNodeOutOfService: "out of service", v1.TaintNodeMemoryPressure: "memory pressure", v1.TaintNodeDiskPressure: "disk pressure",
		v1.TaintNodePIDPressure: "PID pressure", v1.TaintNodeNetworkUnavailable: "network unavailable",
	}[taint.Key]
	if meaning == "" {
		return "untolerated taint " + taint.ToString()
	}
	return fmt.Sprintf("%s (taint %s)", meaning, taint.ToString())
}

// cordons returns the nodes that NodeUnschedulable refuses.
func cordons(_ *view, r refused) []Cause {
	nodes := list.Each(r.nodes, func(node *v1.Node) string { return node.Name })
	return []Cause{{Plugin: "NodeUnschedulable", Nodes: len(nodes), Sentence: "cordoned: " + words.Few(nodes) + " (kubectl uncordon " + strings.Join(nodes[:1], "") + " lets pods on it again)", Cordoned: nodes}}
}
