package cause

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Preemption says why pods of a lower priority do not make room for the pod.
type Preemption struct {
	// Priority is the pod's priority, and Never means that its preemptionPolicy is Never.
	Priority int32 `json:"priority"`
	Never    bool  `json:"never,omitempty"`
	// Lower is the number of running pods of a lower priority on refused nodes, and Nodes are the refused nodes that have some.
	Lower int      `json:"lower"`
	Nodes []string `json:"nodes,omitempty"`
	// Lowest is the running pod of the lowest priority on the refused nodes, and LowestPriority its priority; missing if Lower is not 0.
	Lowest         *LocatedPod `json:"lowest,omitempty"`
	LowestPriority int32       `json:"lowestPriority,omitempty"`
	// StillRefused are, by reason, the nodes among Nodes that would refuse the pod even without all their pods of a lower priority.
	StillRefused []Blocked `json:"stillRefused,omitempty"`
}

// explainNoPreemption returns why no pod makes room for the pod. It returns none if priorities cannot be the reason, or if the scheduler has chosen
// victims, which are about to go.
func (f *Finder) explainNoPreemption(ctx context.Context, v *view, given *v1.Pod) ([]Cause, error) {
	p := Preemption{Priority: corev1.PodPriority(given), Never: given.Spec.PreemptionPolicy != nil && *given.Spec.PreemptionPolicy == v1.PreemptNever}
	if given.Status.NominatedNodeName != "" {
		return nil, nil
	}
	var lower []cluster.Object
	for _, node := range v.state.Nodes {
		_, refused := v.verdicts[node.Name]
		if !refused {
			continue
		}
		p.findLowest(v.podsOn[node.Name])
		below := list.Where(v.podsOn[node.Name], func(other *v1.Pod) bool { return corev1.PodPriority(other) < p.Priority })
		if len(below) > 0 {
			p.Nodes = append(p.Nodes, node.Name)
		}
		for _, pod := range below {
			lower = append(lower, pod)
		}
	}
	if p.Lower = len(lower); p.Lower > 0 {
		p.Lowest, p.LowestPriority = nil, 0
	}
	if p.Priority == 0 && p.Lower == 0 || len(v.verdicts) == 0 {
		return nil, nil
	}
	if p.Lower > 0 {
		without := v.state.Without(lower...)
		result, err := f.placePod(ctx, without, v.pod)
		if err != nil {
			return nil, err
		}
		if len(result.Pending) > 0 && result.Pending[0].Cycle != nil {
			emptied := newView(without, v.pod, NewOccupancy(without.Pods), result.Pending[0].Cycle)
			p.addStillRefused(emptied)
			for i := range p.StillRefused {
				p.StillRefused[i].Why += v.wantedText(emptied, p.StillRefused[i].Nodes)
			}
		} else if !p.Never {
			return nil, nil // with all of them gone there is room: the pods of one node are not enough, or they are about to go
		}
	}
	return []Cause{{Plugin: "DefaultPreemption", Sentence: p.sentence(len(v.verdicts), given.Spec.PriorityClassName), Preemption: &p}}, nil
}

// findLowest remembers the pod of the lowest priority.
func (p *Preemption) findLowest(pods []*v1.Pod) {
	for _, pod := range pods {
		if priority := corev1.PodPriority(pod); p.Lowest == nil || priority < p.LowestPriority {
			p.Lowest, p.LowestPriority = &LocatedPod{Pod: pod.Namespace + "/" + pod.Name, Node: pod.Spec.NodeName}, priority
		}
	}
}

// addStillRefused adds to StillRefused why each of the nodes refuses the pod without its pods of a lower priority.
func (p *Preemption) addStillRefused(emptied *view) {
	for _, node := range emptied.state.Nodes {
		why := emptied.explainRefusal(node)
		if why == "" || !slices.Contains(p.Nodes, node.Name) {
			continue
		}
		at := slices.IndexFunc(p.StillRefused, func(b Blocked) bool { return b.Why == why })
		if at < 0 {
			at = len(p.StillRefused)
			p.StillRefused = append(p.StillRefused, Blocked{Why: why})
		}
		p.StillRefused[at].Nodes = append(p.StillRefused[at].Nodes, node.Name)
	}
	for i := range p.StillRefused {
		p.StillRefused[i].Why += emptied.freeText(p.StillRefused[i].Nodes)
	}
}

// wantedText says which of the pods that preemption would take away the pod's required affinity wants, such as "; its required affinity wants
// default/cache, which would be gone"; "" if it wants none of them.
func (v *view) wantedText(emptied *view, nodes []string) string {
	affinity := v.pod.Spec.Affinity
	if affinity == nil || affinity.PodAffinity == nil || !slices.ContainsFunc(nodes, func(node string) bool { return emptied.verdicts[node].Plugin == "InterPodAffinity" }) {
		return ""
	}
	var wanted []string
	terms := affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	for i := range terms {
		term := v.newTerm(&terms[i], v.pod)
		for _, node := range v.state.Nodes {
			stay := emptied.podsOn[node.Name]
			for _, other := range v.podsOn[node.Name] {
				if term.selects(other) && !slices.Contains(stay, other) {
					wanted = append(wanted, other.Namespace+"/"+other.Name)
				}
			}
		}
	}
	if len(wanted) == 0 {
		return ""
	}
	return fmt.Sprintf("; its required affinity wants %s, which would be gone", words.Few(list.Distinct(wanted)))
}

// freeText says how much the nodes would have free of what they lack for the pod, such as "; at most 1 of 1800m cpu would be free"; "" if they
// refuse the pod for another reason.
func (v *view) freeText(nodes []string) string {
	full := list.Where(v.state.Nodes, func(node *v1.Node) bool {
		return slices.Contains(nodes, node.Name) && v.verdicts[node.Name].Plugin == "NodeResourcesFit"
	})
	text := ""
	for _, c := range shortages(v, refused{nodes: full}) {
		if s := c.Resource; s.Resource != v1.ResourcePods {
			text += fmt.Sprintf("; at most %s of %s %s would be free", s.Free, s.Asked, s.Resource)
		}
	}
	return text
}

// sentence returns, for a pod of a priority class, for example, "nobody makes room for its priority 100: 2 of 3 refused nodes have no pod of a lower one; w-1 would not
// take it even without its pods of a lower one (full, Insufficient cpu; at most 1 of 1800m cpu would be free)".
func (p *Preemption) sentence(refused int, class string) string {
	line := fmt.Sprintf("nobody makes room for its priority %d: ", p.Priority)
	if p.Lower == 0 {
		line += "no refused node has a pod of a lower one"
		if p.Lowest != nil {
			line += fmt.Sprintf(" (the lowest is %d, of %s on %s)", p.LowestPriority, p.Lowest.Pod, p.Lowest.Node)
		}
		return line
	}
	var parts []string
	if p.Never {
		never := "its preemptionPolicy is Never"
		if class != "" {
			never += ", by PriorityClass " + class
		}
		parts = append(parts, never)
	}
	if none := refused - len(p.Nodes); none > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s %s no pod of a lower one", none, words.Count(refused, "refused node"), words.Pick(none, "has", "have")))
	}
	for _, b := range p.StillRefused {
		parts = append(parts, fmt.Sprintf("%s would not take it even without %s pods of a lower one (%s)", someNodes(b.Nodes), words.Pick(len(b.Nodes), "its", "their"), b.Why))
	}
	return line + strings.Join(parts, "; ")
}
