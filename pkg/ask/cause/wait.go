package cause

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// PodGroup is a group whose pods wait for nodes together.
type PodGroup struct {
	// Name is namespace/name.
	Name string `json:"name"`
	// MinCount is the number of pods that must fit together before any of them gets a node; missing if the group sets none.
	MinCount int `json:"minCount,omitempty"`
	// Bound is the number of pods that have a node.
	Bound int `json:"bound"`
	// Fit are the pods that would have got a node with the others, and Untried the pods that the scheduler did not try.
	Fit     []string `json:"fit,omitempty"`
	Untried []string `json:"untried,omitempty"`
	// Refused are the pods that the scheduler refused, which keep the others waiting.
	Refused []string `json:"refused,omitempty"`
}

// gateCauses returns, for example, "example.com/quota keeps the scheduler from trying the pod, until whoever set the gate removes it".
func gateCauses(pod *v1.Pod) []Cause {
	names := list.Map(pod.Spec.SchedulingGates, func(gate v1.PodSchedulingGate) string { return gate.Name })
	if len(names) == 0 {
		return nil
	}
	return []Cause{{Plugin: "SchedulingGates", Gates: names, Sentence: fmt.Sprintf("%s %s the scheduler from trying the pod, until whoever set %s removes %s",
		words.And(names), words.Pick(len(names), "keeps", "keep"), words.Pick(len(names), "the gate", "the gates"), words.Pick(len(names), "it", "them"))}}
}

// LacksGroup reports whether the pod names a pod group that does not exist.
func LacksGroup(state *cluster.State, pod *v1.Pod) bool {
	name := cluster.PodGroupOf(pod)
	return name != "" && !slices.ContainsFunc(state.PodGroups, func(group *schedulingv1beta1.PodGroup) bool {
		return group.Namespace == pod.Namespace && group.Name == name
	})
}

// missingGroup returns the pod group that the pod names, if it does not exist.
func missingGroup(state *cluster.State, pod *v1.Pod) []Cause {
	if state.Federation != nil || !LacksGroup(state, pod) {
		return nil
	}
	g := PodGroup{Name: pod.Namespace + "/" + cluster.PodGroupOf(pod)}
	return []Cause{{Plugin: "GangScheduling", PodGroup: &g, Sentence: fmt.Sprintf("PodGroup %s, which the pod names, does not exist, and the scheduler does not try the pod before", g.Name)}}
}

// groupCauses returns the pod group with which the pod waits, and which of its pods keep the others waiting.
func groupCauses(p *placement.Pending) []Cause {
	if p.Group == nil {
		return nil
	}
	g := PodGroup{Name: p.Pod.Namespace + "/" + p.Group.Name, MinCount: p.Group.MinCount, Bound: p.Group.Bound}
	for _, pod := range p.Group.Waiting {
		switch {
		case pod.Node != "":
			g.Fit = append(g.Fit, pod.Name)
		case pod.Message != "":
			g.Refused = append(g.Refused, pod.Name)
		default:
			g.Untried = append(g.Untried, pod.Name)
		}
	}
	return []Cause{{Plugin: "GangScheduling", Sentence: g.sentence(), PodGroup: &g}}
}

// sentence returns, for example, "PodGroup default/train wants nodes for 4 pods at once; 1 pod has one, a and b would fit, c does not fit".
func (g *PodGroup) sentence() string {
	var parts []string
	if there := g.Bound + len(g.Fit) + len(g.Refused) + len(g.Untried); there < g.MinCount {
		parts = append(parts, words.Is(there, "pod")+" there")
	}
	if g.Bound > 0 {
		parts = append(parts, words.Has(g.Bound, "pod")+" one")
	}
	if len(g.Fit) > 0 {
		parts = append(parts, words.Few(g.Fit)+" would fit")
	}
	if len(g.Refused) > 0 && len(g.Fit)+len(g.Untried) > 0 {
		parts = append(parts, fmt.Sprintf("%s %s not fit", words.Few(g.Refused), words.Pick(len(g.Refused), "does", "do")))
	}
	if len(g.Untried) > 0 {
		parts = append(parts, fmt.Sprintf("%s %s not tried", words.Few(g.Untried), words.Pick(len(g.Untried), "was", "were")))
	}
	wants := "places as many pods as fit"
	if g.MinCount > 0 {
		wants = fmt.Sprintf("wants nodes for %s at once", words.Count(g.MinCount, "pod"))
	}
	line := fmt.Sprintf("PodGroup %s %s", g.Name, wants)
	if len(parts) > 0 {
		line += "; " + strings.Join(parts, ", ")
	}
	return line
}

// TemplatesIn returns the names of the ResourceClaimTemplates of a namespace, sorted.
func TemplatesIn(state *cluster.State, namespace string) []string {
	own := list.Where(state.ResourceClaimTemplates, func(t *resourcev1.ResourceClaimTemplate) bool { return t.Namespace == namespace })
	names := list.Map(own, func(t *resourcev1.ResourceClaimTemplate) string { return t.Name })
	slices.Sort(names)
	return names
}

// missingTemplates returns the ResourceClaimTemplates and ResourceClaims that the pod names and that do not exist, so that its claims are never made.
func missingTemplates(state *cluster.State, pod *v1.Pod) []Cause {
	var causes []Cause
	there := TemplatesIn(state, pod.Namespace)
	for _, claim := range pod.Spec.ResourceClaims {
		name := ptr.Deref(claim.ResourceClaimTemplateName, "")
		if name == "" || slices.Contains(there, name) || state.Federation != nil {
			continue
		}
		exists := "there is none"
		if len(there) > 0 {
			exists = words.Pick(len(there), "there is ", "there are ") + words.Few(there)
		}
		causes = append(causes, Cause{Plugin: "DynamicResources", Devices: &Devices{Claim: pod.Namespace + "/" + claim.Name},
			Sentence: fmt.Sprintf("claim %s names ResourceClaimTemplate %s, which does not exist in namespace %s (%s)", claim.Name, name, pod.Namespace, exists)})
	}
	return causes
}

// absentScheduler says that nothing in the input looks like the scheduler that the pod names: a running pod whose name has the scheduler's. It says nothing
// of a scheduler that may be there, since that one decides.
func absentScheduler(state *cluster.State, p *placement.Pending) []Cause {
	name := p.Pod.Spec.SchedulerName
	if !strings.HasPrefix(p.Untried, placement.LeftTo) || slices.ContainsFunc(state.Pods, func(pod *v1.Pod) bool {
		return pod.Spec.NodeName != "" && strings.Contains(pod.Name, name)
	}) {
		return nil
	}
	return []Cause{{Plugin: "schedulerName", Sentence: fmt.Sprintf("no pod that runs has %q in its name, so that nobody may be there to place the pod", name)}}
}
