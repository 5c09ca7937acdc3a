package lint

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// newGroupFinding returns a finding about a field of a node group of the autoscaler.
func newGroupFinding(i int, group *scenario.AutoscaledGroup, name string) Finding {
	return Finding{Object: Object{Kind: "NodeGroup", Name: group.Name}, Field: field.NewPath("autoscaler", "nodeGroups").Index(i).Child(name).String()}
}

// nodeGroupAboveMax finds groups that start with more nodes than their maximum.
func nodeGroupAboveMax(result *simulation.Result) []Finding {
	var found []Finding
	for i := range result.Scenario.Autoscaler.NodeGroups {
		group := &result.Scenario.Autoscaler.NodeGroups[i]
		if n := len(nodesOfGroup(group, result.Initial)); n > group.Max {
			f := newGroupFinding(i, group, "max")
			f.Message = fmt.Sprintf("the group has %s and a maximum of %d, so that the autoscaler never adds any, nor replaces one that is lost", words.Count(n, "node"), group.Max)
			f.Fix = fmt.Sprintf("give it a maximum above %d", n)
			found = append(found, f)
		}
	}
	return found
}

// nodeGroupHelpsNoPod finds groups that could grow while pods are Pending, but whose nodes fit none of these pods and run no other pod.
func nodeGroupHelpsNoPod(result *simulation.Result) []Finding {
	var found []Finding
	for i := range result.Scenario.Autoscaler.NodeGroups {
		group := &result.Scenario.Autoscaler.NodeGroups[i]
		used, first, pods, after := false, cluster.PodRef{}, 0, ""
		for k := range result.Steps {
			step := &result.Steps[k]
			used = used || runsWorkload(nodesOfGroup(group, step.State), step.State)
			if step.Autoscaling == nil || len(step.Autoscaling.Groups) <= i || step.Autoscaling.Groups[i].To >= group.Max {
				continue
			}
			refused := 0
			for _, e := range step.Autoscaling.Events {
				if e.Reason == "NotTriggerScaleUp" && len(e.Pods) > 0 {
					if refused += len(e.Pods); first.Name == "" {
						first = e.Pods[0]
					}
				}
			}
			if refused > pods {
				pods, after = refused, step.Name
			}
		}
		if used || pods == 0 {
			continue
		}
		f := newGroupFinding(i, group, "template")
		if group.Template == "" {
			f = newGroupFinding(i, group, "from")
		}
		f.Message = fmt.Sprintf("the group may grow, but none of the %s that %s Pending after step %s, such as %s/%s, fits onto a new node of it, and no other pod runs there",
			words.Count(pods, "pod"), words.Pick(pods, "is", "are"), after, first.Namespace, first.Name)
		f.Fix = "let the pods tolerate the taints of its nodes and select their labels, or let new nodes be large enough"
		found = append(found, f)
	}
	return found
}

func nodesOfGroup(group *scenario.AutoscaledGroup, state *cluster.State) map[string]*v1.Node {
	nodes := map[string]*v1.Node{}
	for _, node := range state.Nodes {
		if group.Has(node) {
			nodes[node.Name] = node
		}
	}
	return nodes
}

// runsWorkload reports whether one of the nodes runs a pod that does not belong to the node itself, as a pod of a DaemonSet or a static pod does.
func runsWorkload(nodes map[string]*v1.Node, state *cluster.State) bool {
	owner := state.Owners()
	for _, pod := range state.Pods {
		if kind := owner(pod).Kind; nodes[pod.Spec.NodeName] != nil && kind != "DaemonSet" && kind != "Node" && !cluster.IsTerminal(pod) {
			return true
		}
	}
	return false
}
