package cause

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
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
	// Takes is a node that would take the pod if no pod of a lower priority ran in the cluster, and Elsewhere are those of these pods on other nodes
	// that keep the pod off Takes. Preemption takes pods only from the node that the pod gets.
	Takes     string       `json:"takes,omitempty"`
	Elsewhere []LocatedPod `json:"elsewhere,omitempty"`
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
			if err := f.findElsewhere(ctx, v, &p, result); err != nil || p.Takes == "" {
				return nil, err // the pods of one node are enough, or are about to go
			}
		}
	}
	return []Cause{{Plugin: "DefaultPreemption", Sentence: p.sentence(len(v.verdicts), given.Spec.PriorityClassName), Preemption: &p}}, nil
}

// findElsewhere finds, where a node would take the pod without all pods of a lower priority, but not without its own ones, those on other nodes that
// keep the pod off it: by an anti-affinity over a zone, or a spread constraint.
func (f *Finder) findElsewhere(ctx context.Context, v *view, p *Preemption, without *placement.Result) error {
	if len(without.Placed) == 0 {
		return nil
	}
	target := without.Placed[0].Node
	isLower := func(pod *v1.Pod) bool { return corev1.PodPriority(pod) < p.Priority }
	state := v.state.Without(list.Map(list.Where(v.podsOn[target], isLower), func(pod *v1.Pod) cluster.Object { return pod })...)
	result, err := f.placePod(ctx, state, v.pod)
	if err != nil || len(result.Pending) == 0 || result.Pending[0].Cycle == nil {
		return err
	}
	emptied := newView(state, v.pod, NewOccupancy(state.Pods), result.Pending[0].Cycle)
	for _, refusal := range groupRefusals(state, result.Pending[0].Cycle) {
		refusal.nodes = list.Where(refusal.nodes, func(node *v1.Node) bool { return node.Name == target })
		if len(refusal.nodes) == 0 {
			continue
		}
		for _, c := range emptied.findCauses([]pluginRefused{refusal}) {
			for _, at := range emptied.podsBehind(&c, refusal.nodes[0]) {
				if isLower(at.pod) && at.Node != target {
					p.Takes, p.Elsewhere = target, append(p.Elsewhere, at.LocatedPod)
				}
			}
		}
	}
	return nil
}

// runningPod is a running pod and where it is.
type runningPod struct {
	LocatedPod
	pod *v1.Pod
}

// podsBehind returns the running pods because of which the cause keeps the pod off the node: those that an anti-affinity is about, or those that a
// spread constraint counts in the node's domain.
func (v *view) podsBehind(c *Cause, node *v1.Node) []runningPod {
	counts := func(LocatedPod, *v1.Pod) bool { return false }
	switch {
	case c.PodAffinity != nil && c.PodAffinity.Anti:
		counts = func(at LocatedPod, _ *v1.Pod) bool {
			return slices.ContainsFunc(c.PodAffinity.Matching, func(m LocatedPod) bool { return m.Pod == at.Pod })
		}
	case c.Spread != nil:
		selector := spreadSelector(c.Spread.constraint, v.pod)
		counts = func(at LocatedPod, pod *v1.Pod) bool {
			return at.Domain == node.Labels[c.Spread.TopologyKey] && pod.Namespace == v.pod.Namespace && selector.Matches(labels.Set(pod.Labels))
		}
	}
	var all []runningPod
	for _, other := range v.state.Nodes {
		for _, pod := range v.podsOn[other.Name] {
			at := LocatedPod{Pod: pod.Namespace + "/" + pod.Name, Node: other.Name}
			if c.Spread != nil {
				at.Domain = other.Labels[c.Spread.TopologyKey]
			}
			if counts(at, pod) {
				all = append(all, runningPod{at, pod})
			}
		}
	}
	return all
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
	if p.Takes != "" {
		return line + fmt.Sprintf("%s would take it without %s, of a lower priority, but preemption takes pods only from the node that the pod gets", p.Takes,
			words.Few(list.Map(p.Elsewhere, func(at LocatedPod) string { return at.Pod + " on " + at.Node })))
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
